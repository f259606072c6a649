"""Count the instructions of a warm fit with perf or with cachegrind of valgrind.

A worker runs under the tool, which counts the whole process. One worker trains once, another one
three times; half of the difference is the count of one warm fit. Such a count hardly depends on
the load of the machine, but is no time: memory and branches are not part of it.
"""

from __future__ import annotations

import math
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from harness.core.errors import HarnessError
from harness.core.model import Job, to_json
from harness.core.time_limits import TimeLimit
from harness.execution.kernel_package import TARGETS
from harness.execution.session import Session

NO_COUNTER = (
    "instructions are not counted: perf with hardware counters or valgrind is needed, and neither "
    "is on PATH and works"
)
FITS = (1, 3)  # calls of fit in the two workers
TIMEOUT = 1800.0  # seconds of a worker; valgrind runs some fifty times as long
PERF = ("perf", "stat", "-x,", "-e", "instructions:u")


class NotCountedError(HarnessError):
    """The tool wrote no count."""


@dataclass(frozen=True)
class Counter:
    """A tool that counts the instructions of a process.

    Attributes
    ----------
    name
        ``perf`` or ``cachegrind``.
    path
        Path of its executable.
    """

    name: str
    path: str

    def command(self, output: Path) -> list[str]:
        """Return the words before a command that is counted; the count is written to a file."""
        if self.name == "perf":
            return [self.path, *PERF[1:], "-o", str(output), "--"]
        options = ["--tool=cachegrind", "--cache-sim=no", f"--cachegrind-out-file={output}", "-q"]
        return [self.path, *options]

    @property
    def variables(self) -> dict[str, str]:
        """Return the environment variables of a counted process: valgrind has no AVX-512."""
        is_x86 = platform.machine().lower() in ("x86_64", "amd64")
        return TARGETS["x86-64-v3"] if self.name == "cachegrind" and is_x86 else {}

    def read(self, output: Path) -> int:
        """Return the count in the file of a finished process.

        Raises
        ------
        NotCountedError
            If the file holds no count.
        """
        pattern = r"^(\d+),[^,]*,instructions" if self.name == "perf" else r"^summary: *(\d+)"
        text = output.read_text(encoding="utf-8", errors="replace") if output.exists() else ""
        counts = re.findall(pattern, text, re.MULTILINE)
        if not counts:
            raise NotCountedError(f"{self.name} wrote no count of instructions")
        return int(counts[-1])


def find_counter() -> Counter | None:
    """Return perf if it counts instructions here, else valgrind if it is on PATH, else None."""
    if (perf := shutil.which("perf")) and _counts(perf):
        return Counter("perf", perf)
    valgrind = shutil.which("valgrind")
    return Counter("cachegrind", valgrind) if valgrind else None


def _counts(perf: str) -> bool:
    """Return whether perf has the counter of instructions; virtual machines often have none."""
    with TemporaryDirectory() as folder:
        counter, output = Counter("perf", perf), Path(folder, "count")
        command = [*counter.command(output), sys.executable, "-c", ""]
        try:
            subprocess.run(command, capture_output=True, timeout=60, check=False)  # noqa: S603
            return counter.read(output) > 0
        except (OSError, subprocess.TimeoutExpired, NotCountedError):
            return False


def count_fit(job: Job, counter: Counter, folder: Path, deadline: float = math.inf) -> int:
    """Return the instructions of one warm fit of a job's first trial.

    Parameters
    ----------
    job
        Job with the interpreter, the source tree, the dataset and the trial.
    counter
        The tool.
    folder
        Folder for the workers' files.
    deadline
        Time of the monotonic clock at which a running worker is killed.

    Raises
    ------
    SessionError
        If a worker fails; `TooLateError` if it is not done by the deadline.
    NotCountedError
        If the tool wrote no count.
    """
    with TemporaryDirectory() as scratch:
        if counter.variables:  # compile the kernels for these variables, outside the tool
            _train(job, 1, _wrapper(job, counter, Path(scratch)), folder, deadline)
        counts = []
        for fits in FITS:
            output = Path(scratch, f"count-{fits}")
            python = _wrapper(job, counter, Path(scratch), output)
            _train(job, fits, python, folder, deadline)
            counts.append(counter.read(output))
    return round((counts[1] - counts[0]) / (FITS[1] - FITS[0]))


def _train(job: Job, fits: int, python: Path, folder: Path, deadline: float) -> None:
    """Train in a new worker that is started by a script; its compile time counts, too."""
    limit = TimeLimit(min(TIMEOUT, deadline - time.monotonic()))
    own = [str(Path(__file__).resolve().parents[2]), os.environ.get("PYTHONPATH", "")]
    root = job.environment.root or os.pathsep.join(filter(None, own))
    environment = replace(job.environment, python=str(python), root=root)
    with Session(replace(job, environment=environment), folder) as session:
        session.hello(job, limit)
        session.load(job.dataset, limit)
        session.ask("prepare", limit, trial=to_json(job.trials[0]))
        session.ask("fit", limit, repeats=fits)


def _wrapper(job: Job, counter: Counter, folder: Path, output: Path | None = None) -> Path:
    """Write a script that runs the job's interpreter, under the tool if there is an output."""
    tool = counter.command(output) if output else []
    variables = [f"{name}={value}" for name, value in counter.variables.items()]
    words = [*variables, *tool, job.environment.python or sys.executable]
    path = folder / f"python-{output.name if output else 'plain'}"
    path.write_text(f'#!/bin/sh\nexec env {shlex.join(words)} "$@"\n', encoding="utf-8")
    path.chmod(0o700)
    return path
