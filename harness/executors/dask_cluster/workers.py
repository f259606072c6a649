"""Scheduling of trials and duels on the workers of a Dask cluster.

Trials are submitted one by one. Those of a job go to the same worker while it lives, because it
keeps the table. So the loss of a worker or of the client costs only the running trial. A duel or a
timed trial uses a host exclusively.
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
from harness.executors.dask_cluster.jobs import OutcomeFiles, close_here, run_duel_here, run_here
from harness.executors.dask_cluster.membership import (
    POLL,
    ClusterError,
    Membership,
    scheduler_errors,
)

LOST = "WorkerLost"  # kind of failure
ATTEMPTS = 3  # lost workers after which a trial or duel is given up
TRIALS_OF_A_PART = 8  # trials of a job that are assigned to one worker
CLOSE_TIMEOUT = 30.0  # seconds for the workers to end a run
TRANSFER_TIMEOUT = 60.0  # seconds to transfer an outcome
PAUSE = 10.0  # seconds without jobs for a worker whose outcome could not be transferred
WORKER_TIMEOUT = 60.0  # seconds to wait for a worker if there is none


@dataclass
class WorkItem:
    """Job of one trial, or one duel, with the addresses of the workers lost while it ran."""

    what: Job | Duel
    lost: list[str] = field(default_factory=list)


Part = deque[WorkItem]  # work items for one worker, in order
FinishedItem = tuple[list[OutcomeFiles] | DuelOutcome, WorkItem, str]  # result, item, worker


def parts_of(job: Job) -> list[Part]:
    """Return the trials of a job in parts of at most `TRIALS_OF_A_PART`."""
    each = [WorkItem(replace(job, trials=(trial,))) for trial in job.trials]
    return [deque(each[i : i + TRIALS_OF_A_PART]) for i in range(0, len(each), TRIALS_OF_A_PART)]


class DaskWorkers:
    """The workers of a cluster.

    Parameters
    ----------
    client
        A ``distributed.Client``.
    folder
        Folder of outcome files until the store has taken them.
    jobs
        Jobs to run, see `Membership`.
    """

    def __init__(self, client: Any, folder: Path, jobs: Iterable[Job]) -> None:
        self.client, self.folder, self.membership = client, folder, Membership(client, jobs)
        self.name = uuid.uuid4().hex
        self.waiting: deque[Part] = deque()
        self.assigned: dict[str, Part] = {}  # address → its work items; the first is running
        self.running: dict[Any, str] = {}  # future → address
        self.paused: dict[str, float] = {}  # address → time until which it gets no jobs

    def run(self, parts: Iterable[Part], *, alone: bool = False) -> Iterator[Any]:
        """Run trials and duels and yield their outcomes as they come.

        Parameters
        ----------
        alone
            Whether each runs alone on a host of this machine's hardware class.

        Raises
        ------
        ClusterError
            If no worker is left, or the scheduler is lost.
        """
        self.waiting.extend(parts)
        since = time.monotonic()
        while self.waiting or self.assigned:
            with scheduler_errors():
                there = self.membership.poll_workers()
                self.end_pauses(there)
                ended = self.requeue_lost(there)
                self.submit_next(there, alone=alone)
                done = self.take_finished(ended)
                self.submit_next(there, alone=alone)  # so that no worker waits for the store
            yield from ended
            yield from self.unpacked(done, alone=alone)
            if self.running:
                since = time.monotonic()
            elif self.waiting and time.monotonic() - since > WORKER_TIMEOUT:
                raise ClusterError(self.no_workers_message())
            else:
                time.sleep(POLL)

    def no_workers_message(self) -> str:
        """Return a message on waiting work without workers, and on workers that do not answer."""
        left, silent = sum(map(len, self.waiting)), self.membership.silent()
        message = f"{left} trials or duels wait, but the cluster has no worker for them"
        return f"{message}; these do not answer: {', '.join(silent)}" if silent else message

    def free(self, there: list[str], *, alone: bool) -> list[str]:
        """Return the workers without running work; if ``alone``, one of each free host."""
        busy = set(self.running.values())
        there = [one for one in there if one not in self.paused]
        if not alone:
            return [address for address in there if address not in busy]
        own, taken = (
            machine.machine_id(),
            {self.membership.fact(one, "host") for one in self.assigned},
        )
        like = [one for one in there if self.membership.fact(one, "machine") == own]
        by_host = {self.membership.fact(one, "host"): one for one in reversed(like)}
        idle = [one for one in self.assigned if one not in busy]
        return idle + [one for host, one in by_host.items() if host not in taken]

    def submit_next(self, there: list[str], *, alone: bool) -> None:
        """Submit the next item to each free worker or host."""
        for address in self.free(there, alone=alone):
            if address not in self.assigned:
                if not self.waiting:
                    continue
                self.assigned[address] = self.waiting.popleft()
            what = self.assigned[address][0].what
            task = run_here if isinstance(what, Job) else run_duel_here
            options = {"workers": [address], "retries": 0, "pure": False}
            self.running[self.client.submit(task, self.name, what, **options)] = address

    def requeue_lost(self, there: list[str]) -> list[Outcome | DuelOutcome]:
        """Requeue the work items of lost workers; return the outcomes of those given up."""
        outcomes = []
        for future, address in list(self.running.items()):
            if address not in there:
                outcomes += self.requeue(future)
        return outcomes

    def end_pauses(self, there: list[str]) -> None:
        """End the pause of workers whose time is over or that have left the cluster."""
        now = time.monotonic()
        self.paused = {one: end for one, end in self.paused.items() if one in there and end > now}

    def requeue(self, future: Any) -> list[Outcome | DuelOutcome]:
        """Requeue the work items of a lost worker; return the outcome of one given up, if any."""
        address = self.running.pop(future)
        part = self.assigned.pop(address)
        future.cancel()
        part[0].lost.append(address)
        outcomes = [given_up(part.popleft())] if len(part[0].lost) >= ATTEMPTS else []
        if part:
            self.waiting.appendleft(part)
        return outcomes

    def take_finished(self, ended: list[Outcome | DuelOutcome]) -> list[FinishedItem]:
        """Wait shortly; return the results of finished tasks with their workers.

        Outcomes of work items that are given up are added to ``ended``.
        """
        from distributed import KilledWorker, wait
        from distributed import TimeoutError as NotYetError

        if not self.running:
            return []
        with suppress(NotYetError):
            wait(list(self.running), timeout=POLL, return_when="FIRST_COMPLETED")
        results = []
        for future, address in list(self.running.items()):
            if future.status not in ("finished", "error"):
                continue
            try:
                result = future.result(timeout=TRANSFER_TIMEOUT)
            except (NotYetError, CancelledError, KilledWorker):
                ended += self.requeue(future)
                self.paused[address] = time.monotonic() + PAUSE
                continue
            except OSError as error:
                raise HarnessError(f"{address} cannot run trials: {error}") from error
            del self.running[future]
            part = self.assigned[address]
            results.append((result, part.popleft(), address))
            if not part:
                del self.assigned[address]
        return results

    def unpacked(self, done: Iterable[FinishedItem], *, alone: bool) -> Iterator[Any]:
        """Yield the outcomes in the form of a local worker's."""
        for result, item, address in done:
            ran = {"worker": address, "lost": item.lost}
            ran |= {name: self.membership.fact(address, name) for name in ("host", "machine")}
            if isinstance(result, DuelOutcome):
                yield replace(result, facts={**result.facts, "dask": ran})
                continue
            for carried in result:
                outcome = self.unpack(carried, ran, alone=alone)
                yield outcome
                for file in outcome.arrays.values():  # already stored
                    Path(file).unlink(missing_ok=True)

    def unpack(self, carried: OutcomeFiles, ran: JSON, *, alone: bool) -> Outcome:
        """Write the files of an outcome to ``folder`` and return it."""
        text, files = carried
        for name, data in files.items():
            (self.folder / Path(name).name).write_bytes(data)
        record = json.loads(text)
        facts = record.get("facts", {})  # the remote supervisor does not know other processes
        record["facts"] = {**facts, "alone": alone and facts.get("alone", False), "dask": ran}
        path = outcome_path(self.folder, record["trial"]["id"])
        path.write_text(json.dumps(record))
        return read_outcome(path)

    def close(self) -> None:
        """End this run's processes on all workers that have answered."""
        for future in self.running:
            with suppress(Exception):  # the scheduler may be gone
                future.cancel()
        answered = [one for one in self.membership.present if one in self.membership.known]
        run_on_workers(
            self.client, CLOSE_TIMEOUT, close_here, self.name, workers=answered, on_error="ignore"
        )


def given_up(item: WorkItem) -> Outcome | DuelOutcome:
    """Return the failed outcome of an item that is given up; the next run repeats it."""
    message = f"{len(item.lost)} workers were lost with it: {', '.join(item.lost)}"
    facts: JSON = {"dask": {"lost": item.lost}, "failed_in": "start"}
    now = utc_now()
    end: dict[str, Any] = {"facts": facts, "started": now, "ended": now}
    end["failure"] = Failure(LOST, message)
    if isinstance(item.what, Duel):
        return DuelOutcome(item.what, Status.CRASHED, **end)
    return Outcome(item.what.trials[0], Status.CRASHED, **end)


def run_on_workers(
    client: Any, seconds: float, function: Callable[..., Any], *args: Any, **how: Any
) -> Any:
    """Return the result of ``client.run``, or None after ``seconds``.

    A worker that hangs keeps its connection, so ``client.run`` alone could wait indefinitely.
    """
    results: list[Any] = []

    def run() -> None:
        with suppress(Exception):  # workers or scheduler may be gone
            results.append(client.run(function, *args, **how))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    return results[0] if results else None
