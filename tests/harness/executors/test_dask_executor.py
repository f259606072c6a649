"""Tests of jobs on a Dask cluster of real processes."""

import hashlib
import os
import shutil
import signal
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from dask_kit import LEAVES_SOCKETS, cluster_of
from jobs import PLUGIN, job

from harness.core import machine
from harness.core.errors import ConfigError
from harness.core.model import DatasetRef, Duel, Status
from harness.executors import dask
from harness.executors.dask import connected, run_dask, run_duels_dask
from harness.executors.dask_cluster import workers as dask_workers
from harness.executors.dask_cluster.membership import ClusterError
from harness.executors.dask_cluster.workers import DaskWorkers, given_up, parts_of
from harness.planning.reuse import may_succeed_now

distributed = pytest.importorskip("distributed", reason="the extra 'dask' is not installed")

pytestmark = LEAVES_SOCKETS


@pytest.fixture(scope="module")
def cluster():
    """Yield a cluster of two processes."""
    with cluster_of(2) as one:
        yield one


def run(cluster, *jobs):
    return list(run_dask(jobs, None, {"scheduler": cluster.scheduler_address}))


def test_outcomes_are_returned_with_their_arrays(cluster):
    results = {}
    for outcome in run_dask([job({}, {}), job({})], None, {"scheduler": cluster.scheduler_address}):
        with np.load(outcome.arrays["predictions"]) as arrays:
            assert len(arrays["y"]) > 0
        results[outcome.trial.id] = outcome
    assert [outcome.status for outcome in results.values()] == [Status.DONE] * 3
    messages = [outcome.facts["dask"] for outcome in results.values()]
    assert {one["machine"] for one in messages} == {machine.machine_id()}
    assert not any(outcome.facts["alone"] for outcome in results.values())
    assert all(one["worker"].startswith("tcp://") and one["lost"] == [] for one in messages)


def test_worker_reads_a_table_once_for_all_trials(cluster, tmp_path):
    plugin = Path(shutil.copy(PLUGIN.with_name("counted.py"), tmp_path))
    ref = DatasetRef("counted", hashlib.sha256(b"counted").hexdigest())
    result = run(cluster, job(*({} for _ in range(12)), dataset=ref, plugins=(str(plugin),)))
    assert [outcome.status for outcome in result] == [Status.DONE] * 12
    workers = {outcome.facts["dask"]["worker"] for outcome in result}
    readers = plugin.with_suffix(".reads").read_text().split()
    assert len(readers) == len(set(readers)) == len(workers)


def test_failure_is_an_outcome_too(cluster):
    statuses = [outcome.status for outcome in run(cluster, job({"fit": "segfault"}, {}))]
    assert statuses == [Status.CRASHED, Status.DONE]


def test_timed_job_has_its_host_alone(cluster):
    result = run(cluster, job({}, timed=True), job({}, timed=True), job({}))
    assert [outcome.facts["alone"] for outcome in result] == [False, True, True]
    assert [outcome.trial.timed for outcome in result] == [False, True, True]
    spans = sorted((outcome.started, outcome.ended) for outcome in result if outcome.trial.timed)
    assert spans[0][1] <= spans[1][0]


@pytest.mark.slow
def test_jobs_of_a_lost_worker_run_elsewhere(cluster):
    with distributed.Client(cluster) as client:
        client.wait_for_workers(2)

        def kill():
            while not any(client.run(busy).values()):
                time.sleep(0.05)
            address = next(one for one, works in client.run(busy).items() if works)
            os.kill(client.run(os.getpid, workers=[address])[address], signal.SIGKILL)

        killer = threading.Thread(target=kill)
        killer.start()
        result = run(cluster, *(job({"fit": "sleep", "seconds": 1.0}) for _ in range(4)))
        killer.join()
    assert [outcome.status for outcome in result] == [Status.DONE] * 4
    lost = [outcome.facts["dask"]["lost"] for outcome in result]
    assert sum(map(len, lost)) == 1


