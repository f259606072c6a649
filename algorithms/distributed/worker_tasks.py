"""What Dask's workers run: they open a door for the other ranks, and train behind it."""

import copy
import math
import platform
import sys
import time
from dataclasses import replace
from pathlib import Path

import numba
import numpy as np
import sklearn
from joblib import parallel_config

from algorithms.distributed import sockets
from algorithms.distributed.boosting import train
from algorithms.distributed.collective import join
from algorithms.distributed.rows import Rows
from algorithms.distributed.table_parts import read_parts
from algorithms.runtime.jit import KERNEL_DIGEST, digest_sources

STALE = 600.0  # seconds after which a door that nobody came through is closed
FOLDER = Path(__file__).resolve().parents[1]
CODE_DIGEST = digest_sources(FOLDER, FOLDER.rglob("*.py"))  # all that decides what is grown
JOINING = 60.0  # seconds that all ranks have at least until they have read their rows
listeners = {}  # (training, worker) → [listener, when it was opened, Ranks once they have joined]


def versions():
    """Return what must be the same at all ranks, name → version."""
    return {
        "python": ".".join(map(str, sys.version_info[:2])),
        "numpy": np.__version__,
        "numba": numba.__version__,
        "scikit-learn": sklearn.__version__,
        "kernels": KERNEL_DIGEST,
        "code": CODE_DIGEST,
        "byte order": sys.byteorder,
        "processor": platform.machine(),
    }


def open_listener(training, dask_worker=None):
    """Listen for the other ranks; return (versions, address)."""
    now = time.monotonic()
    for old in [
        key for key, door in list(listeners.items()) if now - door[1] > STALE and not door[2]
    ]:
        close_listener(old)
    listener = sockets.listen(dask_worker.ip or "127.0.0.1")
    listeners[training, dask_worker.address] = [listener, now, None]
    return versions(), listener.getsockname()[:2]


def abort_training(training, dask_worker=None):
    """Hang up on the ranks of a training, if it still runs here: they all end."""
    close_listener((training, dask_worker.address))


def close_listener(key):
    """Close a door, if it is there: workers may share a process, so each has its own."""
    door = listeners.pop(key, None)
    if door is not None:
        sockets.shut(door[0])
        if door[2] is not None:
            door[2].close()


def own_threads():
    """Return a context in which a rank may have threads.

    Workers under a nanny are daemons, and of these joblib else allows one alone: it thinks of
    processes.
    """
    return parallel_config(backend="threading")


def train_here(training, place, job, parts):
    """Train as one rank; return its `Result`.

    Parameters
    ----------
    training : str, of which `open_listener` was job
    place : dict of rank, addresses, secret, patience, lengths and numbers of parts, dtype of X
        and class weights
    job : Training
    parts : list of tuples, those of this rank
    """
    from distributed import get_worker

    worker = get_worker()
    key = training, worker.address
    door = listeners.get(key)
    if door is None:
        raise sockets.LinkError("this training was aborted, or its worker was started anew")
    door[1] = math.inf  # it has a rank behind it
    job = replace(job, params=copy.deepcopy(job.params))  # ranks of one process share what came
    model = job.params
    if model.n_jobs is None:
        model.n_jobs = worker.state.nthreads
    try:
        rows = Rows.of_parts(place["lengths"], place["numbers"])
        table = read_parts(parts, model, rows, place["dtype"], place["class_weights"])
        reach = place["rank"], place["addresses"], door[0], place["secret"]
        patience = place["patience"]
        with join(*reach, patience, max(patience, JOINING)) as ranks, own_threads():
            door[2] = ranks
            return train(ranks, job, table)
    finally:
        close_listener(key)
