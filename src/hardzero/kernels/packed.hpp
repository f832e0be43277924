// Rows prepared for many passes. What they give is what fast.hpp gives for the same rows as they are, to the bit: all sums
// are sums of whole numbers that are held exactly.
#pragma once

#include "descent.hpp"

namespace hardzero {

using std::uint16_t;

// A feature that is set in a larger share of the rows than one of so many is a bit of every row, otherwise a list of rows.
constexpr int64_t RARE = 16;
// The same for numbers: lists of rows with their values, or a line with all rows.
constexpr int64_t RARE_NUMBER = 4;

// Features in lists: list l holds the rows, and perhaps the values, of feature features[l].
struct RowLists {
    std::vector<int64_t> features, ends{0};
    std::vector<int32_t> signs;
    std::vector<uint16_t> rows;
    std::vector<int32_t> values;

    int64_t count() const { return static_cast<int64_t>(features.size()); }
    void close(int64_t feature, int32_t sign) {
        features.push_back(feature);
        signs.push_back(sign);
        ends.push_back(static_cast<int64_t>(rows.size()));
    }
};

// At most 2^16 rows. A feature that is -1, 0 or 1 times its bound in all of them is one flag or two; a flag says in which
// rows the feature is at its sign times its bound, as bit f of words[row], 32 flags to a line of words, or as a list of
// rows (`marks`). Any other feature is a line of numbers (`wide`), or a list of rows and values (`numbers`).
struct Piece {
    int64_t start = 0, rows = 0;
    std::vector<uint32_t> words;
    std::vector<int64_t> flagged;
    std::vector<int32_t> signs;
    RowLists marks, numbers;
    std::vector<int64_t> wide;
    std::vector<const int32_t*> lines;  // of the table that was packed, or of `own`
    std::vector<int32_t> own;

