// Passes over packed rows. What they give is what fast.hpp gives for the same rows as they are, to the bit: all sums are
// sums of whole numbers that are held exactly.
#pragma once

#include "packing.hpp"

namespace hardzero {

static inline int32_t if_set(uint32_t word, uint32_t bit, int32_t value) { return word & bit ? value : 0; }

// totals[f] = sum of the codes of a block's rows where flag f is set. Four flags at a time: words are read less often.
static inline void flag_sums(const Piece& piece, const int32_t* codes, int64_t start, int64_t size, int32_t* totals) {
    for (int64_t f = 0; f < piece.flag_count(); f += 4) {  // 32 is a multiple of 4, and bits beyond the last are not set
        const uint32_t* const line = piece.line(f) + start;
        const uint32_t bit = Piece::bit(f);
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

// sums[j] += sum of code times feature over a piece's rows, for wide features j, four at a time: codes are read less often.
static inline void add_wide_sums(const Piece& piece, const int32_t* codes, int64_t* sums) {
    int64_t w = 0;
    for (; w + 4 <= piece.wide_count(); w += 4) {
        const int32_t *const a = piece.lines[w], *const b = piece.lines[w + 1];
        const int32_t *const c = piece.lines[w + 2], *const d = piece.lines[w + 3];
        int64_t of_a = 0, of_b = 0, of_c = 0, of_d = 0;
        for (int64_t i = 0; i < piece.rows; ++i) {
            const int64_t code = codes[i];
            of_a += a[i] * code;
            of_b += b[i] * code;
            of_c += c[i] * code;
            of_d += d[i] * code;
        }
        sums[piece.wide[w]] += of_a;
        sums[piece.wide[w + 1]] += of_b;
        sums[piece.wide[w + 2]] += of_c;
        sums[piece.wide[w + 3]] += of_d;
    }
    for (; w < piece.wide_count(); ++w) sums[piece.wide[w]] += dense_dot(piece.lines[w], codes, piece.rows);
}

// Sum of the codes of some rows, four at a time. Not for wide vectors, which fetch from scattered places no faster, and on
// some processors far slower.
static inline int64_t mark_sum(const uint16_t* rows, int64_t n, const int32_t* codes) {
    int64_t a = 0, b = 0, c = 0, d = 0;
    const uint16_t* const end = rows + n;
    for (; rows + 4 <= end; rows += 4) {
        a += codes[rows[0]];
        b += codes[rows[1]];
        c += codes[rows[2]];
        d += codes[rows[3]];
    }
    for (; rows < end; ++rows) a += codes[*rows];
    return (a + b) + (c + d);
}

static inline int64_t number_sum(const uint16_t* rows, const int32_t* x, int64_t n, const int32_t* codes) {
    int64_t total = 0;
    for (int64_t e = 0; e < n; ++e) total += static_cast<int64_t>(x[e]) * codes[rows[e]];
    return total;
}

// sums[j] += sum over a piece's rows of codes[row] * x[row, j], for features in lists.
static void add_list_sums(const Piece& piece, const int32_t* codes, int64_t* sums) {
    const RowLists &marks = piece.marks, &numbers = piece.numbers;
    for (int64_t l = 0; l < marks.count(); ++l) {
        const int64_t start = marks.ends[l], size = marks.ends[l + 1] - start;
        sums[marks.features[l]] +=
            mark_sum(marks.rows.data() + start, size, codes) * marks.signs[l] * (1 << FEATURE_BITS);
    }
    for (int64_t l = 0; l < numbers.count(); ++l) {
        const int64_t start = numbers.ends[l], size = numbers.ends[l + 1] - start;
        sums[numbers.features[l]] +=
            number_sum(numbers.rows.data() + start, numbers.values.data() + start, size, codes);
    }
}

// The same for features that are bits or lines, of codes that lie side by side.
WIDEST_VECTORS
static void add_line_sums(const Piece& piece, const int32_t* codes, int64_t* sums) {
    std::vector<int32_t> totals(piece.flag_count() + 3);
    for (int64_t start = 0; start < piece.rows && piece.flag_count(); start += BLOCK) {
        flag_sums(piece, codes + start, start, std::min(BLOCK, piece.rows - start), totals.data());
        for (int64_t f = 0; f < piece.flag_count(); ++f)
            sums[piece.flagged[f]] += static_cast<int64_t>(totals[f]) * piece.signs[f] * (1 << FEATURE_BITS);
    }
    add_wide_sums(piece, codes, sums);
}

// sums[k, j] += sum over a piece's rows of codes[row, k] * x[row, j].
static void piece_sums(const Piece& piece, const int32_t* codes, int64_t outputs, int64_t features,
                       std::vector<int32_t>& apart, int64_t* sums) {
    if (outputs == 1) {
        add_line_sums(piece, codes, sums);
        add_list_sums(piece, codes, sums);
        return;
    }
    apart.resize(piece.rows);
    for (int64_t k = 0; k < outputs; ++k) {
        for (int64_t i = 0; i < piece.rows; ++i) apart[i] = codes[i * outputs + k];
        add_line_sums(piece, apart.data(), sums + k * features);
        add_list_sums(piece, apart.data(), sums + k * features);
    }
}

// units[i] += the weights of the flags set in a block's row i; weights are padded with zeros to a multiple of 4.
static inline void add_flags(const Piece& piece, const int32_t* weights, int64_t start, int64_t size, int32_t* units) {
    for (int64_t f = 0; f < piece.flag_count(); f += 4) {
        const uint32_t* const line = piece.line(f) + start;
        const uint32_t bit = Piece::bit(f);
        const int32_t a = weights[f], b = weights[f + 1], c = weights[f + 2], d = weights[f + 3];
        for (int64_t i = 0; i < size; ++i)
            units[i] += (if_set(line[i], bit, a) + if_set(line[i], bit << 1, b)) +
                        (if_set(line[i], bit << 2, c) + if_set(line[i], bit << 3, d));
    }
}

// sums[i] += weight times feature, for N wide features from w on as long as there are so many left; returns the next.
template <int N>
static inline int64_t add_wide(const Piece& piece, const double* weights, int64_t w, double* sums) {
    for (; w + N <= piece.wide_count(); w += N) {
        const int32_t* x[N];
        double weight[N];
        for (int n = 0; n < N; ++n) x[n] = piece.lines[w + n], weight[n] = weights[w + n];
        for (int64_t i = 0; i < piece.rows; ++i) {
            double total = 0;
            for (int n = 0; n < N; ++n) total += x[n][i] * weight[n];
            sums[i] += total;
        }
    }
    return w;
}

// Room for the sums of a piece's rows, for one output: those of flags and marks in units of 2^16, and those of numbers.
struct RowSums {
    std::vector<int32_t> units, flag_weights;
    std::vector<double> numbers, wide_weights;
};

// For one output k, with the weights of all features `outputs` apart.
static void add_lists(const Piece& piece, const int32_t* weights, int64_t outputs, int64_t k, RowSums& sums) {
    sums.units.assign(piece.rows, 0);
    sums.numbers.assign(piece.rows, 0.0);
    const RowLists &marks = piece.marks, &numbers = piece.numbers;
    int32_t* const units = sums.units.data();
    for (int64_t l = 0; l < marks.count(); ++l) {
        const int32_t weight = weights[marks.features[l] * outputs + k] * marks.signs[l];
        const uint16_t* const end = marks.rows.data() + marks.ends[l + 1];
        for (const uint16_t* row = marks.rows.data() + marks.ends[l]; row < end; ++row) units[*row] += weight;
    }
    for (int64_t l = 0; l < numbers.count(); ++l) {
        const double weight = weights[numbers.features[l] * outputs + k];
        for (int64_t e = numbers.ends[l]; e < numbers.ends[l + 1]; ++e)
            sums.numbers[numbers.rows[e]] += numbers.values[e] * weight;
    }
}

WIDEST_VECTORS
static void finish_margins(const Piece& piece, RowSums& sums, int64_t outputs, double unit, double* margins) {
    for (int64_t start = 0; start < piece.rows; start += BLOCK) {
        const int64_t size = std::min(BLOCK, piece.rows - start);
        int32_t* const units = sums.units.data() + start;
        double* const numbers = sums.numbers.data() + start;
        add_flags(piece, sums.flag_weights.data(), start, size, units);
        for (int64_t i = 0; i < size; ++i) numbers[i] += units[i] * static_cast<double>(1 << FEATURE_BITS);
    }
    double* const numbers = sums.numbers.data();
    const double* const weights = sums.wide_weights.data();
    add_wide<1>(piece, weights, add_wide<8>(piece, weights, 0, numbers), numbers);  // many at a time: memory sends more
    for (int64_t i = 0; i < piece.rows; ++i) margins[i * outputs] = numbers[i] * unit;
}

// margins[row, k] = unit * sum over features of x[row, j] * weights[j, k]. The weights of an output together are below 2^31
// in magnitude, so that all sums are whole numbers that double precision holds.
static void piece_margins(const Piece& piece, const int32_t* weights, int64_t outputs, double unit, RowSums& sums,
                          double* margins) {
    sums.flag_weights.assign((piece.flag_count() + 3) / 4 * 4, 0);
    sums.wide_weights.resize(piece.wide_count());
    for (int64_t k = 0; k < outputs; ++k) {
        for (int64_t f = 0; f < piece.flag_count(); ++f)
            sums.flag_weights[f] = weights[piece.flagged[f] * outputs + k] * piece.signs[f];
        for (int64_t w = 0; w < piece.wide_count(); ++w) sums.wide_weights[w] = weights[piece.wide[w] * outputs + k];
        add_lists(piece, weights, outputs, k, sums);
        finish_margins(piece, sums, outputs, unit, margins + k);
    }
}

// Residuals and curvatures of cross-entropy, as in descent.hpp, for rows given by their margins.
struct Weighing {
    const double* offset;
    const double* targets;        // of two classes, which have one output
    const int64_t* class_targets;  // of several
    const double* squares;
    int64_t squares_step;
    double limit, one;

    void codes(const double* margins, int64_t start, int64_t rows, int64_t outputs, int32_t* codes, int32_t* bends) const {
        const double* const lengths = squares + start * squares_step;
        if (outputs == 1)
            logistic_weighted(margins, offset[0], targets + start, lengths, limit, one, rows, codes, bends);
        else
            softmax_weighted(margins, offset, class_targets + start, lengths, squares_step, limit, one, rows, outputs,
                             codes, bends);
    }
};

// A table of pieces, one after the other.
class Pieces {
  public:
    explicit Pieces(int64_t features) : features_(features) {}

    void add_lines(const int32_t* table, int64_t stride, const int64_t* columns, int64_t rows) {
        add(packed_lines(table, stride, columns, features_, rows));
    }

    void add_entries(const Lines& table, const int64_t* columns, int64_t rows, int64_t size) {
        for (Piece& piece : packed_entries(table, columns, features_, rows, size)) add(std::move(piece));
    }

    int64_t count() const { return static_cast<int64_t>(pieces_.size()); }

    // Sums over the rows of the pieces in [first, last).
    void column_sums(const int32_t* codes, int64_t outputs, int64_t first, int64_t last, int64_t* sums) const {
        std::vector<int32_t> apart;
        for (int64_t p = first; p < last; ++p)
            piece_sums(pieces_[p], codes + pieces_[p].start * outputs, outputs, features_, apart, sums);
    }

    void margins(const int32_t* weights, int64_t outputs, double unit, int64_t first, int64_t last,
                 double* margins) const {
        RowSums sums;
        for (int64_t p = first; p < last; ++p)
            piece_margins(pieces_[p], weights, outputs, unit, sums, margins + pieces_[p].start * outputs);
    }

    // Sums of weighted residuals times features, of residuals and of curvatures. A piece stays in the cache from its margins
    // to its sums, so that memory is read once.
    void weighted_sums(const int32_t* weights, int64_t outputs, double unit, const Weighing& weighing, int64_t first,
                       int64_t last, int64_t* sums, int64_t* totals, int64_t* bend_totals) const {
        RowSums room;
        std::vector<double> at;
        std::vector<int32_t> codes, bends, apart;
        for (int64_t p = first; p < last; ++p) {
            const Piece& piece = pieces_[p];
            at.resize(piece.rows * outputs);
            codes.resize(piece.rows * outputs);
            bends.resize(piece.rows * outputs);
            piece_margins(piece, weights, outputs, unit, room, at.data());
            weighing.codes(at.data(), piece.start, piece.rows, outputs, codes.data(), bends.data());
            code_totals(codes.data(), piece.rows, outputs, totals);
            code_totals(bends.data(), piece.rows, outputs, bend_totals);
            piece_sums(piece, codes.data(), outputs, features_, apart, sums);
        }
    }

  private:
    void add(Piece&& piece) {
        piece.start = rows_;
        rows_ += piece.rows;
        pieces_.push_back(std::move(piece));
    }

    int64_t features_, rows_ = 0;
    std::vector<Piece> pieces_;
};

}  // namespace hardzero
