"""A real PostgreSQL server, started for the tests that need one and stopped after them."""

import glob
import os
import shutil
import socket
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest


def find(program):
    places = [*glob.glob("/usr/lib/postgresql/*/bin"), os.environ["PATH"]]
    return shutil.which(program, path=os.pathsep.join(places))


@contextmanager
def running_server():
    """Yield a URL; the server runs as an ordinary user, because it refuses to run as root."""
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    if not (find("initdb") and find("pg_ctl")):
        pytest.skip("PostgreSQL's initdb and pg_ctl are not installed")
    as_user = []
    # Not one of pytest's own folders, which other users may not enter.
    with tempfile.TemporaryDirectory(prefix="hardzero-postgres-") as path:
        folder = Path(path)
        if os.geteuid() == 0:
            if subprocess.run(["id", "postgres"], capture_output=True, check=False).returncode:
                pytest.skip("there is no user postgres to run the server as")
            shutil.chown(folder, "postgres")
            as_user = ["runuser", "-u", "postgres", "--"]
        data = folder / "data"
        initdb = [*as_user, find("initdb"), "-D", data, "-A", "trust", "-U", "hardzero"]
        subprocess.run(initdb, check=True, capture_output=True, cwd=folder)
        control = [*as_user, find("pg_ctl"), "-D", data]
        port = started(control, folder)
        try:
            yield f"postgresql+psycopg://hardzero@127.0.0.1:{port}/postgres"
        finally:
            subprocess.run([*control, "-m", "immediate", "stop"], check=True, capture_output=True, cwd=folder)


def started(control, folder, attempts=5):
    """Start the server and return its port; another program may take a free one before the server does."""
    for _ in range(attempts):
        port = free_port()
        options = f"-p {port} -k {folder} -c listen_addresses=127.0.0.1"
        start = [*control, "-w", "-l", folder / "log", "-o", options, "start"]
        done = subprocess.run(start, check=False, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if done.returncode == 0:
            return port
    raise RuntimeError(f"PostgreSQL did not start: {(folder / 'log').read_text()[-1000:]}")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
