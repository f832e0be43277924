"""Signals that ask to end, in real processes: nothing half done is left, and what is said about the rest is true."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ..models import made_up
from .test_model import SCHEMA, files, write_people

pytestmark = [
    pytest.mark.skipif(os.name != "posix", reason="signals of POSIX"),
    pytest.mark.usefixtures("heeded_signals"),
]

# Runs the command line in a process that sends itself a signal when it first comes to a certain function.
AT = """
import importlib, os, sys
module, name, number, *arguments = sys.argv[1:]
owner = importlib.import_module(module)
*path, name = name.split(".")
for part in path:
    owner = getattr(owner, part)
function = getattr(owner, name)
def signalled(*args, **options):
    setattr(owner, name, function)
    os.kill(os.getpid(), int(number))
    return function(*args, **options)
setattr(owner, name, signalled)
sys.argv = ["hardzero", *arguments]
from hardzero.__main__ import main
main()
"""
SIGNALS = pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda n: n.name)
FIT = ["fit", "people.csv", "--schema", "people.toml", "-o", "model.json", "--report", "report.html"]


@pytest.fixture
def folder(tmp_path):
    write_people(tmp_path / "people.csv")
    (tmp_path / "people.toml").write_text(SCHEMA.format(positive="yes", missing="error"))
    made_up(names=("age", "town")).save(tmp_path / "saved.json")
    return tmp_path


def run_signalled(folder, place, number, arguments):
    module, _, name = place.partition(":")
    command = [sys.executable, "-c", AT, module, name, str(int(number)), *arguments]
    return run(command, folder)


def run(command, folder):
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)


@SIGNALS
def test_a_signal_while_predicting_removes_the_temporary_file(folder, number):
    before = files(folder)
    (folder / "new.csv").write_text("age,town\n1,2\n")
    ended = run_signalled(
        folder, "hardzero.model:FittedModel.predict", number, ["predict", "saved.json", "new.csv", "-o", "o.csv"]
    )
    assert ended.returncode == 128 + number
    assert ended.stderr == "interrupted; nothing was written\n"
    assert files(folder) == sorted([*before, "new.csv"])


@SIGNALS
def test_a_signal_before_the_report_says_that_the_model_is_there(folder, number):
    pytest.importorskip("jinja2")
    ended = run_signalled(folder, "hardzero.report:render_report", number, FIT)
    assert ended.returncode == 128 + number
    assert ended.stderr == (
        "interrupted; complete: model.json; not written: report.html; "
        "the fit had ended, so that its privacy budget is spent\n"
    )
    assert json.loads((folder / "model.json").read_text())["privacy"]["is_private"] is True
    assert not (folder / "report.html").exists()


def test_a_signal_when_the_fit_has_just_ended_does_not_cost_the_model(folder):
    ended = run_signalled(folder, "hardzero.cli.actions.fit:keep_model", signal.SIGTERM, FIT[:-2])
    assert ended.returncode == 143
    assert "complete: model.json" in ended.stderr
    assert json.loads((folder / "model.json").read_text())


def test_a_signal_while_fitting_says_that_nothing_was_written(folder):
    before = files(folder)
    ended = run_signalled(folder, "hardzero.cli.actions.fit:fit_rows", signal.SIGTERM, FIT)
    assert ended.returncode == 143
    assert ended.stderr == "interrupted; nothing was written\n"
    assert files(folder) == before


def test_the_demo_says_what_it_has_written(folder):
    place = "hardzero.cli.actions.predict:write_predictions"
    ended = run_signalled(folder, place, signal.SIGINT, ["demo", "-o", "demo"])
    assert ended.returncode == 130
    (last,) = ended.stderr.splitlines()
    for name in ("adult.csv", "adult-new.csv", "adult.toml", "model.json"):
        assert os.path.join("demo", name) in last.partition("not written")[0]
        assert (folder / "demo" / name).exists()
    assert last.partition("not written: ")[2].startswith(os.path.join("demo", "predictions.csv;"))
    assert "budget is spent" in last
    assert not [name for name in files(folder / "demo") if name.endswith(".tmp")]


@pytest.mark.parametrize("module", ["typer", "numpy", "scipy.sparse", "hardzero.model.file"])
def test_a_signal_during_an_import_gives_no_traceback(folder, module):
    code = f"""
import os, signal, sys
class Signal:
    def find_spec(self, name, path, target=None):
        if name == {module!r}:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), signal.SIGINT)
sys.argv = ["hardzero", "report", "saved.json", "-o", "report.html"]
from hardzero.__main__ import main
sys.meta_path.insert(0, Signal())
main()
"""
    ended = run([sys.executable, "-c", code], folder)
    assert ended.returncode == 130
    assert ended.stderr == "interrupted; nothing was written\n"


@pytest.mark.parametrize("step", ["os.register_at_fork = interrupted", "sys.stdout = Stream(sys.stdout.buffer)"])
def test_a_signal_while_the_command_gets_ready_gives_no_traceback(folder, step):
    """Its first steps: it listens to signals, and looks at the streams that it will write to."""
    code = f"""
