"""Changes that are made behind the ledger's back: which ones `verify` finds, and that none is built upon."""

import json
import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from hardzero import Budget, Ledger, LedgerError, Neighbours
from hardzero.ledger import store
from hardzero.ledger.chain import canonical, hash_of
from hardzero.privacy.events import GaussianRelease

pytest.importorskip("sqlalchemy")

EVENTS = (GaussianRelease("a sum", 30.0),)
PROMISE = Budget(0.2, 1e-6)
UNLOCK = "DROP TRIGGER hardzero_no_update; DROP TRIGGER hardzero_no_delete;"


@pytest.fixture
def ledger(tmp_path):
    made = Ledger(tmp_path / "ledger.db", "people", cap=Budget(1.0, 1e-6))
    for _ in range(3):
        made.reserve(EVENTS, PROMISE, Neighbours.ZERO_OUT, what="a test").commit()
    assert made.verify() == []
    return made


def run(ledger, script):
    with closing(sqlite3.connect(ledger.url)) as connection:
        connection.executescript(script)


def rewritten(ledger, number, change):
    """Change one entry, and give it the hash of its new text."""
    entry = ledger.entries()[number - 1]
    values = json.loads(entry.body)
    change(values)
    body = canonical(values)
    with closing(sqlite3.connect(ledger.url)) as connection:
        connection.executescript(UNLOCK)
        connection.execute(
            "UPDATE hardzero_entries SET body = ?, hash = ? WHERE number = ?", (body, hash_of(body), number)
        )
        if number == len(ledger.entries()):
            connection.execute("UPDATE hardzero_heads SET hash = ?", (hash_of(body),))
        connection.commit()


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE hardzero_entries SET body = replace(body, '30.0', '99.0') WHERE number = 2",
        "DELETE FROM hardzero_entries WHERE number = 2",
    ],
)
def test_entries_cannot_be_changed_or_deleted_without_force(ledger, change):
    with pytest.raises(sqlite3.IntegrityError, match="entries are never"):
        run(ledger, change)
    assert ledger.verify() == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("UPDATE hardzero_entries SET body = replace(body, '30.0', '99.0') WHERE number = 2", "entry 2 was changed"),
        ("UPDATE hardzero_entries SET closes = NULL WHERE number = 7", "entry 7 was moved"),
        ("DELETE FROM hardzero_entries WHERE number = 4", "entry 4 is missing"),
        ("DELETE FROM hardzero_entries WHERE number = 1", "entry 1 is missing"),
        ("DELETE FROM hardzero_entries WHERE number = 7", "remembers entry 7 as the last"),
        ("DELETE FROM hardzero_heads", "remembers no entry as the last"),
        ("UPDATE hardzero_heads SET number = 5", "remembers entry 5 as the last"),
        ("UPDATE hardzero_entries SET body = 'x' WHERE number = 3", "entry 3 was changed"),
        ("DELETE FROM hardzero_entries; DELETE FROM hardzero_heads", "has no data set 'people'"),
    ],
)
def test_what_was_changed_is_found(ledger, change, said):
    run(ledger, UNLOCK + change)
    (found, *_) = ledger.verify()
    assert said in found


@pytest.mark.parametrize(
    ("number", "change", "said"),
    [
        (2, lambda values: values["events"][0].update(noise=300.0), "entry 2 has a cost that its events do not have"),
        (2, lambda values: values.update(what="another"), "entry 3 does not follow"),
        (1, lambda values: values["after"]["cap"].update(epsilon=9.0), "entry 1 has a limit that its cap does not"),
        (7, lambda values: values["after"]["total"].update(square=0.0), "entry 7 has sums that do not follow"),
        (7, lambda values: values.update(kind="forgiven"), "entry 7 cannot be read"),
        (2, lambda values: values["events"][0].update(kind="Unheard"), "entry 2 cannot be read"),
        (2, lambda values: values["events"][0].update(noise=-1.0), "entry 2 cannot be read"),
        (7, lambda values: values.update(kind="created"), "entry 7 begins anew"),
        (7, lambda values: values.pop("after"), "entry 7 cannot be read"),
    ],
)
def test_an_entry_with_a_new_hash_is_found(ledger, number, change, said):
    rewritten(ledger, number, change)
    assert said in ledger.verify()[0]


