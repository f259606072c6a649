"""Run the checks in a child process, so that a crash or hang of a plugin is a finding."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from typing import Any

from harness.conformance.findings import Finding
from harness.core.errors import ConfigError
from harness.core.model import Environment
from harness.core.processes import MARK, Mark, ending, fault_text, kill_group
from harness.worker.environment import worker_environment

TIMEOUT = 300.0  # seconds for one check; the first ones compile
START = 120.0  # seconds to import and to begin with the first check
POLL = 0.05
THREADS = 2  # needed for the checks of thread invariance
STDERR_LENGTH = 2000  # characters of stderr in a message


def check_supervised(
    name: str, files: Sequence[str | Path] = (), timeout: float = TIMEOUT, kind: str = "algorithm"
) -> Iterator[Finding]:
    """Yield the findings of every check as they come.

    Parameters
    ----------
    timeout
        Seconds for one check; a slower one is killed, and the next ones continue.

    Raises
    ------
    ConfigError
        If the checks cannot be started.
    """
    first: int | None = 0
    while first is not None:
        first = yield from _checks_from(first, (kind, name), [str(f) for f in files], timeout)


def _checks_from(
    first: int, what: tuple[str, str], files: list[str], timeout: float
) -> Generator[Finding, None, int | None]:  # returns the number of the next check
    with tempfile.TemporaryDirectory(prefix="harness-check-") as folder:
        out, errors = Path(folder, "found.jsonl"), Path(folder, "stderr")
        out.touch()
        mark = Mark.now(str(out))
        command = [sys.executable, "-P", "-m", "harness.conformance", *what, str(first), str(out)]
        with errors.open("wb") as stderr:
            child = subprocess.Popen(  # noqa: S603 - our own interpreter and module
                [*command, *files],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=stderr,
                env=worker_environment(os.environ, Environment(), THREADS) | {MARK: mark.path},
                start_new_session=True,
            )
        try:
            started: dict[str, Any] | None = None
            running = False
            for line in _lines(child, out, timeout):
                if "done" in line:  # processes of the plugin are killed below
                    return None
                if "found" in line:
                    running = False
                    yield Finding(**line["found"])
                else:
                    started, running = line, True
            if started is None:
                raise ConfigError(f"the checks could not start: {_end(child, errors, START)}")
            message = ("" if running else "then ") + _end(child, errors, timeout)
            yield Finding(started["check"], started["task"], "failed", message)
            return int(started["begins"]) + 1
        finally:
            kill_group(child.pid, mark)
            child.wait()


def _lines(child: subprocess.Popen[bytes], out: Path, timeout: float) -> Iterator[dict[str, Any]]:
    """Yield the lines that the child writes, until it ends or writes nothing for too long."""
    last_line, rest = time.monotonic(), ""
    limit = max(timeout, START)
    with out.open(encoding="utf-8") as file:
        while time.monotonic() - last_line < limit:
            ended = child.poll() is not None
            *lines, rest = (rest + file.read()).split("\n")
            for line in lines:
                last_line, limit = time.monotonic(), timeout
                yield json.loads(line)
            if ended:
                return
            time.sleep(POLL)


def _end(child: subprocess.Popen[bytes], errors: Path, timeout: float) -> str:
    """Return a message on how a child ended during a check."""
    if child.poll() is None:
        return f"it took longer than {timeout:g} s and was stopped"
    _, message = ending(child.returncode)
    return f"{message}; {fault_text(errors, STDERR_LENGTH)}".rstrip("; ")
