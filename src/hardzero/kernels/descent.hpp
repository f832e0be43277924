// Loops of the noisy descent and of what comes before it. As in fast.hpp, every one has a plain NumPy counterpart that
// gives the same bits.
#pragma once

#include "fast.hpp"

namespace hardzero {

using std::uint32_t;

// Rows that are worked on together, so that what is summed up stays in the cache; so few that codes of up to 2^20 add up
// within 32 bits.
constexpr int64_t BLOCK = 1024;
constexpr int FEATURE_BITS = 16;

// Clips, scales and rounds a table given by the distances between its rows and columns; false if a number is not finite.
template <typename Number>
WIDEST_VECTORS static bool scaled_codes(const Number* x, int64_t rows, int64_t features, int64_t row_step,
                                        int64_t column_step, const double* lower, const double* upper,
                                        const double* factor, int32_t* codes) {
    const double magic = 6755399441055744.0, largest = std::numeric_limits<double>::max();
    const int64_t tile = 128;
    bool finite = true;
    for (int64_t start = 0; start < rows; start += tile) {
        const int64_t size = std::min(tile, rows - start);
        for (int64_t j = 0; j < features; ++j) {
            const Number* const from = x + start * row_step + j * column_step;
            int32_t* const to = codes + j * rows + start;
            for (int64_t i = 0; i < size; ++i) {
                double value = static_cast<double>(from[i * row_step]);
                finite &= std::fabs(value) <= largest;
                value = value < lower[j] ? lower[j] : value;
                value = value > upper[j] ? upper[j] : value;
                to[i] = static_cast<int32_t>((value * factor[j] + magic) - magic);
            }
        }
    }
    return finite;
}

// totals[row] += ((x - centre)/scale)^2 - at_zero, feature after feature, for the rows in [first, last).
WIDEST_VECTORS
static void add_squares(const Lines& columns, const double* centre, const double* scale, const double* at_zero,
                        int64_t first, int64_t last, double* totals) {
    if (!columns.dense()) {
        for (int64_t j = 0; j < columns.lines; ++j) {
            const int64_t end = columns.from(j, last);
            for (int64_t e = columns.from(j, first); e < end; ++e) {
                const double z = (columns.values[e] * (1.0 / (1 << FEATURE_BITS)) - centre[j]) / scale[j];
                totals[columns.indices[e]] += z * z - at_zero[j];
            }
        }
        return;
    }
    for (int64_t start = first; start < last; start += BLOCK) {
        const int64_t size = std::min(BLOCK, last - start);
        for (int64_t j = 0; j < columns.lines; ++j) {
            const int32_t* const x = columns.values + columns.begin(j) + start;
            const double c = centre[j], s = scale[j], a = at_zero[j];
            for (int64_t i = 0; i < size; ++i) {
                const double z = (x[i] * (1.0 / (1 << FEATURE_BITS)) - c) / s;
                totals[start + i] += z * z - a;
            }
        }
    }
}

static inline int64_t rounded_square(int32_t x) { return (static_cast<int64_t>(x) * x) >> FEATURE_BITS; }

// sums[j] = sum over rows of codes[row] * (x[row, j]^2, rounded down), for features first <= j < last.
WIDEST_VECTORS
static void square_sums(const Lines& columns, const int32_t* codes, int64_t first, int64_t last, int64_t* sums) {
    for (int64_t j = first; j < last; ++j) {
        const int64_t start = columns.begin(j), size = columns.size(j);
        const int32_t* const x = columns.values + start;
        int64_t total = 0;
        if (columns.dense()) {
            for (int64_t i = 0; i < size; ++i) total += rounded_square(x[i]) * codes[i];
        } else {
            for (int64_t i = 0; i < size; ++i) total += rounded_square(x[i]) * codes[columns.indices[start + i]];
        }
        sums[j] = total;
    }
}

// What residuals are multiplied with so that a row whose gradient has this squared length is no longer than `limit`.
static inline double shrinking(double squared, double limit, double one) {
    double length = std::sqrt(squared);
    length = length > 1e-300 ? length : 1e-300;
    const double share = limit / length;
    return (share < 1.0 ? share : 1.0) * one;
}

// Residuals and curvatures of two classes as whole numbers in units of 1/one, rounded towards zero, weighted so that no
// row's gradient is longer than `limit`, whatever its label: a weight that saw the label would bias the optimum.
WIDEST_VECTORS
static void logistic_weighted(const double* margins, double offset, const double* targets, const double* squares,
                              double limit, double one, int64_t n, int32_t* codes, int32_t* bends) {
    for (int64_t i = 0; i < n; ++i) {
        const double chance = sigmoid(margins[i] + offset), other = 1.0 - chance;
        const double farthest = chance > other ? chance : other;
        const double weight = shrinking(farthest * farthest * squares[i], limit, one);
        codes[i] = static_cast<int32_t>((chance - targets[i]) * weight);
        bends[i] = static_cast<int32_t>(chance * other * weight);
    }
}

constexpr int64_t TOGETHER = 64;  // rows of several classes, side by side so that every operation is one on vectors

// values[k, i] for all k, added up for each i in the order of hardzero.kernels.reference.sums_by_eights.
static inline void sums_by_eights(const double* values, int64_t n, double* totals) {
    if (n > 128) {
        const int64_t half = n / 2 - n / 2 % 8;
        double rest[TOGETHER];
        sums_by_eights(values, half, totals);
        sums_by_eights(values + half * TOGETHER, n - half, rest);
        for (int64_t i = 0; i < TOGETHER; ++i) totals[i] += rest[i];
        return;
    }
    int64_t end = n - n % 8;
    if (n < 8) {
        std::copy(values, values + TOGETHER, totals);
        end = 1;
    } else {
        double part[8 * TOGETHER];
        std::copy(values, values + 8 * TOGETHER, part);
        for (int64_t k = 8; k < end; k += 8)
            for (int64_t i = 0; i < 8 * TOGETHER; ++i) part[i] += values[k * TOGETHER + i];
        const auto at = [&part](int64_t k, int64_t i) { return part[k * TOGETHER + i]; };
        for (int64_t i = 0; i < TOGETHER; ++i)
            totals[i] = ((at(0, i) + at(1, i)) + (at(2, i) + at(3, i))) + ((at(4, i) + at(5, i)) + (at(6, i) + at(7, i)));
    }
    for (int64_t k = end; k < n; ++k)
        for (int64_t i = 0; i < TOGETHER; ++i) totals[i] += values[k * TOGETHER + i];
}

// The same numbers as `softmax` gives for each row alone.
static inline void softmaxes_side_by_side(double* odds, int64_t outputs) {
    double top[TOGETHER], total[TOGETHER];
    std::copy(odds, odds + TOGETHER, top);
    for (int64_t k = 1; k < outputs; ++k)
        for (int64_t i = 0; i < TOGETHER; ++i) {
            const double value = odds[k * TOGETHER + i];
            top[i] = value > top[i] ? value : top[i];
        }
    for (int64_t k = 0; k < outputs; ++k)
        for (int64_t i = 0; i < TOGETHER; ++i)
            odds[k * TOGETHER + i] = exp_of_negative(odds[k * TOGETHER + i] - top[i]);
    std::copy(odds, odds + TOGETHER, total);
    for (int64_t k = 1; k < outputs; ++k)
        for (int64_t i = 0; i < TOGETHER; ++i) total[i] += odds[k * TOGETHER + i];
    for (int64_t k = 0; k < outputs; ++k)
        for (int64_t i = 0; i < TOGETHER; ++i) odds[k * TOGETHER + i] /= total[i];
}

// The same for several classes; `squares` has one number for each row, or one for every output of it. A row of class y
// has a gradient of squared length sum(chance^2 * square) + (1 - 2 * chance[y]) * square[y]: the longest counts.
WIDEST_VECTORS
static void softmax_weighted(const double* margins, const double* offset, const int64_t* targets, const double* squares,
                             int64_t squares_step, double limit, double one, int64_t n, int64_t outputs,
                             int32_t* codes, int32_t* bends) {
    std::vector<double> chances(outputs * TOGETHER), terms(outputs * TOGETHER);
    std::vector<int32_t> residuals(outputs * TOGETHER), curvatures(outputs * TOGETHER);
    double* const chance = chances.data();
    double* const term = terms.data();
    double weight[TOGETHER], extra[TOGETHER];
    for (int64_t start = 0; start < n; start += TOGETHER) {
        const int64_t size = std::min(TOGETHER, n - start);  // what is left over of the last rows is worked on in vain
        for (int64_t k = 0; k < outputs; ++k)
            for (int64_t i = 0; i < size; ++i)
                chance[k * TOGETHER + i] = margins[(start + i) * outputs + k] + offset[k];
        softmaxes_side_by_side(chance, outputs);
        for (int64_t k = 0; k < outputs; ++k)
            for (int64_t i = 0; i < size; ++i)
                term[k * TOGETHER + i] = squares[(start + i) * squares_step + (squares_step == 1 ? 0 : k)];
        std::fill(extra, extra + TOGETHER, 0.0);
        for (int64_t k = 0; k < outputs; ++k)
            for (int64_t i = 0; i < TOGETHER; ++i) {
                const int64_t e = k * TOGETHER + i;
                const double more = (1.0 - 2.0 * chance[e]) * term[e];
                extra[i] = more > extra[i] ? more : extra[i];
            }
        for (int64_t e = 0; e < outputs * TOGETHER; ++e) term[e] = chance[e] * chance[e] * term[e];
        sums_by_eights(term, outputs, weight);
        for (int64_t i = 0; i < TOGETHER; ++i) weight[i] = shrinking(weight[i] + extra[i], limit, one);
        for (int64_t k = 0; k < outputs; ++k)
            for (int64_t i = 0; i < TOGETHER; ++i) {
                const int64_t e = k * TOGETHER + i;
                curvatures[e] = static_cast<int32_t>(chance[e] * (1.0 - chance[e]) * weight[i]);
            }
        for (int64_t i = 0; i < size; ++i) chance[targets[start + i] * TOGETHER + i] -= 1.0;
        for (int64_t k = 0; k < outputs; ++k)
            for (int64_t i = 0; i < TOGETHER; ++i) {
                const int64_t e = k * TOGETHER + i;
                residuals[e] = static_cast<int32_t>(chance[e] * weight[i]);
            }
        for (int64_t i = 0; i < size; ++i)
            for (int64_t k = 0; k < outputs; ++k) {
                codes[(start + i) * outputs + k] = residuals[k * TOGETHER + i];
                bends[(start + i) * outputs + k] = curvatures[k * TOGETHER + i];
            }
    }
}

// totals[k] += the sum of codes over rows.
WIDEST_VECTORS
static void code_totals(const int32_t* codes, int64_t n, int64_t outputs, int64_t* totals) {
    if (outputs == 1) {
        int64_t total = 0;
        for (int64_t i = 0; i < n; ++i) total += codes[i];
        totals[0] += total;
        return;
    }
    for (int64_t i = 0; i < n; ++i)
        for (int64_t k = 0; k < outputs; ++k) totals[k] += codes[i * outputs + k];
}

}  // namespace hardzero
