"""Functions that run on Dask workers: listen for the other ranks, and train as a rank."""

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

STALE = 600.0  # seconds after which an unused listener is closed
FOLDER = Path(__file__).resolve().parents[1]
CODE_DIGEST = digest_sources(FOLDER, FOLDER.rglob("*.py"))  # all code that affects the model
JOINING = 60.0  # minimum seconds until all ranks must have read their rows
listeners = {}  # (training, worker) → [listener, when it was opened, Ranks once they have joined]


def versions():
    """Return the versions that must be equal at all ranks, name → version."""
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
        key for key, entry in list(listeners.items()) if now - entry[1] > STALE and not entry[2]
    ]:
        close_listener(old)
    listener = sockets.listen(dask_worker.ip or "127.0.0.1")
    listeners[training, dask_worker.address] = [listener, now, None]
    return versions(), listener.getsockname()[:2]


def abort_training(training, dask_worker=None):
    """Close the connections of a training on this worker, if it runs, so that all ranks end."""
    close_listener((training, dask_worker.address))


def close_listener(key):
    """Close a listener and its connections, if it exists.

    Workers may share a process, so the key contains the worker's address.
    """
    entry = listeners.pop(key, None)
    if entry is not None:
        sockets.shut(entry[0])
        if entry[2] is not None:
            entry[2].close()


def own_threads():
    """Return a context in which a rank may use several threads.

    Workers under a nanny are daemonic processes, in which joblib otherwise allows only one job.
    """
    return parallel_config(backend="threading")


def train_here(training, place, job, parts):
    """Train as one rank; return its `Result`.

    Parameters
    ----------
    training : str, name of the training, as in `open_listener`
    place : dict of rank, addresses, secret, patience, lengths and numbers of parts, dtype of X
        and class weights
    job : Training
    parts : list of tuples, the parts of this rank
    """
    from distributed import get_worker

    worker = get_worker()
    key = training, worker.address
    entry = listeners.get(key)
    if entry is None:
        raise sockets.LinkError("this training was aborted, or its worker was started again")
    entry[1] = math.inf  # in use, so never stale
    job = replace(job, params=copy.deepcopy(job.params))  # ranks of one process share the object
    model = job.params
    if model.n_jobs is None:
        model.n_jobs = worker.state.nthreads
    try:
        rows = Rows.of_parts(place["lengths"], place["numbers"])
        table = read_parts(parts, model, rows, place["dtype"], place["class_weights"])
        reach = place["rank"], place["addresses"], entry[0], place["secret"]
        patience = place["patience"]
        with join(*reach, patience, max(patience, JOINING)) as ranks, own_threads():
            entry[2] = ranks
            return train(ranks, job, table)
    finally:
        close_listener(key)
