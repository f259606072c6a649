"""Time two algorithms against each other: in processes of their own, interleaved, phase by phase.

Each launch starts a fresh pair of workers, one library each; the one that starts first
alternates. Both load and prepare side by side, go through every phase untimed, twice where it is
short, and then blocks of four calls follow, ABBA and BAAB by turns, so that drift of the machine
and the order of calls cancel. While one works the other waits for its next request, without load.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from statistics import fmean
from typing import Any, Literal, Protocol

from harness import machine
from harness.analysis.looks import stop_reason
from harness.model import (
    JSON,
    Block,
    Duel,
    DuelOutcome,
    Failure,
    Job,
    Sample,
    Status,
    to_json,
)
from harness.session import RefusedError, SessionError

# Seconds of rest before each call. OpenMP threads spin some ms after their work; and on a busy
# machine the scheduler favours who has slept: of calls without a rest between, the second took
# 10 % longer. So all four calls of a block begin alike.
SETTLE = 0.02
SHORTEST_CALL = 0.01  # seconds; what is shorter is repeated within one call
LONG_CALL = 1.0  # seconds; what is longer is warmed up by one call
MOST_REPEATS = 200
ROWS = 20  # that `predict_one` predicts, one by one; its sample is the mean of a row
FIELDS: Mapping[str, JSON] = {"predict_one": {"rows": ROWS}}
ORDERS: tuple[Literal["ABBA", "BAAB"], ...] = ("ABBA", "BAAB")
READY_TIMEOUT = 1800.0  # seconds for the import and for the table each: neither is the trial's
SPIN_VARIABLES = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME", "KMP_LIBRARY")


class Opponent(Protocol):
    """What a duel asks of a worker session; :class:`harness.session.Session` is one."""

    facts: JSON

    def hello(self, job: Job, timeout: float) -> None:
        """Import the job's plugin."""

    def ask(self, do: str, timeout: float, **fields: Any) -> JSON:
        """Send a request and return its reply, or raise a :class:`SessionError`."""

    def close(self) -> None:
        """End the worker."""


class SideError(Exception):
    """A session error, with the side it happened on."""

    def __init__(self, side: str, job: Job, cause: SessionError) -> None:
        told = f"side {side} ({job.algorithm}): {cause.failure.message}"
        super().__init__(told)
        self.side = side
        self.status = cause.status
        self.failure = Failure(cause.failure.kind, told, cause.failure.detail)


class OverdueError(Exception):
    """A duel was undecided when its time was over."""

    def __init__(self, duel: Duel, launches: int) -> None:
        names = " and ".join(job.trials[0].algorithm for job in (duel.a, duel.b))
        told = f"no time was left for {names} on {duel.a.dataset.name} after {launches} launches"
        super().__init__(told)


@dataclass
class _Side:
    """One worker of a launch."""

    name: str  # "a" or "b"
    job: Job
    session: Opponent
    repeats: dict[str, int] = field(default_factory=dict)
    cold: list[Sample] = field(default_factory=list)
    facts: JSON = field(default_factory=dict)

    def get_ready(self) -> None:
        """Import, load and prepare; from then on the worker is pinned."""
        try:
            self.session.hello(self.job, READY_TIMEOUT)
        except SessionError as error:
            raise SideError(self.name, self.job, error) from error
        loaded = self._ask("load", READY_TIMEOUT, dataset=to_json(self.job.dataset))
        limit = self.job.limits.timeout
        prepared = self._ask("prepare", limit, trial=to_json(self.job.trials[0]))
        pinned = self._ask("pin", limit, cpus=list(machine.choose_cpus(self.job.threads)))
        replies = (self.session.facts, loaded, prepared, pinned)
        told = {key: value for reply in replies for key, value in reply.items()}
        self.facts = {k: v for k, v in told.items() if k not in {"v", "n", "ok", "samples"}}

    def warm(self, phase: str) -> None:
        """Do a phase untimed, twice; the second time tells how often a timed call repeats it.

        What takes a second is done once: nothing repeats it, and it has warmed up meanwhile.
        """
        self.repeats[phase] = 1
        self.cold.append(self.take(phase))
        rows = FIELDS.get(phase, {}).get("rows", 1)
        if self.cold[-1].wall * rows >= LONG_CALL:
            return
        seconds = self.take(phase).wall * rows
        wanted = math.ceil(SHORTEST_CALL / seconds) if seconds > 0 else MOST_REPEATS
        self.repeats[phase] = min(wanted, MOST_REPEATS)

    def take_base(self) -> None:
        """Count peak memory from here, where all that is loaded once has been loaded."""
        self._ask("base", self.job.limits.timeout)

    def take(self, phase: str) -> Sample:
        """Do a phase, repeated as often as it takes, and return the mean of one."""
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


