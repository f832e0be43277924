# distutils: language = c++
# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Doors to the loops in fast.hpp, engine.hpp, descent.hpp and packed.hpp;
callers check shapes, kinds and ranges (kernels/__init__.py)."""

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
    void c_row_sums "hardzero::row_sums"(const Lines&, const int64_t*, int64_t, int64_t, int64_t, int64_t*)


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


def row_sums(columns, const int64_t[:, ::1] weights, int64_t first, int64_t last, int64_t[:, ::1] sums):
    """Add feature times weight to the sums of the rows in [first, last)."""
    cdef Lines lines = lines_of(columns)
    if sums.shape[0] and sums.shape[1] and weights.shape[0]:
        with nogil:
            c_row_sums(lines, &weights[0, 0], weights.shape[1], first, last, &sums[0, 0])


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


# --- The noisy descent: descent.hpp -------------------------------------------------------------------------------

from libc.stdint cimport uint32_t
from libcpp cimport bool as c_bool


cdef extern from "descent.hpp" namespace "hardzero" nogil:
    c_bool c_scaled_codes "hardzero::scaled_codes"[Number](
        const Number*, int64_t, int64_t, int64_t, int64_t, const double*, const double*, const double*, int32_t*
    )
    void c_add_squares "hardzero::add_squares"(
        const Lines&, const double*, const double*, const double*, int64_t, int64_t, double*
    )
    void c_square_sums "hardzero::square_sums"(const Lines&, const int32_t*, int64_t, int64_t, int64_t*)
    void c_logistic_weighted "hardzero::logistic_weighted"(
        const double*, double, const double*, const double*, double, double, int64_t, int32_t*, int32_t*
    )
    void c_softmax_weighted "hardzero::softmax_weighted"(
        const double*, const double*, const int64_t*, const double*, int64_t, double, double, int64_t, int64_t,
        int32_t*, int32_t*
    )
    void c_code_totals "hardzero::code_totals"(const int32_t*, int64_t, int64_t, int64_t*)


ctypedef fused number:
    float
    double


def scaled_codes(
    const number[:, :] X, const double[::1] lower, const double[::1] upper, const double[::1] factor,
    int32_t[:, ::1] codes,
):
    """Write clipped, scaled and rounded numbers by features; return whether all were finite."""
    cdef c_bool finite = True
    if X.shape[0] and X.shape[1]:
        with nogil:
            finite = c_scaled_codes(
                &X[0, 0], X.shape[0], X.shape[1], X.strides[0] // <int64_t> sizeof(number),
                X.strides[1] // <int64_t> sizeof(number), &lower[0], &upper[0], &factor[0], &codes[0, 0],
            )
    return finite


def add_squares(
    columns, const double[::1] centre, const double[::1] scale, const double[::1] at_zero, int64_t first, int64_t last,
    double[::1] totals,
):
    """Add squared standardised features, less what they are at zero, to the totals of the rows in [first, last)."""
    cdef Lines lines = lines_of(columns)
    if lines.lines and last > first:
        with nogil:
            c_add_squares(lines, &centre[0], &scale[0], &at_zero[0], first, last, &totals[0])


def square_sums(columns, const int32_t[::1] codes, int64_t first, int64_t last, int64_t[::1] sums):
    """Write sums over rows of code times squared feature, for the features in [first, last)."""
    cdef Lines lines = lines_of(columns)
    if last > first and codes.shape[0]:
        with nogil:
            c_square_sums(lines, &codes[0], first, last, &sums[0])


def logistic_weighted(
    const double[:, ::1] margins, const double[::1] offset, const double[:, ::1] targets, const double[:, ::1] squares,
    double limit, double one, int64_t first, int64_t last, int32_t[:, ::1] codes, int32_t[:, ::1] bends,
):
    """Write weighted residuals and curvatures of two classes for the rows in [first, last)."""
    if last > first:
        with nogil:
            c_logistic_weighted(
                &margins[first, 0], offset[0], &targets[first, 0], &squares[first, 0], limit, one, last - first,
                &codes[first, 0], &bends[first, 0],
            )


def softmax_weighted(
    const double[:, ::1] margins, const double[::1] offset, const int64_t[::1] targets,
    const double[:, ::1] squares, double limit, double one, int64_t first, int64_t last,
    int32_t[:, ::1] codes, int32_t[:, ::1] bends,
):
    """Write weighted residuals and curvatures of several classes for the rows in [first, last)."""
    if last > first:
        with nogil:
            c_softmax_weighted(
                &margins[first, 0], &offset[0], &targets[first], &squares[first, 0], squares.shape[1], limit, one,
                last - first, margins.shape[1], &codes[first, 0], &bends[first, 0],
            )


def code_totals(const int32_t[:, ::1] codes, int64_t first, int64_t last, int64_t[::1] totals):
    """Add up the codes of the rows in [first, last)."""
    if last > first and codes.shape[1]:
        with nogil:
            c_code_totals(&codes[first, 0], last - first, codes.shape[1], &totals[0])


# --- Rows prepared for many passes: packed.hpp ----------------------------------------------------------------------

cdef extern from "packed.hpp" namespace "hardzero" nogil:
    cdef cppclass Weighing:
        const double* offset
        const double* targets
        const int64_t* class_targets
        const double* squares
        int64_t squares_step
        double limit
        double one

    cdef cppclass CPieces "hardzero::Pieces":
        CPieces(int64_t) except +
        void add_lines(const int32_t*, int64_t, const int64_t*, int64_t) except +
        void add_entries(const Lines&, const int64_t*, int64_t, int64_t) except +
        int64_t count()
        void column_sums(const int32_t*, int64_t, int64_t, int64_t, int64_t*) except +
        void margins(const int32_t*, int64_t, double, int64_t, int64_t, double*) except +
        void weighted_sums(
            const int32_t*, int64_t, double, const Weighing&, int64_t, int64_t, int64_t*, int64_t*, int64_t*
        ) except +


cdef class Pieces:
    """A table of pieces of at most 2^16 rows, added one after the other; see packed.hpp."""

    cdef CPieces* pieces
    cdef list kept_alive

    def __cinit__(self, int64_t features):
        self.pieces = new CPieces(features)
        self.kept_alive = []

    def __dealloc__(self):
        del self.pieces

    @property
    def count(self):
        """Number of pieces."""
        return self.pieces.count()

    def add_lines(self, const int32_t[:, :] table, const int64_t[::1] columns):
        """Add a piece of a table with a line for each feature, whose rows lie one after the other."""
        cdef const int32_t* address = &table[0, 0] if table.shape[0] and table.shape[1] else NULL
        cdef int64_t stride = table.strides[0] // <int64_t> sizeof(int32_t)
        if table.strides[1] != sizeof(int32_t):
            raise ValueError("the rows of a line must lie one after the other")
        self.kept_alive.append(table)
        if columns.shape[0] and table.shape[1]:
            with nogil:
                self.pieces.add_lines(address, stride, &columns[0], table.shape[1])

    def add_entries(self, stored, const int64_t[::1] columns, int64_t rows, int64_t size):
        """Add pieces of ``size`` rows of a table with compressed columns; nothing of it is needed later."""
        cdef Lines lines = lines_of(stored)
        if columns.shape[0] and rows:
            with nogil:
                self.pieces.add_entries(lines, &columns[0], rows, size)

    def column_sums(self, const int32_t[:, ::1] codes, int64_t first, int64_t last, int64_t[:, ::1] sums):
        """Add sums of code times feature over the rows of the pieces in [first, last)."""
        if last > first and codes.shape[1]:
            with nogil:
                self.pieces.column_sums(&codes[0, 0], codes.shape[1], first, last, &sums[0, 0])

    def margins(
        self, const int32_t[:, ::1] weights, double unit, int64_t first, int64_t last, double[:, ::1] margins
    ):
        """Write sums of feature times weight, in units, for the rows of the pieces in [first, last)."""
        if last > first and weights.shape[1]:
            with nogil:
                self.pieces.margins(&weights[0, 0], weights.shape[1], unit, first, last, &margins[0, 0])

    def weighted_sums(
        self, const int32_t[:, ::1] weights, double unit, const double[::1] offset, targets,
        const double[:, ::1] squares, double limit, double one, int64_t first, int64_t last, int64_t[:, ::1] sums,
        int64_t[::1] totals, int64_t[::1] bend_totals,
    ):
        """Add sums of weighted residuals times features, of residuals, and of curvatures, over pieces in [first, last)."""
        cdef const double[:, ::1] chances
        cdef const int64_t[::1] classes
        cdef Weighing weighing
        if last <= first:
            return
        if weights.shape[1] == 1:
            chances = targets
            weighing.targets = &chances[0, 0]
        else:
            classes = targets
            weighing.class_targets = &classes[0]
        weighing.offset = &offset[0]
        weighing.squares, weighing.squares_step = &squares[0, 0], squares.shape[1]
        weighing.limit, weighing.one = limit, one
        with nogil:
            self.pieces.weighted_sums(
                &weights[0, 0], weights.shape[1], unit, weighing, first, last, &sums[0, 0], &totals[0], &bend_totals[0]
            )


# --- Tables as matrices: runs.hpp -----------------------------------------------------------------------------------

from libcpp.vector cimport vector


cdef extern from "runs.hpp" namespace "hardzero" nogil:
    cdef cppclass Runs:
        int64_t first
        const int32_t* places
        const int32_t* lengths
        const double* values

    void c_run_ends "hardzero::run_ends"(const vector[Runs]&, int64_t, int64_t*)
    void c_put_runs "hardzero::put_runs"[Index](const vector[Runs]&, int64_t, const int64_t*, Index*, double*)


ctypedef fused index:
    int32_t
    int64_t


cdef vector[Runs] runs_of(columns) except *:
    """From (first, places, lengths, values) for each column."""
    cdef vector[Runs] found
    cdef Runs runs
    cdef const int32_t[::1] places
    cdef const int32_t[::1] lengths
    cdef const double[::1] values
    for runs.first, places, lengths, values in columns:
        if places.shape[0]:
            runs.places, runs.lengths, runs.values = &places[0], &lengths[0], &values[0]
        found.push_back(runs)
    return found


def run_ends(columns, int64_t[::1] ends):
    """Write where the entries of each row begin, and where the last end."""
    cdef vector[Runs] runs = runs_of(columns)
    with nogil:
        c_run_ends(runs, ends.shape[0] - 1, &ends[0])


def put_runs(columns, const int64_t[::1] ends, index[::1] indices, double[::1] data):
    """Write the features and values of all entries, row after row."""
    cdef vector[Runs] runs = runs_of(columns)
    if indices.shape[0]:
        with nogil:
            c_put_runs(runs, ends.shape[0] - 1, &ends[0], &indices[0], &data[0])