def test_a_ledger_whose_last_entry_was_changed_pays_for_nothing(ledger):
    run(ledger, UNLOCK + "DELETE FROM hardzero_entries WHERE number = 7")
    with pytest.raises(LedgerError, match="was changed or removed"):
        ledger.reserve(EVENTS, PROMISE, Neighbours.ZERO_OUT, what="a test")


def test_a_file_that_was_set_back_is_found_by_a_receipt_alone(ledger, tmp_path):
    run(ledger, "PRAGMA wal_checkpoint(TRUNCATE)")
    shutil.copy(ledger.url, tmp_path / "backup.db")
    shutil.copy(ledger.url, tmp_path / "backup.bytes")
    receipt = ledger.reserve(EVENTS, PROMISE, Neighbours.ZERO_OUT, what="a test").receipt
    assert ledger.verify([receipt]) == []
    (tmp_path / "backup.db").replace(ledger.url)
    assert ledger.verify([receipt]) == [], "what SQLite keeps beside the file still has the rest"
    for end in ("-wal", "-shm"):
        (tmp_path / f"ledger.db{end}").unlink(missing_ok=True)
    (tmp_path / "again.db").write_bytes((tmp_path / "backup.bytes").read_bytes())
    (tmp_path / "again.db").replace(ledger.url)
    assert ledger.verify() == [], "the file itself knows nothing of what came later"
    (found,) = ledger.verify([receipt])
    assert "set back to entry 7" in found


def test_a_file_put_in_its_place_is_seen_by_processes_that_had_the_other_open(ledger, tmp_path):
    other = Ledger(tmp_path / "other.db", "people", cap=Budget(1.0, 1e-6))
    other.create()
    run(other, "PRAGMA wal_checkpoint(TRUNCATE)")
    (tmp_path / "other.db").replace(ledger.url)
    for end in ("-wal", "-shm"):
        (tmp_path / f"ledger.db{end}").unlink(missing_ok=True)
    assert len(ledger.entries()) == 1


def test_a_file_that_is_no_ledger_is_left_alone(tmp_path):
    file = tmp_path / "notes.txt"
    file.write_text("no ledger " * 500)
    with pytest.raises(LedgerError, match="not a ledger"):
        Ledger(file, "people").entries()
    with pytest.raises(LedgerError, match="not a ledger"):
        Ledger(file, "people", cap=Budget(1.0, 1e-6)).create()
    assert file.read_text() == "no ledger " * 500


def test_somebody_who_may_only_read_can_read(ledger, monkeypatch):
    """SQLite would make files beside the ledger; in a folder that is not theirs readers go without."""
    store._close()
    assert not list(Path(ledger.url).parent.glob("*-wal")), "the last one out leaves one file behind"
    monkeypatch.setattr("os.access", lambda path, mode: mode != os.W_OK)
    assert ledger.verify() == []
    assert not list(Path(ledger.url).parent.glob("*-wal"))
    with pytest.raises(LedgerError, match="may not write"):
        ledger.reserve(EVENTS, PROMISE, Neighbours.ZERO_OUT, what="a test")
    store._close()


def test_a_folder_that_is_not_there_is_a_clear_error(tmp_path):
    ledger = Ledger(tmp_path / "nowhere" / "ledger.db", "people", cap=Budget(1.0, 1e-6))
    with pytest.raises(LedgerError, match="No such file"):
        ledger.create()
    with pytest.raises(LedgerError, match="no ledger at this address"):
        Ledger(tmp_path / "ledger.db", "people").entries()
    assert not (tmp_path / "ledger.db").exists()
