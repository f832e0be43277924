// Rows of a sparse matrix from runs of neighbouring features, as columns of a table become them.
#pragma once

#include <cstdint>
#include <vector>

namespace hardzero {

using std::int32_t;
using std::int64_t;

// What one column adds: in row i the value values[i] in lengths[i] features from places[i] on, counted from `first`.
struct Runs {
    int64_t first = 0;
    const int32_t* places = nullptr;
    const int32_t* lengths = nullptr;
    const double* values = nullptr;
};

// ends[i + 1] = the number of entries of all rows up to i.
static void run_ends(const std::vector<Runs>& columns, int64_t rows, int64_t* ends) {
    for (int64_t i = 0; i <= rows; ++i) ends[i] = 0;
    for (const Runs& column : columns)
        for (int64_t i = 0; i < rows; ++i) ends[i + 1] += column.lengths[i];
    for (int64_t i = 0; i < rows; ++i) ends[i + 1] += ends[i];
}

// The entries of every row, one column's after the other's. Few rows at a time, which the cache holds.
template <typename Index>
static void put_runs(const std::vector<Runs>& columns, int64_t rows, const int64_t* ends, Index* indices, double* data) {
    const int64_t together = 256;
    std::vector<int64_t> next(together);
    for (int64_t start = 0; start < rows; start += together) {
        const int64_t end = start + together < rows ? start + together : rows;
        for (int64_t i = start; i < end; ++i) next[i - start] = ends[i];
        for (const Runs& column : columns) {
            for (int64_t i = start; i < end; ++i) {
                int64_t& place = next[i - start];
                const int64_t feature = column.first + column.places[i];
                for (int32_t k = 0; k < column.lengths[i]; ++k, ++place) {
                    indices[place] = static_cast<Index>(feature + k);
                    data[place] = column.values[i];
                }
            }
        }
    }
}

}  // namespace hardzero
