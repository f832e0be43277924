"""Faults in the ledger: what is not charged, charged too little, or given back."""

from .killers import in_file
from .mutant import Mutant

_FILTERS, _STATE, _LEDGER = "ledger/filters.py", "ledger/state.py", "ledger/ledger.py"
_CHAIN, _STORE, _HOOK = "ledger/chain.py", "ledger/store.py", "estimators/_ledger.py"
_PROCESSES = "ledger/test_many_processes"

MUTANTS = (
    Mutant(
        "ledger-selection-at-its-zcdp",
        "a selection is charged as a Gaussian release that tells less than it",
        _FILTERS,
        "_SLOPE = math.sqrt(2 * math.pi) / 4\n",
        "_SLOPE = 1 / 2\n",
        in_file("ledger/test_filters", "test_a_choice_of_bounded_range_tells_no_more_than_its_gaussian"),
    ),
    Mutant(
        "ledger-pure-release-as-a-selection",
        "ε-DP allows twice the range that a selection of range ε has",
        _FILTERS,
        "return _mean_of_range(2 * bound) ** 2",
        "return _mean_of_range(bound) ** 2",
        in_file("ledger/test_filters", "test_a_pure_release_tells_no_more_than_its_gaussian"),
    ),
    Mutant(
        "ledger-repetition-counted-once",
        "a thousand releases for the price of one",
        _FILTERS,
        "return times * _square(single)",
        "return _square(single)",
        in_file("ledger/test_filters", "test_what_a_filter_allows_other_accountants_allow_too"),
    ),
    Mutant(
        "ledger-shift-left-out",
        "the part of a divergence that does not grow with its order is not charged",
        _FILTERS,
        "return cost.shift + self.order * cost.rho +",
        "return self.order * cost.rho +",
        in_file("ledger/test_filters", "test_shifts_count_against_the_one_order_of_the_filter"),
    ),
    Mutant(
        "ledger-limit-of-twice-the-cap",
        "the filter lets through what the cap forbids",
        _FILTERS,
        "return cls(accountant, cap, most * (1 - _ROOM))",
        "return cls(accountant, cap, 2 * most * (1 - _ROOM))",
        in_file("ledger/test_filters", "test_the_limit_is_what_the_cap_holds"),
    ),
    Mutant(
        "ledger-every-fit-taken-at-its-word",
        "what a later fit proves by itself says nothing about all together",
        _STATE,
        "alone = promise if self.reservations == 0 else None",
        "alone = promise",
        in_file("ledger/test_filters", "test_only_the_first_fit_is_taken_at_its_word"),
    ),
    Mutant(
        "ledger-alone-whatever-its-delta",
        "a first fit with a larger δ than the cap's",
        _STATE,
        "(self.alone is not None and self.alone <= self.filter.cap)",
        "(self.alone is not None and self.alone.epsilon <= self.filter.cap.epsilon)",
        in_file("ledger/test_filters", "test_only_the_first_fit_is_taken_at_its_word"),
    ),
    Mutant(
        "ledger-cap-not-looked-at",
        "everything is allowed",
        _LEDGER,
        "            if not after.is_allowed:\n",
        "            if False:\n",
        in_file("ledger/test_ledger", "test_fits_are_charged_until_the_cap_says_no"),
    ),
    Mutant(
        "ledger-two-relations-added-up",
        "guarantees of two relations do not add up",
        _LEDGER,
        "            if neighbours is not before.neighbours:\n",
        "            if False:\n",
        in_file("ledger/test_ledger", "test_one_relation_for_each_data_set"),
    ),
    Mutant(
        "ledger-failure-given-back",
        "something may have been released before it failed",
        _LEDGER,
        "            ledger._append(writer, last, kind, last.state, number)\n",
        "            from dataclasses import replace\n"
        "            from .filters import NOTHING\n"
        '            after = replace(last.state, total=NOTHING) if kind == "failed" else last.state\n'
        "            ledger._append(writer, last, kind, after, number)\n",
        in_file("ledger/test_ledger", "test_what_fails_or_is_interrupted_stays_charged"),
    ),
    Mutant(
        "ledger-without-a-lock",
        "two processes read the same sums and both spend what is left",
        _STORE,
        'self._connection.exec_driver_sql("BEGIN IMMEDIATE")',
        'self._connection.exec_driver_sql("BEGIN DEFERRED")',
        in_file(_PROCESSES, "test_of_1600_attempts_at_once_exactly_100_succeed[sqlite]"),
    ),
    Mutant(
        "ledger-hash-not-compared",
        "a changed text passes",
        _CHAIN,
        "    if hash_of(entry.body) != entry.hash:\n",
        "    if False:\n",
        in_file("ledger/test_tampering", "test_what_was_changed_is_found"),
    ),
    Mutant(
        "ledger-chain-not-followed",
        "an entry that was rewritten with a new hash passes",
        _CHAIN,
        '        if values["previous"] != (START if last is None else last.hash):\n',
        "        if False:\n",
        in_file("ledger/test_tampering", "test_an_entry_with_a_new_hash_is_found"),
    ),
    Mutant(
        "ledger-head-not-compared",
        "entries at the end can be removed",
        _CHAIN,
        "    if head is None or tuple(head) != stored:\n",
        "    if False:\n",
        in_file("ledger/test_tampering", "test_what_was_changed_is_found"),
    ),
    Mutant(
        "ledger-receipts-not-compared",
        "a ledger that was set back passes",
        _CHAIN,
        "        elif receipt.number > len(entries):\n",
        "        elif False:\n",
        in_file("ledger/test_tampering", "test_a_file_that_was_set_back_is_found_by_a_receipt_alone"),
    ),
    Mutant(
        "ledger-parents-connections-in-a-fork",
        "two processes talk over one connection",
        _STORE,
        "key = os.getpid(), self.address, _identity(self.address)",
        "key = 0, self.address, None",
        in_file("ledger/test_tampering", "test_a_file_put_in_its_place_is_seen_by_processes_that_had_the_other_open"),
    ),
    Mutant(
        "fit-not-charged",
        "the ledger is given and not told",
        "estimators/_linear.py",
        "            self._charged(plan, unit),\n",
        "            nullcontext(),\n",
        in_file("estimators/test_ledger", "test_a_fit_is_reserved_before_the_records_and_committed_after"),
    ),
    Mutant(
        "seeded-fit-not-marked",
        "the total is taken for private",
        _HOOK,
        "seeded = self.random_state is not None",
        "seeded = bool(self.random_state)",
        in_file("estimators/test_ledger", "test_a_seeded_fit_is_charged_and_marked"),
    ),
    Mutant(
        "statement-with-the-entry-of-an-earlier-fit",
        "a fit that was not charged claims to be",
        _HOOK,
        'vars(self).pop("_receipt", None)',
        "pass",
        in_file("estimators/test_ledger", "test_a_fit_without_the_ledger_says_nothing_of_an_earlier_one"),
    ),
    Mutant(
        "records-read-before-the-cap-is-asked",
        "a refusal must not depend on the records",
        _HOOK,
        "            account.refuse_beyond(asked.epsilon, asked.delta)\n",
        "            pass\n",
        in_file("estimators/test_ledger", "test_beyond_the_cap_nothing_is_read"),
    ),
)
