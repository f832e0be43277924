"""A ledger in SQLite and in PostgreSQL: what is reserved stays, and nothing goes beyond the cap."""

import copy
import pickle
import re
import sqlite3
import sys
import threading
from contextlib import closing

import pytest

from hardzero import Budget, BudgetExceededError, Ledger, LedgerError, Neighbours
from hardzero.ledger.receipt import Receipt
from hardzero.privacy.accounting import spent
from hardzero.privacy.events import GaussianRelease, PerturbedMinimum, PureRelease, Repeated, Selection

CAP = Budget(1.0, 1e-6)
ZERO_OUT = Neighbours.ZERO_OUT


def release(noise=30.0):
    return (GaussianRelease("a sum", noise),)


def promise(events):
    return spent(events, CAP.delta)


def reserve(ledger, events=None, **more):
    events = events or release()
    return ledger.reserve(events, promise(events), ZERO_OUT, what="a test", **more)


def spend_all(ledger, events=None):
    """Reserve and commit until the cap says no; return how often it went well and the error."""
    for times in range(1000):
        try:
            reserve(ledger, events).commit()
        except BudgetExceededError as error:
            return times, str(error)
    raise AssertionError("the cap never said no")


@pytest.fixture
def ledger(address):
    return Ledger(address, "people", cap=CAP)


def kinds(ledger):
    return [entry.values["kind"] for entry in ledger.entries()]


def test_fits_are_charged_until_the_cap_says_no(ledger):
    times, error = spend_all(ledger)
    events = Repeated(release()[0], times)
    assert spent([events], CAP.delta).epsilon <= CAP.epsilon
    assert spent([events, *release()], CAP.delta).epsilon > CAP.epsilon
    assert len(ledger.entries()) == 1 + 2 * times
    assert ledger.entries()[-1].state.spent == pytest.approx(spent([events], CAP.delta).epsilon, rel=1e-8)
    assert "'people' has spent epsilon = 0.99" in error
    assert ledger.verify() == []


def test_a_refusal_says_what_would_fit_and_that_fits(ledger):
    _, error = spend_all(ledger, release(20.0))
    fits = float(re.search(r"A fit of epsilon = ([0-9.e-]+) would be allowed", error)[1])
    ledger.refuse_beyond(fits, CAP.delta)
    with pytest.raises(BudgetExceededError):
        ledger.refuse_beyond(2 * fits, CAP.delta)
    noise = next(
        1 / x for x in (1e-4 * 1.01**i for i in range(2000)) if promise(release(1 / x)).epsilon > 0.98 * fits
    )
    reserve(ledger, release(noise))
    with pytest.raises(BudgetExceededError):
        reserve(ledger, release(noise / 4))


def test_ten_fits_cost_less_than_ten_times_one(ledger):
    tenth = release(36.4)
    assert promise(tenth).epsilon == pytest.approx(0.1, abs=0.001)
    for _ in range(10):
        reserve(ledger, tenth)
    assert 0.3 < ledger.entries()[-1].state.spent < 0.36


def test_what_fails_or_is_interrupted_stays_charged(ledger):
    for error in (ValueError, KeyboardInterrupt, SystemExit):
        with pytest.raises(error), ledger.charged(release(), promise(release()), ZERO_OUT, what="a test"):
            raise error
    assert kinds(ledger) == ["created", *("reserved", "failed") * 3]
    assert ledger.entries()[-1].state.reservations == 3
    assert ledger.verify() == []


def test_a_reservation_that_is_never_closed_stays_charged(ledger):
    reserve(ledger)
    before = ledger.entries()[-1].state
    reserve(ledger).commit()
    assert ledger.entries()[-1].state.total.square == 2 * before.total.square


def test_a_reservation_is_closed_once(ledger):
    reservation = reserve(ledger)
    reservation.commit()
    with pytest.raises(LedgerError):
        reservation.commit()
    with pytest.raises(LedgerError):
        reservation.fail()
    assert kinds(ledger) == ["created", "reserved", "committed"]
    assert ledger.verify() == []


def test_a_release_that_is_paid_for_is_kept_where_the_ledger_breaks(ledger, monkeypatch):
    def broken(self):
        raise LedgerError("gone")

    monkeypatch.setattr("hardzero.ledger.ledger.Reservation.commit", broken)
    charged = ledger.charged(release(), promise(release()), ZERO_OUT, what="a test")
    with pytest.warns(UserWarning, match="is charged, but could not be marked"), charged:
        pass
    assert kinds(ledger) == ["created", "reserved"]


