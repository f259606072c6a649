"""The workers of a Dask cluster, as far as they are like this client, and what they have in hand.

Trials travel one by one, and those of a job stay with one worker while it lives, which keeps the
table: so a lost worker, or a client that is killed, costs the trial in flight. A duel has a whole
host, and so has a timed trial.
"""

from __future__ import annotations

import json
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from harness.core import machine
from harness.core.errors import HarnessError
from harness.core.model import JSON, Duel, DuelOutcome, Failure, Job, Outcome, Status
from harness.core.outcome_files import outcome_path, read_outcome
from harness.core.units import utc_now
from harness.executors.dask_cluster.jobs import Carried, close_here, fight_here, run_here
from harness.executors.dask_cluster.membership import LOOK, ClusterError, Roll, told_if_gone

LOST = "WorkerLost"  # kind of failure
ATTEMPTS = 3  # workers that a trial or a duel may lose
TOGETHER = 8  # trials of a job that one worker is meant to do
CLOSING = 30.0  # seconds for the workers to end what they have of a run
TAKING = 60.0  # seconds for an outcome to come over
RESTING = 10.0  # seconds for the scheduler to see that a worker is gone whose outcome never came
PATIENCE = 60.0  # seconds to wait for a worker where there is none


@dataclass
class Errand:
    """One trial's job or one duel, and the workers that it was lost with."""

    what: Job | Duel
    lost: list[str] = field(default_factory=list)


Part = deque[Errand]  # what is meant for one worker, in order
Brought = tuple[list[Carried] | DuelOutcome, Errand, str]  # and by which worker


def parts_of(job: Job) -> list[Part]:
    """Return the trials of a job in parts of a few."""
    each = [Errand(replace(job, trials=(trial,))) for trial in job.trials]
    return [deque(each[i : i + TOGETHER]) for i in range(0, len(each), TOGETHER)]


