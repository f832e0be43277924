# distutils: language = c++
# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Doors to the loops in fast.hpp and engine.hpp; callers check shapes, kinds and ranges (kernels/__init__.py)."""

from libc.stdint cimport int32_t, int64_t


cdef extern from "fast.hpp" namespace "hardzero" nogil:
    cdef cppclass Lines:
        int64_t lines
        int64_t width
        const int64_t* ends
        const int32_t* indices
        const int32_t* values

    void c_sigmoids "hardzero::sigmoids"(const double*, int64_t, double*)
    void c_softmaxes "hardzero::softmaxes"(double*, int64_t, int64_t)
    void c_block_tops "hardzero::block_tops"(const int64_t*, int64_t, int64_t, int64_t*)
    void c_column_sums "hardzero::column_sums"(
        const Lines&, const int32_t*, int64_t, int64_t, int64_t, int64_t, int64_t*
    )
    void c_row_sums "hardzero::row_sums"(const Lines&, const int64_t*, int64_t, int64_t*)


cdef extern from "engine.hpp" namespace "hardzero" nogil:
    cdef cppclass CEngine "hardzero::Engine":
        CEngine(
            Lines, Lines, const int64_t*, int64_t, int, double, const double*, const double*, int64_t, int64_t,
            int64_t, int32_t*, int64_t*, int64_t*
        ) except +
        void add(int64_t, int64_t, int64_t, double) except +
        void refresh(int64_t, const double*, double, int64_t) except +


cdef Lines lines_of(stored) except *:
    """From (ends, indices, values) of compressed lines, or from one array with a line in each row."""
    cdef Lines lines
    cdef const int64_t[::1] ends
    cdef const int32_t[::1] indices
    cdef const int32_t[::1] values
    cdef const int32_t[:, ::1] table
    if isinstance(stored, tuple):
        ends, indices, values = stored
        lines.lines = ends.shape[0] - 1
        lines.ends = &ends[0]
        # An address is needed even where nothing is stored: it tells compressed lines from dense ones.
        lines.indices = &indices[0] if indices.shape[0] else <const int32_t*> &ends[0]
        lines.values = &values[0] if values.shape[0] else <const int32_t*> &ends[0]
    else:
        table = stored
        lines.lines = table.shape[0]
        lines.width = table.shape[1]
        lines.values = &table[0, 0] if table.shape[0] and table.shape[1] else NULL
    return lines


def sigmoids(const double[::1] margins, double[::1] result):
    """Write 1/(1 + e^-v)."""
    if margins.shape[0]:
        with nogil:
            c_sigmoids(&margins[0], margins.shape[0], &result[0])


def softmaxes(double[:, ::1] margins):
    """Replace every row of margins by the probabilities of its classes."""
    if margins.shape[0] and margins.shape[1]:
        with nogil:
            c_softmaxes(&margins[0, 0], margins.shape[0], margins.shape[1])


def block_tops(const int64_t[::1] values, int64_t block, int64_t[::1] tops):
    """Write the largest magnitude of each block of values."""
    if values.shape[0]:
        with nogil:
            c_block_tops(&values[0], values.shape[0], block, &tops[0])


def column_sums(columns, const int32_t[:, ::1] codes, int64_t first, int64_t last, int64_t[:, ::1] sums):
    """Write sums over rows of code times feature, for the features in [first, last)."""
    cdef Lines lines = lines_of(columns)
    if codes.shape[0] and codes.shape[1] and last > first:
        with nogil:
            c_column_sums(lines, &codes[0, 0], codes.shape[1], first, last, sums.shape[1], &sums[0, 0])


def row_sums(columns, const int64_t[:, ::1] weights, int64_t[:, ::1] sums):
    """Add feature times weight to every row's sums."""
    cdef Lines lines = lines_of(columns)
    if sums.shape[0] and sums.shape[1] and weights.shape[0]:
        with nogil:
            c_row_sums(lines, &weights[0, 0], weights.shape[1], &sums[0, 0])


cdef class Engine:
    """See engine.hpp; it writes into the arrays ``codes``, ``sums`` and ``tops``."""

    cdef CEngine* engine
    cdef object kept_alive

    def __cinit__(
        self, columns, rows, const int64_t[::1] features, int loss, double unit, const double[::1] targets,
        const double[::1] scales, int64_t block, int32_t[:, ::1] codes, int64_t[:, ::1] sums, int64_t[:, ::1] tops,
    ):
        self.kept_alive = (columns, rows, features, targets, scales, codes, sums, tops)
        self.engine = new CEngine(
            lines_of(columns), lines_of(rows), &features[0], codes.shape[1], loss, unit, &targets[0], &scales[0],
            scales.shape[0] - 1, sums.shape[1], block, &codes[0, 0], &sums[0, 0], &tops[0, 0],
        )

    def __dealloc__(self):
        del self.engine

    def add(self, int64_t t, int64_t output, int64_t feature, double weight):
        """Add weight times feature to one output's margins, which are kept divided by the scale of step t."""
        with nogil:
            self.engine.add(t, output, feature, weight)

    def refresh(self, int64_t t, const double[::1] intercept, double cap, int64_t tolerance):
        """Replace the codes that have moved by more than the tolerance."""
        with nogil:
            self.engine.refresh(t, &intercept[0], cap, tolerance)
