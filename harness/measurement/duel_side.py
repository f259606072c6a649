"""One side of a duel: a worker that is prepared, warmed up and then runs timed calls."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any, Protocol

from harness.core import machine
from harness.core.model import JSON, Failure, Job, Sample, to_json
from harness.execution.session import SessionError

SHORTEST_CALL = 0.01  # seconds; a shorter phase is repeated within one call
LONG_CALL = 1.0  # seconds; a longer phase is warmed up by one call
MAX_REPEATS = 200
ROWS = 20  # rows that `predict_one` predicts one by one; its sample is the mean per row
FIELDS: Mapping[str, JSON] = {"predict_one": {"rows": ROWS}}
READY_TIMEOUT = 1800.0  # seconds for the import and for loading the table; no trial limit applies


class Worker(Protocol):
    """Interface of a worker session; :class:`harness.execution.session.Session` implements it."""

    facts: JSON  # the reply to ``hello``

    def hello(self, job: Job, timeout: float) -> None:
        """Import the job's plugin."""

    def ask(self, do: str, timeout: float, **fields: Any) -> JSON:
        """Send a request and return its reply, or raise a :class:`SessionError`."""

    def close(self) -> None:
        """End the worker."""

    def stop(self) -> None:
        """End the worker while another thread may be waiting for its reply."""


class SideError(Exception):
    """A session error with the name of the side that failed."""

    def __init__(self, side: str, job: Job, cause: SessionError) -> None:
        message = f"side {side} ({job.name}): {cause.failure.message}"
        super().__init__(message)
        self.side = side
        self.status = cause.status
        self.failure = Failure(cause.failure.kind, message, cause.failure.detail)
        self.facts = cause.facts


@dataclass
class Side:
    """One worker of a launch."""

    name: str  # "a" or "b"
    job: Job
    session: Worker
    repeats: dict[str, int] = field(default_factory=dict)
    cold: list[Sample] = field(default_factory=list)
    facts: JSON = field(default_factory=dict)

    def get_ready(self) -> None:
        """Import, load and prepare; then pin the worker and start to measure memory peaks."""
        try:
            self.session.hello(self.job, READY_TIMEOUT)
        except SessionError as error:
            raise SideError(self.name, self.job, error) from error
        loaded = self._ask("load", READY_TIMEOUT, dataset=to_json(self.job.dataset))
        limit = self.job.limits.timeout
        prepared = self._ask("prepare", limit, trial=to_json(self.job.trials[0]))
        pinned = self._ask("pin", limit, cpus=list(machine.choose_cpus(self.job.threads)))
        self._ask("first_call", limit)
        replies = (self.session.facts, loaded, prepared, pinned)
        facts = {key: value for reply in replies for key, value in reply.items()}
        self.facts = {k: v for k, v in facts.items() if k not in {"v", "n", "ok", "samples"}}

    def warm(self, phase: str) -> None:
        """Run a phase untimed, twice; the second run decides how often a timed call repeats it.

        A phase that takes a second or longer runs once: it is never repeated and is warm by then.
        """
        self.repeats[phase] = 1
        self.cold.append(self.take(phase))
        rows = FIELDS.get(phase, {}).get("rows", 1)
        if self.cold[-1].wall * rows >= LONG_CALL:
            return
        seconds = self.take(phase).wall * rows
        needed = math.ceil(SHORTEST_CALL / seconds) if seconds > 0 else MAX_REPEATS
        self.repeats[phase] = min(needed, MAX_REPEATS)

    def take(self, phase: str) -> Sample:
        """Run a phase with its number of repeats and return the mean of one repeat."""
        repeats = self.repeats.get(phase, 1)
        more = {"repeats": repeats} if repeats > 1 else {}
        limit = self.job.limits.timeout
        reply = self._ask(phase, limit, **FIELDS.get(phase, {}), **more)
        samples = [Sample(**s) for s in reply["samples"] if s["phase"] == phase]
        return Sample(
            phase,
            wall=fmean(s.wall for s in samples),
            cpu=fmean(s.cpu for s in samples),
            peak=max(s.peak for s in samples),
            cold=samples[0].cold,
        )

    def _ask(self, do: str, timeout: float, **fields: Any) -> JSON:
        try:
            return self.session.ask(do, timeout, **fields)
        except SessionError as error:
            raise SideError(self.name, self.job, error) from error
