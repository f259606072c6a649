"""Time two algorithms against each other: in processes of their own, interleaved, phase by phase.

Each launch starts a fresh pair of workers, one library each; the one that starts first
alternates. Both load and prepare side by side, go through every phase untimed, twice where it is
short, and then blocks of four calls follow, ABBA and BAAB by turns, so that drift of the machine
and the order of calls cancel. Where a call takes half a minute, blocks are of three, with the
slower side in the middle: drift still cancels, in half the time. While one side works the other
waits for its next request, without load.
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
from harness.measurement.duel_side import Opponent, Side, SideError

# Seconds of rest before each call. OpenMP threads spin some ms after their work; and on a busy
# machine the scheduler favours who has slept: of calls without a rest between, the second took
# 10 % longer. So all four calls of a block begin alike.
SETTLE = 0.02
LONE_CALL = 30.0  # seconds; the side that takes longer than that is called once a block
ORDERS: tuple[Order, ...] = ("ABBA", "BAAB")
SPIN_VARIABLES = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME", "KMP_LIBRARY")


class OverdueError(Exception):
    """A duel was undecided when its time was over."""

    def __init__(self, duel: Duel, launches: int) -> None:
        names = " and ".join(job.trials[0].algorithm for job in (duel.a, duel.b))
        told = f"no time was left for {names} on {duel.a.dataset.name} after {launches} launches"
        super().__init__(told)


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
    started = utc_now()
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
        fight.facts["limits"] = to_json(getattr(duel, error.side).limits)
        fight.facts |= error.facts
    return DuelOutcome(duel, status, tuple(fight.blocks), failure, fight.facts, started, utc_now())


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
                begun = [starts.submit(side.get_ready) for side in sides.values()]
                try:
                    for one in as_completed(begun):
                        one.result()
                except BaseException as error:  # noqa: BLE001 - raised again
                    told = [e for one in begun if one.done() and (e := one.exception())]
                    for side in sides.values():  # else the other one's start is waited for
                        side.session.stop()
                    raise (told or [error])[0] from None
            self._check_same_rows(sides)
            for phase in self.duel.phases:
                for side in sides.values():
                    side.warm(phase)
            orders = _orders(sides, launch)
            for index in range(self.duel.blocks):
                for phase in self.duel.phases:
                    order = orders[index % len(orders)]
                    self.blocks.append(self._block(sides, launch, index, phase, order))
                    self._tell()
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
        """Refuse a duel over different data: two source trees may disagree on a split."""
        a, b = (
            [sides[name].facts.get(key) for key in ("train_rows", "test_rows")] for name in "ab"
        )
        if a != b:
            message = f"was given {b} training and test rows where side a has {a}"
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

    def _tell(self) -> None:
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
    """Return the orders that the blocks of a launch take by turns.

    They are the same for all phases of a block, whose calls are added up one by one.
    """
    longest = {name: max(s.wall for s in side.cold) for name, side in sides.items()}
    if max(longest.values()) < LONE_CALL:
        return ORDERS if launch % 2 == 0 else ORDERS[::-1]
    return ("ABA",) if longest["b"] >= longest["a"] else ("BAB",)