    int64_t flag_count() const { return static_cast<int64_t>(flagged.size()); }
    int64_t wide_count() const { return static_cast<int64_t>(wide.size()); }
    const uint32_t* line(int64_t flag) const { return words.data() + flag / 32 * rows; }
    static uint32_t bit(int64_t flag) { return uint32_t{1} << (flag % 32); }
    uint32_t* new_flag(int64_t feature, int32_t sign) {
        const int64_t flag = flag_count();
        flagged.push_back(feature);
        signs.push_back(sign);
        words.resize((flag / 32 + 1) * rows);
        return words.data() + flag / 32 * rows;
    }
};

// How often a line is at its bound and at minus its bound; `other` if it is anywhere else than there or at zero.
struct Found {
    int64_t plus = 0, minus = 0;
    bool other = false;
};

WIDEST_VECTORS
static Found find_values(const int32_t* x, int64_t n) {
    const int32_t one = 1 << FEATURE_BITS;
    Found found;
    for (int64_t start = 0; start < n && !found.other; start += BLOCK) {
        const int64_t end = std::min(start + BLOCK, n);
        int32_t plus = 0, minus = 0, rest = 0;
        for (int64_t i = start; i < end; ++i) {
            plus += x[i] == one;
            minus += x[i] == -one;
            rest |= x[i] & (one - 1);
        }
        found.plus += plus;
        found.minus += minus;
        found.other = rest != 0;
    }
    return found;
}

WIDEST_VECTORS
static void set_bits(const int32_t* x, int64_t n, int32_t value, uint32_t bit, uint32_t* words) {
    for (int64_t i = 0; i < n; ++i) words[i] |= x[i] == value ? bit : 0;
}

// Packs the next feature, given as a line with all rows, which has to stay where it is.
static void pack_line(Piece& piece, int64_t feature, const int32_t* x) {
    const Found found = find_values(x, piece.rows);
    if (found.other) {
        piece.wide.push_back(feature);
        piece.lines.push_back(x);
        return;
    }
    for (const int32_t sign : {1, -1}) {
        const int64_t count = sign > 0 ? found.plus : found.minus;
        const int32_t value = sign * (1 << FEATURE_BITS);
        if (count * RARE > piece.rows) {
            uint32_t* const words = piece.new_flag(feature, sign);
            set_bits(x, piece.rows, value, Piece::bit(piece.flag_count() - 1), words);
        } else if (count) {
            for (int64_t i = 0; i < piece.rows; ++i)
                if (x[i] == value) piece.marks.rows.push_back(static_cast<uint16_t>(i));
            piece.marks.close(feature, sign);
        }
    }
}

// Packs the next feature, given by its entries: `rows` rise, and count from `first`.
static void pack_entries(Piece& piece, int64_t feature, const int32_t* rows, const int32_t* x, int64_t n, int64_t first) {
    const Found found = find_values(x, n);
    if (found.other && n * RARE_NUMBER > piece.rows) {
        const size_t place = piece.own.size();
        piece.own.resize(place + piece.rows);
        for (int64_t e = 0; e < n; ++e) piece.own[place + rows[e] - first] = x[e];
        piece.wide.push_back(feature);
        return;
    }
    if (found.other) {
        for (int64_t e = 0; e < n; ++e) piece.numbers.rows.push_back(static_cast<uint16_t>(rows[e] - first));
        piece.numbers.values.insert(piece.numbers.values.end(), x, x + n);
        piece.numbers.close(feature, 1);
        return;
    }
    for (const int32_t sign : {1, -1}) {
        const int64_t count = sign > 0 ? found.plus : found.minus;
        const int32_t value = sign * (1 << FEATURE_BITS);
        if (count * RARE > piece.rows) {
            uint32_t* const words = piece.new_flag(feature, sign);
            const uint32_t bit = Piece::bit(piece.flag_count() - 1);
            for (int64_t e = 0; e < n; ++e) words[rows[e] - first] |= x[e] == value ? bit : 0;
        } else if (count) {
            for (int64_t e = 0; e < n; ++e)
                if (x[e] == value) piece.marks.rows.push_back(static_cast<uint16_t>(rows[e] - first));
            piece.marks.close(feature, sign);
        }
    }
}

// A piece of a table with a line for each feature, `stride` apart, features in the order of `columns`.
static Piece packed_lines(const int32_t* table, int64_t stride, const int64_t* columns, int64_t features, int64_t rows) {
    Piece piece;
    piece.rows = rows;
    for (int64_t j = 0; j < features; ++j) pack_line(piece, j, table + columns[j] * stride);
    return piece;
}

// Pieces of a table with entries for each feature, `size` rows each.
static std::vector<Piece> packed_entries(const Lines& table, const int64_t* columns, int64_t features, int64_t rows,
                                         int64_t size) {
    std::vector<Piece> pieces((rows + size - 1) / size);
    std::vector<int64_t> next(features);  // the first entry of each feature that is in no piece yet
    for (int64_t j = 0; j < features; ++j) next[j] = table.ends[columns[j]];
    for (size_t p = 0; p < pieces.size(); ++p) {
        const int64_t first = static_cast<int64_t>(p) * size, last = std::min(first + size, rows);
        pieces[p].rows = last - first;
        for (int64_t j = 0; j < features; ++j) {
            const int32_t* const from = table.indices + next[j];
            const int32_t* const end = table.indices + table.ends[columns[j] + 1];
            const int64_t n = std::lower_bound(from, std::min(from + size, end), last) - from;
            pack_entries(pieces[p], j, from, table.values + next[j], n, first);
            next[j] += n;
        }
        for (int64_t w = 0; w < pieces[p].wide_count(); ++w)
            pieces[p].lines.push_back(pieces[p].own.data() + w * pieces[p].rows);
    }
    return pieces;
}

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

// Sum of code times feature over a block's rows. Double precision adds so few whole numbers below 2^36 exactly, in any
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

// Sums over lists: not for wide vectors, which fetch from scattered places no faster, on some processors far slower.
static void add_list_sums(const RowLists& lists, const int32_t* codes, int64_t outputs, int64_t k, int64_t* sums) {
    for (int64_t l = 0; l < lists.count(); ++l) {
        int64_t total = 0;
        if (lists.values.empty()) {
            for (int64_t e = lists.ends[l]; e < lists.ends[l + 1]; ++e) total += codes[lists.rows[e] * outputs + k];
            total *= lists.signs[l] * (1 << FEATURE_BITS);
        } else {
            for (int64_t e = lists.ends[l]; e < lists.ends[l + 1]; ++e)
                total += static_cast<int64_t>(lists.values[e]) * codes[lists.rows[e] * outputs + k];
        }
        sums[lists.features[l]] += total;
    }
}

// sums[k, j] += sum over a piece's rows of codes[row, k] * x[row, j].
WIDEST_VECTORS
static void add_block_sums(const Piece& piece, const int32_t* codes, int64_t outputs, int64_t features, int64_t* sums) {
    std::vector<int32_t> apart(outputs * BLOCK), totals(piece.flag_count() + 3);
    std::vector<double> real(outputs * BLOCK);
    for (int64_t start = 0; start < piece.rows; start += BLOCK) {
        const int64_t size = std::min(BLOCK, piece.rows - start);
        for (int64_t k = 0; k < outputs; ++k) {
            int32_t* const code = apart.data() + k * BLOCK;
            for (int64_t i = 0; i < size; ++i) code[i] = codes[(start + i) * outputs + k];
            for (int64_t i = 0; i < size; ++i) real[k * BLOCK + i] = code[i];
            flag_sums(piece, code, start, size, totals.data());
            for (int64_t f = 0; f < piece.flag_count(); ++f)
                sums[k * features + piece.flagged[f]] +=
                    static_cast<int64_t>(totals[f]) * piece.signs[f] * (1 << FEATURE_BITS);
        }
        for (int64_t w = 0; w < piece.wide_count(); ++w)
            for (int64_t k = 0; k < outputs; ++k)
                sums[k * features + piece.wide[w]] += wide_sum(piece.lines[w] + start, real.data() + k * BLOCK, size);
    }
}

static void piece_sums(const Piece& piece, const int32_t* codes, int64_t outputs, int64_t features, int64_t* sums) {
    add_block_sums(piece, codes, outputs, features, sums);
    for (int64_t k = 0; k < outputs; ++k) {
        add_list_sums(piece.marks, codes, outputs, k, sums + k * features);
        add_list_sums(piece.numbers, codes, outputs, k, sums + k * features);
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

// sums[i] += weight times feature, for a block's row i and all wide features, four at a time.
static inline void add_wide(const Piece& piece, const double* weights, int64_t start, int64_t size, double* sums) {
    const auto line = [&piece, start](int64_t w) { return piece.lines[w] + start; };
    int64_t w = 0;
    for (; w + 4 <= piece.wide_count(); w += 4) {
        const int32_t *const a = line(w), *const b = line(w + 1), *const c = line(w + 2), *const d = line(w + 3);
        const double p = weights[w], q = weights[w + 1], r = weights[w + 2], s = weights[w + 3];
        for (int64_t i = 0; i < size; ++i) sums[i] += (a[i] * p + b[i] * q) + (c[i] * r + d[i] * s);
    }
    for (; w < piece.wide_count(); ++w) {
        const int32_t* const a = line(w);
        for (int64_t i = 0; i < size; ++i) sums[i] += a[i] * weights[w];
    }
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
    for (int64_t l = 0; l < piece.marks.count(); ++l) {
        const int32_t weight = weights[piece.marks.features[l] * outputs + k] * piece.marks.signs[l];
        for (int64_t e = piece.marks.ends[l]; e < piece.marks.ends[l + 1]; ++e)
            sums.units[piece.marks.rows[e]] += weight;
    }
    for (int64_t l = 0; l < piece.numbers.count(); ++l) {
        const double weight = weights[piece.numbers.features[l] * outputs + k];
        for (int64_t e = piece.numbers.ends[l]; e < piece.numbers.ends[l + 1]; ++e)
            sums.numbers[piece.numbers.rows[e]] += piece.numbers.values[e] * weight;
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
        add_wide(piece, sums.wide_weights.data(), start, size, numbers);
        double* const to = margins + start * outputs;
        for (int64_t i = 0; i < size; ++i) to[i * outputs] = numbers[i] * unit;
    }
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
        for (int64_t p = first; p < last; ++p)
            piece_sums(pieces_[p], codes + pieces_[p].start * outputs, outputs, features_, sums);
    }

    void margins(const int32_t* weights, int64_t outputs, double unit, int64_t first, int64_t last,
                 double* margins) const {
        RowSums sums;
        for (int64_t p = first; p < last; ++p)
            piece_margins(pieces_[p], weights, outputs, unit, sums, margins + pieces_[p].start * outputs);
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
