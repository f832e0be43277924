"""Faults in what is made of whole variables: who stays, in which direction, and how sure that is."""

from .killers import in_file, replayed
from .mutant import Mutant

_VARIABLES, _SUPPORT, _REFIT, _INFERENCE, _DESCENT = (
    "data/variables.py",
    "methods/support.py",
    "methods/select_refit.py",
    "methods/inference.py",
    "optim/descent.py",
)
_OF_FIT = "methods/test_variables"
_IMPORTANCE = in_file(_OF_FIT, "test_variables_stay_by_what_they_add_and_not_by_their_largest_weight")
_WALD = in_file(_OF_FIT, "test_rates_of_variables_are_those_of_wald_over_all_their_candidates")
_WITH_VARIABLES = "SparsePrivateLogisticRegression-2-variables=Variables(5 variables, 14 features),max_variables=3"

MUTANTS = (
    Mutant(
        "variables-by-exact-counts",
        "how many rows have a feature decides which variables survive",
        _REFIT,
        "mask = most_important(ranked, mask,",
        "mask = most_important(ranked * problem.data.counts(), mask,",
        (replayed(_WITH_VARIABLES),),
    ),
    Mutant(
        "quantiles-of-the-records",
        "cut points follow the rows themselves, not what was released of them",
        _REFIT,
        "at_quantiles(whole.centre)",
        "at_quantiles(problem.data.gradient(np.ones((problem.data.n_rows, 1), dtype=np.int64))[0] / problem.n_rows)",
        (replayed(_WITH_VARIABLES),),
    ),
    Mutant(
        "variables-by-their-largest-weight",
        "a step that hardly anybody has reached keeps its variable",
        _SUPPORT,
        "    weights = np.where(mask, coef, 0.0) / standard.scale\n",
        "    weights = np.where(mask, coef, 0.0) / standard.scale**2\n",
        _IMPORTANCE,
    ),
    Mutant(
        "steps-taken-for-categories",
        "values that reach a cut point are thought not to reach lower ones",
        _VARIABLES,
        'both = np.minimum.outer(own, own) if kind == "steps" else',
        'both = np.minimum.outer(own, own) if kind == "never" else',
        in_file("data/test_variables", "test_correlations_within_a_variable_follow_from_means"),
    ),
    Mutant(
        "directions-forgotten-in-the-descent",
        "weights go where they are known not to",
        _DESCENT,
        "return np.where(coef * self.signs < 0, 0.0, coef)",
        "return np.where(coef * self.signs > 0, 0.0, coef)",
        in_file(_OF_FIT, "test_curves_that_can_only_rise_do_not_fall"),
    ),
    Mutant(
        "directions-forgotten-in-the-end",
        "the last step undoes what the descent kept to",
        _REFIT,
        "        pointing = in_known_direction(judges, left.kept[0])\n",
        "        pointing = left.kept[0]\n",
        in_file(_OF_FIT, "test_curves_that_can_only_rise_do_not_fall"),
    ),
    Mutant(
        "wald-by-what-was-kept",
        "selection among a variable's features is forgotten",
        _INFERENCE,
        "tails[variable] = chdtrc(candidates[variable], max(distance, 0.0))",
        "tails[variable] = chdtrc(len(places), max(distance, 0.0))",
        _WALD,
    ),
    Mutant(
        "wald-without-covariance",
        "weights that share what they say count as if each said it alone",
        _INFERENCE,
        "coef @ np.linalg.solve(estimate.covariance[np.ix_(places, places)], coef)",
        "coef @ (coef / np.diag(estimate.covariance)[places])",
        _WALD,
    ),
    Mutant(
        "empty-categories-kept",
        "categories that nobody has stay in the list",
        _SUPPORT,
        "    return kept & ~empty\n",
        "    return kept\n",
        in_file(_OF_FIT, "test_categories_that_nobody_has_are_not_kept"),
    ),
)