def run_duel(
    duel: Duel,
    open_session: Callable[[Job], Opponent],
    *,
    progress: Callable[[int, int], None] | None = None,
    settle: float = SETTLE,
    deadline: float = math.inf,
) -> DuelOutcome:
    """Fight a duel and return what became of it; a side that fails ends it, whole blocks stay.

    Parameters
    ----------
    duel
        Its jobs may differ in environment, so that two source trees can be compared. With a stop
        rule it ends at the first look that has what was asked for.
    open_session
        Starts the worker of a job; the duel asks it, and closes it. Each call of a phase may
        take the timeout of the job's limits.
    progress
        Told (blocks done, blocks in all) after each block of a phase.
    settle
        Seconds of rest before each call.
    deadline
        Of the monotonic clock. No launch begins after it.

    Raises
    ------
    OverdueError
        Where a launch would have begun after the deadline. What was measured is dropped: an end
        that the clock has chosen is no look of the schedule.
    """
    started = _now()
    fight = _Fight(duel, open_session, progress, settle)
    status, failure = Status.DONE, None
    try:
        for launch in range(duel.launches):
            if time.monotonic() >= deadline:
                raise OverdueError(duel, launch)
            fight.launch(launch)
            if reason := stop_reason(duel, fight.blocks):
                fight.facts["stopped"] = reason
                break
    except SideError as error:
        status, failure = error.status, error.failure
        fight.facts["failed_side"] = error.side
    return DuelOutcome(duel, status, tuple(fight.blocks), failure, fight.facts, started, _now())


class _Fight:
    """A duel under way."""

    def __init__(
        self,
        duel: Duel,
        open_session: Callable[[Job], Opponent],
        progress: Callable[[int, int], None] | None,
        settle: float,
    ) -> None:
        self.duel = duel
        self.open_session = open_session
        self.progress = progress or (lambda _done, _total: None)
        self.settle = settle
        self.blocks: list[Block] = []
        self.others: list[int] = []  # threads that ran while both sides of this launch rested
        self.facts: JSON = {
            "launches": [],
            "processors": os.cpu_count(),
            "settle": settle,
            "spin": {name: os.environ.get(name, "") for name in SPIN_VARIABLES},
        }

    def launch(self, launch: int) -> None:
        """Start both sides anew, get them ready and warm, and time the blocks."""
        load = os.getloadavg()[0]
        self.others = []
        with ExitStack() as stack:
            first, second = ("a", "b") if launch % 2 == 0 else ("b", "a")
            sides = {name: self._open(name, stack) for name in (first, second)}
            with ThreadPoolExecutor(len(sides)) as starts:  # nothing is timed yet
                list(starts.map(_Side.get_ready, sides.values()))
            self._check_same_rows(sides)
            for phase in self.duel.phases:
                for side in sides.values():
                    side.warm(phase)
            for side in sides.values():
                side.take_base()
            for index in range(self.duel.blocks):
                for phase in self.duel.phases:
                    self.blocks.append(self._block(sides, launch, index, phase))
                    self._tell()
        self._note(launch, first, sides, [load, os.getloadavg()[0]])

    def _open(self, name: str, stack: ExitStack) -> _Side:
        job: Job = getattr(self.duel, name)
        try:
            session = self.open_session(job)
        except SessionError as error:
            raise SideError(name, job, error) from error
        stack.callback(session.close)
        return _Side(name, job, session)

    def _check_same_rows(self, sides: Mapping[str, _Side]) -> None:
        """Refuse a duel over different data: two source trees may disagree on a split."""
        a, b = (
            [sides[name].facts.get(key) for key in ("train_rows", "test_rows")] for name in "ab"
        )
        if a != b:
            message = f"was given {b} training and test rows where side a has {a}"
            failure = Failure("rows", message)
            raise SideError("b", self.duel.b, RefusedError(failure))

    def _block(self, sides: Mapping[str, _Side], launch: int, index: int, phase: str) -> Block:
        order = ORDERS[(launch + index) % 2]
        taken: dict[str, list[Sample]] = {"a": [], "b": []}
        for letter in order.lower():
            time.sleep(self.settle)
            if (others := machine.others_runnable()) is not None:
                self.others.append(others)
            taken[letter].append(sides[letter].take(phase))
        a, b = taken["a"], taken["b"]
        return Block(launch, index, phase, order, (a[0], a[1]), (b[0], b[1]))

    def _tell(self) -> None:
        total = self.duel.launches * self.duel.blocks * len(self.duel.phases)
        self.progress(len(self.blocks), total)

    def _note(self, launch: int, first: str, sides: Mapping[str, _Side], load: list[float]) -> None:
        warmth = {
            name: {"cold": to_json(side.cold), "repeats": side.repeats}
            for name, side in sides.items()
        }
        others = {"others": round(fmean(self.others), 3)} if self.others else {}
        self.facts["launches"].append(
            {"launch": launch, "first": first, "load": load, **others, **warmth}
        )
        for name, side in sides.items():
            self.facts.setdefault(name, side.facts)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
