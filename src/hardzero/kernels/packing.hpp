// Rows prepared for many passes: each feature of a piece of the rows in the form that packed.hpp reads fastest.
#pragma once

#include "descent.hpp"

namespace hardzero {

using std::uint16_t;

// A feature that is set in a larger share of the rows than one of so many is a bit of every row, otherwise a list of rows.
constexpr int64_t RARE = 12;
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

}  // namespace hardzero
