"""Fixtures of the store tests: the store kit, a store of one run, unwritable places."""

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from harness.store import Store

KIT = Path(__file__).with_name("store_kit.py")


def load_kit():
    spec = importlib.util.spec_from_file_location("store_kit", KIT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def kit():
    """The functions of ``store_kit.py``."""
    return load_kit()


@pytest.fixture
def child():
    """Start the kit as another process: ``child("hold", folder)``; it is killed at the end."""
    started = []

    def start(*arguments, prefix=()):
        command = [*prefix, sys.executable, str(KIT), *map(str, arguments)]
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


@pytest.fixture
def full(tmp_path, kit):
    """A results folder with a finished run of five trials and a duel."""
    folder = tmp_path / "results"
    with Store.open(folder, write=True) as store:
        run = kit.begin(store)
        work = store.workdir(run)
        statuses = ["done", "failed", "skipped", "done", "timeout"]
        for number, status in enumerate(statuses):
            if status == "done":
                outcome, path = kit.finish_in(work, number)
                store.record(run, outcome, source=path)
            else:
                store.record(run, kit.outcome(number, kit.Status(status), reason="why"))
        store.record_duel(run, kit.duel_outcome())
        store.event(run, "note", {"text": "hello"})
        store.finish_run(run, "done")
    return folder


@pytest.fixture
def mounted():
    """Return a command prefix that runs a shell line with private mounts first, or skip."""
    unshare = shutil.which("unshare")
    if unshare is None:
        pytest.skip("unshare is not installed, so nothing can be mounted privately")

    def prefix(line):
        command = [unshare, "--map-root-user", "--mount", "sh", "-c", f'{line} && exec "$@"', "sh"]
        tried = subprocess.run([*command, "true"], capture_output=True, text=True, check=False)
        if tried.returncode:
            pytest.skip(f"private mounts are not allowed here: {tried.stderr.strip()}")
        return command

    return prefix