class Crew:
    """The workers of a cluster.

    Parameters
    ----------
    client
        A ``distributed.Client``.
    folder
        Where outcome files are put until the store has taken them over.
    jobs
        What is to be done, see `Roll`.
    """

    def __init__(self, client: Any, folder: Path, jobs: Iterable[Job]) -> None:
        self.client, self.folder, self.roll = client, folder, Roll(client, jobs)
        self.name = uuid.uuid4().hex
        self.waiting: deque[Part] = deque()
        self.at_hand: dict[str, Part] = {}  # address → what it does next; the first is under way
        self.running: dict[Any, str] = {}  # future → address
        self.resting: dict[str, float] = {}  # address → until when it is given nothing

    def run(self, parts: Iterable[Part], *, alone: bool = False) -> Iterator[Any]:
        """Yield what becomes of trials and duels, as it comes.

        Parameters
        ----------
        alone
            Whether each is to have its host alone, one of this machine's hardware class.

        Raises
        ------
        ClusterError
            Where no worker is left, or the scheduler has gone.
        """
        self.waiting.extend(parts)
        since = time.monotonic()
        while self.waiting or self.at_hand:
            with told_if_gone():
                there = self.roll.meet()
                self.wake(there)
                ended = self.give_up_lost(there)
                self.hand_out(there, alone=alone)
                done = self.take_done(ended)
                self.hand_out(there, alone=alone)  # so that nobody waits for the store
            yield from ended
            yield from self.unpacked(done, alone=alone)
            if self.running:
                since = time.monotonic()
            elif self.waiting and time.monotonic() - since > PATIENCE:
                raise ClusterError(self.nobody_left())
            else:
                time.sleep(LOOK)

    def nobody_left(self) -> str:
        """Say that nobody takes what waits, and who of the cluster is silent."""
        left, silent = sum(map(len, self.waiting)), self.roll.silent()
        told = f"{left} trials or duels wait, and the cluster has no worker for them"
        return f"{told}; these do not answer: {', '.join(silent)}" if silent else told

    def free(self, there: list[str], *, alone: bool) -> list[str]:
        """Return the workers that may be given something: one of each free host, where alone."""
        busy = set(self.running.values())
        there = [one for one in there if one not in self.resting]
        if not alone:
            return [address for address in there if address not in busy]
        own, taken = machine.machine_id(), {self.roll.fact(one, "host") for one in self.at_hand}
        like = [one for one in there if self.roll.fact(one, "machine") == own]
        by_host = {self.roll.fact(one, "host"): one for one in reversed(like)}
        idle = [one for one in self.at_hand if one not in busy]
        return idle + [one for host, one in by_host.items() if host not in taken]

    def hand_out(self, there: list[str], *, alone: bool) -> None:
        """Give each free worker, or each free host, what comes next."""
        for address in self.free(there, alone=alone):
            if address not in self.at_hand:
                if not self.waiting:
                    continue
                self.at_hand[address] = self.waiting.popleft()
            what = self.at_hand[address][0].what
            task = run_here if isinstance(what, Job) else fight_here
            asked = {"workers": [address], "retries": 0, "pure": False}
            self.running[self.client.submit(task, self.name, what, **asked)] = address

    def give_up_lost(self, there: list[str]) -> list[Outcome | DuelOutcome]:
        """Take back what lost workers had in hand; return what is given up."""
        found = []
        for future, address in list(self.running.items()):
            if address not in there:
                found += self.lose(future)
        return found

    def wake(self, there: list[str]) -> None:
        """Let those rest no longer that are gone, so may come back anew, or have rested enough."""
        now = time.monotonic()
        self.resting = {one: end for one, end in self.resting.items() if one in there and end > now}

    def lose(self, future: Any) -> list[Outcome | DuelOutcome]:
        """Take back what a lost worker had in hand; return what is given up."""
        address = self.running.pop(future)
        part = self.at_hand.pop(address)
        future.cancel()
        part[0].lost.append(address)
        found = [given_up(part.popleft())] if len(part[0].lost) >= ATTEMPTS else []
        if part:
            self.waiting.appendleft(part)
        return found

    def take_done(self, ended: list[Outcome | DuelOutcome]) -> list[Brought]:
        """Wait a moment; return what tasks that are done have brought, and where they ran.

        What is given up, as its worker went before it could be brought, is added to ``ended``.
        """
        from distributed import KilledWorker, wait
        from distributed import TimeoutError as NotYetError

        if not self.running:
            return []
        with suppress(NotYetError):
            wait(list(self.running), timeout=LOOK, return_when="FIRST_COMPLETED")
        found = []
        for future, address in list(self.running.items()):
            if future.status not in ("finished", "error"):
                continue
            try:
                result = future.result(timeout=TAKING)
            except (NotYetError, CancelledError, KilledWorker):
                ended += self.lose(future)
                self.resting[address] = time.monotonic() + RESTING
                continue
            except OSError as error:
                raise HarnessError(f"{address} cannot carry out trials: {error}") from error
            del self.running[future]
            part = self.at_hand[address]
            found.append((result, part.popleft(), address))
            if not part:
                del self.at_hand[address]
        return found

    def unpacked(self, done: Iterable[Brought], *, alone: bool) -> Iterator[Any]:
        """Yield what has come, as it would have come of a worker on this machine."""
        for result, errand, address in done:
            ran = {"worker": address, "lost": errand.lost}
            ran |= {name: self.roll.fact(address, name) for name in ("host", "machine")}
            if isinstance(result, DuelOutcome):
                yield replace(result, facts={**result.facts, "dask": ran})
                continue
            for carried in result:
                outcome = self.unpack(carried, ran, alone=alone)
                yield outcome
                for file in outcome.arrays.values():  # the store has them by now
                    Path(file).unlink(missing_ok=True)

    def unpack(self, carried: Carried, ran: JSON, *, alone: bool) -> Outcome:
        """Write an outcome's files here; return it."""
        text, files = carried
        for name, data in files.items():
            (self.folder / Path(name).name).write_bytes(data)
        told = json.loads(text)
        facts = told.get("facts", {})  # a supervisor there knows of no other process
        told["facts"] = {**facts, "alone": alone and facts.get("alone", False), "dask": ran}
        path = outcome_path(self.folder, told["trial"]["id"])
        path.write_text(json.dumps(told))
        return read_outcome(path)

    def close(self) -> None:
        """End what runs for this run on all workers; one that never spoke has nothing of it."""
        for future in self.running:
            with suppress(Exception):  # the scheduler may be gone
                future.cancel()
        spoken = [one for one in self.roll.there if one in self.roll.known]
        ask(self.client, CLOSING, close_here, self.name, workers=spoken, on_error="ignore")


def given_up(errand: Errand) -> Outcome | DuelOutcome:
    """Return the end of what no worker has survived; the next run tries it again."""
    told = f"{len(errand.lost)} workers were lost with it: {', '.join(errand.lost)}"
    facts: JSON = {"dask": {"lost": errand.lost}, "failed_in": "start"}
    now = utc_now()
    end: dict[str, Any] = {"facts": facts, "started": now, "ended": now}
    end["failure"] = Failure(LOST, told)
    if isinstance(errand.what, Duel):
        return DuelOutcome(errand.what, Status.CRASHED, **end)
    return Outcome(errand.what.trials[0], Status.CRASHED, **end)


def ask(client: Any, seconds: float, function: Callable[..., Any], *args: Any, **how: Any) -> Any:
    """Return what workers say to a call outside of their tasks; None where that takes too long.

    A worker that hangs keeps its connection, so ``client.run`` alone would wait for ever.
    """
    found: list[Any] = []

    def run() -> None:
        with suppress(Exception):  # whoever is gone has nothing to say
            found.append(client.run(function, *args, **how))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    return found[0] if found else None
