"""Constructors and their documentation, written once.

scikit-learn wants every parameter in the constructor's signature. Classes list their own parameters as fields and
inherit the shared ones; the texts of those that several classes have stand here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from textwrap import indent
from typing import TypeVar, dataclass_transform

C = TypeVar("C")
D = TypeVar("D")

TEXTS = {
    "epsilon": """\
epsilon : float, default=1.0
    The whole budget of ``fit``: it pays for everything that is learnt from the records.""",
    "delta": """\
delta : float, optional
    The probability with which the bound by epsilon may fail; well below one over the number of rows. By default
    n^-1.5, where n is the public number of rows, or of persons.""",
    "bounds": """\
bounds : pair
    Public (lower, upper): numbers, or arrays with one entry per feature. Values outside are clipped. Never read
    bounds from the data.""",
    "neighbours": """\
neighbours : {"zero-out", "replace-one", "add-remove"}, default="zero-out"
    What the guarantee is about. Zero-out: one record is there or is empty, and the number of rows is published.
    Replace-one: one record is exchanged for any other, which needs about twice the noise. Add-remove: one record
    is there or is not, in a table of any size; needs ``n_rows``.""",
    "n_rows": """\
n_rows : int, optional
    For add-remove: a public number of rows, or of persons where ``groups`` tells them, such as a round figure near
    the expected one. It takes the place of the true number wherever that would be used; the model is best where
    the two are close.""",
    "random_state": """\
random_state : int, optional
    For tests only: a seeded fit is stamped as not private.""",
    "ledger": """\
ledger : Ledger, optional
    Where the fit is charged: its full cost is reserved before a record is looked at, and a fit beyond the data set's
    cap is refused.""",
    "classes": """\
classes : list of labels or "from-y"
    Every label that can occur, of the same type as in ``y``, whether it does or not; needed, because a rare label
    read from the data could give a person away. "from-y" takes those in ``y`` and declares them public.""",
    "target_bounds": """\
target_bounds : pair
    Public (lower, upper) of the target; it is clipped to them and divided by the larger absolute one.""",
    "lasso_radius": """\
radius : float, default=10.0
    Largest L1 norm of the weights on features scaled to [-1, 1].""",
    "squared_radius": """\
radius : float, default=1.0
    Largest L1 norm of the weights, features and target scaled to [-1, 1]. The noise grows with it twice.""",
    "lasso_n_iter": """\
