"""Tests of the workers of a cluster: which are present, reply, and match the client."""

import asyncio
import os
import signal
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from dask_kit import LEAVES_SOCKETS, cluster_of
from jobs import PLUGIN, job, wait_until

from harness.core import machine
from harness.core.errors import ConfigError
from harness.core.model import Status
from harness.executors.dask import run_dask
from harness.executors.dask_cluster import membership, process_facts
from harness.executors.dask_cluster.membership import (
    ClusterError,
    Membership,
    check_versions,
    has_answered,
)

distributed = pytest.importorskip("distributed", reason="the extra 'dask' is not installed")

pytestmark = LEAVES_SOCKETS


class Cluster:
    """A client of fake workers with given replies; workers without a reply hang.

    ``said`` holds, for each address, what it says to the first call, the second, and so on.
    """

    def __init__(self, **said):
        self.said, self.calls = {one: list(words) for one, words in said.items()}, []
        loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=loop.run_forever, daemon=True)
        self.thread.start()
        self.loop = SimpleNamespace(add_callback=lambda f, new: self.begin(loop, f(new)))
        self.asyncio_loop = loop

    def begin(self, loop, call):
        asyncio.run_coroutine_threadsafe(call, loop)

    def nthreads(self):
        return dict.fromkeys(self.said, 1)

    async def run(self, function, *wanted, workers, on_error):
        (address,) = workers
        self.calls.append(address)
        if not self.said[address]:
            await asyncio.sleep(60.0)
        return {address: self.said[address].pop(0)}

    def close(self):
        async def end():
            for task in asyncio.all_tasks() - {asyncio.current_task()}:
                task.cancel()

        asyncio.run_coroutine_threadsafe(end(), self.asyncio_loop).result(5.0)
        self.asyncio_loop.call_soon_threadsafe(self.asyncio_loop.stop)
        self.thread.join(5.0)
        self.asyncio_loop.close()


@pytest.fixture
def cluster_that_says():
    made = []

    def make(**said):
        made.append(Cluster(**said))
        return made[-1]

    yield make
    for one in made:
        one.close()


def facts(**other):
    own = process_facts.facts_here((), ())
    return {**own, "versions": {**own["versions"], **other}}


def test_hanging_worker_blocks_nothing_and_is_queried_again(cluster_that_says, monkeypatch):
    monkeypatch.setattr(membership, "ANSWER_TIMEOUT", 0.3)
    cluster = cluster_that_says(a=[facts()], b=[])
    workers = Membership(cluster, ())
    assert wait_until(workers.poll_workers) == ["a"]
    assert workers.silent() == ["b"]
    assert cluster.calls == ["a", "b"]
    cluster.said["b"].append(facts())
    assert wait_until(lambda: workers.poll_workers() == ["a", "b"])
    assert cluster.calls == ["a", "b", "b"]


def test_returning_worker_is_queried_again(cluster_that_says):
    cluster = cluster_that_says(a=[facts(), facts(numpy="0.1")])
    workers = Membership(cluster, ())
    assert wait_until(workers.poll_workers) == ["a"]
    reported = cluster.said.pop("a")
    assert workers.poll_workers() == []
    assert workers.fact("a", "machine") == machine.machine_id()  # its outcomes may still come
    cluster.said["a"] = reported
    with pytest.raises(ConfigError, match=r"numpy is 0\.1 at a"):
        wait_until(workers.poll_workers)


def test_unreachable_worker_is_queried_later(cluster_that_says, monkeypatch):
    monkeypatch.setattr(membership, "ANSWER_TIMEOUT", 0.2)
    workers = Membership(cluster_that_says(a=[ConnectionResetError(), facts()]), ())
    assert wait_until(workers.poll_workers) == ["a"]
    with pytest.raises(ConfigError, match=r"the worker a cannot run trials: .*harness"):
        wait_until(
            Membership(cluster_that_says(a=[ModuleNotFoundError("harness")]), ()).poll_workers
        )


def test_workers_of_this_machine_type_are_awaited_for_a_limited_time(
    cluster_that_says, monkeypatch
):
    monkeypatch.setattr(membership, "ANSWER_TIMEOUT", 0.5)
    other = {**facts(), "machine": "another"}
    assert Membership(cluster_that_says(a=[other], b=[facts()]), ()).same_hardware() == ["b"]
    assert Membership(cluster_that_says(a=[other]), ()).same_hardware() == []
    assert Membership(cluster_that_says(a=[other], b=[]), ()).same_hardware() == []
    gone = SimpleNamespace(nthreads=lambda: (_ for _ in ()).throw(OSError()))
    with pytest.raises(ClusterError, match="is lost"):
        Membership(gone, ()).same_hardware()