import io, os, signal, sys
from hardzero.__main__ import main
def interrupted(**options):
    os.kill(os.getpid(), signal.SIGINT)
class Stream(io.TextIOWrapper):
    def reconfigure(self, **options):
        interrupted()
{step}
sys.argv = ["hardzero", "report", "saved.json", "-o", "report.html"]
main()
"""
    ended = run([sys.executable, "-c", code], folder)
    assert ended.returncode == 130
    assert ended.stderr == "interrupted; nothing was written\n"


def listens(pid):
    """Whether a process has come to our first line: Python by itself does not handle SIGHUP."""
    caught = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("SigCgt"))
    return int(caught.split()[1], 16) >> (signal.SIGHUP - 1) & 1


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="looks at /proc")
def test_ctrl_c_at_any_time_gives_no_traceback(folder):
    before = files(folder)
    command = [sys.executable, "-m", "hardzero", "report", "saved.json", "-o", "report.html"]
    for step in range(12):
        process = subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True)
        while process.poll() is None and not listens(process.pid):
            time.sleep(0.001)
        time.sleep(0.05 * step)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
        assert "Traceback" not in said
        assert process.returncode in ((0, 130) if (folder / "report.html").exists() else (130,))
        if "nothing was written" in said:
            assert files(folder) == before
        (folder / "report.html").unlink(missing_ok=True)


def test_a_signal_between_the_last_step_and_the_end_does_not_hide_what_was_written(folder):
    """It is raised where the command cannot catch it any more."""
    code = """
import contextlib, os, signal, sys
from hardzero.__main__ import main
leave = contextlib._GeneratorContextManager.__exit__
def interrupted(self, *error):
    if self.gen.__name__ == "clear_messages":
        os.kill(os.getpid(), signal.SIGINT)
    return leave(self, *error)
contextlib._GeneratorContextManager.__exit__ = interrupted
sys.argv = ["hardzero", "report", "saved.json", "-o", "report.html"]
main()
"""
    done = run([sys.executable, "-c", code], folder)
    assert (folder / "report.html").exists()
    assert done.returncode == 130
    assert done.stderr.endswith("interrupted; complete: report.html\n")


def test_a_signal_in_the_middle_of_a_finaliser_is_obeyed_after_it(folder):
    """From which nothing can be raised; Python would print a traceback and go on."""
    code = """
import os, signal, time, weakref
from hardzero import interrupts
class Thing: pass
interrupts.listen()
thing = Thing()
link = weakref.ref(thing, lambda _: os.kill(os.getpid(), signal.SIGTERM))
del thing
try:
    time.sleep(30)
except KeyboardInterrupt as stop:
    print("stopped with", interrupts.exit_code(stop))
"""
    done = run([sys.executable, "-c", code], folder)
    assert (done.stdout, done.stderr) == ("stopped with 143\n", "")


def test_a_signal_that_came_in_a_finaliser_is_held_as_others_are(folder):
    """Raised again by a timer, it must not part what belongs together: a name taken, and noted."""
    code = """
import os, signal, time, weakref
from hardzero import interrupts
class Thing: pass
interrupts.listen()
thing = Thing()
link = weakref.ref(thing, lambda _: os.kill(os.getpid(), signal.SIGTERM))
together = False
try:
    del thing
    with interrupts.held():
        end = time.monotonic() + 0.2
        while time.monotonic() < end: pass
        together = True
except KeyboardInterrupt as stop:
    print("together" if together else "parted", interrupts.exit_code(stop))
"""
    done = run([sys.executable, "-c", code], folder)
    assert (done.stdout, done.stderr) == ("together 143\n", "")


def test_a_signal_that_the_shell_ignores_stays_ignored(folder):
    code = """
import os, signal
signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
from hardzero import interrupts
interrupts.listen()
os.kill(os.getpid(), signal.SIGHUP)
print("alive")
"""
    assert run([sys.executable, "-c", code], folder).stdout == "alive\n"


def test_a_signal_when_everything_is_said_changes_nothing(folder):
    code = """
import atexit, os, signal, sys
atexit.register(lambda: os.kill(os.getpid(), signal.SIGTERM))
sys.argv = ["hardzero", "inspect", "saved.json"]
from hardzero.__main__ import main
main()
"""
    ended = run([sys.executable, "-c", code], folder)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "differential privacy" in ended.stdout


def test_a_second_signal_waits_until_everything_is_tidy(folder):
    code = """
import os, signal
from hardzero import interrupts
interrupts.listen()
steps = []
try:
    with interrupts.held():
        os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGINT)
        steps.append("done")
except KeyboardInterrupt as stop:
    print(*steps, interrupts.exit_code(stop), interrupts.received() == signal.SIGTERM)
"""
    ended = run([sys.executable, "-c", code], folder)
    assert ended.stdout == "done 143 True\n"