def test_one_relation_for_each_data_set(ledger):
    reserve(ledger)
    with pytest.raises(LedgerError, match="neighbours='zero-out'"):
        ledger.reserve(release(), promise(release()), Neighbours.REPLACE_ONE, what="a test")


def test_a_first_fit_may_use_the_whole_cap_and_is_then_the_last(ledger):
    """Alone it costs what its own accountant proves; selections in between are cheaper in that than in the filter."""
    events = (GaussianRelease("a sum", 5.2), Repeated(Selection(0.02), 40))
    budget = promise(events)
    assert budget.epsilon < 1.0
    tight = Ledger(ledger.url, "tight", cap=Budget(budget.epsilon * 1.0001, CAP.delta))
    reserve(tight, events).commit()
    assert tight.entries()[-1].state.spent == pytest.approx(budget.epsilon)
    with pytest.raises(BudgetExceededError, match="Nothing is left"):
        reserve(tight, release(1000.0))
    assert tight.verify() == []


def test_pure_releases_add_up_as_they_are(ledger):
    half = (PureRelease("a count", 0.4999),)
    reserve(ledger, half)
    reserve(ledger, half)
    assert ledger.entries()[-1].state.spent == pytest.approx(0.9998)
    with pytest.raises(BudgetExceededError):
        reserve(ledger, half)


def test_methods_without_a_gaussian_bound_need_the_other_accountant(address):
    minimum = (PerturbedMinimum("weights", 20.0, 0.05),)
    gaussian = Ledger(address, "people", cap=CAP)
    reserve(gaussian)
    with pytest.raises(BudgetExceededError, match="accountant 'renyi'"):
        reserve(gaussian, minimum)
    renyi = Ledger(address, "people by divergences", cap=CAP, accountant="renyi")
    times, _ = spend_all(renyi, minimum)
    assert spent([Repeated(minimum[0], times)], CAP.delta).epsilon <= CAP.epsilon
    assert times >= 2
    assert renyi.verify() == []


def test_seeded_fits_are_charged_and_marked(ledger):
    reserve(ledger, seeded=True)
    reserve(ledger)
    marks = [entry.values.get("private") for entry in ledger.entries()]
    assert marks == [None, False, True]
    assert ledger.entries()[-1].state.reservations == 2


@pytest.mark.parametrize(
    ("terms", "said"),
    [
        ({"cap": Budget(2.0, 1e-6)}, "another cap"),
        ({"neighbours": "replace-one"}, "another neighbours"),
        ({"accountant": "renyi"}, "another accountant"),
        ({"schema": "b" * 64}, "another schema"),
    ],
)
def test_the_terms_of_a_data_set_are_those_it_was_created_with(address, terms, said):
    Ledger(address, "people", cap=CAP, schema="a" * 64).create()
    with pytest.raises(LedgerError, match=said):
        reserve(Ledger(address, "people", **terms))
    reserve(Ledger(address, "people"))
    reserve(Ledger(address, "people", schema="a" * 64))


def test_a_data_set_is_created_once_and_not_by_accident(address):
    with pytest.raises(LedgerError, match="hardzero ledger init"):
        reserve(Ledger(address, "people"))
    with pytest.raises(LedgerError, match="needs a cap"):
        Ledger(address, "people").create()
    Ledger(address, "people", cap=CAP).create()
    with pytest.raises(LedgerError, match="is there already"):
        Ledger(address, "people", cap=CAP).create()
    with pytest.raises(LedgerError, match="no data set 'others'"):
        reserve(Ledger(address, "others"))


def test_data_sets_of_one_ledger_have_budgets_of_their_own(address):
    """Two names for the same people are two budgets: a documented limit."""
    times = [spend_all(Ledger(address, name, cap=CAP))[0] for name in ("people", "the same people")]
    assert times[0] == times[1]


def test_a_cap_is_raised_and_never_lowered(ledger):
    times, _ = spend_all(ledger)
    plain = Ledger(ledger.url, "people")
    for other in (Budget(0.5, 1e-6), CAP, Budget(2.0, 1e-5)):
        with pytest.raises(LedgerError, match="in no other way"):
            plain.raise_cap(other)
    plain.raise_cap(Budget(2.0, 1e-6))
    more, _ = spend_all(plain)
    assert more > times
    assert plain.verify() == []


