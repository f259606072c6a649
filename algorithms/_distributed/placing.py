"""Train on a Dask cluster: Dask holds the parts and starts the ranks; they talk to each other.

The client learns which worker holds which part, compares versions, hands every rank its parts,
the addresses of all and a secret made for this training, and waits. Where a worker goes, the
others end by themselves, and bring back the rounds that were finished.
"""

import secrets
import time
import uuid
from contextlib import suppress
from dataclasses import replace

import numpy as np

from algorithms._distributed import at_workers
from algorithms._distributed.links import LinkError
from algorithms._distributed.parts import look

LOOK = 0.25  # seconds between two looks at the cluster
GRACE = 20.0  # seconds that ranks have to end by themselves once one is lost


class WorkerLostError(RuntimeError):
    """Training ended early; ``rounds`` holds what was finished."""

    def __init__(self, message, rounds=()):
        super().__init__(message)
        self.rounds = list(rounds)


class VersionError(RuntimeError):
    """Workers run other versions than the client."""


def compute_parts(client, parts, workers):
    """Return futures of the parts; they stay where Dask puts them.

    Parameters
    ----------
    parts : list of tuples of delayed objects
    workers : list of addresses that may be used, or None
    """
    from dask import delayed
    from distributed import wait

    wanted = [delayed(tuple)(list(part)) for part in parts]
    futures = client.compute(wanted, workers=workers, allow_other_workers=False)
    wait(futures)
    for future in futures:
        if future.status == "error":
            future.result()  # raises
    return futures


def look_at_parts(client, futures, model, workers):
    """Return the `Facts` of all parts."""
    asked = [client.submit(look, future, model, pure=False, workers=workers) for future in futures]
    return client.gather(asked)


def assign(client, futures, workers):
    """Return address → numbers of the parts that its rank trains on.

    Parts are trained on where they lie, unless a worker would have more than its share while
    another one has none.
    """
    holders = client.who_has(futures)
    held = {}
    for number, future in enumerate(futures):
        where = sorted(holders[future.key])
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


def open_doors(client, name, addresses):
    """Return the address of each rank's listener; raise `VersionError` on any difference."""
    answers = client.run(at_workers.open_door, name, workers=addresses)
    own = at_workers.versions()
    unlike = [
        f"{what} is {theirs[what]} at {address}, and {own[what]} here"
        for address, (theirs, _) in sorted(answers.items())
        for what in own
        if theirs[what] != own[what]
    ]
    if unlike:
        abort(client, name, addresses)
        raise VersionError("workers are not like this client: " + "; ".join(unlike))
    return [answers[address][1] for address in addresses]


def abort(client, name, addresses):
    """Make all ranks that are left end."""
    there = [one for one in addresses if one in client.nthreads()]
    with suppress(Exception):
        client.run(at_workers.close_door, name, workers=there, on_error="ignore")


def train_on(client, futures, held, told, place):
    """Return the `Result`s of all ranks, the first one with the model.

    Parameters
    ----------
    client : distributed.Client
    futures : of all parts
    held : address → numbers of parts
    told : Training
    place : dict, what `at_workers.train_here` is told beside the rank

    Raises
    ------
    WorkerLostError, VersionError
    """
    name, addresses = uuid.uuid4().hex, list(held)
    try:
        reach = open_doors(client, name, addresses)
        place = {**place, "addresses": reach, "secret": secrets.token_bytes(32)}
        own = replace(told, eval_set=None, eval_sample_weight=None, eval_metric=None)
        running = [
            client.submit(
                at_workers.train_here,
                name,
                {**place, "rank": rank, "numbers": held[address]},
                own if rank else told,
                [futures[number] for number in held[address]],
                workers=[address],
                allow_other_workers=False,
                retries=0,
                pure=False,
                key=f"train-{name}-{rank}",
            )
            for rank, address in enumerate(addresses)
        ]
        lost = watch(client, running, addresses)
        return collect(running, addresses, lost)
    except BaseException:
        abort(client, name, addresses)
        raise


def watch(client, running, addresses):
    """Wait until all ranks have ended; return the addresses of those that are lost."""
    from distributed import TimeoutError as NotYetError
    from distributed import wait

    since = None
    while True:
        with suppress(NotYetError):
            wait(running, timeout=LOOK)
            return []
        there = client.nthreads()  # asks the scheduler; what the client keeps may be old
        lost = [one for one in addresses if one not in there]
        if lost:
            since = since or time.monotonic()
            waiting = [
                future
                for future, one in zip(running, addresses, strict=True)
                if one not in lost and not future.done()
            ]
            if not waiting or time.monotonic() - since > GRACE:
                return lost


def collect(running, addresses, lost):
    """Return the results; raise the error of a rank that failed by itself, or of the loss."""
    results, errors = [], []
    for future, address in zip(running, addresses, strict=True):
        if address in lost or not future.done():
            future.cancel()
        elif future.status == "error":
            errors.append(future.exception())
        elif future.status == "finished":
            results.append(future.result())
    for error in errors:
        if not isinstance(error, LinkError):
            raise error
    broken = [result for result in results if result.lost]
    if not broken and not lost and not errors:
        return sorted(results, key=lambda result: result.rank)
    rounds = max((result.rounds for result in broken), key=len, default=[])
    why = [f"{address} (rank {addresses.index(address)}) is gone" for address in lost]
    why = why or [f"rank {result.rank}: {result.lost}" for result in broken]
    why = why or [str(error) for error in errors]
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
