"""Time the predictions of saved models in serving processes, interleaved over algorithms.

Each model is trained and saved once. Each launch starts a new process for every model; it imports
the library, loads the model twice, and predicts one row: the cold calls. Then rounds of timed calls
follow: for each batch size every process is called in turn, in the opposite order in every other
round, so that drift of the machine cancels. While one process runs, all others wait.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from harness.core import machine
from harness.core.model import JSON, Job, to_json
from harness.execution.session import SessionError
from harness.measurement.duel import SETTLE
from harness.measurement.duel_side import READY_TIMEOUT, Worker

QUANTILES = (0.5, 0.9, 0.99, 0.999)  # of the latencies of single rows
BATCH_SECONDS = 0.02  # shorter calls are repeated within a round, and averaged
ROWS_SECONDS = 1.0  # limit of the calls with single rows in a round


@dataclass(frozen=True)
class ServingSettings:
    """Sizes of a measurement.

    Attributes
    ----------
    batches
        Numbers of rows of a call.
    launches
        Number of new processes of each model.
    rounds
        Number of interleaved rounds in each launch.
    calls
        Calls with a single row in each round.
    """

    batches: tuple[int, ...] = (1, 10, 100, 1000, 10_000, 100_000)
    launches: int = 5
    rounds: int = 4
    calls: int = 500


@dataclass
class Candidate:
    """One model: its job, its folder, and its measurements."""

    job: Job
    folder: Path
    facts: JSON = field(default_factory=dict)
    launches: list[JSON] = field(default_factory=list)
    failure: str = ""

    def record(self) -> JSON:
        """Return the measurement as JSON, as it is stored."""
        trial = self.job.trials[0]
        return {
            "algorithm": trial.algorithm,
            "dataset": trial.dataset,
            "params": to_json(trial.params),
            "threads": self.job.threads,
            "failure": self.failure,
            **self.facts,
            "launches": self.launches,
        }


Process = tuple[Candidate, Worker, JSON]  # a model, its process, and the times so far


class Serving:
    """Measurement of several models on one dataset.

    Parameters
    ----------
    jobs
        One job of one trial for each model.
    open_session
        Starts the worker of a job.
    folder
        Folder of the saved models.
    settings
        Sizes of the measurement.
    step
        Called with a label after each trained model and each round.
    settle
        Seconds of rest before each call.
    """

    def __init__(
        self,
        jobs: Sequence[Job],
        open_session: Callable[[Job], Worker],
        folder: Path,
        settings: ServingSettings,
        *,
        step: Callable[[str], None] = lambda _label: None,
        settle: float = SETTLE,
    ) -> None:
        self.candidates = [Candidate(job, folder / str(i)) for i, job in enumerate(jobs)]
        self.open_session = open_session
        self.settings = settings
        self.step = step
        self.settle = settle

    def measure(self) -> list[JSON]:
        """Train, save and measure all models; return one record for each."""
        for candidate in self.candidates:
            with self._failure_of(candidate):
                self._train(candidate)
            self.step(f"train {candidate.job.name}")
        for launch in range(self.settings.launches):
            self._launch(launch)
        return [candidate.record() for candidate in self.candidates]

    @property
    def left(self) -> list[Candidate]:
        """The models that did not fail."""
        return [candidate for candidate in self.candidates if not candidate.failure]

    @contextmanager
    def _failure_of(self, candidate: Candidate) -> Iterator[None]:
        """Record the error of a worker as the failure of its model."""
        try:
            yield
        except SessionError as error:
            candidate.failure = error.failure.message or error.failure.kind

    def _train(self, candidate: Candidate) -> None:
        """Train and save a model; predict once, so that its kernels are compiled."""
        job, limit = candidate.job, candidate.job.limits.timeout
        with ExitStack() as stack:
            session = self._open(job, stack)
            session.ask("load", READY_TIMEOUT, dataset=to_json(job.dataset))
            session.ask("prepare", limit, trial=to_json(job.trials[0]))
            for do, fields in (("fit", {}), ("predict", {}), ("predict_one", {"rows": 1})):
                session.ask(do, limit, **fields)
            saved = session.ask("save_served", limit, folder=str(candidate.folder))
        names = ("model_bytes", "train_rows", "test_rows", "columns")
        candidate.facts = {name: saved[name] for name in names}

    def _open(self, job: Job, stack: ExitStack) -> Worker:
        session = self.open_session(job)
        stack.callback(session.close)
        session.hello(job, READY_TIMEOUT)
        return session

    def _launch(self, launch: int) -> None:
        """Start a process for each model, time its cold calls, and run the rounds."""
        processes: list[Process] = []
        with ExitStack() as stack:
            for candidate in self._ordered(launch):
                with self._failure_of(candidate):
                    session = self._open(candidate.job, stack)
                    processes.append((candidate, session, self._cold(candidate, session)))
            for number in range(self.settings.rounds):
                self._round(processes if number % 2 == 0 else processes[::-1])
                self.step(f"launch {launch + 1}, round {number + 1}")
        for candidate, _, times in processes:
            if not candidate.failure:
                candidate.launches.append(_summarized(times))

    def _round(self, processes: Sequence[Process]) -> None:
        """Time single rows, then each batch size, in every process in turn."""
        for size in (0, *self.settings.batches):  # 0: single rows
            for candidate, session, times in processes:
                if not candidate.failure:
                    with self._failure_of(candidate):
                        self._timed(candidate, session, times, size)

    def _ordered(self, launch: int) -> list[Candidate]:
        return self.left if launch % 2 == 0 else self.left[::-1]

    def _cold(self, candidate: Candidate, session: Worker) -> JSON:
        """Return the times of the first calls in a new process."""
        limit, settings = candidate.job.limits.timeout, self.settings
        session.ask("pin", limit, cpus=list(machine.choose_cpus(candidate.job.threads)))
        imported = session.facts["samples"]
        folder = str(candidate.folder)
        loads = [
            float(session.ask("load_served", limit, folder=folder)["samples"][-1]["wall"])
            for _ in range(2)
        ]
        first = session.ask("serve_rows", limit, calls=1, seconds=0.0)["nanoseconds"]
        cold = {
            str(size): session.ask("serve_batch", limit, rows=size, seconds=0.0)["nanoseconds"][0]
            for size in settings.batches
        }
        return {
            "import": sum(s["wall"] for s in imported if s["phase"] == "import"),
            "load": loads,
            "first_call": first[0] / 1e9,
            "first_batches": {size: nanoseconds / 1e9 for size, nanoseconds in cold.items()},
            "load_average": os.getloadavg()[0],
            "batches": {size: [] for size in cold},
            "rows": [],
        }

    def _timed(self, candidate: Candidate, session: Worker, times: JSON, size: int) -> None:
        """Add the times of one batch size, or of single rows, in one round."""
        time.sleep(self.settle)
        limit = candidate.job.limits.timeout
        if size == 0:
            calls = self.settings.calls
            reply = session.ask("serve_rows", limit, calls=calls, seconds=ROWS_SECONDS)
            times["rows"] += reply["nanoseconds"]
            return
        reply = session.ask("serve_batch", limit, rows=size, seconds=BATCH_SECONDS)
        times["batches"][str(size)].append(float(np.mean(reply["nanoseconds"])) / 1e9)


def _summarized(times: JSON) -> JSON:
    """Return the times of a launch with quantiles in place of the latencies of single rows."""
    seconds = np.asarray(times["rows"], np.float64) / 1e9
    quantiles = {
        str(q): float(np.quantile(seconds, q)) if len(seconds) * (1 - q) >= 1 - 1e-9 else None
        for q in QUANTILES
    }
    rows = {"calls": len(seconds), "quantiles": quantiles, "max": float(seconds.max())}
    return {**times, "rows": rows}
