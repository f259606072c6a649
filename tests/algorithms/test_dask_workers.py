"""Tests of the checks of Dask workers before training: presence, replies, versions."""

import os
import signal
import sys
import time
from types import SimpleNamespace

import numpy as np
import pytest
from dask_kit import LEAVES_SOCKETS, cluster_of

from algorithms import DaskHistogramBoostingRegressor
from algorithms.distributed import placement, worker_check, worker_tasks
from algorithms.distributed.worker_check import VersionError, WorkerLostError
from algorithms.runtime.threads import count_threads

distributed = pytest.importorskip("distributed", reason="the extra 'dask' is not installed")
da = pytest.importorskip("dask.array", reason="the extra 'dask' is not installed")

pytestmark = LEAVES_SOCKETS


@pytest.fixture(scope="module")
def client():
    """Yield the client of a cluster of three processes."""
    with cluster_of(3) as cluster, distributed.Client(cluster) as one:
        yield one


def workers_of(client):
    client.wait_for_workers(3)
    return sorted(client.nthreads())


def collections(task=None):
    """Return X and y whose partitions call a function where they are computed."""
    X = da.zeros((40, 2), chunks=(20, 2)).map_blocks(task or forbid, dtype=float, meta=NOTHING)
    return X, da.zeros(40, chunks=20)


NOTHING = np.empty((0, 0))


def forbid(_):
    raise AssertionError("a part was computed")


def test_missing_workers_are_named_without_waiting(client):
    first, *_ = workers_of(client)
    for wrong in ("tcp://127.0.0.1:1", "worker-7"):
        model = DaskHistogramBoostingRegressor(workers=[first, wrong])
        with pytest.raises(ValueError, match=f"workers names {wrong}, but the cluster has tcp:"):
            model.fit(*collections())
    with pytest.raises(ValueError, match="workers names none"):
        DaskHistogramBoostingRegressor(workers=[]).fit(*collections())
    assert worker_check.find_workers(client, [first, first]) == [first]


def test_cluster_without_workers_is_reported(monkeypatch):
    monkeypatch.setattr(worker_check, "STARTING", 0.3)
    with cluster_of(0, processes=False) as empty, distributed.Client(empty) as own:
        model = DaskHistogramBoostingRegressor(client=own)
        with pytest.raises(WorkerLostError, match=r"has had no worker for 0\.3 s"):
            model.fit(*collections())
        empty.scale(1)  # begins to start one
        monkeypatch.setattr(worker_check, "STARTING", 30.0)
        assert len(worker_check.find_workers(own, None)) == 1
        with pytest.raises(AssertionError, match="a part was computed"):
            model.fit(*collections())


def test_lost_scheduler_is_reported():
    def gone():
        raise OSError("closed")

    with pytest.raises(WorkerLostError, match="scheduler of the Dask cluster is gone: closed"):
        worker_check.find_workers(SimpleNamespace(nthreads=gone), None)


def test_partitions_without_an_allowed_worker_do_not_wait(client, monkeypatch):
    monkeypatch.setattr(worker_check, "RETURNING", 0.5)
    *_, last = workers_of(client)
    with pytest.raises(WorkerLostError, match="no worker is left"):
        DaskHistogramBoostingRegressor(workers=[last]).fit(*collections(die))


def die(_):
    os.kill(os.getpid(), signal.SIGKILL)


def test_different_kernels_of_a_worker_are_listed_in_an_error(client):
    first, second, _ = workers_of(client)
    before = client.run(other_kernels, "0123", workers=[first])[first]
    client.run(other_kernels, "4567", workers=[second])
    try:
        with pytest.raises(
            VersionError, match=r"kernels is 0123 at tcp://.*, and \w{16} here"
        ) as of:
            DaskHistogramBoostingRegressor().fit(*collections())
        assert f"4567 at {second}" in str(of.value)
    finally:
        client.run(other_kernels, before, workers=[first, second])


def other_kernels(digest):
    """Make a worker report other kernels; return its earlier report."""
    before, worker_tasks.KERNEL_DIGEST = worker_tasks.KERNEL_DIGEST, digest
    return before


