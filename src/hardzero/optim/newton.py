"""Newton's method on an L1 ball for a few features, with few passes over the rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..data.bounded import FloatArray
from .losses import Logistic, Loss, Softmax

Places = NDArray[np.intp]

INTERCEPT_REACH = 10.0
"""The certificate takes the best intercept to lie within this distance; its gradient is driven to about zero."""

_BLOCK = 2**17
"""Numbers in a block of rows, so that it stays in the processor's cache while it is used."""

_COPIED = 2**22
"""Up to this many numbers of a dense table are copied; more are read from where they are, block by block."""

_FILLED = 2**25
"""Up to this many numbers of a sparse table are stored densely, for the sake of BLAS."""

_THIN = 0.05
"""Below this share of nonzeros, sparse products are faster than BLAS."""

_RIDGE = 1e-10
"""Relative to the curvature; makes the quadratic model strictly convex when columns are equal or empty."""

_FLAT = 1e-10
"""Least second derivative of a row's logistic loss, for the same reason."""

_ROUNDING = 1e-14
"""Relative rounding error of a mean loss, generously."""

_STILL_GOOD = 0.1
"""A Hessian serves again while its step leaves no more than this share of the gap."""

_STEPS = 20


def is_sparse(table: Any) -> bool:
    """Whether a table or product is stored sparsely."""
    return bool(sparse.issparse(table))


