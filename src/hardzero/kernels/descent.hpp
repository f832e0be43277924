// Loops of the noisy descent and of what comes before it. As in fast.hpp, every one has a plain NumPy counterpart that
// gives the same bits. Work on dense tables goes by blocks of rows, so that what is summed up stays in the cache.
#pragma once

#include "fast.hpp"

namespace hardzero {

using std::int8_t;

// So few that codes of up to 2^20 add up within 32 bits.
constexpr int64_t BLOCK = 1024;
constexpr int FEATURE_BITS = 16;

// Dense features in two forms: those that are -1, 0 or 1 everywhere take a byte, the others stay as they are.
// `units` holds block after block of rows, and in it feature after feature; `whole` and `wide` say which features.
struct Split {
    int64_t rows = 0, whole_count = 0, wide_count = 0;
    const int32_t* table = nullptr;
    const int8_t* units = nullptr;
    const int64_t* whole = nullptr;
    const int64_t* wide = nullptr;

    const int8_t* unit(int64_t start, int64_t i) const { return units + start * whole_count + i * BLOCK; }
    const int32_t* wide_line(int64_t i) const { return table + wide[i] * rows; }
};

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

// totals[row] += ((x - centre)/scale)^2 - at_zero, feature after feature.
WIDEST_VECTORS
static void add_squares(const Lines& columns, const double* centre, const double* scale, const double* at_zero,
                        int64_t rows, double* totals) {
    if (!columns.dense()) {
        for (int64_t j = 0; j < columns.lines; ++j) {
            for (int64_t e = columns.ends[j]; e < columns.ends[j + 1]; ++e) {
                const double z = (columns.values[e] * (1.0 / (1 << FEATURE_BITS)) - centre[j]) / scale[j];
                totals[columns.indices[e]] += z * z - at_zero[j];
            }
        }
        return;
    }
    for (int64_t start = 0; start < rows; start += BLOCK) {
        const int64_t size = std::min(BLOCK, rows - start);
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

// sums[j] = sum over rows of codes[row] * (x[row, j]^2, rounded down).
WIDEST_VECTORS
static void square_sums(const Lines& columns, const int32_t* codes, int64_t* sums) {
    for (int64_t j = 0; j < columns.lines; ++j) {
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

// Which features are -1, 0 or 1 times the bound in all rows.
WIDEST_VECTORS
static void find_whole(const int32_t* table, int64_t features, int64_t rows, bool* is_whole) {
    for (int64_t j = 0; j < features; ++j) {
        int32_t low_bits = 0;
        for (int64_t start = 0; start < rows && low_bits == 0; start += BLOCK) {
            const int32_t* const x = table + j * rows + start;
            const int64_t size = std::min(BLOCK, rows - start);
            for (int64_t i = 0; i < size; ++i) low_bits |= x[i] & ((1 << FEATURE_BITS) - 1);
        }
        is_whole[j] = low_bits == 0;
    }
}

WIDEST_VECTORS
static void pack_units(const Split& split, int8_t* units) {
    for (int64_t start = 0; start < split.rows; start += BLOCK) {
        const int64_t size = std::min(BLOCK, split.rows - start);
        for (int64_t f = 0; f < split.whole_count; ++f) {
            const int32_t* const x = split.table + split.whole[f] * split.rows + start;
            int8_t* const to = units + start * split.whole_count + f * BLOCK;
            for (int64_t i = 0; i < size; ++i) to[i] = static_cast<int8_t>(x[i] >> FEATURE_BITS);
        }
    }
}

// sums[k, j] += sum over the rows in [first, last) of codes[row, k] * x[row, j]; `first` begins a block.
WIDEST_VECTORS
static void split_column_sums(const Split& split, const int32_t* codes, int64_t outputs, int64_t first, int64_t last,
                              int64_t* sums) {
    const int64_t features = split.whole_count + split.wide_count;
    std::vector<int32_t> apart(outputs > 1 ? outputs * BLOCK : 0);
    for (int64_t start = first; start < last; start += BLOCK) {
        const int64_t size = std::min(BLOCK, last - start);
        for (int64_t k = 0; outputs > 1 && k < outputs; ++k)
            for (int64_t i = 0; i < size; ++i) apart[k * BLOCK + i] = codes[(start + i) * outputs + k];
        const int32_t* const block = outputs > 1 ? apart.data() : codes + start;
        for (int64_t f = 0; f < split.whole_count; ++f) {
            const int8_t* const x = split.unit(start, f);
            for (int64_t k = 0; k < outputs; ++k) {
                const int32_t* const code = block + k * BLOCK;
                int32_t total = 0;
                for (int64_t i = 0; i < size; ++i) total += x[i] * code[i];
                sums[k * features + split.whole[f]] += static_cast<int64_t>(total) * (1 << FEATURE_BITS);
            }
        }
        for (int64_t f = 0; f < split.wide_count; ++f) {
            const int32_t* const x = split.wide_line(f) + start;
            for (int64_t k = 0; k < outputs; ++k) {
                const int32_t* const code = block + k * BLOCK;
                int64_t total = 0;
                for (int64_t i = 0; i < size; ++i) total += static_cast<int64_t>(x[i]) * code[i];
                sums[k * features + split.wide[f]] += total;
            }
        }
    }
}

// One block's sums of feature times weight for one output; weights lie `outputs` apart.
static inline void block_row_sums(const Split& split, const int32_t* weights, int64_t outputs, int64_t start,
                                  int64_t size, int32_t* units, int64_t* sums) {
    std::fill(units, units + BLOCK, 0);
    for (int64_t f = 0; f < split.whole_count; ++f) {
        const int32_t weight = weights[split.whole[f] * outputs];
        const int8_t* const x = split.unit(start, f);
        if (weight == 0) continue;
        for (int64_t i = 0; i < BLOCK; ++i) units[i] += x[i] * weight;
    }
    for (int64_t i = 0; i < BLOCK; ++i) sums[i] = static_cast<int64_t>(units[i]) * (1 << FEATURE_BITS);
    for (int64_t f = 0; f < split.wide_count; ++f) {
        const int32_t weight = weights[split.wide[f] * outputs];
        const int32_t* const x = split.wide_line(f) + start;
        if (weight == 0) continue;
        for (int64_t i = 0; i < size; ++i) sums[i] += static_cast<int64_t>(x[i]) * weight;
    }
}

// margins[row, k] = unit * sum over features of x[row, j] * weights[j, k], for the rows in [first, last). The weights of
// an output together are below 2^31 in magnitude.
WIDEST_VECTORS
static void split_margins(const Split& split, const int32_t* weights, int64_t outputs, double unit, int64_t first,
                          int64_t last, double* margins) {
    std::vector<int32_t> units(BLOCK);
    std::vector<int64_t> sums(BLOCK);
    for (int64_t start = first; start < last; start += BLOCK) {
        const int64_t size = std::min(BLOCK, last - start);
        for (int64_t k = 0; k < outputs; ++k) {
            block_row_sums(split, weights + k, outputs, start, size, units.data(), sums.data());
            double* const to = margins + start * outputs + k;
            for (int64_t i = 0; i < size; ++i) to[i * outputs] = static_cast<double>(sums[i]) * unit;
        }
    }
}

// margins[row, k] = unit * sum over features of x[row, j] * weights[j, k], for compressed rows in [first, last).
static void row_margins(const Lines& rows, const int64_t* weights, int64_t outputs, double unit, int64_t first,
                        int64_t last, double* margins) {
    if (outputs == 1) {
        for (int64_t i = first; i < last; ++i) {
            int64_t total = 0;
            for (int64_t e = rows.ends[i]; e < rows.ends[i + 1]; ++e)
                total += rows.values[e] * weights[rows.indices[e]];
            margins[i] = static_cast<double>(total) * unit;
        }
        return;
    }
    std::vector<int64_t> totals(outputs);
    for (int64_t i = first; i < last; ++i) {
        std::fill(totals.begin(), totals.end(), 0);
        for (int64_t e = rows.ends[i]; e < rows.ends[i + 1]; ++e) {
            const int64_t x = rows.values[e];
            const int64_t* const weight = weights + rows.indices[e] * outputs;
            for (int64_t k = 0; k < outputs; ++k) totals[k] += x * weight[k];
        }
        for (int64_t k = 0; k < outputs; ++k) margins[i * outputs + k] = static_cast<double>(totals[k]) * unit;
    }
}

// A sum in the order of hardzero.kernels.reference.sums_by_eights.
static inline double sum_by_eights(const double* values, int64_t n) {
    if (n < 8) {
        double total = values[0];
        for (int64_t k = 1; k < n; ++k) total += values[k];
        return total;
    }
    if (n > 128) {
        const int64_t half = n / 2 - n / 2 % 8;
        return sum_by_eights(values, half) + sum_by_eights(values + half, n - half);
    }
    double part[8];
    std::copy(values, values + 8, part);
    const int64_t end = n - n % 8;
    for (int64_t start = 8; start < end; start += 8)
        for (int64_t k = 0; k < 8; ++k) part[k] += values[start + k];
    double total = ((part[0] + part[1]) + (part[2] + part[3])) + ((part[4] + part[5]) + (part[6] + part[7]));
    for (int64_t k = end; k < n; ++k) total += values[k];
    return total;
}

// What residuals are multiplied with so that a row whose gradient has this squared length is no longer than `limit`.
static inline double shrinking(double squared, double limit, double one) {
    double length = std::sqrt(squared);
    length = length > 1e-300 ? length : 1e-300;
    const double share = limit / length;
    return (share < 1.0 ? share : 1.0) * one;
}

// Residuals of two classes as whole numbers, rounded towards zero: shrunk, in units of 1/one, and as they are, in units of
// 1/plain_one.
WIDEST_VECTORS
static void logistic_clipped(const double* margins, double offset, const double* targets, const double* squares,
                             double limit, double one, double plain_one, int64_t n, int32_t* clipped,
                             int32_t* plain) {
    for (int64_t i = 0; i < n; ++i) {
        const double residual = sigmoid(margins[i] + offset) - targets[i];
        plain[i] = static_cast<int32_t>(residual * plain_one);
        clipped[i] = static_cast<int32_t>(residual * shrinking(residual * residual * squares[i], limit, one));
    }
}

// The same for several classes; `squares` has one number a row, or one for every output.
static void softmax_clipped(const double* margins, const double* offset, const int64_t* targets, const double* squares,
                            int64_t squares_step, double limit, double one, double plain_one, int64_t n,
                            int64_t outputs, int32_t* clipped, int32_t* plain) {
    std::vector<double> residuals(outputs), terms(outputs);
    double* const residual = residuals.data();
    for (int64_t i = 0; i < n; ++i) {
        const double* const square = squares + i * squares_step;
        for (int64_t k = 0; k < outputs; ++k) residual[k] = margins[i * outputs + k] + offset[k];
        softmax(residual, outputs);
        residual[targets[i]] -= 1.0;
        for (int64_t k = 0; k < outputs; ++k)
            terms[k] = residual[k] * residual[k] * (squares_step == 1 ? square[0] : square[k]);
        const double factor = shrinking(sum_by_eights(terms.data(), outputs), limit, one);
        for (int64_t k = 0; k < outputs; ++k) {
            plain[i * outputs + k] = static_cast<int32_t>(residual[k] * plain_one);
            clipped[i * outputs + k] = static_cast<int32_t>(residual[k] * factor);
        }
    }
}

// Sums of codes over all rows, for each output.
WIDEST_VECTORS
static void code_totals(const int32_t* codes, int64_t n, int64_t outputs, int64_t* totals) {
    if (outputs == 1) {
        int64_t total = 0;
        for (int64_t i = 0; i < n; ++i) total += codes[i];
        totals[0] = total;
        return;
    }
    for (int64_t i = 0; i < n; ++i)
        for (int64_t k = 0; k < outputs; ++k) totals[k] += codes[i * outputs + k];
}

}  // namespace hardzero