def test_worker_that_cannot_run_trials_is_reported():
    assert not has_answered("a", ConnectionResetError())
    with pytest.raises(ConfigError, match=r"the worker a cannot run trials: .*harness"):
        has_answered("a", ModuleNotFoundError("No module named 'harness'"))


def test_every_version_difference_is_listed():
    options = {"versions": {"numpy": "2.4", "numba": "0.68"}}
    answers = {"tcp://a": {"versions": {"numpy": "2.3"}}, "tcp://b": options}
    with pytest.raises(ConfigError) as error:
        check_versions(options, answers)
    assert "numpy is 2.3 at tcp://a, but 2.4 here" in str(error.value)
    assert "numba is missing at tcp://a" in str(error.value)
    assert "tcp://b" not in str(error.value)
    check_versions(options, {"tcp://b": options})


def test_all_differing_workers_are_reported_at_once(cluster_that_says, monkeypatch):
    monkeypatch.setattr(membership, "MORE_ANSWERS", 0.3)
    unlike = facts(numpy="0.1")
    workers = Membership(cluster_that_says(a=[unlike], b=[facts()], c=[unlike]), ())
    with pytest.raises(ConfigError, match=r"numpy is 0\.1 at a, c, but "):
        wait_until(workers.poll_workers)


@pytest.fixture(scope="module")
def cluster():
    """Yield a cluster of two processes."""
    with cluster_of(2) as one:
        yield one


@pytest.mark.slow
def test_hanging_process_delays_no_trial_and_is_queried_again(cluster, monkeypatch):
    monkeypatch.setattr(membership, "ANSWER_TIMEOUT", 1.0)
    with distributed.Client(cluster) as client:
        client.wait_for_workers(2)
        pids = client.run(os.getpid)
        hung, other = sorted(pids)
        workers = Membership(client, [job({})])
        os.kill(pids[hung], signal.SIGSTOP)
        try:
            assert wait_until(workers.poll_workers) == [other]
            result = run_dask([job({}, {})], None, {"scheduler": cluster.scheduler_address})
            ended = [(one.status, one.facts["dask"]["worker"]) for one in result]
            time.sleep(2.0 * membership.ANSWER_TIMEOUT)  # until it is no longer waited for
            assert workers.poll_workers() == [other]
        finally:
            os.kill(pids[hung], signal.SIGCONT)
        assert ended == [(Status.DONE, other)] * 2
        assert wait_until(lambda: workers.poll_workers() == [hung, other])


def differ(own, path, folder):
    """Change a worker's harness, libraries and working folder."""
    before = str(process_facts.OWN), list(sys.path), os.getcwd()  # noqa: PTH109 - as it is given back
    process_facts.OWN, sys.path[:] = Path(own), path or [folder, *sys.path]
    os.chdir(folder)
    return before


def test_any_worker_difference_is_an_error_that_lists_each(cluster, monkeypatch, tmp_path):
    for place, number in (("here", "2.0"), ("there", "1.0")):
        info = tmp_path / place / "thing-1.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: thing\nVersion: {number}\n")
        (tmp_path / place / "own_data.py").write_text(f"where = {place!r}\n")
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.syspath_prepend(str(tmp_path / "here"))
    expected = job({}, plugins=("own_data.py",), libraries=("thing",))
    with distributed.Client(cluster) as client:
        client.wait_for_workers(2)
        address = min(client.nthreads())
        there = str(tmp_path / "there")
        before = client.run(differ, there, None, there, workers=[address])[address]
        try:
            with pytest.raises(ConfigError) as error:
                list(run_dask([expected], None, {"scheduler": cluster.scheduler_address}))
        finally:
            client.run(differ, *before, workers=[address])
    assert f"thing is 1.0 at {address}, but 2.0 here" in str(error.value)
    digest = rf"is \w{{16}} at {address}, but \w{{16}} here"
    assert error.match(f"code of own_data.py {digest}")
    assert error.match(f"code of the harness {digest}")
    assert str(PLUGIN) not in str(error.value)  # is the same
