"""Faults in the mechanisms and in the randomness they draw on."""

from .killers import in_file
from .mutant import Mutant

_MECHANISMS, _RANDOMNESS = "privacy/mechanisms.py", "privacy/randomness.py"

_GAUSSIAN = in_file("privacy/test_mechanisms", "test_gaussian_is_centred_on_the_sums_with_the_declared_noise")
_SELECTION = in_file("privacy/test_mechanisms", "test_selection_frequencies_fit_and_a_wrong_eta_does_not")
_NOISY_MIN = in_file("privacy/test_mechanisms", "test_noisy_min_frequencies_fit_and_a_wrong_scale_does_not")
_COUNT = in_file("privacy/test_mechanisms", "test_count_frequencies_fit_and_a_wrong_epsilon_does_not")
_TABLES = in_file("privacy/test_mechanisms", "test_weight_tables_fall_stay_positive_and_fit_64_bits")
_MINIMUM = in_file(
    "privacy/test_perturbed_minimum", "test_minimisers_of_a_quadratic_are_normal_and_a_wrong_noise_is_not"
)
_GAP = in_file("privacy/test_perturbed_minimum", "test_the_gap_is_hidden_by_noise_of_the_declared_size")
_LAPLACE = in_file("privacy/test_randomness", "test_discrete_laplace_fits_and_a_wrong_scale_does_not")
_ROUNDED_GAUSSIAN = in_file("privacy/test_randomness", "test_rounded_gaussian_fits_and_a_wrong_scale_does_not")

_AHEAD = in_file("privacy/test_randomness", "test_noise_drawn_ahead_is_what_the_sampler_gives_each_of_it_once")

_ADDED = "return values._secret + rounded_gaussian(source, len(values._secret), sigma)"

