"""The commands of the ledger, and fits that are charged by the command line."""

import json
import re

import pytest

from hardzero import Budget, Ledger
from hardzero.model import FittedModel

from .test_model import SCHEMA, call, write_people

pytest.importorskip("sqlalchemy")
pytest.importorskip("jinja2")


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with a table, its schema, and a ledger with one data set."""
    monkeypatch.chdir(tmp_path)
    write_people(tmp_path / "people.csv")
    (tmp_path / "people.toml").write_text(SCHEMA.format(positive="yes", missing="error"))
    done = call("ledger", "init", *NAMED, "--epsilon", 2, "--delta", 1e-4)
    assert done.exit_code == 0, done.output
    return tmp_path


NAMED = ("--ledger", "ledger.db", "--dataset", "people")


def fit(*options, output="model.json", epsilon=0.5):
    return call("fit", "people.csv", "--schema", "people.toml", "--epsilon", epsilon, "-o", output, *options)


def ledger():
    return Ledger("ledger.db", "people")


def charged():
    return ledger().entries()[-1].state.reservations


def test_a_fit_is_charged_and_its_files_name_the_entry(place):
    result = fit(*NAMED, "--report", "report.html")
    assert result.exit_code == 0, result.output
    assert "Charged to a ledger: entry 2 of the data set 'people'" in result.output
    receipt = FittedModel.load("model.json").privacy.ledger
    assert receipt == ledger().entries()[1].receipt
    page = (place / "report.html").read_text()
    assert receipt.hash in page
    assert '<p id="ledger-entry">' in page
    assert json.loads(call("inspect", "model.json", "--json").stdout)["ledger"] == vars(receipt)


def test_a_projects_settings_hold_where_nothing_is_said(place, monkeypatch):
    (place / "hardzero.toml").write_text('[ledger]\nurl = "ledger.db"\ndataset = "people"\n')
    assert fit().exit_code == 0
    assert charged() == 1
    (place / "deeper").mkdir()
    monkeypatch.chdir(place / "deeper")
    done = call("fit", "../people.csv", "--schema", "../people.toml", "-o", "model.json", "--epsilon", 0.1)
    assert done.exit_code == 0, done.output
    assert "by 2 fits" in call("ledger", "show").stdout
    done = call("fit", "../people.csv", "--schema", "../people.toml", "-o", "free.json", "--no-ledger")
    assert done.exit_code == 0, done.output
    assert FittedModel.load("free.json").privacy.ledger is None
    monkeypatch.chdir(place)
    assert charged() == 2


def test_the_demo_is_charged_to_nobody(place):
    (place / "hardzero.toml").write_text('[ledger]\nurl = "ledger.db"\ndataset = "people"\n')
    assert call("demo", "--output", "demo").exit_code == 0
    assert charged() == 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[ledger", "cannot be read"),
        ('[ledger]\nurl = "ledger.db"\npassword = "secret-word"\n', "nothing else"),
        ('[other]\nurl = "ledger.db"\n', "nothing else"),
        ("[ledger]\nurl = 3\n", "must be text"),
        ('[ledger]\nurl = "ledger.db"\n', "--dataset"),
        ('[ledger]\nurl = "postgresql://me:secret-word@host/db"\ndataset = "people"\n', "holds a password"),
    ],
)
def test_settings_that_cannot_be_are_refused_and_not_quoted(place, text, said):
    (place / "hardzero.toml").write_text(text)
    result = fit()
    assert result.exit_code == 1
    assert said in result.output
    assert "secret-word" not in result.output
    assert charged() == 0


def test_beyond_the_cap_the_table_is_not_opened(place):
    for number in range(6):
        assert fit(*NAMED, output=f"{number}.json").exit_code == 0
    before = charged()
    # A table whose cells cannot be read: whoever looks at them fails otherwise.
    (place / "people.csv").write_text("id,age,town,ill\n" + "1,not a number,north,neither\n" * 400)
    for options, epsilon in (((), 3.0), (("--delta", "1e-5"), 1.9)):
        result = fit(*NAMED, *options, epsilon=epsilon)
        assert result.exit_code == 1
        assert "has spent epsilon" in result.output
        assert "would be allowed" in result.output
    assert not (place / "model.json").exists()
    assert charged() == before


def test_what_is_not_private_needs_a_word(place):
    result = fit(*NAMED, "--method", "lasso")
    assert result.exit_code == 1
    assert "--no-ledger" in result.output
    assert fit(*NAMED, "--method", "lasso", "--no-ledger").exit_code == 0
    assert charged() == 0


def test_a_schema_other_than_the_data_sets_is_refused(place):
    named = ("--ledger", "ledger.db", "--dataset", "by schema")
    done = call("ledger", "init", *named, "--epsilon", 2, "--delta", 1e-4, "--schema", "people.toml")
    assert done.exit_code == 0, done.output
    assert fit(*named).exit_code == 0
    assert fit(*named, "--shape", "steps", output="steps.json").exit_code == 0
    schema = (place / "people.toml").read_text()
    (place / "people.toml").write_text(schema.replace("upper = 100", "upper = 101"))
    result = fit(*named, output="other.json")
    assert result.exit_code == 1
    assert "has another schema" in result.output


def test_show_and_history_tell_what_was_spent(place):
    for number in range(3):
        fit(*NAMED, output=f"{number}.json", epsilon=0.2)
    fit(*NAMED, "--seed", 1, output="seeded.json", epsilon=0.1)
    text = call("ledger", "show", *NAMED).stdout
    assert "cap         epsilon = 2 at delta = 0.0001" in text
    assert "by 4 fits" in text
    assert re.search(r"one by one  epsilon = 0\.(69|7).*composed they cost \d\d% of that", text)
    assert "NOT PRIVATE 1 with noise from a seed" in text
    facts = json.loads(call("ledger", "show", *NAMED, "--json").stdout)
    assert facts["spent"] < facts["one_by_one"]["epsilon"] == pytest.approx(0.7, rel=1e-3)
    assert [one["outcome"] for one in facts["fits"]] == ["complete"] * 4
    lines = call("ledger", "history", *NAMED).stdout.splitlines()
    assert len(lines) == 5
    assert "SparsePrivateLogisticRegression NOT PRIVATE" in lines[-1]
    assert json.loads(call("ledger", "history", *NAMED, "--json").stdout) == facts["fits"]


def test_the_page_shows_every_fit_under_the_cap_and_needs_nothing_else(place):
    empty = call("ledger", "show", *NAMED, "--page", "empty.html")
    assert empty.exit_code == 0, empty.output
    for number in range(3):
        fit(*NAMED, output=f"{number}.json", epsilon=0.2)
    assert call("ledger", "raise-cap", *NAMED, "--epsilon", 3).exit_code == 0
    fit(*NAMED, output="later.json", epsilon=0.2)
    assert call("ledger", "show", *NAMED, "--page", "budget.html").exit_code == 0
    page = (place / "budget.html").read_text()
    assert [f'id="entry-{number}"' in page for number in (2, 4, 6, 9)] == [True] * 4
    heights = re.findall(r'class="cap" .* y1="([\d.]+)"', page)
    assert len(heights) == 4
    assert heights[0] == heights[2] > heights[3]  # further down means less
    assert not re.search(r"""(src|href)=["'](?!#|data:,)""", page)
    assert "<script" not in page
    assert call("ledger", "show", *NAMED, "--page", "budget.html").exit_code == 1