def busy(dask_worker):
    return bool(dask_worker.state.executing)


class FakeFuture:
    """A task of a worker that is lost: it is done, and its result never arrives."""

    status = "finished"
    is_canceled = False

    def cancel(self):
        self.is_canceled = True

    def result(self, timeout):
        raise TimeoutError


def dask_workers_with(parts, *there):
    """Return `DaskWorkers` at (address, host) pairs, and the list of addresses of sent tasks."""
    workers, handed = DaskWorkers(FakeClient(), None, ()), []
    workers.client.submit = lambda *_, **asked: handed.append(asked["workers"][0]) or FakeFuture()
    own = machine.machine_id()
    workers.membership.known = {address: {"machine": own, "host": host} for address, host in there}
    workers.waiting.extend(parts)
    return workers, handed


class FakeClient:
    pass


def test_trial_losing_every_worker_fails_alone_and_is_retried():
    workers, _ = dask_workers_with(parts_of(job({}, {}, {})), ("a", "one"))
    ended = []
    for _ in range(dask_workers.ATTEMPTS):
        workers.submit_next(["a"], alone=False)
        (future,) = workers.running
        ended += workers.requeue_lost([])
        assert future.is_canceled
    (lost,) = ended
    assert (lost.status, lost.failure.kind) == (Status.CRASHED, "WorkerLost")
    assert lost.facts["dask"]["lost"] == ["a"] * 3
    assert may_succeed_now(lost.status, lost.facts, job().limits)
    (left,) = workers.waiting
    assert [errand.lost for errand in left] == [[], []]


def test_missing_result_is_computed_by_another_worker(monkeypatch):
    monkeypatch.setattr(distributed, "wait", lambda *_, **__: None)
    workers, handed = dask_workers_with(parts_of(job({}, {})), ("a", "one"), ("b", "two"))
    workers.submit_next(["a"], alone=False)
    assert workers.take_finished([]) == []
    workers.submit_next(["b"], alone=False)
    assert handed == ["a", "b"]
    assert workers.assigned["b"][0].lost == ["a"]


@pytest.mark.parametrize("alone", [False, True])
def test_worker_with_a_missing_result_is_unused_until_it_is_gone(monkeypatch, alone):
    """Otherwise a killed worker would use up all attempts before the scheduler notices."""
    monkeypatch.setattr(distributed, "wait", lambda *_, **__: None)
    workers, handed = dask_workers_with(parts_of(job({}, {})), ("a", "one"))
    workers.submit_next(["a"], alone=alone)
    assert workers.take_finished([]) == []
    for _ in range(dask_workers.ATTEMPTS):
        workers.end_pauses(["a"])
        workers.submit_next(["a"], alone=alone)
    assert handed == ["a"]
    workers.end_pauses([])  # gone
    workers.submit_next(["a"], alone=alone)  # a new one, at the same address
    assert handed == ["a", "a"]
    assert workers.take_finished([]) == []
    workers.paused = dict.fromkeys(workers.paused, 0.0)  # their time is over
    workers.end_pauses(["a"])  # still there: it was slow
    workers.submit_next(["a"], alone=alone)
    assert handed == ["a"] * 3


def test_timed_work_shares_its_host_with_nothing():
    parts = parts_of(job({}, {})) + parts_of(job({}))
    workers, handed = dask_workers_with(parts, ("b", "one"), ("c", "two"))
    workers.submit_next(["b"], alone=True)
    workers.membership.known["a"] = workers.membership.known[
        "b"
    ]  # came later, and is the first of its host now
    workers.submit_next(["a", "b"], alone=True)
    assert handed == ["b"]
    workers.submit_next(["a", "b", "c"], alone=True)
    assert handed == ["b", "c"]


def duel():
    a, b = job({}, timed=True), job({}, timed=True)
    return Duel(a, b, "d" + a.trials[0].id[1:], 1, 1, ("fit", "predict"))