def test_worker_without_the_package_is_named_in_an_error(client):
    *_, last = workers_of(client)
    client.run(hide_package, workers=[last])
    try:
        message = rf"{last} cannot train: ModuleNotFoundError\(.No module named .algorithms"
        with pytest.raises(VersionError, match=message):
            DaskHistogramBoostingRegressor().fit(*collections())
    finally:
        client.run(show_package, workers=[last])
    assert client.run(worker_tasks.versions, workers=[last])[last] == worker_tasks.versions()


def hide_package():
    """Make this package unimportable on a worker."""
    hidden = {name: one for name, one in sys.modules.items() if name.startswith("algorithms")}
    for name in hidden:
        del sys.modules[name]

    class Hidden:
        modules = hidden

        def find_spec(self, name, *_):
            if name.startswith("algorithms"):
                raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    sys.meta_path.insert(0, Hidden())


def show_package():
    """Undo `hide_package`."""
    sys.modules.update(sys.meta_path.pop(0).modules)


class Unresponsive:
    """A client of workers, some of which never reply."""

    def __init__(self, answers):
        self.answers = answers

    def run(self, *_, workers, **__):
        while not all(
            one in self.answers for one in workers
        ):  # like a broadcast, which waits for all
            time.sleep(0.05)
        return {one: self.answers[one] for one in workers}

    def who_has(self, futures):
        return {future.key: () for future in futures}


def test_hanging_worker_is_named_and_other_replies_count(monkeypatch):
    monkeypatch.setattr(placement, "ANSWERING", 0.3)
    whole = worker_tasks.versions()
    client = Unresponsive({"tcp://a": (whole, 1), "tcp://c": (whole, 3)})
    requested = worker_check.call_workers(
        client, 0.3, worker_tasks.versions, workers=["tcp://a", "tcp://b", "tcp://c"]
    )
    assert requested == client.answers
    with pytest.raises(WorkerLostError) as lost:
        placement.open_listeners(client, "training", ["tcp://a", "tcp://b", "tcp://c", "tcp://d"])
    hangs = "does not answer: it hangs or is gone"
    assert str(lost.value) == f"tcp://b {hangs}; tcp://d {hangs}"
    assert placement.open_listeners(client, "training", ["tcp://c", "tcp://a"]) == [3, 1]
    client.answers = {"tcp://b": whole}
    with pytest.raises(WorkerLostError, match=f"^tcp://a {hangs}$"):
        placement.compare_versions(client, ["tcp://b", "tcp://a"])


def test_workers_replying_with_an_error_are_lost_or_unable():
    with pytest.raises(WorkerLostError, match="part 0 was lost"):
        placement.assign(Unresponsive({}), [SimpleNamespace(key="one")], None)
    broken = Unresponsive({"tcp://a": ConnectionResetError("reset")})
    with pytest.raises(WorkerLostError, match="tcp://a does not answer: reset"):
        placement.open_listeners(broken, "training", ["tcp://a"])
    broken.answers = {"tcp://a": ModuleNotFoundError("No module named 'algorithms'")}
    with pytest.raises(VersionError, match=r"tcp://a cannot train: .*algorithms"):
        placement.open_listeners(broken, "training", ["tcp://a"])
    older = {what: reported for what, reported in worker_tasks.versions().items() if what != "code"}
    broken.answers = {"tcp://a": older}
    with pytest.raises(VersionError, match="code is unknown at tcp://a"):
        placement.compare_versions(broken, ["tcp://a"])


def count_at_worker(n_jobs):
    """Return the number of threads of a task on a worker: as it is, and as a rank."""
    alone = count_threads(n_jobs)
    with worker_tasks.own_threads():
        return alone, count_threads(n_jobs)


@pytest.mark.filterwarnings("ignore:Inside a Dask worker")
def test_ranks_use_threads_in_daemonic_workers(client):
    for n_jobs in (2, 3):
        assert client.submit(count_at_worker, n_jobs).result() == (1, n_jobs)
