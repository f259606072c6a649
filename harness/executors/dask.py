"""The ``dask`` executor: trials on the workers of a Dask cluster, outcomes to the one writer.

A Dask worker carries out one trial at a time, in a process of its own, as this machine would. What
is timed has its host alone, whoever else uses the cluster, and goes only to hosts of this machine's
hardware class: times of unlike machines never meet. Both sides of a duel are fought by one worker.
Where no host is of that class, timed trials and duels stay on this machine, which is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from harness.core import machine
from harness.core.errors import ConfigError
from harness.core.model import JSON, Duel, DuelOutcome, Executor, Job, Outcome
from harness.execution.pool import is_timed
from harness.executors.dask_cluster.hosts import Folder, on_this_host
from harness.executors.dask_cluster.workers import LOST, Crew, Errand, Part, parts_of
from harness.plugins.hookspecs import hookimpl

CONNECTING = "20s"


def run_dask(
    jobs: Iterable[Job], supervise: Callable[[Job], Iterator[Outcome]], options: JSON
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
        Where workers are not like this client.
    ClusterError
        Where no worker is left, or the scheduler has gone.
    """
    every = list(jobs)
    with hired(options, every) as crew:
        untimed = [part for job in every if not is_timed(job) for part in parts_of(job)]
        timed = [job for job in every if is_timed(job)]
        yield from crew.run(untimed)
        if timed and crew.roll.like():
            yield from crew.run([part for job in timed for part in parts_of(job)], alone=True)
            return
    for job in timed:
        with on_this_host(alone=True):
            yield from supervise(job)


def fight_dask(
    duels: Iterable[Duel], here: Callable[[Duel], DuelOutcome], options: JSON
) -> Iterator[DuelOutcome]:
    """Fight duels on a Dask cluster, one on each host at a time; yield outcomes as they come.

    Parameters
    ----------
    here
        Fights a duel on this machine: where no cluster was named, as the one of a run is on this
        machine, and where no host of it is of this machine's class of hardware.
    options
        As of `run_dask`, whose errors this raises too.
    """
    every = list(duels)

    def alone_here(duel: Duel) -> DuelOutcome:
        with on_this_host(alone=True):
            return here(duel)

    if options.get("scheduler"):
        with hired(options, [side for duel in every for side in (duel.a, duel.b)]) as crew:
            if crew.roll.like():
                for outcome in crew.run([Part([Errand(duel)]) for duel in every], alone=True):
                    lost = outcome.failure is not None and outcome.failure.kind == LOST
                    yield alone_here(outcome.duel) if lost else outcome
                return
    yield from map(alone_here, every)


@contextmanager
def hired(options: JSON, jobs: list[Job]) -> Iterator[Crew]:
    """Yield the workers of the cluster that was asked for."""
    if unknown := sorted(set(options) - {"scheduler", "jobs"}):
        raise ConfigError(
            f"the dask executor has no option {unknown[0]!r}; it has 'scheduler' and 'jobs'"
        )
    with ExitStack() as stack:
        client = stack.enter_context(connected(options, jobs))
        folder = Folder()
        stack.callback(folder.close)
        crew = Crew(client, folder.path, jobs)
        stack.callback(crew.close)
        yield crew


@contextmanager
def connected(options: JSON, jobs: list[Job]) -> Iterator[Any]:
    """Yield a client of the cluster that was asked for."""
    try:
        from distributed import LocalCluster
    except ImportError as error:
        raise ConfigError(
            "the dask executor needs Dask: pip install 'dask[array,dataframe]' distributed"
        ) from error
    with ExitStack() as stack:
        address = options.get("scheduler")
        if address is None:
            threads = max((job.threads for job in jobs), default=1)
            count = options.get("jobs") or max(1, machine.usable_processors() // threads)
            asked = {"n_workers": count, "threads_per_worker": 1, "dashboard_address": None}
            address = stack.enter_context(LocalCluster(**asked, processes=True))
        yield stack.enter_context(reached(address))


def reached(address: Any) -> Any:
    """Return a client of a scheduler, or raise `ConfigError`."""
    from distributed import Client

    try:
        return Client(address, timeout=CONNECTING)
    except (OSError, ValueError) as error:
        raise ConfigError(f"no Dask scheduler answers at {address}: {error}") from error


@hookimpl
def register_executors(register: Callable[[Executor], None]) -> None:
    """Offer the dask executor."""
    summary = "workers of a Dask cluster; options scheduler=URL, jobs=N of a cluster of this run"
    register(Executor("dask", run_dask, summary, fight=fight_dask))
