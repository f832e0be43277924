"""Who may do what with a ledger in PostgreSQL: real roles, and a server that refuses."""

import json

import pytest

from hardzero import Budget, Ledger, LedgerError, Neighbours
from hardzero.ledger.chain import canonical, hash_of
from hardzero.ledger.store import grant_roles
from hardzero.privacy.events import GaussianRelease

psycopg = pytest.importorskip("psycopg")
pytest.importorskip("sqlalchemy")

CAP = Budget(1.0, 1e-6)
EVENTS = (GaussianRelease("a sum", 30.0),)
PEOPLE = {"olga": "hardzero_owner", "sam": "hardzero_spender", "rita": "hardzero_reader", "nobody": None}


@pytest.fixture
def roles(database):
    """A ledger with two data sets, of which spenders and readers may see one."""
    for name in ("people", "secret"):
        Ledger(database, name, cap=CAP).create()
    grant_roles(database)
    grant_roles(database)  # a second time changes nothing
    with psycopg.connect(database, autocommit=True) as connection:
        for person, role in PEOPLE.items():
            connection.execute(f"DROP ROLE IF EXISTS {person}")
            connection.execute(f"CREATE ROLE {person} LOGIN")
            if role is not None:
                connection.execute(f"GRANT {role} TO {person}")
        connection.execute("INSERT INTO hardzero_ledger.permissions VALUES ('people', 'hardzero_reader')")
    yield lambda person, dataset="people", **terms: Ledger(
        database.replace("hardzero@", f"{person}@"), dataset, **terms
    )
    with psycopg.connect(database, autocommit=True) as connection:
        for person in PEOPLE:
            connection.execute(f"DROP ROLE {person}")


def spend(ledger):
    return ledger.reserve(EVENTS, Budget(0.2, 1e-6), Neighbours.ZERO_OUT, what="a test")


def test_owners_create_raise_spend_and_read(roles):
    roles("olga", "another", cap=CAP).create()
    spend(roles("olga", "another")).commit()
    roles("olga", "another").raise_cap(Budget(2.0, 1e-6))
    assert roles("olga", "another").verify() == []
    assert [entry.values["by"] for entry in roles("olga", "another").entries()] == ["olga"] * 4


def test_spenders_spend_and_read_and_no_more(roles):
    spend(roles("sam")).commit()
    assert roles("sam").entries()[1].values["by"] == "sam"
    for forbidden in (
        lambda: roles("sam", "another", cap=CAP).create(),
        lambda: roles("sam").raise_cap(Budget(2.0, 1e-6)),
        lambda: spend(roles("sam", "secret")),
    ):
        with pytest.raises(LedgerError):
            forbidden()
    assert roles("olga", "secret").entries()[-1].state.reservations == 0


def test_readers_read_and_no_more(roles):
    assert len(roles("rita").entries()) == 1
    assert roles("rita").verify() == []
    for forbidden in (lambda: spend(roles("rita")), lambda: roles("rita").raise_cap(Budget(2.0, 1e-6))):
        with pytest.raises(LedgerError, match="may not write"):
            forbidden()


def test_rows_of_other_data_sets_are_not_shown(roles):
    for person in ("sam", "rita"):
        assert roles(person, "secret").entries() == []
    assert len(roles("olga", "secret").entries()) == 1


def test_others_see_nothing(roles):
    with pytest.raises(LedgerError):
        roles("nobody").entries()
    with pytest.raises(LedgerError):
        spend(roles("nobody"))


@pytest.mark.parametrize("person", ["sam", "rita", "olga"])
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE hardzero_ledger.entries SET body = '{}'",
        "DELETE FROM hardzero_ledger.entries",
        "TRUNCATE hardzero_ledger.entries",
        "INSERT INTO hardzero_ledger.entries VALUES ('people', 2, '{}', '', NULL)",
        "UPDATE hardzero_ledger.heads SET number = 0",
        "DELETE FROM hardzero_ledger.heads",
        "DROP TABLE hardzero_ledger.entries",
        "CREATE FUNCTION hardzero_ledger.is_owner() RETURNS boolean LANGUAGE sql AS 'SELECT true'",
    ],
)
def test_nobody_writes_past_the_function(roles, person, statement):
    with psycopg.connect(roles(person).url) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute(statement)


def test_even_whoever_made_the_tables_does_not_change_entries_by_mistake(roles, database):
    for statement in ("UPDATE hardzero_ledger.entries SET body = ''", "TRUNCATE hardzero_ledger.entries"):
        with psycopg.connect(database) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(statement)


def forged(entry, **changes):
    """The entry that would follow, with changes, and the right hash for them."""
    values = json.loads(entry.body)
    values |= {"number": entry.number + 1, "previous": entry.hash, "by": "sam", "kind": "reserved"}
    values |= {"what": "a test", "epsilon": 0.1, "delta": 1e-6, "private": True, "events": []}
    values |= {"cost": {"square": 0.001, "rho": 0.0005, "shift": 0.0, "epsilon": None}}
    after = values["after"]
    after |= {"reservations": after["reservations"] + 1, "alone": None}
    after["total"] = {"square": 0.001, "rho": 0.0005, "shift": 0.0, "epsilon": None}
    for name, change in changes.items():
        (after if name in after else values)[name] = change
    return canonical(values)


def append(url, body, number=2, closes=None, hashed=None):
    with psycopg.connect(url) as connection:
        connection.execute(
            "SELECT hardzero_ledger.append('people', %s, %s, %s, %s)", (number, body, hashed or hash_of(body), closes)
        )


def test_a_client_of_its_own_cannot_append_what_does_not_follow(roles):
    ledger = roles("sam")
    (first,) = ledger.entries()
    much = {"square": 1.0, "rho": 0.5, "shift": 0.0, "epsilon": None}
    endless = {"square": None, "rho": None, "shift": 0.0, "epsilon": None}
    for changes in (
        {"total": much, "cost": much},  # beyond the cap
        {"total": endless, "cost": endless},
        {"total": {"square": 0.0, "rho": 0.0, "shift": 0.0, "epsilon": 0.0}},  # less than before and the cost
        {"limit": 100.0},  # another limit than before
        {"cap": {"epsilon": 100.0, "delta": 1e-6}},
        {"reservations": 0},
        {"previous": "0" * 64},
        {"by": "olga"},
        {"kind": "forgiven"},
        {"number": 3},
        {"dataset": "secret"},
    ):
        with pytest.raises(psycopg.errors.CheckViolation):
            append(ledger.url, forged(first, **changes))
    for wrong in ({"hashed": "0" * 64}, {"number": 5}, {"closes": 1}):
        with pytest.raises(psycopg.errors.CheckViolation):
            append(ledger.url, forged(first), **wrong)
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        append(ledger.url, forged(first, kind="raised"))
    append(ledger.url, forged(first))  # the power of this test: without a change it is accepted
    assert len(ledger.entries()) == 2


def test_a_file_of_sqlite_has_no_roles(tmp_path):
    with pytest.raises(ValueError, match="file's permissions"):
        grant_roles(str(tmp_path / "ledger.db"))