MUTANTS = (
    Mutant(
        "gaussian-halved",
        "half the noise that is charged for",
        _MECHANISMS,
        _ADDED,
        "return values._secret + rounded_gaussian(source, len(values._secret), max(sigma // 2, 1))",
        _GAUSSIAN,
    ),
    Mutant(
        "gaussian-one-draw-for-all-entries",
        "differences of entries are released without noise",
        _MECHANISMS,
        _ADDED,
        "return values._secret + rounded_gaussian(source, 1, sigma)",
        _GAUSSIAN,
    ),
    Mutant(
        "gaussian-last-entry-bare",
        "one entry is released without noise",
        _MECHANISMS,
        _ADDED,
        "return values._secret + np.append(rounded_gaussian(source, len(values._secret) - 1, sigma), 0)",
        _GAUSSIAN,
    ),
    Mutant(
        "gaussian-drawn-once",
        "the same noise in every call: differences of releases have none",
        _MECHANISMS,
        _ADDED,
        "noise = rounded_gaussian(source, len(values._secret), sigma)\n"
        "    return values._secret + gaussian.__dict__.setdefault((len(noise), sigma), noise)",
        _GAUSSIAN,
    ),
    Mutant(
        "noise-drawn-ahead-used-again",
        "two steps of a descent have the same noise",
        _RANDOMNESS,
        "taken, self._drawn = self._drawn[:count], self._drawn[count:]",
        "taken = self._drawn[:count]",
        _AHEAD,
    ),
    Mutant(
        "noise-drawn-ahead-of-any-size",
        "a release gets the noise that was drawn for another",
        _RANDOMNESS,
        "        if sigma != self._sigma:\n"
        '            raise ValueError(f"noise of {self._sigma} was drawn ahead, and {sigma} is asked for")\n',
        "",
        in_file("privacy/test_randomness", "test_noise_of_another_size_is_not_handed_out"),
    ),
    Mutant(
        "noise-drawn-ahead-runs-dry",
        "entries beyond what was drawn are released without noise",
        _RANDOMNESS,
        "max(count, min(self._missing, _AHEAD))",
        "min(self._missing, _AHEAD)",
        in_file("privacy/test_randomness", "test_more_noise_than_a_block_holds_is_drawn_anew"),
    ),
    Mutant(
        "count-without-noise",
        "the count of Appendix B, whose second clip starts from the raw count",
        _MECHANISMS,
        "return min(max(clipped + noise, lowest), highest)",
        "return min(max(clipped + 0 * noise, lowest), highest)",
        _COUNT,
    ),
    Mutant(
        "count-clipped-only-after-the-noise",
        "one record may move the raw count by any amount",
        _MECHANISMS,
        "clipped = min(max(value._secret, lowest), highest)",
        "clipped = value._secret",
        in_file("guarantee/test_small_leaks", "test_a_count_beyond_its_range_is_released_as_one_at_its_end"),
    ),
    Mutant(
        "count-noise-halved",
        "half the noise that is charged for",
        _MECHANISMS,
        "numerator = math.ceil(denominator * sensitivity / epsilon * (1 + 2.0**-50))",
        "numerator = math.ceil(denominator * sensitivity / (2 * epsilon) * (1 + 2.0**-50))",
        in_file("privacy/test_mechanisms", "test_noise_ratio_is_never_too_small"),
    ),
    Mutant(
        "selection-range-doubled",
        "the weights fall twice as fast as is charged for",
        _MECHANISMS,
        "rate = (eta - 4 * tau) / (2 * levels)",
        "rate = (eta - 4 * tau) / levels",
        _TABLES,
    ),
    Mutant(
        "selection-rounding-not-paid",
        "rounded weights have a range beyond the one charged for",
        _MECHANISMS,
        "rate = (eta - 4 * tau) / (2 * levels)",
        "rate = eta / (2 * levels)",
        (*_TABLES, *in_file("guarantee/constants/test_selecting", "test_table_keeps_its_range_rounding_included")),
    ),
    Mutant(
        "selection-levels-rounded-down",
        "levels of which more than planned fit into one sensitivity",
        _MECHANISMS,
        "unit = -(-sensitivity // table.levels)",
        "unit = max(sensitivity // table.levels, 1)",
        in_file("privacy/test_mechanisms", "test_any_draws_lead_where_the_weights_say"),
    ),
    Mutant(
        "selection-sensitivity-halved",
        "scores count twice as much as is charged for",
        _MECHANISMS,
        "unit = -(-sensitivity // table.levels)",
        "unit = -(-sensitivity // (2 * table.levels))",
        _SELECTION,
    ),
    Mutant(
        "selection-by-argmax",
        "the best candidate without noise",
        _MECHANISMS,
        "return _draw(values, np.maximum(heights, -(2**61)), _PLUS, sensitivity, eta, source)[0]",
        "return int(np.argmax(values))",
        in_file("privacy/test_mechanisms", "test_selection_among_many_blocks_fits"),
    ),
    Mutant(
        "selection-with-the-true-sign",
        "the sign of the chosen slope leaves without noise",
        _MECHANISMS,
        "return int(scores.names._secret[place]), sign",
        "return int(scores.names._secret[place]), 1 if scores.slopes._secret[place] >= 0 else -1",
        _SELECTION,
    ),
    Mutant(
        "selection-by-place",
        "places follow the popularity of features, which is secret",
        _MECHANISMS,
        "return int(scores.names._secret[place]), sign",
        "return place, sign",
        in_file("privacy/test_mechanisms", "test_a_candidate_is_called_by_its_public_number"),
    ),
    Mutant(
        "noisy-min-ties-by-place",
        "the records decide the order, and the order decides ties",
        _MECHANISMS,
        "order = np.argsort(names)",
        "order = np.arange(len(names))",
        in_file("privacy/test_mechanisms", "test_ties_of_noisy_min_go_by_public_numbers"),
    ),
    Mutant(
        "noisy-min-noise-halved",
        "half the noise that is charged for",
        _MECHANISMS,
        "noise = discrete_laplace(source, 2 * len(values), scale)",
        "noise = discrete_laplace(source, 2 * len(values), max(scale // 2, 1))",
        _NOISY_MIN,
    ),
    Mutant(
        "noisy-min-both-signs-share-a-draw",
        "a slope and its opposite are compared without noise between them",
        _MECHANISMS,
        "noise = discrete_laplace(source, 2 * len(values), scale)",
        "noise = np.tile(discrete_laplace(source, len(values), scale), 2)",
        _NOISY_MIN,
    ),
    Mutant(
        "minimum-without-the-gaps-noise",
        "the last bits of a minimiser give a record away",
        _MECHANISMS,
        "return gaussian(Sensitive(codes), math.ceil(gap_noise * 3 * _GAP), source) * np.float64(unit)",
        "return codes * np.float64(unit)",
        _GAP,
    ),
    Mutant(
        "minimum-hides-one-gap-of-three",
        "neighbours miss their minimisers, and rounding adds to that",
        _MECHANISMS,
        "math.ceil(gap_noise * 3 * _GAP)",
        "math.ceil(gap_noise * _GAP)",
        _GAP,
    ),
    Mutant(
        "minimum-with-a-constant-linear-term",
        "the objective is perturbed by what everyone knows",
        _MECHANISMS,
        "rounded_gaussian(source, size, _FINE) * np.float64(sigma / _FINE)",
        "np.full(size, _FINE) * np.float64(sigma / _FINE)",
        _MINIMUM,
    ),
    Mutant(
        "minimum-with-one-draw-for-all-coordinates",
        "the objective is perturbed in one direction only",
        _MECHANISMS,
        "rounded_gaussian(source, size, _FINE) * np.float64(sigma / _FINE)",
        "np.repeat(rounded_gaussian(source, 1, _FINE), size) * np.float64(sigma / _FINE)",
        _MINIMUM,
    ),
    Mutant(
        "sensitive-values-shown",
        "a traceback or a log shows the records' sums",
        _MECHANISMS,
        'return "Sensitive(hidden)"',
        'return f"Sensitive({self._secret})"',
        in_file("privacy/test_mechanisms", "test_sensitive_values_do_not_show_copy_or_compute"),
    ),
    Mutant(
        "laplace-scale-halved",
        "half the noise that is charged for",
        _RANDOMNESS,
        "magnitude = _geometric(source, size, numerator) // denominator",
        "magnitude = _geometric(source, size, numerator) // (2 * denominator)",
        _LAPLACE,
    ),
    Mutant(
        "laplace-zero-with-two-signs",
        "no noise at all twice as often as the law says",
        _RANDOMNESS,
        "np.where(negative, -magnitude, magnitude)[~twice_zero]",
        "np.where(negative, -magnitude, magnitude)",
        _LAPLACE,
    ),
    Mutant(
        "gaussian-without-rejection",
        "the proposal of the sampler in place of the sample",
        _RANDOMNESS,
        "accepted = _exp_accept(source, gamma, exact)",
        "accepted = np.full(len(gamma), True)",
        _ROUNDED_GAUSSIAN,
    ),
    Mutant(
        "gaussian-of-a-smaller-sigma",
        "less than is charged for",
        _RANDOMNESS,
        "gamma = ((whole - sigma + fraction) / sigma) ** 2 / 2 + fraction / sigma",
        "gamma = 1.2 * ((whole - sigma + fraction) / sigma) ** 2 / 2 + fraction / sigma",
        _ROUNDED_GAUSSIAN,
    ),
    Mutant(
        "gaussian-fraction-for-nothing",
        "the fraction counts as uniform, which makes the noise's law another one",
        _RANDOMNESS,
        "** 2 / 2 + fraction / sigma\n",
        "** 2 / 2\n",
        _ROUNDED_GAUSSIAN,
    ),
    Mutant(
        "gaussian-always-rounded-down",
        "magnitudes are cut: less noise than is charged for",
        _RANDOMNESS,
        "nearest = whole[accepted] + (bits >> np.uint64(63)).astype(np.int64)",
        "nearest = whole[accepted]",
        _ROUNDED_GAUSSIAN,
    ),
    Mutant(
        "gaussian-fraction-not-extended",
        "a fraction in doubt is decided by the bits that left it in doubt",
        _RANDOMNESS,
        '(int(bits[i]) >> 1 << 256) | int.from_bytes(source.octets(32), "little")',
        "int(bits[i]) >> 1 << 256",
        in_file("privacy/test_randomness", "test_a_fraction_in_doubt_is_extended_by_fresh_bits"),
    ),
    Mutant(
        "coins-of-twenty-bits",
        "probabilities off by 1e-6: rare noise never happens, and its absence tells",
        _RANDOMNESS,
        "uniform = (words >> np.uint64(11)) * 2.0**-53",
        "uniform = (words >> np.uint64(44)) * 2.0**-20",
        in_file("guarantee/test_small_leaks", "test_coins_are_decided_by_more_bits_than_a_sample_shows"),
    ),
    Mutant(
        "uniform-integers-by-remainder",
        "small numbers are likelier than large ones",
        _RANDOMNESS,
        "return (words[words <= limit] % np.uint64(bound)).astype(np.int64)",
        "return (words % np.uint64(bound)).astype(np.int64)",
        in_file("privacy/test_randomness", "test_words_beyond_the_last_whole_multiple_are_rejected"),
    ),
    Mutant(
        "system-source-with-a-generator",
        "a forked process draws the same noise as its parent",
        _RANDOMNESS,
        "    is_private = True\n\n    def octets(self, count: int) -> bytes:  # noqa: D102\n"
        "        return os.urandom(count)",
        "    is_private = True\n    _generator = np.random.Generator(np.random.PCG64())\n\n"
        "    def octets(self, count: int) -> bytes:  # noqa: D102\n"
        "        return self._generator.bytes(count)",
        in_file("privacy/test_randomness", "test_the_system_is_asked_at_each_draw"),
    ),
    Mutant(
        "no-seed-means-seed-zero",
        "everyone knows the seed of every private fit",
        _RANDOMNESS,
        "        return SystemSource()",
        "        return SeededSource(0)",
        in_file("privacy/test_randomness", "test_random_state_decides_the_source"),
    ),
)
