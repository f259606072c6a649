"""Client side of training on a Dask cluster: place the parts, start the ranks, collect results.

Dask stores the parts and starts the ranks, which communicate directly. The client compares
versions, finds the worker of each part, sends every rank its parts, the addresses of all ranks and
a secret for this training, and waits. If a worker is lost, the others stop by themselves and return
the finished rounds.
"""

import secrets
import time
import uuid
from concurrent.futures import CancelledError
from contextlib import suppress
from dataclasses import replace

import numpy as np

from algorithms.distributed import worker_tasks
from algorithms.distributed.sockets import LinkError
from algorithms.distributed.table_parts import inspect_part
from algorithms.distributed.worker_check import (
    POLL_SECONDS,
    WorkerLostError,
    call_workers,
    compare,
    wait_for_futures,
)

GRACE = 20.0  # seconds in which ranks must end after one is lost
ANSWERING = 30.0  # seconds for workers to return their versions, and to open a listener
CLOSING = 5.0  # seconds to wait until listeners are closed
TAKING = 60.0  # seconds for the transfer of a rank's result


def compare_versions(client, addresses):
    """Compare the versions of workers with those of this process; see `worker_check.compare`."""
    compare(call_workers(client, ANSWERING, worker_tasks.versions, workers=addresses), addresses)


def compute_parts(client, parts, workers):
    """Return futures of the parts, computed on workers that Dask chooses.

    Parameters
    ----------
    client : distributed.Client
    parts : list of tuples of delayed objects
    workers : list of addresses that may be used, or None

    Raises
    ------
    WorkerLostError
        If no worker is left that may compute them.
    """
    from dask import delayed

    tuples = [delayed(tuple)(list(part)) for part in parts]
    futures = client.compute(tuples, workers=workers, allow_other_workers=False)
    wait_for_futures(client, futures, workers)
    return futures


def inspect_parts(client, futures, model, workers):
    """Return the `PartSummary` of all parts."""
    summaries = [
        client.submit(inspect_part, future, model, pure=False, workers=workers)
        for future in futures
    ]
    wait_for_futures(client, summaries, workers)
    return client.gather(summaries)


def assign(client, futures, workers):
    """Return address → numbers of the parts that its rank trains on.

    Parts stay on their workers, unless a worker would have more than its share while another one
    has none.

    Raises
    ------
    WorkerLostError
        If a part was lost.
    """
    holders = client.who_has(futures)
    assigned = {}
    for number, future in enumerate(futures):
        where = sorted(holders[future.key])
        if not where:
            raise WorkerLostError(f"part {number} was lost with its worker before training began")
        assigned.setdefault(where[number % len(where)], []).append(number)
    if workers is not None:
        spread_out(assigned, workers, len(futures))
    return {address: sorted(assigned[address]) for address in sorted(assigned) if assigned[address]}


