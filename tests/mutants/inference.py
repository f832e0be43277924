"""Faults in what is said about weights: promises of another kind, that a list can be believed and intervals cover."""

from .killers import in_file
from .mutant import Mutant

_EVIDENCE, _INFERENCE = "methods/evidence.py", "methods/inference.py"
_REFIT, _SUPPORT = "methods/select_refit.py", "methods/support.py"
_CALLS = in_file("methods/test_inference", "test_what_is_called_real_is_noise_no_more_often_than_stated")
_EMPTY = in_file("methods/test_inference", "test_features_that_are_empty_are_not_called_because_their_weights_drift")
_SPREADS = in_file("methods/test_inference", "test_variances_are_drawn_from_a_normal_law_cut_off_at_zero")
_COVERAGE = in_file("methods/test_inference", "test_intervals_cover_as_often_as_stated")
_RATES = in_file("methods/test_inference", "test_rates_by_the_estimate_are_those_of_benjamini_and_hochberg")

MUTANTS = (
    Mutant(
        "moments-error-forgotten-in-spreads",
        "the released spread is taken for the true one",
        _EVIDENCE,
        "    error = standard.variance_error\n",
        "    error = standard.variance_error * 1e-6\n",
        _SPREADS,
    ),
    Mutant(
        "spreads-below-zero",
        "a variance that noise made negative is believed",
        _EVIDENCE,
        "variance = (seen - ndtri(ndtr(seen) * (1 - places))) * error",
        "variance = (seen - ndtri(1 - places)) * error",
        _SPREADS,
    ),
    Mutant(
        "empty-features-not-thought-of",
        "weights of columns that are zero everywhere drift, and look real where they have drifted to",
        _EVIDENCE,
        "result.append(np.logaddexp(somewhere, odds) - np.logaddexp(0.0, odds))",
        "result.append(somewhere)",
        _EMPTY,
    ),
    Mutant(
        "sampling-error-forgotten-in-chances",
        "what the rows at hand have by chance is called real",
        _EVIDENCE,
        "sampling = 1 / (traces[-1].path.bend[:, None] * spreads)",
        "sampling = 1e-9 / (traces[-1].path.bend[:, None] * spreads)",
        _CALLS,
    ),
    Mutant(
        "path-noise-halved-in-chances",
        "gradients are believed twice as much as their noise allows",
        _EVIDENCE,
        "        path, places = trace.path, (slice(None), slice(None), trace.features)\n",
        "        path, places = trace.path, (slice(None), slice(None), trace.features)\n"
        "        path = __import__('dataclasses').replace(path, noise=path.noise / 2)\n",
        _CALLS,
    ),
    Mutant(
        "chances-do-not-lean",
        "the careful view is as bold as the likely one",
        _EVIDENCE,
        "_chances_of_noise(_all_log_likelihoods(traces, standard, wary=True), leaning)",
        "_chances_of_noise(_all_log_likelihoods(traces, standard, wary=True), 0.0)",
        in_file("methods/test_inference", "test_the_careful_view_leans_to_noise"),
    ),
    Mutant(
        "intercept-believed-in-chances",
        "a feature whose released mean is off takes the intercept's gradient for its own",
        _EVIDENCE,
        "_chances_of_noise(_all_log_likelihoods(traces, standard, wary=True), leaning)",
        "_chances_of_noise(_all_log_likelihoods(traces, standard, wary=False), leaning)",
        in_file(
            "methods/test_inference", "test_the_careful_view_does_not_believe_what_the_intercept_may_have_caused"
        ),
    ),
    Mutant(
        "dropped-weights-not-taken-for-zero",
        "the rest keeps what correlated weights had taken",
        _INFERENCE,
        "return Estimate(self.mean[inside] - gain @ self.mean[outside], (covariance + covariance.T) / 2)",
        "return Estimate(self.mean[inside], (covariance + covariance.T) / 2)",
        in_file("methods/test_inference", "test_keeping_is_the_conditional_normal_law"),
    ),
    Mutant(
        "slope-noise-forgotten",
        "intervals as if the last gradients had no noise",
        _INFERENCE,
        "path.noise**2 / landing.steps, matrix, doubt",
        "0.0, matrix, doubt",
        _COVERAGE,
    ),
    Mutant(
        "slope-noise-of-the-sum",
        "the mean of the last steps is taken to have less noise than it has",
        _INFERENCE,
        "path.noise**2 / landing.steps, matrix, doubt",
        "path.noise**2 / landing.steps**2, matrix, doubt",
        _COVERAGE,
    ),
    Mutant(
        "sampling-error-forgotten-in-intervals",
        "intervals cover the optimum of the rows at hand and not the truth",
        _INFERENCE,
        "spread = np.diag(rest.noise + rest.doubt @ away) + sampling",
        "spread = np.diag(rest.noise + rest.doubt @ away) + 1e-3 * sampling",
        _COVERAGE,
    ),
    Mutant(
        "doubt-of-the-curvature-forgotten",
        "a noisy curvature is believed",
        _INFERENCE,
        "spread = np.diag(rest.noise + rest.doubt @ away) + sampling",
        "spread = np.diag(np.full(len(away), rest.noise)) + sampling",
        _COVERAGE,
    ),
    Mutant(
        "way-to-the-optimum-taken-for-known",
        "where noise hides the way, it is not multiplied with all of it",
        _INFERENCE,
        "away = step**2 + unsure * np.diag(covariance)",
        "away = step**2",
        in_file("methods/test_inference", "test_a_way_that_noise_hides_is_counted"),
    ),
    Mutant(
        "spreads-taken-for-known",
        "weights of features that are hardly ever set seem as sure as their mean spread would make them",
        _INFERENCE,
        "np.append(np.sqrt(np.maximum(wider, 1.0)), 1.0)",
        "np.ones(len(wider) + 1)",
        in_file(
            "methods/test_inference", "test_where_a_feature_may_be_the_same_in_all_rows_its_weight_is_hardly_known"
        ),
    ),
    Mutant(
        "home-forgotten",
        "in directions that noise hides guided steps go anywhere",
        _INFERENCE,
        "return Guide(start, rest.at, covariance @ gain, covariance * prior)",
        "return Guide(start, rest.at, covariance @ gain, 0.0 * covariance)",
        in_file("methods/test_inference", "test_a_guide_is_what_the_proof_says"),
    ),
    Mutant(
        "guided-by-noise",
        "steps follow directions that noise hides",
        _INFERENCE,
        "gain = rest.matrix / (path.noise**2 / steps + rest.doubt @ (start - rest.at) ** 2)",
        "gain = rest.matrix / (1e-9 + rest.doubt @ (start - rest.at) ** 2)",
        in_file("methods/test_inference", "test_in_directions_that_noise_hides_guided_steps_stay_at_home"),
    ),
    Mutant(
        "sampling-error-as-large-as-it-may-be",
        "intervals of rare features are far too wide, and too short where the model does not hold",
        _INFERENCE,
        "sampling = rest.matrix if curvature is None else _believed_scores(curvature, rest.matrix)",
        "sampling = rest.matrix",
        in_file("methods/test_inference", "test_intervals_follow_what_sampling_really_does"),
    ),
    Mutant(
        "scores-do-not-lean",
        "what noise took from the sampling error is believed",
        _INFERENCE,
        "seen + _WARY * curvature.scores_error",
        "seen",
        in_file("methods/test_inference", "test_scores_lean_up_by_their_noise_but_not_beyond_the_curvature"),
    ),
    Mutant(
        "too-little-signal-is-judged-all-the-same",
        "chance is called real in tables of a few hundred rows",
        "methods/select_refit.py",
        "    if not known.tells:\n        return rates\n",
        "",
        in_file("methods/test_select_refit", "test_where_there_is_too_little_signal_nothing_is_called_real"),
    ),
    Mutant(
        "doubt-without-a-curvature-forgotten",
        "features that are taken for uncorrelated are believed to be",
        _INFERENCE,
        "_UNKNOWN_CORRELATION**2 * unknown * size**2",
        "0.0 * unknown",
        in_file("methods/test_inference", "test_correlations_that_were_not_released_widen_intervals"),
    ),
    Mutant(
        "rates-without-dropped-candidates",
        "what selection favoured is judged as if there had been nothing else",
        _INFERENCE,
        "rates = tails[order] * candidates / np.arange(1, len(tails) + 1)",
        "rates = tails[order] * len(tails) / np.arange(1, len(tails) + 1)",
        _RATES,
    ),
    Mutant(
        "rates-not-monotone",
        "a rate does not count what is more convincing",
        _INFERENCE,
        "result[order] = np.minimum.accumulate(rates[::-1])[::-1]",
        "result[order] = rates",
        _RATES,
    ),
    Mutant(
        "rates-by-the-estimate-alone",
        "what the path says is forgotten",
        _INFERENCE,
        "np.where(could_tell | must_tell, np.maximum(careful, by_estimate), careful)",
        "np.where(could_tell | must_tell, by_estimate, careful)",
        in_file("methods/test_inference", "test_the_worse_of_both_views_counts"),
    ),
    Mutant(
        "judged-by-the-likely-view",
        "weights are called real without leaning to noise",
        _REFIT,
        "law, careful = known.estimate.keeping(kept), known.chances.careful[0, kept]",
        "law, careful = known.estimate.keeping(kept), known.chances.likely[0, kept]",
        in_file("methods/test_inference_fits", "test_rates_come_from_the_careful_view_and_all_candidates"),
    ),
    Mutant(
        "judged-among-what-was-left",
        "features that were screened or eliminated are no candidates",
        _REFIT,
        "q_values(law, careful, known.candidates, must",
        "q_values(law, careful, len(kept), must",
        in_file("methods/test_inference_fits", "test_rates_come_from_the_careful_view_and_all_candidates"),
    ),
    Mutant(
        "intervals-that-say-nothing-of-correlations",
        "without a curvature intervals claim what they cannot know",
        _REFIT,
        '"" if left.curvature is not None else _UNCORRELATED[left.variables is not None]',
        '""',
        in_file("methods/test_inference_fits", "test_without_released_curvature_features_are_taken_for_uncorrelated"),
    ),
    Mutant(
        "empty-features-kept",
        "columns that may be the same in all rows stay in the list",
        _SUPPORT,
        "kept = mask & (chances.likely < np.where(may_be_empty(standard), _LEAST_DOUBT, _MOST_DOUBT))",
        "kept = mask & (chances.likely < _MOST_DOUBT)",
        in_file("methods/test_select_refit", "test_features_that_may_be_empty_are_kept_only_where_they_are_clear"),
    ),
    Mutant(
        "empty-features-called-real",
        "columns that may be the same in all rows are called real by the drift of their weights",
        _REFIT,
        "must_tell=may_be_empty(known.standard)[kept]",
        "must_tell=False",
        in_file(
            "methods/test_select_refit",
            "test_features_that_may_be_empty_are_called_real_by_their_own_estimate_only",
        ),
    ),
)