def test_verify_compares_with_what_is_kept_elsewhere(place):
    for number in range(2):
        fit(*NAMED, output=f"{number}.json", epsilon=0.2)
    assert call("ledger", "export", *NAMED, "-o", "export.jsonl").exit_code == 0
    for options in (
        ("--receipt", "0.json", "--receipt", "1.json"),
        ("--receipt", "export.jsonl"),
        ("--witness", "w"),
    ):
        done = call("ledger", "verify", *NAMED, *options)
        assert done.exit_code == 0, done.output
        assert "in order: 5 entries" in done.output
    fit(*NAMED, output="2.json", epsilon=0.2)
    assert call("ledger", "verify", *NAMED, "--witness", "w").exit_code == 0
    assert json.loads((place / "w").read_text())["number"] == 7
    other = ("--ledger", "other.db", "--dataset", "people")
    call("ledger", "init", *other, "--epsilon", 2, "--delta", 1e-4)
    for options in (("--receipt", "2.json"), ("--receipt", "export.jsonl"), ("--witness", "w")):
        done = call("ledger", "verify", *other, *options)
        assert done.exit_code == 1
        assert re.search("set back|rewritten", done.output)
    assert json.loads((place / "w").read_text())["number"] == 7, "a witness does not learn from what it refuses"