def test_a_ledger_can_be_copied_and_pickled_and_opens_nothing(ledger):
    for other in (pickle.loads(pickle.dumps(ledger)), copy.deepcopy(ledger), copy.copy(ledger)):
        assert other == ledger
        reserve(other)
    assert len(ledger.entries()) == 4
    reservation = reserve(ledger)
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(reservation)


def test_a_receipt_tells_whether_the_ledger_was_set_back(ledger):
    receipt = reserve(ledger).receipt
    assert ledger.verify([receipt]) == []
    assert "was set back" in ledger.verify([Receipt("people", 9, receipt.hash)])[0]
    assert "was rewritten" in ledger.verify([Receipt("people", 2, "0" * 64)])[0]
    assert "for the data set 'others'" in ledger.verify([Receipt("others", 2, receipt.hash)])[0]


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:secret-word@host/db",
        "postgresql://host/db?password=secret-word",
        "postgresql://host/db?a=1&sslpassword=secret-word",
        "mysql://me:secret-word@host/db",
    ],
)
def test_an_address_with_a_password_is_refused_without_showing_it(url):
    with pytest.raises(ValueError, match=r"password|must be a file") as caught:
        Ledger(url, "people")
    assert "secret-word" not in str(caught.value)


def test_errors_show_no_address():
    with pytest.raises(LedgerError) as caught:
        Ledger("postgresql://some-user@127.0.0.1:1/some-name", "people").entries()
    assert not re.search("some-user|some-name|127", str(caught.value))


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"dataset": ""}, "dataset must be a name"),
        ({"dataset": "a\nb"}, "dataset must be a name"),
        ({"dataset": 3}, "dataset must be a name"),
        ({"cap": 1.0}, "cap must be a Budget"),
        ({"cap": Budget(1.0, 0.0)}, "delta must lie"),
        ({"neighbours": "all"}, "neighbours must be"),
        ({"accountant": "moments"}, "accountant must be one of"),
        ({"url": ""}, "url must name a file"),
    ],
)
def test_what_cannot_be_is_refused_at_once(arguments, error):
    with pytest.raises((ValueError, TypeError), match=error):
        Ledger(**({"url": "ledger.db", "dataset": "people"} | arguments))


def test_without_sqlalchemy_a_message_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "sqlalchemy", None)
    monkeypatch.setitem(sys.modules, "sqlalchemy.exc", None)
    with pytest.raises(ImportError, match=r"pip install 'hardzero\[ledger\]'"):
        Ledger(tmp_path / "ledger.db", "people", cap=CAP).create()
    assert not (tmp_path / "ledger.db").exists()


def test_a_file_that_was_deleted_is_not_made_anew_by_who_had_used_it(tmp_path):
    ledger = Ledger(tmp_path / "ledger.db", "people", cap=CAP)
    reserve(ledger)
    for file in tmp_path.iterdir():
        file.unlink()
    with pytest.raises(LedgerError, match="no ledger at this address"):
        reserve(ledger)


def test_a_ledger_that_another_is_setting_up_is_waited_for(tmp_path):
    # SQLite says at once that the file is busy: it does not wait to keep a log where somebody is about to write.
    file = tmp_path / "ledger.db"
    with closing(sqlite3.connect(file, isolation_level=None, check_same_thread=False)) as other:
        other.execute("BEGIN IMMEDIATE")
        release = threading.Timer(0.3, other.execute, ["ROLLBACK"])
        release.start()
        assert Ledger(file, "people", cap=CAP).create().number == 1
        release.join()


def test_a_ledger_that_is_never_set_free_is_not_waited_for_without_end(tmp_path, monkeypatch):
    monkeypatch.setattr("hardzero.ledger.store.BUSY_SECONDS", 0.1)
    file = tmp_path / "ledger.db"
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerError, match="busy for a minute"):
            Ledger(file, "people", cap=CAP).create()


def test_an_address_may_be_written_in_several_ways(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file = str(tmp_path / "ledger.db")
    assert {Ledger(url, "people").url for url in ("ledger.db", f"sqlite:///{file}", tmp_path / "ledger.db")} == {file}
    same = ("postgres://me@host/db", "postgresql+psycopg://me@host/db", "postgresql://me@host/db")
    assert {Ledger(url, "people").url for url in same} == {"postgresql://me@host/db"}


def test_an_address_that_makes_no_sense_is_not_quoted():
    pytest.importorskip("psycopg")
    with pytest.raises(ValueError, match="cannot be understood") as caught:
        Ledger("postgresql://host:some-port/name", "people").entries()
    assert "some-port" not in str(caught.value)
