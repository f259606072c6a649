"""Clusters for tests. Processes of theirs are forked off one that has imported all."""

import logging
import warnings
from contextlib import contextmanager

PRELOADED = ["distributed", "algorithms._distributed.at_workers", "harness.builtin._dask_jobs"]


@contextmanager
def cluster_of(count):
    """Yield a `LocalCluster` of so many processes; those that are killed come back."""
    import dask
    import distributed

    options = {"n_workers": count, "threads_per_worker": 1, "processes": True}
    options |= {"dashboard_address": ":0", "silence_logs": logging.CRITICAL}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of sockets that distributed leaves to the collector
        with dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"}):
            distributed.utils.get_mp_context().set_forkserver_preload(PRELOADED)
            with distributed.LocalCluster(**options) as cluster:
                yield cluster


@contextmanager
def cluster_in_one_process(count):
    """Yield a `LocalCluster` of so many workers, threads of this process."""
    import distributed

    options = {"n_workers": count, "threads_per_worker": 1, "processes": False}
    options |= {"dashboard_address": ":0", "silence_logs": logging.CRITICAL}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of sockets that distributed leaves to the collector
        with distributed.LocalCluster(**options) as cluster:
            yield cluster