def test_both_sides_of_a_duel_run_on_one_worker_of_one_host(cluster):
    (result,) = run_duels_dask([duel()], None, {"scheduler": cluster.scheduler_address})
    assert result.status is Status.DONE
    assert {block.phase for block in result.blocks} == {"fit", "predict"}
    assert result.facts["dask"]["machine"] == machine.machine_id()
    assert result.facts["dask"]["worker"].startswith("tcp://")


def test_duels_without_a_suitable_worker_run_locally(cluster, monkeypatch):
    messages, expected = [], duel()
    here = lambda one: messages.append(one) or "fought"  # noqa: E731 - a line is enough
    assert list(run_duels_dask([expected], here, {})) == ["fought"]
    monkeypatch.setattr(machine, "machine_id", lambda: "another")
    options = {"scheduler": cluster.scheduler_address}
    assert list(run_duels_dask([expected], here, options)) == ["fought"]
    monkeypatch.undo()
    lost = given_up(dask_workers.WorkItem(expected, ["x"] * 3))
    monkeypatch.setattr(DaskWorkers, "run", lambda *_, **__: iter([lost]))
    assert list(run_duels_dask([expected], here, options)) == ["fought"]
    assert messages == [expected] * 3


def test_duel_with_lost_workers_has_this_host_alone(cluster, monkeypatch):
    held, expected = [], duel()

    @contextmanager
    def lock(*, alone):
        held.append(alone)
        yield
        held.pop()

    lost = given_up(dask_workers.WorkItem(expected, ["x"] * 3))
    monkeypatch.setattr(DaskWorkers, "run", lambda *_, **__: iter([lost]))
    monkeypatch.setattr(dask, "on_this_host", lock)
    options = {"scheduler": cluster.scheduler_address}
    assert list(run_duels_dask([expected], lambda _: list(held), options)) == [[True]]


def test_caller_mistake_is_not_reported_as_a_missing_scheduler(cluster):
    requested = {"scheduler": cluster.scheduler_address}
    with pytest.raises(OSError, match="of the body"), connected(requested, []):
        raise OSError("of the body")


@pytest.mark.slow
def test_lost_scheduler_is_reported(monkeypatch):
    monkeypatch.setattr(dask, "CONNECTING", "3s")  # and to connect again
    with cluster_of(1) as own:
        result = run_dask(
            [job({}, {"fit": "sleep", "seconds": 3.0})],
            None,
            {"scheduler": own.scheduler_address},
        )
        assert next(result).status is Status.DONE
        own.close()
        with pytest.raises(ClusterError, match=r"is lost.*run again"):
            list(result)


def test_hanging_call_is_given_up():
    class Hanging:
        def run(self, *_, **__):
            time.sleep(1.0)

    assert dask_workers.run_on_workers(Hanging(), 0.05, print) is None


def test_timed_jobs_run_locally_if_no_worker_has_this_machine_type(cluster, monkeypatch):
    monkeypatch.setattr(machine, "machine_id", lambda: "another")
    options, timed = {"scheduler": cluster.scheduler_address}, job({}, timed=True)
    assert list(run_dask([timed], lambda one: iter([one]), options)) == [timed]


@pytest.mark.parametrize(
    ("options", "message"),
    [({"color": 1}, "no option 'color'"), ({"scheduler": "tcp://127.0.0.1:9"}, "no Dask")],
)
def test_invalid_options_are_refused(options, message, monkeypatch):
    monkeypatch.setattr(dask, "CONNECTING", "1s")
    with pytest.raises(ConfigError, match=message):
        list(run_dask([job({})], None, options))


def test_long_job_is_sent_in_parts():
    whole = job(*({} for _ in range(20)))
    parts = parts_of(whole)
    assert [len(part) for part in parts] == [8, 8, 4]
    assert [errand.what.trials for part in parts for errand in part] == [
        (trial,) for trial in whole.trials
    ]