def test_what_is_no_receipt_is_said_to_be_none(place):
    fit("--no-ledger")
    (place / "notes.txt").write_text("notes\n")
    for file, said in (("model.json", "names no entry"), ("notes.txt", "not a model file"), ("people.toml", "not a")):
        done = call("ledger", "verify", *NAMED, "--receipt", file)
        assert done.exit_code == 1
        assert said in done.output


@pytest.mark.parametrize("command", ["show", "history", "verify"])
def test_a_data_set_or_ledger_that_is_not_there_is_a_clear_error(place, command):
    for options in (("--ledger", "ledger.db", "--dataset", "nobody"), ("--ledger", "none.db", "--dataset", "people")):
        done = call("ledger", command, *options)
        assert done.exit_code == 1
        assert re.match("error: (the ledger has no data set|there is no ledger)", done.output)
    assert not (place / "none.db").exists()
    assert "add --ledger" in call("ledger", command).output


def test_a_cap_is_never_lowered_and_roles_are_not_for_files(place):
    assert call("ledger", "raise-cap", *NAMED, "--epsilon", 1).exit_code == 1
    assert call("ledger", "raise-cap", *NAMED, "--epsilon", 4).exit_code == 0
    assert ledger().entries()[-1].state.filter.cap == Budget(4.0, 1e-4)
    named = ("--ledger", "ledger.db", "--dataset", "others", "--epsilon", 1, "--delta", 1e-4)
    done = call("ledger", "init", *named, "--allow", "sam")
    assert done.exit_code == 1
    assert "file's permissions" in done.output
    assert Ledger("ledger.db", "others").entries() == []


def test_roles_are_made_in_a_database(postgres, place):
    psycopg = pytest.importorskip("psycopg")
    url = postgres.replace("+psycopg", "")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP SCHEMA IF EXISTS hardzero_ledger CASCADE")
    named = ("--ledger", url, "--dataset", "people")
    done = call("ledger", "init", *named, "--epsilon", 1, "--delta", 1e-4, "--roles", "--allow", "hardzero_reader")
    assert done.exit_code == 0, done.output
    with psycopg.connect(url) as connection:
        roles = connection.execute("SELECT rolname FROM pg_roles WHERE rolname LIKE 'hardzero_%'").fetchall()
        allowed = connection.execute("SELECT * FROM hardzero_ledger.permissions").fetchall()
    assert {name for (name,) in roles} == {"hardzero_owner", "hardzero_spender", "hardzero_reader"}
    assert allowed == [("people", "hardzero_reader")]
    assert fit(*named, epsilon=0.3).exit_code == 0
    assert call("ledger", "verify", *named, "--receipt", "model.json").exit_code == 0


def test_an_interrupted_fit_says_that_it_is_charged(place, monkeypatch):
    def interrupted(self, problem, plan):
        raise KeyboardInterrupt

    monkeypatch.setattr("hardzero.estimators.select_refit.SparsePrivateLogisticRegression._run", interrupted)
    result = fit(*NAMED)
    assert result.exit_code == 130
    assert "nothing was written; what the fit has reserved in its ledger stays charged" in result.output
    assert [entry.values["kind"] for entry in ledger().entries()] == ["created", "reserved", "failed"]
