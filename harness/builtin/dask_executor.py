"""The ``dask`` executor: jobs on the workers of a Dask cluster, outcomes back to the one writer.

A Dask worker carries out one job at a time, in a process of its own, as this machine would. A
timed job has its host alone, and goes only to hosts of this machine's hardware class, so times of
unlike machines never meet. What a lost worker had in hand is done again elsewhere, and its
outcomes say so. Duels, which time two sides against each other, stay on this machine.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from harness import machine
from harness.builtin._dask_jobs import Carried, close_here, facts_here, run_here
from harness.errors import ConfigError, HarnessError
from harness.hookspecs import hookimpl
from harness.model import JSON, Executor, Failure, Job, Outcome, Status
from harness.outcomes import outcome_path, read_outcome
from harness.pool import is_timed

MOST_TRIALS = 8  # of a job that travel together: what a lost worker can cost
ATTEMPTS = 3  # workers that a job may lose
LOOK = 0.25  # seconds between two looks at the cluster
PATIENCE = 60.0  # seconds to wait for a worker where there is none
CONNECTING = "20s"


@dataclass
class Task:
    """A job on its way, and the workers that it was lost with."""

    job: Job
    lost: list[str] = field(default_factory=list)


def run_dask(
    jobs: Iterable[Job], _supervise: Callable[[Job], Iterator[Outcome]], options: JSON
) -> Iterator[Outcome]:
    """Run jobs on a Dask cluster and yield outcomes as they come.

    Parameters
    ----------
    options
        ``scheduler``: address of the cluster's scheduler; without one, a cluster of processes on
        this machine is started for the run, ``jobs`` of them.

    Raises
    ------
    ConfigError
        Where workers are not like this client, or none may run what is asked.
    HarnessError
        Where no worker is left.
    """
    if unknown := sorted(set(options) - {"scheduler", "jobs"}):
        raise ConfigError(
            f"the dask executor has no option {unknown[0]!r}; it has 'scheduler' and 'jobs'"
        )
    every = list(jobs)
    with ExitStack() as stack:
        client = stack.enter_context(connected(options, every))
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="harness-dask-")))
        crew = Crew(client, folder, tuple(sorted({job.plugin for job in every})))
        stack.callback(crew.close)
        yield from crew.run([part for job in every if not is_timed(job) for part in parts_of(job)])
        yield from crew.run([job for job in every if is_timed(job)], timed=True)


@contextmanager
def connected(options: JSON, jobs: list[Job]) -> Iterator[Any]:
    """Yield a client of the cluster that was asked for."""
    try:
        from distributed import Client, LocalCluster
    except ImportError as error:
        raise ConfigError(
            "the dask executor needs Dask: pip install 'tree-harness[dask]'"
        ) from error
    address = options.get("scheduler")
    with ExitStack() as stack:
        if address is None:
            threads = max((job.threads for job in jobs), default=1)
            count = options.get("jobs") or max(1, (os.cpu_count() or 1) // threads)
            asked = {"n_workers": count, "threads_per_worker": 1, "dashboard_address": ":0"}
            address = stack.enter_context(LocalCluster(**asked, processes=True))
        try:
            yield stack.enter_context(Client(address, timeout=CONNECTING))
        except (OSError, ValueError) as error:
            if options.get("scheduler") is None:
                raise
            raise ConfigError(f"no Dask scheduler answers at {address}: {error}") from error


def parts_of(job: Job) -> list[Job]:
    """Return a job in parts of a few trials."""
    starts = range(0, len(job.trials), MOST_TRIALS)
    return [replace(job, trials=job.trials[i : i + MOST_TRIALS]) for i in starts]


class Crew:
    """The workers of a cluster, as far as they are like this client.

    Parameters
    ----------
    client
        A ``distributed.Client``.
    folder
        Where outcome files are put until the store has taken them over.
    plugins
        Whose code must be the same everywhere.
    """

    def __init__(self, client: Any, folder: Path, plugins: tuple[str, ...]) -> None:
        self.client, self.folder, self.plugins = client, folder, plugins
        self.name = uuid.uuid4().hex
        self.known: dict[str, JSON] = {}  # address → facts
        self.running: dict[Any, tuple[Task, str]] = {}  # future → task and address

    def run(self, jobs: list[Job], *, timed: bool = False) -> Iterator[Outcome]:
        """Yield what becomes of jobs, as it comes."""
        from distributed import TimeoutError as NotYetError
        from distributed import wait

        waiting = deque(Task(job) for job in jobs)
        since = time.monotonic()
        while waiting or self.running:
            there = self.meet()
            yield from self.give_up_lost(there, waiting)
            self.hand_out(waiting, there, timed=timed)
            if self.running:
                since = time.monotonic()
                with suppress(NotYetError):
                    wait(list(self.running), timeout=LOOK, return_when="FIRST_COMPLETED")
                yield from self.take_done()
            elif time.monotonic() - since > PATIENCE:
                raise HarnessError(f"{len(waiting)} jobs wait, and the cluster has no worker")
            else:
                time.sleep(LOOK)

    def meet(self) -> list[str]:
        """Return the addresses of the workers that are there; compare those that are new."""
        there = sorted(self.client.nthreads())
        new = [address for address in there if address not in self.known]
        if new:
            answers = self.client.run(facts_here, self.plugins, workers=new, on_error="ignore")
            refuse_unlike(facts_here(self.plugins), answers)
            self.known.update(answers)
        return [address for address in there if address in self.known]

    def hand_out(self, waiting: deque[Task], there: list[str], *, timed: bool) -> None:
        """Give each free worker, or each free host, the next job."""
        busy = {address for _, address in self.running.values()}
        places = self.alone(there) if timed else there
        for address in places:
            if waiting and address not in busy:
                task = waiting.popleft()
                future = self.client.submit(
                    run_here, self.name, task.job, workers=[address], pure=False, retries=0
                )
                self.running[future] = task, address

    def alone(self, there: list[str]) -> list[str]:
        """Return one worker of each host of this machine's hardware class.

        Raises
        ------
        ConfigError
            Where there is none.
        """
        own = machine.machine_id()
        like = [address for address in there if self.known[address]["machine"] == own]
        if there and not like:
            raise ConfigError(
                "timed trials run on this machine's class of hardware alone, and no worker of the "
                "cluster is of it: start the run from a machine like the workers"
            )
        return list({self.known[address]["host"]: address for address in reversed(like)}.values())

    def give_up_lost(self, there: list[str], waiting: deque[Task]) -> Iterator[Outcome]:
        """Take back what lost workers had in hand."""
        for future, (task, address) in list(self.running.items()):
            if address in there:
                continue
            del self.running[future]
            future.cancel()
            task.lost.append(address)
            if len(task.lost) < ATTEMPTS:
                waiting.appendleft(task)
                continue
            failure = Failure(
                "WorkerLost", f"{ATTEMPTS} workers were lost with it: {', '.join(task.lost)}"
            )
            for trial in task.job.trials:
                yield Outcome(trial, Status.CRASHED, failure=failure, facts={"lost": task.lost})

    def take_done(self) -> Iterator[Outcome]:
        """Yield the outcomes of jobs that are done."""
        for future, (task, address) in list(self.running.items()):
            if not future.done() or future.status == "cancelled":
                continue
            del self.running[future]
            for carried in future.result():
                outcome = self.unpack(carried, task, address)
                yield outcome
                for file in outcome.arrays.values():  # the store has them by now
                    Path(file).unlink(missing_ok=True)

    def unpack(self, carried: Carried, task: Task, address: str) -> Outcome:
        """Write an outcome's files here; return it."""
        text, files = carried
        for name, data in files.items():
            (self.folder / Path(name).name).write_bytes(data)
        told = json.loads(text)
        ran = {"worker": address, "lost": task.lost}
        ran |= {name: self.known[address][name] for name in ("host", "machine")}
        told["facts"] = {**told.get("facts", {}), "dask": ran}
        path = outcome_path(self.folder, told["trial"]["id"])
        path.write_text(json.dumps(told))
        return read_outcome(path)

    def close(self) -> None:
        """End what runs for this run on all workers."""
        for future in self.running:
            future.cancel()
        with suppress(Exception):  # whoever is gone has nothing left to end
            self.client.run(close_here, self.name, on_error="ignore")


def refuse_unlike(own: JSON, answers: dict[str, JSON]) -> None:
    """Raise `ConfigError` that lists each difference between workers and this client."""
    differences = [
        f"{what} is {facts['versions'].get(what, 'missing')} at {address}, and {ours} here"
        for address, facts in sorted(answers.items())
        for what, ours in own["versions"].items()
        if facts["versions"].get(what, "missing") != ours
    ]
    if differences:
        raise ConfigError("workers are not like this client: " + "; ".join(differences))


@hookimpl
def register_executors(register: Callable[[Executor], None]) -> None:
    """Offer the dask executor."""
    summary = "workers of a Dask cluster; options scheduler=URL, jobs=N of a cluster of this run"
    register(Executor("dask", run_dask, summary))
