"""Ranks of a distributed training as threads of one process, with sockets between them."""

import copy
import hashlib
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from sklearn.base import clone

from algorithms.distributed import sockets
from algorithms.distributed.boosting import Table, Training, train
from algorithms.distributed.collective import join, skips_of
from algorithms.distributed.rows import Rows
from algorithms.estimator.seeds import draw_seed
from algorithms.gbdt.input_table import find_categorical, read_table

SECRET = b"of this test"


def slow_relay(to, seconds, callers):
    """Return an address that forwards a number of connections to another one, with a delay."""
    gate = sockets.listen("127.0.0.1")

    def carry(source, target):
        with source, target:
            while data := source.recv(1 << 16):
                time.sleep(seconds)
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)

    def wait():
        with gate:
            for _ in range(callers):
                caller, _ = gate.accept()
                own = socket.create_connection(to)
                for ends in ((caller, own), (own.dup(), caller.dup())):
                    threading.Thread(target=carry, args=ends, daemon=True).start()

    threading.Thread(target=wait, daemon=True).start()
    return gate.getsockname()


def run_ranks(size, task, secrets=None, delay=0.0, **options):
    """Return the results of ``task(ranks)`` on each rank; a LinkError is returned in its place."""
    listeners = [sockets.listen("127.0.0.1") for _ in range(size)]
    addresses = [one.getsockname() for one in listeners]
    if delay:  # on all ways to one rank
        addresses[-1] = slow_relay(addresses[-1], delay, len(skips_of(size)))

    def run(rank):
        secret = SECRET if secrets is None else secrets[rank]
        try:
            with join(rank, addresses, listeners[rank], secret, **options) as ranks:
                return task(ranks)
        except sockets.LinkError as error:
            return error

    with ThreadPoolExecutor(size) as pool:
        return list(pool.map(run, range(size)))


def with_data_facts(model, X, y, weight=None):
    """Return an estimator with the facts of X and y that `fit` reads, and (X, y, weight)."""
    model = clone(model)
    X, y = read_table(model, X, y=y, reset=True, **model._y_checks())
    y = model._read_y(y)
    weight = model._weigh(y, None if weight is None else np.asarray(weight, np.float64))
    model._is_categorical = find_categorical(model, model.categorical_feature)
    model._objective = model._find_objective()
    return model, X, y.astype(np.float64), weight


def train_ranks(model, X, y, weight=None, *, parts, size, around=None, delay=0.0, **training):
    """Return the results of all ranks.

    Parameters
    ----------
    parts : list of (rank, number of rows), in the order of the table
    around : callable (ranks), called before training
    """
    model, X, y, weight = with_data_facts(model, X, y, weight)
    seed = draw_seed(model.random_state)
    lengths = [count for _, count in parts]
    ends = np.cumsum([0, *lengths])
    assert ends[-1] == len(y)

    def task(ranks):
        own = [number for number, (rank, _) in enumerate(parts) if rank == ranks.rank]
        rows = Rows.of_parts(lengths, own)
        at = rows.numbers()
        table = Table(X[at], y[at], None if weight is None else weight[at], rows)
        facts = {"categorical": model._is_categorical, "seed": seed, "tree_learner": "data"}
        if around is not None:
            around(ranks)
        return train(ranks, Training(copy.deepcopy(model), **{**facts, **training}), table)

    return run_ranks(size, task, delay=delay, joining=20.0)


def digest_of(ensemble):
    """Return a hash of all bits of an ensemble."""
    result = hashlib.sha256()
    for name in sorted(vars(ensemble)):
        value = getattr(ensemble, name)
        if isinstance(value, np.ndarray):
            result.update(name.encode() + str(value.dtype).encode() + value.tobytes())
    return result.hexdigest()


def partitionings(n_rows, size, rng):
    """Return three distributions of rows over a number of ranks."""
    even = [(rank, n_rows * (rank + 1) // size - n_rows * rank // size) for rank in range(size)]
    cuts = np.sort(rng.integers(0, n_rows + 1, 9))
    lengths = np.diff([0, *cuts, n_rows]).tolist()  # some may be empty
    mixed = [(int(rng.integers(size)), length) for length in lengths]
    lopsided = [(0, 1), (size - 1, n_rows - 2), (0, 1)]
    return [even, mixed, lopsided]
