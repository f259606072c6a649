"""Train on a Dask cluster: Dask holds the parts and starts the ranks; they talk to each other.

The client compares versions, learns which worker holds which part, hands every rank its parts, the
addresses of all and a secret made for this training, and waits. Where a worker goes, the others end
by themselves, and bring back the rounds that were finished.
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
    LOOK,
    WorkerLostError,
    call_workers,
    compare,
    wait_for_futures,
)

GRACE = 20.0  # seconds that ranks have to end by themselves once one is lost
ANSWERING = 30.0  # seconds for workers to tell their versions, and to open a door
CLOSING = 5.0  # seconds to wait until doors are closed
TAKING = 60.0  # seconds for a rank's result to come over


def compare_versions(client, addresses):
    """Compare the versions of workers with those here; see `reaching.compare`."""
    compare(call_workers(client, ANSWERING, worker_tasks.versions, workers=addresses), addresses)


def compute_parts(client, parts, workers):
    """Return futures of the parts; they stay where Dask puts them.

    Parameters
    ----------
    parts : list of tuples of delayed objects
    workers : list of addresses that may be used, or None

    Raises
    ------
    WorkerLostError
        Where no worker is left that may compute them.
    """
    from dask import delayed

    wanted = [delayed(tuple)(list(part)) for part in parts]
    futures = client.compute(wanted, workers=workers, allow_other_workers=False)
    wait_for_futures(client, futures, workers)
    return futures


def inspect_parts(client, futures, model, workers):
    """Return the `PartSummary` of all parts."""
    asked = [
        client.submit(inspect_part, future, model, pure=False, workers=workers)
        for future in futures
    ]
    wait_for_futures(client, asked, workers)
    return client.gather(asked)


def assign(client, futures, workers):
    """Return address → numbers of the parts that its rank trains on.

    Parts are trained on where they lie, unless a worker would have more than its share while
    another one has none.

    Raises
    ------
    WorkerLostError
        Where a part lies nowhere any more.
    """
    holders = client.who_has(futures)
    held = {}
    for number, future in enumerate(futures):
        where = sorted(holders[future.key])
        if not where:
            raise WorkerLostError(f"part {number} was lost with its worker before training began")
        held.setdefault(where[number % len(where)], []).append(number)
    if workers is not None:
        spread_out(held, workers, len(futures))
    return {address: sorted(held[address]) for address in sorted(held) if held[address]}


def spread_out(held, workers, n_parts):
    """Move parts to workers that hold none."""
    for address in workers:
        held.setdefault(address, [])
    most = -(-n_parts // len(held))
    for address in sorted(held):
        while not held[address]:
            fullest = max(sorted(held), key=lambda one: len(held[one]))
            if len(held[fullest]) <= 1 or len(held[fullest]) < most:
                return
            held[address].append(held[fullest].pop())


def open_listeners(client, name, addresses):
    """Return the address of each rank's listener.

    Raises
    ------
    VersionError
        Where versions differ in anything, or a worker cannot train at all.
    WorkerLostError
        Where a worker has gone, or does not answer.
    """
    answers = call_workers(client, ANSWERING, worker_tasks.open_listener, name, workers=addresses)
    job = {one: said if isinstance(said, Exception) else said[0] for one, said in answers.items()}
    compare(job, addresses)
    return [answers[address][1] for address in addresses]


def abort(client, name, addresses):
    """Make all ranks that are left end."""
    with suppress(Exception):
        there = [one for one in addresses if one in client.nthreads()]
        call_workers(client, CLOSING, worker_tasks.abort_training, name, workers=there)


def train_on(client, futures, held, job, place):
    """Return the `Result`s of all ranks, the first one with the model.

    Parameters
    ----------
    client : distributed.Client
    futures : of all parts
    held : address → numbers of parts
    job : Training
    place : dict, what `at_workers.train_here` is job beside the rank

    Raises
    ------
    WorkerLostError, VersionError
    """
    name, addresses = uuid.uuid4().hex, list(held)
    try:
        reach = open_listeners(client, name, addresses)
        place = {**place, "addresses": reach, "secret": secrets.token_bytes(32)}
        own = replace(job, eval_set=None, eval_sample_weight=None, eval_metric=None)
        running = [
            client.submit(
                worker_tasks.train_here,
                name,
                {**place, "rank": rank, "numbers": held[address]},
                own if rank else job,
                [futures[number] for number in held[address]],
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
            raise WorkerLostError(f"the scheduler of the Dask cluster has gone: {error}") from error
        raise


def wait_for_ranks(client, running, addresses):
    """Wait until all ranks have ended; return what each has brought.

    Returns
    -------
    list, by rank, of `Result`s or exceptions; a text where there is neither, which says why

    Notes
    -----
    Once one rank is lost, or has given up, the others end by themselves within seconds, as their
    links break. One that does not by then hangs, and is lost as well.
    """
    from distributed import TimeoutError as NotYetError
    from distributed import wait

    heard, since = {}, None
    while len(heard) < len(running):
        left = [rank for rank in range(len(running)) if rank not in heard]
        with suppress(NotYetError, CancelledError):
            wait([running[rank] for rank in left], timeout=LOOK, return_when="FIRST_COMPLETED")
        there = client.nthreads()  # asks the scheduler; what the client keeps may be old
        for rank in left:
            if running[rank].done():
                heard[rank] = take(running[rank])
            elif addresses[rank] not in there:
                heard[rank] = "is gone"
        if since is None and not all(map(is_whole, heard.values())):
            since = time.monotonic()
        if since is not None and time.monotonic() - since > GRACE:
            heard = dict.fromkeys(left, "does not answer") | heard
    for rank, brought in heard.items():
        if isinstance(brought, str):
            running[rank].cancel()
    return [heard[rank] for rank in range(len(running))]


def take(future):
    """Return the `Result` of a rank that has ended, or its exception, or a text."""
    from distributed import TimeoutError as NotYetError

    try:
        return future.result(timeout=TAKING)
    except (NotYetError, CancelledError):
        return "is gone"
    except Exception as error:  # noqa: BLE001 - raised again by whoever collects
        return error


def is_whole(brought):
    """Return whether a rank has come to the end of its training."""
    return not isinstance(brought, (str, Exception)) and not brought.lost


def collect(brought, addresses):
    """Return the results; raise the error of a rank that failed by itself, or of the loss."""
    for error in brought:
        if isinstance(error, Exception) and not isinstance(error, LinkError):
            raise error
    if all(map(is_whole, brought)):
        return brought
    results = [one for one in brought if not isinstance(one, (str, Exception))]
    rounds = max((result.rounds for result in results), key=len, default=[])
    gone = [
        f"{addresses[rank]} (rank {rank}) {why}"
        for rank, why in enumerate(brought)
        if isinstance(why, str)
    ]
    why = gone or [f"rank {result.rank}: {result.lost}" for result in results if result.lost]
    why = why or [str(error) for error in brought if isinstance(error, Exception)]
    raise WorkerLostError(
        f"training on {len(addresses)} workers ended after {len(rounds)} rounds: "
        f"{'; '.join(why)}. fit(..., resume=True) goes on from there",
        rounds,
    )


def sum_sent(results):
    """Return what all ranks have sent: what for → {bytes, messages}."""
    names = sorted({what for result in results for what in result.sent})
    every = np.array([[result.sent.get(what, (0, 0)) for what in names] for result in results])
    every = every.reshape(len(results), len(names), 2).sum(axis=0)
    return {
        what: {"bytes": int(count), "messages": int(calls)}
        for what, (count, calls) in zip(names, every, strict=True)
    }
