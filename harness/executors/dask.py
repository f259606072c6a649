"""Executor ``dask``: run trials on a Dask cluster, and store the outcomes on this machine.

A Dask worker runs one trial at a time, in a separate process, as on this machine. A timed trial
runs alone on its host, even if others use the cluster, and only on hosts of this machine's hardware
class, so that times are comparable. One worker runs both sides of a duel. If no host is of that
class, timed trials and duels run on this machine.
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
from harness.executors.dask_cluster.workers import LOST, DaskWorkers, Part, WorkItem, parts_of
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
        If workers differ from this client in code or versions.
    ClusterError
        If no worker is left, or the scheduler is lost.
    """
    every = list(jobs)
    with cluster_workers(options, every) as workers:
        untimed = [part for job in every if not is_timed(job) for part in parts_of(job)]
        timed = [job for job in every if is_timed(job)]
        yield from workers.run(untimed)
        if timed and workers.membership.same_hardware():
            yield from workers.run([part for job in timed for part in parts_of(job)], alone=True)
            return
    for job in timed:
        with on_this_host(alone=True):
            yield from supervise(job)


def run_duels_dask(
    duels: Iterable[Duel], here: Callable[[Duel], DuelOutcome], options: JSON
) -> Iterator[DuelOutcome]:
    """Run duels on a Dask cluster, one on each host at a time; yield outcomes as they come.

    Parameters
    ----------
    here
        Function that runs a duel on this machine: used without a named cluster, and if no host of
        the cluster is of this machine's hardware class.
    options
        As for `run_dask`, which also lists the errors raised.
    """
    every = list(duels)

    def alone_here(duel: Duel) -> DuelOutcome:
        with on_this_host(alone=True):
            return here(duel)

    if options.get("scheduler"):
        with cluster_workers(
            options, [side for duel in every for side in (duel.a, duel.b)]
        ) as workers:
            if workers.membership.same_hardware():
                for outcome in workers.run([Part([WorkItem(duel)]) for duel in every], alone=True):
                    lost = outcome.failure is not None and outcome.failure.kind == LOST
                    yield alone_here(outcome.duel) if lost else outcome
                return
    yield from map(alone_here, every)


@contextmanager
def cluster_workers(options: JSON, jobs: list[Job]) -> Iterator[DaskWorkers]:
    """Yield the workers of the cluster in ``options``."""
    if unknown := sorted(set(options) - {"scheduler", "jobs"}):
        raise ConfigError(
            f"the dask executor has no option {unknown[0]!r}; it has 'scheduler' and 'jobs'"
        )
    with ExitStack() as stack:
        client = stack.enter_context(connected(options, jobs))
        folder = Folder()
        stack.callback(folder.close)
        workers = DaskWorkers(client, folder.path, jobs)
        stack.callback(workers.close)
        yield workers


@contextmanager
def connected(options: JSON, jobs: list[Job]) -> Iterator[Any]:
    """Yield a client of the cluster in ``options``."""
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
            options_here = {"n_workers": count, "threads_per_worker": 1, "dashboard_address": None}
            address = stack.enter_context(LocalCluster(**options_here, processes=True))
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
    """Register the dask executor."""
    summary = "workers of a Dask cluster; options scheduler=URL, jobs=N of a cluster of this run"
    register(Executor("dask", run_dask, summary, run_duels=run_duels_dask))
