// The hot loops. Every one has a plain NumPy counterpart that gives the same bits: sums are sums of whole numbers,
// and floating-point work is element by element, in the same order, without contraction (-ffp-contract=off).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

// Wider vectors where the processor has them, chosen when the library is loaded; results do not depend on it.
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__linux__)
#define WIDEST_VECTORS __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define WIDEST_VECTORS
#endif

namespace hardzero {

using std::int32_t;
using std::int64_t;

// Rows within bounds as whole numbers: dense if `indices` is null, otherwise compressed along `ends`.
// By columns, line j holds feature j of all rows; by rows, line i holds all features of row i.
struct Lines {
    int64_t lines = 0, width = 0;
    const int64_t* ends = nullptr;
    const int32_t* indices = nullptr;
    const int32_t* values = nullptr;

    bool dense() const { return indices == nullptr; }
    int64_t begin(int64_t line) const { return dense() ? line * width : ends[line]; }
    int64_t size(int64_t line) const { return dense() ? width : ends[line + 1] - ends[line]; }
    int64_t stored() const { return dense() ? lines * width : ends[lines]; }

    // Where the entries of a line begin that stand at `place` or later; indices rise within a line.
    int64_t from(int64_t line, int64_t place) const {
        if (dense()) return line * width + place;
        return std::lower_bound(indices + ends[line], indices + ends[line + 1], place) - indices;
    }
};

// e^x for x <= 0, as hardzero.kernels.reference.exp_of_negative has it.
static inline double exp_of_negative(double x) {
    const double magic = 6755399441055744.0;  // adding and subtracting it rounds to a whole number
    x = x < -60.0 ? -60.0 : x;
    const double shifted = x * 1.4426950408889634 + magic;
    const double k = shifted - magic;
    const double r = (x - k * 0.693147180369123816490) - k * 1.90821492927058770002e-10;
    double p = 1.0 / 39916800.0;
    p = p * r + 1.0 / 3628800.0;
    p = p * r + 1.0 / 362880.0;
    p = p * r + 1.0 / 40320.0;
    p = p * r + 1.0 / 5040.0;
    p = p * r + 1.0 / 720.0;
    p = p * r + 1.0 / 120.0;
    p = p * r + 1.0 / 24.0;
    p = p * r + 1.0 / 6.0;
    p = p * r + 0.5;
    p = p * r + 1.0;
    p = p * r + 1.0;
    int64_t bits;
    std::memcpy(&bits, &shifted, sizeof bits);
    bits = static_cast<int64_t>(static_cast<uint64_t>(bits + 1023) << 52);  // 2^k
    double power;
    std::memcpy(&power, &bits, sizeof power);
    return p * power;
}

static inline double sigmoid(double v) {
    const double e = exp_of_negative(-std::fabs(v));
    return (v >= 0.0 ? 1.0 : e) * (1.0 / (1.0 + e));
}

WIDEST_VECTORS
static void sigmoids(const double* margins, int64_t n, double* result) {
    for (int64_t i = 0; i < n; ++i) result[i] = sigmoid(margins[i]);
}

// One row of margins, replaced by the probabilities of its classes; the sum runs from the first class to the last.
static inline void softmax(double* row, int64_t outputs) {
    double top = row[0];
    for (int64_t k = 1; k < outputs; ++k) top = row[k] > top ? row[k] : top;
    for (int64_t k = 0; k < outputs; ++k) row[k] = exp_of_negative(row[k] - top);
    double total = row[0];
    for (int64_t k = 1; k < outputs; ++k) total += row[k];
    for (int64_t k = 0; k < outputs; ++k) row[k] /= total;
}

WIDEST_VECTORS
static void softmaxes(double* margins, int64_t n, int64_t outputs) {
    for (int64_t i = 0; i < n; ++i) softmax(margins + i * outputs, outputs);
}

// Round half to even, then clip: a whole number within +-cap.
static inline int32_t as_code(double residual, double unit, double cap) {
    const double magic = 6755399441055744.0;
    double scaled = (residual * unit + magic) - magic;
    scaled = scaled < -cap ? -cap : scaled;
    scaled = scaled > cap ? cap : scaled;
    return static_cast<int32_t>(scaled);
}

WIDEST_VECTORS
static void logistic_codes(const double* margins, double scale, double intercept, const double* targets, double unit,
                           double cap, int64_t n, int32_t* codes) {
    for (int64_t i = 0; i < n; ++i)
        codes[i] = as_code(sigmoid(margins[i] * scale + intercept) - targets[i], unit, cap);
}

WIDEST_VECTORS
static void squared_codes(const double* margins, double scale, double intercept, const double* targets, double unit,
                          double cap, int64_t n, int32_t* codes) {
    for (int64_t i = 0; i < n; ++i) codes[i] = as_code((margins[i] * scale + intercept) - targets[i], unit, cap);
}

WIDEST_VECTORS
static void softmax_codes(const double* margins, double scale, const double* intercept, const double* targets,
                          double unit, double cap, int64_t n, int64_t outputs, int32_t* codes) {
    std::vector<double> odds(outputs);
    double* const e = odds.data();
    for (int64_t i = 0; i < n; ++i) {
        const double* const row = margins + i * outputs;
        for (int64_t k = 0; k < outputs; ++k) e[k] = row[k] * scale + intercept[k];
        softmax(e, outputs);
        e[static_cast<int64_t>(targets[i])] -= 1.0;
        for (int64_t k = 0; k < outputs; ++k) codes[i * outputs + k] = as_code(e[k], unit, cap);
    }
}

// The rows that have a code more than `tolerance` away from the one in use; returns their number. A row is written down
// in any case, and the count goes on if it moved: no branch to guess.
static int64_t moved_rows(const int32_t* fresh, const int32_t* codes, int64_t n, int64_t outputs, int64_t tolerance,
                          int32_t* rows) {
    int64_t count = 0;
    if (outputs == 1) {
        for (int64_t i = 0; i < n; ++i) {
            rows[count] = static_cast<int32_t>(i);
            count += std::abs(fresh[i] - codes[i]) > tolerance;
        }
        return count;
    }
    for (int64_t i = 0; i < n; ++i) {
        bool moved = false;
        for (int64_t k = i * outputs; k < (i + 1) * outputs; ++k) moved |= std::abs(fresh[k] - codes[k]) > tolerance;
        rows[count] = static_cast<int32_t>(i);
        count += moved;
    }
    return count;
}

// Units that a code may still move by, as a share of a residual; two are kept back for rounding.
static inline double room_for(int64_t units, double unit) {
    return static_cast<double>(units > 2 ? units - 2 : 0) / unit;
}

// How far a margin may go for a sigmoid to move by no more than `room`. No slope exceeds a quarter, so 4 room is safe.
// The slope at distance d is at most e^d times the slope here, so log(1 + room/slope) is safe, too, and
// 2 room/(2 slope + room), which is below that and cheaper.
static inline double logistic_reach(double room, double q) {
    const double by_slope_here = 2.0 * room / (2.0 * q * (1.0 - q) + room + 1e-300);
    return by_slope_here > 4.0 * room ? by_slope_here : 4.0 * room;
}

// How far a code has moved from the one in use; none if it has moved so far that it replaces it.
static inline int64_t still_moved(int32_t fresh, int32_t code, int64_t tolerance) {
    const int64_t moved = static_cast<int64_t>(fresh) - code;
    return moved > tolerance || moved < -tolerance ? 0 : moved;
}

// Ends of intervals in single precision, which is read faster, moved inwards by more than it rounds.
static inline float lower_end(double margin, double reach) {
    const double end = margin - reach;
    return static_cast<float>(end + 2e-7 * std::fabs(end));
}

static inline float upper_end(double margin, double reach) {
    const double end = margin + reach;
    return static_cast<float>(end - 2e-7 * std::fabs(end));
}

WIDEST_VECTORS
static void logistic_intervals(const double* margins, double scale, double intercept, const int32_t* fresh,
                               const int32_t* codes, int64_t tolerance, double unit, int64_t n, float* lower,
                               float* upper) {
    for (int64_t i = 0; i < n; ++i) {
        const double margin = margins[i] * scale + intercept;
        const int64_t moved = still_moved(fresh[i], codes[i], tolerance);
        const double q = sigmoid(margin);
        lower[i] = lower_end(margin, logistic_reach(room_for(tolerance + moved, unit), q));
        upper[i] = upper_end(margin, logistic_reach(room_for(tolerance - moved, unit), q));
    }
}

WIDEST_VECTORS
static void flag_outside(const double* margins, double scale, double intercept, const float* lower,
                         const float* upper, int64_t n, char* flags) {
    for (int64_t i = 0; i < n; ++i) {
        const double margin = margins[i] * scale + intercept;
        flags[i] = (margin < lower[i]) | (margin > upper[i]);
    }
}

// The rows whose margins lie outside their intervals; returns their number. `flags` has room for n + 8.
static int64_t outside_rows(const double* margins, double scale, double intercept, const float* lower,
                            const float* upper, int64_t n, char* flags, int32_t* rows) {
    flag_outside(margins, scale, intercept, lower, upper, n, flags);
    std::memset(flags + n, 0, 8);
    int64_t count = 0;
    for (int64_t i = 0; i < n; i += 8) {
        uint64_t eight;
        std::memcpy(&eight, flags + i, sizeof eight);
        if (eight == 0) continue;
        for (int64_t k = i; k < i + 8; ++k) {
            rows[count] = static_cast<int32_t>(k);
            count += flags[k];
        }
    }
    return count;
}

WIDEST_VECTORS
static int64_t dense_dot(const int32_t* x, const int32_t* codes, int64_t n) {
    int64_t total = 0;
    for (int64_t i = 0; i < n; ++i) total += static_cast<int64_t>(x[i]) * codes[i];
    return total;
}

// Four columns at once: codes are read once for all of them, and memory is asked for four streams.
WIDEST_VECTORS
static void four_dense_dots(const int32_t* x, const int32_t* codes, int64_t n, int64_t* totals) {
    const int32_t *const a = x, *const b = a + n, *const c = b + n, *const d = c + n;
    int64_t of_a = 0, of_b = 0, of_c = 0, of_d = 0;
    for (int64_t i = 0; i < n; ++i) {
        const int64_t code = codes[i];
        of_a += a[i] * code;
        of_b += b[i] * code;
        of_c += c[i] * code;
        of_d += d[i] * code;
    }
    totals[0] = of_a, totals[1] = of_b, totals[2] = of_c, totals[3] = of_d;
}

WIDEST_VECTORS
static void dense_add(int64_t* sums, const int32_t* x, int32_t factor, int64_t n) {
    for (int64_t j = 0; j < n; ++j) sums[j] += static_cast<int64_t>(x[j]) * factor;
}

WIDEST_VECTORS
static int64_t largest_magnitude(const int64_t* values, int64_t n) {
    int64_t top = 0;
    for (int64_t j = 0; j < n; ++j) {
        const int64_t size = values[j] < 0 ? -values[j] : values[j];
        top = size > top ? size : top;
    }
    return top;
}

// Largest magnitude of each block of candidates; the last block may be short.
static void block_tops(const int64_t* values, int64_t n, int64_t block, int64_t* tops) {
    if (block == 1) {
        for (int64_t j = 0; j < n; ++j) tops[j] = values[j] < 0 ? -values[j] : values[j];
        return;
    }
    for (int64_t start = 0; start < n; start += block)
        *tops++ = largest_magnitude(values + start, std::min(block, n - start));
}

WIDEST_VECTORS
static int64_t sparse_dot(const int32_t* x, const int32_t* rows, const int32_t* codes, int64_t n) {
    int64_t total = 0;
    for (int64_t i = 0; i < n; ++i) total += static_cast<int64_t>(x[i]) * codes[rows[i]];
    return total;
}

WIDEST_VECTORS
static void products(const int32_t* x, const int32_t* rows, const int32_t* codes, int64_t n, uint64_t* result) {
    for (int64_t i = 0; i < n; ++i) result[i] = static_cast<uint64_t>(static_cast<int64_t>(x[i]) * codes[rows[i]]);
}

// Sums of many short columns: running totals over all entries, subtracted where columns end. A loop for each column
// would spend its time on guessing where the column ends. Totals may wrap around; their differences are right.
static void short_column_sums(const Lines& columns, const int32_t* codes, int64_t first, int64_t last, int64_t* sums) {
    const int64_t piece = 4096;
    std::vector<uint64_t> totals(piece + 1);
    uint64_t before = 0;
    int64_t j = first;
    totals[0] = 0;
    for (int64_t start = columns.ends[first]; start < columns.ends[last]; start += piece) {
        const int64_t size = std::min(piece, columns.ends[last] - start);
        products(columns.values + start, columns.indices + start, codes, size, totals.data() + 1);
        uint64_t total = totals[0];
        for (int64_t i = 1; i <= size; ++i) totals[i] = total += totals[i];
        for (; j < last && columns.ends[j + 1] <= start + size; ++j) {
            const uint64_t here = totals[columns.ends[j + 1] - start];
            sums[j] = static_cast<int64_t>(here - before);
            before = here;
        }
        totals[0] = totals[size];
    }
    for (; j < last; ++j) sums[j] = 0;
}

static inline void several_sums(const Lines& columns, const int32_t* codes, int64_t outputs, int64_t first, int64_t last,
                                int64_t stride, int64_t* sums) {
    std::vector<int64_t> totals(outputs);
    for (int64_t j = first; j < last; ++j) {
        const int64_t start = columns.begin(j), size = columns.size(j);
        std::fill(totals.begin(), totals.end(), 0);
        for (int64_t i = 0; i < size; ++i) {
            const int64_t x = columns.values[start + i];
            if (x == 0) continue;
            const int32_t* const row = codes + (columns.dense() ? i : columns.indices[start + i]) * outputs;
            for (int64_t k = 0; k < outputs; ++k) totals[k] += x * row[k];
        }
        for (int64_t k = 0; k < outputs; ++k) sums[k * stride + j] = totals[k];
    }
}

// Wide vectors gain only where there are as many outputs as they hold numbers.
WIDEST_VECTORS
static void many_sums(const Lines& columns, const int32_t* codes, int64_t outputs, int64_t first, int64_t last,
                      int64_t stride, int64_t* sums) {
    several_sums(columns, codes, outputs, first, last, stride, sums);
}

// sums[k * stride + j] = sum over rows of codes[row, k] * x[row, j], for features first <= j < last.
static void column_sums(const Lines& columns, const int32_t* codes, int64_t outputs, int64_t first, int64_t last,
                        int64_t stride, int64_t* sums) {
    if (outputs == 1 && columns.dense()) {
        int64_t j = first;
        for (; j + 4 <= last; j += 4)
            four_dense_dots(columns.values + columns.begin(j), codes, columns.width, sums + j);
        for (; j < last; ++j) sums[j] = dense_dot(columns.values + columns.begin(j), codes, columns.width);
        return;
    }
    if (outputs == 1 && columns.ends[last] - columns.ends[first] < 32 * (last - first)) {
        short_column_sums(columns, codes, first, last, sums);
        return;
    }
    if (outputs == 1) {
        for (int64_t j = first; j < last; ++j) {
            const int64_t start = columns.ends[j];
            sums[j] = sparse_dot(columns.values + start, columns.indices + start, codes, columns.size(j));
        }
        return;
    }
    if (outputs < 8)
        several_sums(columns, codes, outputs, first, last, stride, sums);
    else
        many_sums(columns, codes, outputs, first, last, stride, sums);
}

WIDEST_VECTORS
static void add_weighted(const int32_t* x, int64_t n, int64_t weight, int64_t* sums) {
    for (int64_t i = 0; i < n; ++i) sums[i] += x[i] * weight;
}

// sums[row, k] += x[row, j] * weights[j, k], whole numbers, for the rows in [first, last).
WIDEST_VECTORS
static void row_sums(const Lines& columns, const int64_t* weights, int64_t outputs, int64_t first, int64_t last,
                     int64_t* sums) {
    for (int64_t j = 0; j < columns.lines; ++j) {
        const int64_t* const weight = weights + j * outputs;
        if (std::all_of(weight, weight + outputs, [](int64_t w) { return w == 0; })) continue;
        const int64_t start = columns.from(j, first), end = columns.from(j, last);
        if (columns.dense() && outputs == 1) {
            add_weighted(columns.values + start, end - start, weight[0], sums + first);
            continue;
        }
        for (int64_t e = start; e < end; ++e) {
            int64_t* const row = sums + (columns.dense() ? first + e - start : columns.indices[e]) * outputs;
            for (int64_t k = 0; k < outputs; ++k) row[k] += columns.values[e] * weight[k];
        }
    }
}

}  // namespace hardzero