@dataclass(frozen=True)
class Slab:
    """Some features of all rows, feature by feature, then a constant for each intercept; and what is to be fitted.

    ``outputs`` says on which output each feature and each constant acts. A large dense table is not copied:
    ``picked`` says which of its features belong to the slab.
    """

    table: Any
    picked: Places | None
    outputs: Places
    n_constants: int
    targets: Any
    loss: Loss

    @classmethod
    def of(cls, table: Any, features: Places, outputs: Places, n_constants: int, targets: Any, loss: Loss) -> Slab:
        """Take features of a table that is stored feature by feature, dense or CSR."""
        k, n_rows = len(features), table.shape[1]
        outputs = np.concatenate([outputs, np.arange(n_constants)])
        size = len(outputs) * n_rows
        picked: Places | None = None
        if not is_sparse(table) and size > _COPIED:
            picked = features
        elif not is_sparse(table):
            part = np.ones((len(outputs), n_rows))
            part[:k] = table[features]
            table = part
        else:
            table = table[features]
            if _THIN * size < table.nnz and size <= _FILLED:
                part = np.ones((len(outputs), n_rows))
                table.toarray(out=part[:k])
                table = part
            else:
                table = sparse.vstack([table, sparse.csr_array(np.ones((n_constants, n_rows)))], format="csr")
        return cls(table, picked, outputs, n_constants, targets, loss)

    def blocks(self) -> Iterator[tuple[slice, Any]]:
        """Yield rows as (features and constants, rows), block by block; a block is overwritten by the next one."""
        size, n_rows = len(self.outputs), self.table.shape[1]
        width = n_rows if is_sparse(self.table) else max(_BLOCK // max(size, 1), 256)
        buffer = np.ones((0 if self.picked is None else size, min(width, n_rows)))
        for start in range(0, n_rows, width):
            rows = slice(start, min(start + width, n_rows))
            if self.picked is None:
                yield rows, self.table if width >= n_rows else self.table[:, rows]
            else:
                block = buffer[:, : rows.stop - start]
                for row, feature in zip(block, self.picked, strict=False):  # the constants stay 1
                    row[:] = self.table[feature, rows]
                yield rows, block

    def margins(self, weights: FloatArray, block: Any) -> FloatArray:
        """Return the margins of a block's rows, (rows, outputs)."""
        by_output = np.zeros((self.loss.outputs, len(weights)))
        by_output[self.outputs, np.arange(len(weights))] = weights
        return np.asarray((by_output @ block).T)

    def sums(self, block: Any, residual: FloatArray) -> FloatArray:
        """Sum feature times residual over a block's rows, every feature with its own output."""
        return np.asarray((block @ residual)[np.arange(len(self.outputs)), self.outputs])


@dataclass(frozen=True)
class Evaluation:
    """The mean loss at some weights, each row's residuals and weights in the Hessian, and slopes along a slab."""

    value: float
    residual: FloatArray
    curvature: FloatArray
    slopes: FloatArray


@dataclass(frozen=True)
class Reached:
    """Where Newton's method ended, and a Hessian that may serve again from there."""

    weights: FloatArray
    point: Evaluation
    curved: FloatArray | None


def evaluate(slab: Slab, weights: FloatArray) -> Evaluation:
    """Evaluate weights, one for each feature and constant of the slab, in one pass over the rows."""
    shape = (len(slab.targets), slab.loss.outputs)
    residual, curvature = np.empty(shape), np.empty(shape)
    value, sums = 0.0, np.zeros(len(weights))
    for rows, block in slab.blocks():
        part, residual[rows], curvature[rows] = _derivatives(
            slab.loss, slab.margins(weights, block), slab.targets[rows]
        )
        value += part
        sums += slab.sums(block, residual[rows])
    return Evaluation(value / len(residual), residual, curvature, sums / len(residual))


def _derivatives(loss: Loss, margins: FloatArray, targets: Any) -> tuple[float, FloatArray, FloatArray]:
    """Return the sum of losses, residuals, and second derivatives; for softmax probabilities, which lead to them."""
    if isinstance(loss, Logistic):  # all from one exponential, which cannot overflow
        small = np.exp(-np.abs(margins))
        whole = 1.0 + small
        value = float(np.sum(np.maximum(margins, 0.0) - targets * margins + np.log1p(small)))
        probability = np.where(margins >= 0, 1.0, small) / whole
        return value, probability - targets, np.maximum(small / (whole * whole), _FLAT)
    value = loss.value(margins, targets) * len(margins)
    residual = loss.residual(margins, targets)
    if isinstance(loss, Softmax):
        probability = residual.copy()
        probability[np.arange(len(targets)), targets] += 1.0
        return value, residual, probability
    return value, residual, np.full_like(residual, loss.smoothness)


def hessian(slab: Slab, curvature: FloatArray) -> FloatArray:
    """Second derivatives of the mean loss along the slab.

    With several outputs, a row with class probabilities p adds x·x' times diag(p) - p·p'.
    """
    several = curvature.shape[1] > 1
    weights = curvature.T if several else np.sqrt(curvature).T
    same_output = slab.outputs[:, None] == slab.outputs
    total = np.zeros(same_output.shape)
    for rows, block in slab.blocks():
        scaled = _scaled(block, weights[:, rows], slab.outputs)
        square = _dense(scaled @ scaled.T)
        total += same_output * _dense(block @ scaled.T) - square if several else square
    return total / len(curvature)


def _scaled(block: Any, weights: FloatArray, outputs: Places) -> Any:
    """Multiply every feature by its output's weights of the rows."""
    if not is_sparse(block):
        return block * (weights[outputs] if len(weights) > 1 else weights)
    output = np.repeat(outputs, np.diff(block.indptr))
    values = block.data * weights[output, block.indices]
    return sparse.csr_array((values, block.indices, block.indptr), shape=block.shape)


def _dense(product: Any) -> FloatArray:
    return np.asarray(product.toarray() if is_sparse(product) else product)


def gap_of(weights: FloatArray, slopes: FloatArray, n_constants: int, radius: float) -> float:
    """Frank-Wolfe gap along a slab: no weights of the ball on its features can be better by more."""
    k = len(weights) - n_constants
    inside = float(slopes[:k] @ weights[:k]) + radius * float(np.abs(slopes[:k]).max(initial=0.0))
    return inside + INTERCEPT_REACH * float(np.abs(slopes[k:]).sum())


def newton_descent(
    slab: Slab, weights: FloatArray, point: Evaluation, curved: FloatArray | None, radius: float, target: float
) -> Reached:
    """Take Newton steps along a slab, within the ball, until its own gap is at most ``target``.

    ``point`` is what is known at ``weights``, ``curved`` a Hessian from nearby. The same point comes back if no
    step can improve it.
    """
    gap = gap_of(weights, point.slopes, slab.n_constants, radius)
    for _ in range(_STEPS):
        if gap <= target:
            break
        fresh = curved is None
        if curved is None:
            curved = hessian(slab, point.curvature)
        direction = _newton_direction(curved, weights, point.slopes, slab.n_constants, radius, 0.01 * gap)
        moved = _line_search(slab, weights, direction, point)
        if moved is None:
            curved = None
            if fresh:
                break
            continue
        weights, point = moved
        before, gap = gap, gap_of(weights, point.slopes, slab.n_constants, radius)
        if gap > _STILL_GOOD * before:
            curved = None
    return Reached(weights, point, curved)


def _newton_direction(
    curved: FloatArray, weights: FloatArray, slopes: FloatArray, n_constants: int, radius: float, tol: float
) -> FloatArray:
    """Return the way to the least value of the quadratic model, weights in the ball and intercepts free."""
    k = len(weights) - n_constants
    cross = curved[:k, k:]
    # Intercepts are eliminated: their best value is a linear function of the weights.
    eliminated = np.linalg.solve(_with_ridge(curved[k:, k:]), np.column_stack([cross.T, slopes[k:]]))
    reduced = _with_ridge(curved[:k, :k] - cross @ eliminated[:, :k])
    linear = slopes[:k] - cross @ eliminated[:, k] - reduced @ weights[:k]
    direction = quadratic_on_ball(reduced, linear, weights[:k], radius, tol) - weights[:k]
    return np.concatenate([direction, -eliminated[:, k] - eliminated[:, :k] @ direction])


def _with_ridge(matrix: FloatArray) -> FloatArray:
    size = len(matrix)
    return np.asarray(matrix + np.eye(size) * (_RIDGE * (np.trace(matrix) / max(size, 1) + _RIDGE)))


def _line_search(
    slab: Slab, weights: FloatArray, direction: FloatArray, point: Evaluation
) -> tuple[FloatArray, Evaluation] | None:
    """Halve the step until the loss falls by a fair share of what its slope promises."""
    promised = float(point.slopes @ direction)
    size = 1.0
    while size > 1e-10:
        trial = weights + size * direction
        reached = evaluate(slab, trial)
        if reached.value <= point.value + 1e-4 * size * promised + _ROUNDING * abs(point.value):
            return trial, reached
        size /= 2
    return None


def quadratic_on_ball(
    matrix: FloatArray, linear: FloatArray, start: FloatArray, radius: float, tol: float
) -> FloatArray:
    """Minimise ½u'Hu + c'u, H positive definite, over ‖u‖₁ ≤ radius, to a gap of at most ``tol``.

    An active-set method. Where the signs of some coordinates are given and the others are zero, the minimum is
    known. The point moves there; a coordinate that reaches zero on the way is let go, and at the minimum the steepest
    other one enters. Every move lowers the objective, so that the same signs do not come back.
    """
    point, signs = start.copy(), np.sign(start)
    for _ in range(20 * len(linear) + 100):
        free = np.flatnonzero(signs)
        goal = _minimum_for_signs(matrix[np.ix_(free, free)], linear[free], signs[free], radius)
        here = point[free]
        crossing = goal * signs[free] <= 0
        if crossing.any():
            way = here - goal
            share = np.divide(here, way, out=np.zeros_like(way), where=way != 0)
            nearest = share[crossing].min()
            point[free] = here - nearest * way
            let_go = free[crossing & (share <= nearest)]
            point[let_go] = signs[let_go] = 0.0
            if nearest <= 0:  # only rounding can turn back the coordinate that has just entered
                break
            continue
        point[free] = goal
        slopes = matrix @ point + linear
        entered = int(np.argmax(np.abs(slopes)))
        if float(slopes @ point) + radius * abs(slopes[entered]) <= tol or signs[entered]:
            break
        signs[entered] = -np.sign(slopes[entered])
    return point


def _minimum_for_signs(matrix: FloatArray, linear: FloatArray, signs: FloatArray, radius: float) -> FloatArray:
    """Minimise ½u'Hu + c'u over signs·u ≤ radius."""
    loose, pull = np.linalg.solve(matrix, np.column_stack([-linear, signs])).T
    excess = float(signs @ loose) - radius
    return np.asarray(loose - excess / float(signs @ pull) * pull if excess > 0 else loose)
