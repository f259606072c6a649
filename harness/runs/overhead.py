"""Measure the harness's own time, with an algorithm that does nothing, and compile times."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import psutil

from harness.config.experiment import Experiment
from harness.config.splits import Splits
from harness.core.errors import HarnessError
from harness.core.model import DatasetRef, Job, Outcome, Split, Status, Trial
from harness.core.progress import Progress
from harness.execution.session import Session
from harness.execution.supervisor import Supervisor
from harness.plugins.registry import Entry, load_registry
from harness.runs import noop_algorithm
from harness.runs.run import Request, run_experiment
from harness.store import Store

# phases that count for the algorithm
PHASES = frozenset({"preparation", "native", "fit", "predict", "predict_one"})


@dataclass(frozen=True)
class Overhead:
    """Wall seconds of the harness outside the algorithm.

    ``trial`` is the cost of one more trial, ``job`` that of one more job: a worker process,
    importing the libraries, loading the table. ``amortized`` is the total per trial. If the
    template process of workers was already running, as for all jobs of a run but the first, its
    imports are not counted.
    """

    trial: float
    job: float
    amortized: float
    trials: int


def measure_overhead(folds: int = 5, repeats: int = 4) -> Overhead:
    """Run folds × repeats trials of the no-op algorithm on diabetes, in a temporary store."""
    plugin = Path(noop_algorithm.__file__)
    experiment = Experiment(
        name="overhead",
        algorithms=[noop_algorithm.NAME],
        datasets=["diabetes"],
        splits=Splits(folds=folds, repeats=repeats),
    )
    registry = load_registry([plugin], strangers=False)
    with tempfile.TemporaryDirectory(prefix="harness-overhead-") as folder:
        request = Request(experiment, plugin_files=(str(plugin),), results=Path(folder))
        began = time.perf_counter()
        result = run_experiment(request, registry, Progress())
        total = time.perf_counter() - began
        with Store.open(folder) as store:
            outcomes = [outcome for outcome, _ in store.outcomes(result.run_id)]
    return summarize(outcomes, total)


@dataclass(frozen=True)
class Starts:
    """Start times of a worker until it has imported the no-op plugin."""

    template: float  # seconds of the first fork, which waits for the template process; once per run
    spawned: float  # CPU seconds of a new interpreter, as used by timed trials and duels
    forked: float  # CPU seconds of a fork; like ``spawned`` on systems without fork


def measure_starts() -> Starts:
    """Measure the start times of new and forked workers."""
    job = Job(noop_algorithm.NAME, str(Path(noop_algorithm.__file__)), DatasetRef("", ""), ())
    with tempfile.TemporaryDirectory(prefix="harness-starts-") as folder:
        spawned = _started(job, Path(folder), forked=False)
        began = time.perf_counter()
        _started(job, Path(folder), forked=True)
        template = time.perf_counter() - began
        return Starts(template, spawned, forked=_started(job, Path(folder), forked=True))


def _started(job: Job, folder: Path, *, forked: bool) -> float:
    with Session(job, folder, forked=forked) as session:
        session.hello(job, 120.0)
        used = psutil.Process(session.process.pid).cpu_times()
        return float(used.user + used.system)


def summarize(outcomes: list[Outcome], total: float) -> Overhead:
    """Split the wall seconds of a run of one job into the costs of a trial and of the job.

    Raises
    ------
    HarnessError
        If a trial failed, or there are fewer than two.
    """
    failed = [outcome for outcome in outcomes if outcome.status is not Status.DONE]
    if failed or len(outcomes) < 2:
        why = failed[0].failure.message if failed and failed[0].failure else "too few trials"
        raise HarnessError(f"the harness's own time cannot be measured: {why}")
    n = len(outcomes)
    ends = sorted(datetime.fromisoformat(outcome.ended) for outcome in outcomes)
    # from end to end of consecutive trials, including the store
    cycle = (ends[-1] - ends[0]).total_seconds() / (n - 1)
    inside = sum(s.wall for o in outcomes for s in o.samples if s.phase in PHASES) / n
    return Overhead(
        trial=cycle - inside, job=total - n * cycle, amortized=total / n - inside, trials=n
    )


@dataclass(frozen=True)
class FirstCall:
    """Compile time of an algorithm, and time of its first call in a new process."""

    algorithm: str
    cpu: float  # processor seconds of compiling, without kernels of earlier algorithms
    functions: int  # number of compiled functions
    warm: float  # seconds of the first call with cached kernels
    notes: tuple[str, ...]  # messages on calls that failed


def measure_first_calls(entries: Iterable[Entry]) -> list[FirstCall]:
    """Measure first calls of algorithms in new processes, with an initially empty cache."""
    with tempfile.TemporaryDirectory(prefix="harness-kernels-") as folder, kernels_in(folder):
        return [_first_call(entry) for entry in entries]


def _first_call(entry: Entry) -> FirstCall:
    with _worker() as worker:  # one worker for both, so that common kernels are compiled once
        compiled = [worker.warm(_job(entry, [{}]))]
        if entry.value.variants:
            compiled.append(worker.warm(_job(entry, entry.value.variants), ["sparse"]))
    with _worker() as worker:
        warm = worker.warm(_job(entry, [{}]))
    notes = dict.fromkeys(note for found in (*compiled, warm) for note in found.notes)
    cpu, functions = sum(c.cpu for c in compiled), sum(c.functions for c in compiled)
    return FirstCall(entry.value.name, cpu, functions, warm.first, tuple(notes))


@contextmanager
def kernels_in(folder: str) -> Iterator[None]:
    """Let workers started in the body keep all kernels in a folder, and use none of the package."""
    before = dict(os.environ)
    os.environ.update({"HARNESS_KERNEL_CACHE": folder, "HARNESS_PACKAGED_KERNELS": "0"})
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


@contextmanager
def _worker() -> Iterator[Supervisor]:
    """Yield a supervisor with one new worker, which is kept for all requests."""
    with (
        tempfile.TemporaryDirectory(prefix="harness-first-") as folder,
        Supervisor(Path(folder), idle=1) as supervisor,
    ):
        yield supervisor


def _job(entry: Entry, params: Iterable[Mapping[str, Any]]) -> Job:
    name, task = entry.value.name, min(entry.value.tasks)
    trials = (Trial(name, dict(p), "native", "", Split(), 0, 1, "", "", task) for p in params)
    return Job(name, entry.plugin, DatasetRef("", ""), tuple(trials))