n_iter : int, default=1000
    Steps, hence selections; ``paper_iterations`` gives the paper's rule.""",
    "calibration": """\
calibration : {"tight", "recursion", "paper"}, default="tight"
    zCDP with bounded range; the exact recursion (7 % less noise at 1,000 steps, seconds to plan); or the published
    Laplace noise, whose honest ε is then reported in ``privacy_``.""",
    "lasso_intercept": """\
fit_intercept : bool, default=False
    Spend a tenth of the budget on an intercept outside the ball; the published method has none.""",
    "squared_intercept": """\
fit_intercept : bool, default=False
    Spend a tenth of the budget on an intercept outside the ball; the published method has none. Needed where the
    target is far from 0, such as a blood pressure: without it predictions are 0 where all features are.""",
    "rows_per_person": """\
max_rows_per_person : int, default=1
    With ``groups``: how many rows stand for each person, its first ones in the order of the table, and these again
    where it has fewer. A public number: it must not be chosen by looking at how many rows persons have.""",
    "counting": """\
epsilon_count : float, optional
    The part of ``epsilon`` for the count of nonzero weights; 5 % by default.
min_features : int, optional
    Least number of nonzero weights, over all classes together: √d of d weights by default.
max_features : int, optional
    Largest number of nonzero weights, over all classes together: 2√d of d weights by default. More than d means d.
    When it equals ``min_features`` nothing is counted and the whole budget goes to the fit.
keep_ratio : float, default=1.0
    The count is multiplied by this; below 1 for precision, above 1 for recall.
count_solver : ExactSolver or PlainFrankWolfe
    Finds the non-private weights that are counted: ``PlainFrankWolfe(50_000)`` is the published way.""",
    "gradient_step": """\
step_size : float, optional
    At most, and by default, 1/L, where L = row_norm²/4 (row_norm²/2 for more than two classes).""",
    "row_norm": """\
row_norm : float, default=1.0
    Rows, scaled to [-1, 1], are shrunk to this L2 length while fitting.""",
    "rows": """\
Parameters
----------
X : array, sparse matrix or data frame of shape (n_rows, n_features)
    Finite numbers; values outside ``bounds`` are clipped to them without a message.""",
    "groups": """\
groups : array of shape (n_rows,), optional
    Whose row each row is, where persons have several: the guarantee is then about all rows of a person together, and
    every person has one voice. Text or numbers, compared as text; rows without an identifier are one person.""",
    "new_rows": """\
Parameters
----------
X : array, sparse matrix or data frame of shape (n_rows, n_features)
    Rows like those of the fit; columns of a data frame are found by their names.""",
    "afterwards": """\

Privacy
-------
Post-processing, as far as the training data are concerned.""",
    "scored_target": """\
y : array of shape (n_rows,)
    What is to be predicted.
sample_weight : array of shape (n_rows,), optional
    How much each row counts.

Privacy
-------
Not private: computed from the rows and targets given.""",
    "fitted_self": """\
Returns
-------
self : object
    The fitted estimator.

Privacy
-------
Releases ``coef_`` and ``intercept_``; the guarantee is in ``privacy_``.""",
    "fitted": """\
coef_ : array of shape (1, n_features) or (n_classes, n_features)
    Weights in the features' own units; one row for two classes, else one for each class.
intercept_ : array
    One intercept for each row of the weights.
support_ : array of int
    Features with a nonzero weight.
classes_ : array
    The classes in order; of two, the weights speak for the second.
privacy_ : PrivacyStatement
    What is guaranteed; print it.""",
    "inferred": """\
inference_ : Inference or None
    How sure each weight is, with one sentence on what intervals cover; None where a fit cannot tell.
coef_se_ : array
    Standard errors of ``coef_``, in the same shape and units; NaN where a weight was dropped.
q_values_ : array
    For each weight the false-discovery rate of calling real all that are at least as convincing.
reliable_ : array of bool
    Which weights can be told from noise: a false-discovery rate of at most 5 % over all candidates.""",
    "fitted_number": """\
coef_ : array of shape (n_features,)
    Weights in original units.
intercept_ : float
    The intercept.
support_ : array of int
    Features with a nonzero weight.
privacy_ : PrivacyStatement
    What is guaranteed; print it.""",
}
"""What braces in a docstring stand for."""

_EVERYWHERE = [
    TEXTS[name] for name in ("epsilon", "delta", "bounds", "neighbours", "n_rows", "random_state", "ledger")
]
_GUARANTEE = """\

Notes
-----
**Privacy.** Releases ``coef_`` and ``intercept_`` with (epsilon, delta)-DP under ``neighbours``."""
TEXTS |= {
    "predicted": "\n".join([TEXTS["new_rows"], TEXTS["afterwards"]]),
    "scored": "\n".join([TEXTS["new_rows"], TEXTS["scored_target"]]),
    "private_classifier": "\n".join([*_EVERYWHERE, TEXTS["classes"]]),
    "private_regressor": "\n".join([*_EVERYWHERE, TEXTS["target_bounds"]]),
    "lasso": "\n".join(TEXTS[name] for name in ("lasso_radius", "lasso_n_iter", "calibration")),
    "squared_lasso": "\n".join(TEXTS[name] for name in ("squared_radius", "lasso_n_iter", "calibration")),
    "classifier_released": "\n".join(["Attributes", "----------", TEXTS["fitted"], _GUARANTEE]),
    "inferring_classifier_released": "\n".join(
        ["Attributes", "----------", TEXTS["fitted"], TEXTS["inferred"], _GUARANTEE]
    ),
    "regressor_released": "\n".join(["Attributes", "----------", TEXTS["fitted_number"], _GUARANTEE]),
}


@dataclass_transform(eq_default=False, kw_only_default=True, field_specifiers=(field,))
def parameters(cls: type[C]) -> type[C]:
    """Make a constructor of the fields of a class and of its bases, and fill in the documentation of shared ones."""
    return dataclass(eq=False, repr=False, kw_only=True)(documented(cls))


def documented(described: D) -> D:
    """Fill in the documentation that several classes or functions share."""
    if described.__doc__:
        described.__doc__ = re.sub(
            r"^( *)\{(\w+)\}$", lambda found: indent(TEXTS[found[2]], found[1]), described.__doc__, flags=re.MULTILINE
        )
    return described