def spread_out(assigned, workers, n_parts):
    """Move parts to workers that hold none."""
    for address in workers:
        assigned.setdefault(address, [])
    most = -(-n_parts // len(assigned))
    for address in sorted(assigned):
        while not assigned[address]:
            fullest = max(sorted(assigned), key=lambda one: len(assigned[one]))
            if len(assigned[fullest]) <= 1 or len(assigned[fullest]) < most:
                return
            assigned[address].append(assigned[fullest].pop())


def open_listeners(client, name, addresses):
    """Return the address of each rank's listener.

    Raises
    ------
    VersionError
        If any version differs, or a worker cannot train.
    WorkerLostError
        If a worker is lost, or does not answer.
    """
    answers = call_workers(client, ANSWERING, worker_tasks.open_listener, name, workers=addresses)
    versions = {
        one: answer if isinstance(answer, Exception) else answer[0]
        for one, answer in answers.items()
    }
    compare(versions, addresses)
    return [answers[address][1] for address in addresses]


def abort(client, name, addresses):
    """End all remaining ranks."""
    with suppress(Exception):
        there = [one for one in addresses if one in client.nthreads()]
        call_workers(client, CLOSING, worker_tasks.abort_training, name, workers=there)


def train_on(client, futures, assigned, job, place):
    """Start all ranks and return their `Result`s; the first one has the model.

    Parameters
    ----------
    client : distributed.Client
    futures : futures of all parts
    assigned : address → numbers of parts
    job : Training
    place : dict, argument ``place`` of `worker_tasks.train_here` without what differs by rank

    Raises
    ------
    WorkerLostError, VersionError
    """
    name, addresses = uuid.uuid4().hex, list(assigned)
    try:
        reach = open_listeners(client, name, addresses)
        place = {**place, "addresses": reach, "secret": secrets.token_bytes(32)}
        job_without_tables = replace(job, eval_set=None, eval_sample_weight=None, eval_metric=None)
        running = [
            client.submit(
                worker_tasks.train_here,
                name,
                {**place, "rank": rank, "numbers": assigned[address]},
                job_without_tables if rank else job,
                [futures[number] for number in assigned[address]],
                workers=[address],
                allow_other_workers=False,
                retries=0,
                pure=False,
                key=f"train-{name}-{rank}",
            )
            for rank, address in enumerate(addresses)
        ]
        return collect(wait_for_ranks(client, running, addresses), addresses)
    except BaseException as error:
        abort(client, name, addresses)
        if isinstance(error, OSError):
            raise WorkerLostError(f"the scheduler of the Dask cluster is gone: {error}") from error
        raise


def wait_for_ranks(client, running, addresses):
    """Wait until all ranks have ended; return the outcome of each.

    Returns
    -------
    list, by rank
        `Result` or exception; a text with the reason if there is neither.

    Notes
    -----
    Once a rank is lost or fails, the others end within seconds, because their connections are
    closed. A rank that does not end within GRACE seconds counts as lost.
    """
    from distributed import TimeoutError as NotYetError
    from distributed import wait

    outcomes, since = {}, None
    while len(outcomes) < len(running):
        left = [rank for rank in range(len(running)) if rank not in outcomes]
        with suppress(NotYetError, CancelledError):
            wait(
                [running[rank] for rank in left],
                timeout=POLL_SECONDS,
                return_when="FIRST_COMPLETED",
            )
        there = client.nthreads()  # queries the scheduler; the client's copy may be outdated
        for rank in left:
            if running[rank].done():
                outcomes[rank] = take(running[rank])
            elif addresses[rank] not in there:
                outcomes[rank] = "is gone"
        if since is None and not all(map(is_whole, outcomes.values())):
            since = time.monotonic()
        if since is not None and time.monotonic() - since > GRACE:
            outcomes = dict.fromkeys(left, "does not answer") | outcomes
    for rank, outcome in outcomes.items():
        if isinstance(outcome, str):
            running[rank].cancel()
    return [outcomes[rank] for rank in range(len(running))]


def take(future):
    """Return the `Result` of a rank that has ended, its exception, or a text with the reason."""
    from distributed import TimeoutError as NotYetError

    try:
        return future.result(timeout=TAKING)
    except (NotYetError, CancelledError):
        return "is gone"
    except Exception as error:  # noqa: BLE001 - raised again by `collect`
        return error


def is_whole(outcome):
    """Return whether a rank has finished its training."""
    return not isinstance(outcome, (str, Exception)) and not outcome.lost


def collect(outcomes, addresses):
    """Return the results; raise the error of a failed rank, or WorkerLostError."""
    for error in outcomes:
        if isinstance(error, Exception) and not isinstance(error, LinkError):
            raise error
    if all(map(is_whole, outcomes)):
        return outcomes
    results = [one for one in outcomes if not isinstance(one, (str, Exception))]
    rounds = max((result.rounds for result in results), key=len, default=[])
    gone = [
        f"{addresses[rank]} (rank {rank}) {why}"
        for rank, why in enumerate(outcomes)
        if isinstance(why, str)
    ]
    why = gone or [f"rank {result.rank}: {result.lost}" for result in results if result.lost]
    why = why or [str(error) for error in outcomes if isinstance(error, Exception)]
    raise WorkerLostError(
        f"training on {len(addresses)} workers ended after {len(rounds)} rounds: "
        f"{'; '.join(why)}. fit(..., resume=True) continues from there",
        rounds,
    )


def sum_sent(results):
    """Return the traffic of all ranks: purpose → {bytes, messages}."""
    names = sorted({what for result in results for what in result.sent})
    every = np.array([[result.sent.get(what, (0, 0)) for what in names] for result in results])
    every = every.reshape(len(results), len(names), 2).sum(axis=0)
    return {
        what: {"bytes": int(count), "messages": int(calls)}
        for what, (count, calls) in zip(names, every, strict=True)
    }
