// Loops of the noisy descent and of what comes before it. As in fast.hpp, every one has a plain NumPy counterpart that
// gives the same bits. Work on dense tables goes by blocks of rows, so that what is summed up stays in the cache.
#pragma once

#include "fast.hpp"

namespace hardzero {

using std::uint32_t;

// So few that codes of up to 2^16 add up within 32 bits.
constexpr int64_t BLOCK = 1024;
constexpr int FEATURE_BITS = 16;

// Dense features in two forms. A flag says in which rows a feature is at its bound, or at minus its bound; a feature that
// is -1, 0 or 1 everywhere is one flag or two. Bit f of words[row] is flag f, 32 flags to a line of words. The other
// features, `wide`, stay as they are, in the `lines` of a table that need not hold any other.
struct Split {
    int64_t rows = 0, features = 0, flag_count = 0, wide_count = 0;
    const int32_t* table = nullptr;
    const uint32_t* words = nullptr;
    const int64_t* flagged = nullptr;
    const int32_t* signs = nullptr;
    const int64_t* wide = nullptr;
    const int64_t* lines = nullptr;

    const uint32_t* line(int64_t flag) const { return words + flag / 32 * rows; }
    static uint32_t bit(int64_t flag) { return uint32_t{1} << (flag % 32); }
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

// Which features are at their bound somewhere, at minus their bound somewhere, and anywhere else than there or at zero.
WIDEST_VECTORS
static void find_values(const int32_t* table, int64_t features, int64_t rows, bool* plus, bool* minus, bool* other) {
    const int32_t one = 1 << FEATURE_BITS;
    for (int64_t j = 0; j < features; ++j) {
        int32_t seen = 0;
        for (int64_t start = 0; start < rows && seen < 4; start += BLOCK) {
            const int32_t* const x = table + j * rows + start;
            const int64_t size = std::min(BLOCK, rows - start);
            for (int64_t i = 0; i < size; ++i)
                seen |= (x[i] == one ? 1 : 0) | (x[i] == -one ? 2 : 0) | ((x[i] & (one - 1)) ? 4 : 0);
        }
        plus[j] = seen & 1;
        minus[j] = seen & 2;
        other[j] = seen & 4;
    }
}

WIDEST_VECTORS
static void pack_flags(const Split& split, uint32_t* words) {
    for (int64_t f = 0; f < split.flag_count; ++f) {
        const int32_t* const x = split.table + split.flagged[f] * split.rows;
        const int32_t value = split.signs[f] * (1 << FEATURE_BITS);
        const uint32_t bit = Split::bit(f);
        uint32_t* const line = words + f / 32 * split.rows;
        for (int64_t i = 0; i < split.rows; ++i) line[i] |= x[i] == value ? bit : 0;
    }
}

static inline int32_t if_set(uint32_t word, uint32_t bit, int32_t value) { return word & bit ? value : 0; }

// totals[f] = sum of the codes of a block's rows where flag f is set. Four flags at a time: words are read less often.
static inline void flag_sums(const Split& split, const int32_t* codes, int64_t start, int64_t size, int32_t* totals) {
    for (int64_t f = 0; f < split.flag_count; f += 4) {  // 32 is a multiple of 4, and bits beyond the last are not set
        const uint32_t* const line = split.line(f) + start;
        const uint32_t bit = Split::bit(f);
        int32_t a = 0, b = 0, c = 0, d = 0;
        for (int64_t i = 0; i < size; ++i) {
            a += if_set(line[i], bit, codes[i]);
            b += if_set(line[i], bit << 1, codes[i]);
            c += if_set(line[i], bit << 2, codes[i]);
            d += if_set(line[i], bit << 3, codes[i]);
        }
        totals[f] = a;
        totals[f + 1] = b;
        totals[f + 2] = c;
        totals[f + 3] = d;
    }
}

// Sum of code times feature over a block's rows. Double precision adds so few whole numbers up to 2^32 exactly, in any
// order, and converts faster than integers of 64 bits are multiplied.
static inline int64_t wide_sum(const int32_t* x, const double* codes, int64_t size) {
    const int64_t lanes = 16;
    double part[lanes] = {};
    const int64_t end = size - size % lanes;
    for (int64_t i = 0; i < end; i += lanes)
        for (int64_t l = 0; l < lanes; ++l) part[l] += x[i + l] * codes[i + l];
    double total = 0;
    for (int64_t l = 0; l < lanes; ++l) total += part[l];
    for (int64_t i = end; i < size; ++i) total += x[i] * codes[i];
    return static_cast<int64_t>(total);
}

// sums[k, j] += sum over the rows in [first, last) of codes[row, k] * x[row, j].
WIDEST_VECTORS
static void split_column_sums(const Split& split, const int32_t* codes, int64_t outputs, int64_t first, int64_t last,
                              int64_t* sums) {
    std::vector<int32_t> apart(outputs * BLOCK), totals(split.flag_count + 3);
    std::vector<double> real(outputs * BLOCK);
    for (int64_t start = first; start < last; start += BLOCK) {
        const int64_t size = std::min(BLOCK, last - start);
        for (int64_t k = 0; k < outputs; ++k) {
            int32_t* const code = apart.data() + k * BLOCK;
            for (int64_t i = 0; i < size; ++i) code[i] = codes[(start + i) * outputs + k];
            for (int64_t i = 0; i < size; ++i) real[k * BLOCK + i] = code[i];
            flag_sums(split, code, start, size, totals.data());
            for (int64_t f = 0; f < split.flag_count; ++f)
                sums[k * split.features + split.flagged[f]] +=
                    static_cast<int64_t>(totals[f]) * split.signs[f] * (1 << FEATURE_BITS);
        }
        for (int64_t w = 0; w < split.wide_count; ++w) {
            const int64_t j = split.wide[w];
            for (int64_t k = 0; k < outputs; ++k)
                sums[k * split.features + j] +=
                    wide_sum(split.table + split.lines[w] * split.rows + start, real.data() + k * BLOCK, size);
        }
    }
}

// units[i] = sum of the weights of the flags set in a block's row i; weights are padded with zeros to a multiple of 4.
static inline void add_flags(const Split& split, const int32_t* weights, int64_t start, int64_t size, int32_t* units) {
    std::fill(units, units + size, 0);
    for (int64_t f = 0; f < split.flag_count; f += 4) {
        const uint32_t* const line = split.line(f) + start;
        const uint32_t bit = Split::bit(f);
        const int32_t a = weights[f], b = weights[f + 1], c = weights[f + 2], d = weights[f + 3];
        for (int64_t i = 0; i < size; ++i)
            units[i] += (if_set(line[i], bit, a) + if_set(line[i], bit << 1, b)) +
                        (if_set(line[i], bit << 2, c) + if_set(line[i], bit << 3, d));
    }
}

// sums[i] += weight times feature, for a block's row i and all wide features, four at a time.
static inline void add_wide(const Split& split, const double* weights, int64_t start, int64_t size, double* sums) {
    const auto line = [&split, start](int64_t w) { return split.table + split.lines[w] * split.rows + start; };
    int64_t w = 0;
    for (; w + 4 <= split.wide_count; w += 4) {
        const int32_t *const a = line(w), *const b = line(w + 1), *const c = line(w + 2), *const d = line(w + 3);
        const double p = weights[w], q = weights[w + 1], r = weights[w + 2], s = weights[w + 3];
        for (int64_t i = 0; i < size; ++i) sums[i] += (a[i] * p + b[i] * q) + (c[i] * r + d[i] * s);
    }
    for (; w < split.wide_count; ++w) {
        const int32_t* const a = line(w);
        for (int64_t i = 0; i < size; ++i) sums[i] += a[i] * weights[w];
    }
}

// margins[row, k] = unit * sum over features of x[row, j] * weights[j, k], for the rows in [first, last). The weights of
// an output together are below 2^31 in magnitude, so that all sums are whole numbers that double precision holds.
WIDEST_VECTORS
static void split_margins(const Split& split, const int32_t* weights, int64_t outputs, double unit, int64_t first,
                          int64_t last, double* margins) {
    const int64_t padded = (split.flag_count + 3) / 4 * 4;
    std::vector<int32_t> flag_weights(outputs * padded), units(BLOCK);
    std::vector<double> sums(BLOCK), wide_weights(outputs * split.wide_count);
    for (int64_t k = 0; k < outputs; ++k) {
        for (int64_t f = 0; f < split.flag_count; ++f)
            flag_weights[k * padded + f] = weights[split.flagged[f] * outputs + k] * split.signs[f];
        for (int64_t w = 0; w < split.wide_count; ++w)
            wide_weights[k * split.wide_count + w] = weights[split.wide[w] * outputs + k];
    }
    double* const sum = sums.data();
    for (int64_t start = first; start < last; start += BLOCK) {
        const int64_t size = std::min(BLOCK, last - start);
        for (int64_t k = 0; k < outputs; ++k) {
            add_flags(split, flag_weights.data() + k * padded, start, size, units.data());
            for (int64_t i = 0; i < size; ++i) sum[i] = units[i] * static_cast<double>(1 << FEATURE_BITS);
            add_wide(split, wide_weights.data() + k * split.wide_count, start, size, sum);
            double* const to = margins + start * outputs + k;
            for (int64_t i = 0; i < size; ++i) to[i * outputs] = sum[i] * unit;
        }
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
