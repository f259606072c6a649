"""Checks of Dask workers before training: they exist, answer, and have the client's versions."""

import threading
import time
from concurrent.futures import CancelledError
from contextlib import suppress

from algorithms.distributed import worker_tasks

POLL_SECONDS = 0.25  # seconds between two checks of the cluster
STARTING = 5.0  # seconds to wait for the first worker
RETURNING = 20.0  # seconds to wait for a worker if none is left
HANGS = "it hangs or is gone"


class WorkerLostError(RuntimeError):
    """A worker or a connection was lost; ``rounds`` holds the finished rounds."""

    def __init__(self, message, rounds=()):
        super().__init__(message)
        self.rounds = list(rounds)


class VersionError(RuntimeError):
    """Workers have other versions than the client."""


def find_workers(client, workers):
    """Return the addresses of the workers that may be used.

    Parameters
    ----------
    client : distributed.Client
    workers : addresses, or None for all of the cluster

    Raises
    ------
    ValueError
        If a named worker does not exist; Dask would wait for it indefinitely.
    WorkerLostError
        If the cluster has no worker, or no scheduler.
    """
    deadline = time.monotonic() + STARTING
    while not (there := workers_of(client)) and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)
    if not there:
        raise WorkerLostError(f"the Dask cluster has had no worker for {STARTING:g} s: start some")
    if workers is None:
        return there
    wanted = list(dict.fromkeys(workers))
    unknown = [str(one) for one in wanted if one not in there]
    if unknown or not wanted:
        named = ", ".join(unknown) or "none"
        raise ValueError(
            f"workers names {named}, but the cluster has {', '.join(there)}: "
            "name some of these, or leave it None"
        )
    return wanted


def workers_of(client):
    """Return the addresses of all workers, ascending, from the scheduler."""
    try:
        return sorted(client.nthreads())  # the client's own copy may be outdated
    except OSError as error:
        raise WorkerLostError(f"the scheduler of the Dask cluster is gone: {error}") from error


def call_workers(client, seconds, function, *args, workers):
    """Call a function on each worker outside of tasks; return address → result or exception.

    Notes
    -----
    Each worker is called by its own thread, because ``client.run`` on all workers would wait for a
    hanging one. Workers that do not answer in time are left out.
    """
    answers = {}

    def run(address):
        with suppress(Exception):  # the scheduler or the worker is lost
            answers.update(client.run(function, *args, workers=[address], on_error="return"))

    threads = [threading.Thread(target=run, args=(one,), daemon=True) for one in workers]
    deadline = time.monotonic() + seconds
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(deadline - time.monotonic(), 0.0))
    return dict(answers)


def compare(versions, addresses):
    """Compare the versions of workers with those of this process.

    Parameters
    ----------
    versions : dict, address → result of `worker_tasks.versions` there, or an exception
    addresses : addresses of all workers that were called

    Raises
    ------
    WorkerLostError
        If workers are lost, or do not answer.
    VersionError
        If any version differs, or a worker lacks this package.
    """
    silent = [one for one in addresses if isinstance(versions.get(one, OSError()), OSError)]
    if silent:
        reasons = (f"{one} does not answer: {versions.get(one, HANGS)}" for one in silent)
        raise WorkerLostError("; ".join(reasons))
    local, unlike = worker_tasks.versions(), []
    for address in addresses:
        remote = versions[address]
        if isinstance(remote, Exception):
            known = type(remote) is not Exception  # otherwise Dask has converted it to text
            unlike.append(f"{address} cannot train: {repr(remote) if known else remote}")
            continue
        unlike += [
            f"{what} is {remote.get(what, 'unknown')} at {address}, and {value} here"
            for what, value in local.items()
            if remote.get(what) != value
        ]
    if unlike:
        raise VersionError("workers differ from this client: " + "; ".join(unlike))


def wait_for_futures(client, futures, workers):
    """Wait until futures have ended; raise the error of the first one that failed.

    Parameters
    ----------
    client : distributed.Client
    futures : list of futures
    workers : addresses that may compute them, or None for all

    Raises
    ------
    WorkerLostError
        If none of the workers is left (Dask would wait indefinitely), or futures were lost with
        their workers.
    """
    from distributed import KilledWorker, wait
    from distributed import TimeoutError as NotYetError

    since = None
    while not all(future.done() for future in futures):
        with suppress(NotYetError, CancelledError):
            wait(futures, timeout=POLL_SECONDS)
        there = workers_of(client)
        if there if workers is None else set(workers).intersection(there):
            since = None
        elif since is None:
            since = time.monotonic()
        elif time.monotonic() - since > RETURNING:
            raise WorkerLostError("no worker is left to compute the parts of the tables")
    try:
        for future in futures:
            if future.status != "finished":
                future.result()  # raises
    except (KilledWorker, CancelledError) as error:
        raise WorkerLostError(f"parts of the tables were lost: {error}") from error
