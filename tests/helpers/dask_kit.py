"""Dask clusters for tests; their processes are forked from one with all imports."""

import logging
import warnings
from contextlib import contextmanager

import pytest

PRELOADED = [
    "distributed",
    "algorithms.distributed.worker_tasks",
    "harness.executors.dask_cluster.jobs",
]
# distributed leaves sockets and event loops to the garbage collector, above all of killed workers.
LEAVES_SOCKETS = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@contextmanager
def cluster_of(count, *, processes=True):
    """Yield a `LocalCluster` of given workers: processes, or threads of this process.

    Processes that are killed come back.
    """
    import dask
    import distributed

    options = {"n_workers": count, "threads_per_worker": 1, "processes": processes}
    options |= {"dashboard_address": ":0", "silence_logs": logging.CRITICAL}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"}):
            distributed.utils.get_mp_context().set_forkserver_preload(PRELOADED)
            with distributed.LocalCluster(**options) as cluster:
                yield cluster
