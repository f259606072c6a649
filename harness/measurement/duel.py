"""Time two algorithms against each other in separate processes, interleaved, phase by phase.

Each launch starts a new pair of workers, one for each library; the side that starts first
alternates. Both sides load and prepare the data at the same time, run every phase untimed (twice
if it is short), and then run timed blocks of four calls in the orders ABBA and BAAB by turns, so
that drift of the machine and the order of calls cancel. If a call takes longer than 30 seconds, a
block has three calls, with the slower side in the middle: drift still cancels, in half the time.
While one side runs, the other waits for its next request without using the processor.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack
from statistics import fmean

from harness.analysis.interim_analysis import stop_reason
from harness.core import machine
from harness.core.model import (
    JSON,
    Block,
    Duel,
    DuelOutcome,
    Failure,
    Job,
    Order,
    Sample,
    Status,
    to_json,
)
from harness.core.units import utc_now
from harness.execution.session import RefusedError, SessionError
from harness.measurement.duel_side import Side, SideError, Worker

# Seconds of rest before each call. OpenMP threads spin for some milliseconds after their work, and
# a busy machine's scheduler favors processes that slept: without a rest the second of two calls
# took 10 % longer. With it all four calls of a block start under the same conditions.
SETTLE = 0.02
LONE_CALL = 30.0  # seconds; a side whose call takes longer is called once per block
ORDERS: tuple[Order, ...] = ("ABBA", "BAAB")
SPIN_VARIABLES = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME", "KMP_LIBRARY")


class OverdueError(Exception):
    """Error for a duel that is undecided at its deadline."""

    def __init__(self, duel: Duel, launches: int) -> None:
        names = " and ".join(job.trials[0].algorithm for job in (duel.a, duel.b))
        message = f"no time was left for {names} on {duel.a.dataset.name} after {launches} launches"
        super().__init__(message)


def run_duel(
    duel: Duel,
    open_session: Callable[[Job], Worker],
    *,
    progress: Callable[[int, int], None] | None = None,
    settle: float = SETTLE,
    deadline: float = math.inf,
) -> DuelOutcome:
    """Run a duel and return its outcome.

    If a side fails, the duel ends and keeps its whole blocks.

    Parameters
    ----------
    duel
        Its jobs may differ in environment, so that two source trees can be compared. With a stop
        rule, the duel ends at the first interim analysis that meets the rule.
    open_session
        Starts the worker of a job. The duel sends it requests and closes it. Each call of a phase
        may take the timeout of the job's limits.
    progress
        Called with (blocks done, blocks in all) after each block of a phase.
    settle
        Seconds of rest before each call.
    deadline
        Time of the monotonic clock after which no launch starts.

    Raises
    ------
    OverdueError
        If the deadline has passed before a launch. The measured blocks are dropped, because the
        deadline is not an interim analysis of the schedule.
    """
    started = utc_now()
    running = _RunningDuel(duel, open_session, progress, settle)
    status, failure = Status.DONE, None
    try:
        for launch in range(duel.launches):
            if time.monotonic() >= deadline:
                raise OverdueError(duel, launch)
            running.launch(launch)
            if reason := stop_reason(duel, running.blocks):
                running.facts["stopped"] = reason
                break
    except SideError as error:
        status, failure = error.status, error.failure
        running.facts["failed_side"] = error.side
        running.facts["limits"] = to_json(getattr(duel, error.side).limits)
        running.facts |= error.facts
    return DuelOutcome(
        duel, status, tuple(running.blocks), failure, running.facts, started, utc_now()
    )


class _RunningDuel:
    """State of a running duel."""

    def __init__(
        self,
        duel: Duel,
        open_session: Callable[[Job], Worker],
        progress: Callable[[int, int], None] | None,
        settle: float,
    ) -> None:
        self.duel = duel
        self.open_session = open_session
        self.progress = progress or (lambda _done, _total: None)
        self.settle = settle
        self.blocks: list[Block] = []
        self.others: list[int] = []  # other programs' runnable threads while both sides rested
        self.facts: JSON = {
            "launches": [],
            "processors": os.cpu_count(),
            "settle": settle,
            "spin": {name: os.environ.get(name, "") for name in SPIN_VARIABLES},
        }

    def launch(self, launch: int) -> None:
        """Start both sides, prepare and warm them, and run the timed blocks."""
        load = os.getloadavg()[0]
        self.others = []
        with ExitStack() as stack:
            first, second = ("a", "b") if launch % 2 == 0 else ("b", "a")
            sides = {name: self._open(name, stack) for name in (first, second)}
            with ThreadPoolExecutor(
                len(sides)
            ) as executor:  # not timed, so both sides may run at once
                futures = [executor.submit(side.get_ready) for side in sides.values()]
                try:
                    for future in as_completed(futures):
                        future.result()
                except BaseException as error:  # noqa: BLE001 - raised below
                    errors = [e for f in futures if f.done() and (e := f.exception())]
                    for side in sides.values():  # otherwise the other side's start would block
                        side.session.stop()
                    raise (errors or [error])[0] from None
            self._check_same_rows(sides)
            for phase in self.duel.phases:
                for side in sides.values():
                    side.warm(phase)
            orders = _orders(sides, launch)
            for index in range(self.duel.blocks):
                for phase in self.duel.phases:
                    order = orders[index % len(orders)]
                    self.blocks.append(self._block(sides, launch, index, phase, order))
                    self._report_progress()
        self._note(launch, first, sides, [load, os.getloadavg()[0]])

    def _open(self, name: str, stack: ExitStack) -> Side:
        job: Job = getattr(self.duel, name)
        try:
            session = self.open_session(job)
        except SessionError as error:
            raise SideError(name, job, error) from error
        stack.callback(session.close)
        return Side(name, job, session)

    def _check_same_rows(self, sides: Mapping[str, Side]) -> None:
        """Raise an error if the rows differ; two source trees may split data differently."""
        a, b = (
            [sides[name].facts.get(key) for key in ("train_rows", "test_rows")] for name in "ab"
        )
        if a != b:
            message = f"has {b} training and test rows where side a has {a}"
            failure = Failure("rows", message)
            raise SideError("b", self.duel.b, RefusedError(failure))

    def _block(
        self, sides: Mapping[str, Side], launch: int, index: int, phase: str, order: Order
    ) -> Block:
        taken: dict[str, list[Sample]] = {"a": [], "b": []}
        for letter in order.lower():
            time.sleep(self.settle)
            if (others := machine.others_runnable()) is not None:
                self.others.append(others)
            taken[letter].append(sides[letter].take(phase))
        return Block(launch, index, phase, order, tuple(taken["a"]), tuple(taken["b"]))

    def _report_progress(self) -> None:
        total = self.duel.launches * self.duel.blocks * len(self.duel.phases)
        self.progress(len(self.blocks), total)

    def _note(self, launch: int, first: str, sides: Mapping[str, Side], load: list[float]) -> None:
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


def _orders(sides: Mapping[str, Side], launch: int) -> tuple[Order, ...]:
    """Return the orders of calls that the blocks of a launch use by turns.

    All phases of a block use the same order, because their calls are added up one by one.
    """
    longest = {name: max(s.wall for s in side.cold) for name, side in sides.items()}
    if max(longest.values()) < LONE_CALL:
        return ORDERS if launch % 2 == 0 else ORDERS[::-1]
    return ("ABA",) if longest["b"] >= longest["a"] else ("BAB",)
