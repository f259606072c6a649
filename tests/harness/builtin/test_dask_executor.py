"""Jobs on a Dask cluster of real processes."""

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
from harness.executors.dask_cluster import workers as _dask_crew
from harness.executors.dask_cluster.membership import ClusterError
from harness.executors.dask_cluster.workers import DaskWorkers, given_up, parts_of
from harness.planning.reuse import may_succeed_now

distributed = pytest.importorskip("distributed", reason="the extra 'dask' is not installed")

pytestmark = LEAVES_SOCKETS


@pytest.fixture(scope="module")
def cluster():
    """Return a cluster of two processes."""
    with cluster_of(2) as one:
        yield one


def run(cluster, *jobs):
    return list(run_dask(jobs, None, {"scheduler": cluster.scheduler_address}))


def test_outcomes_come_back_with_their_arrays(cluster):
    found = {}
    for outcome in run_dask([job({}, {}), job({})], None, {"scheduler": cluster.scheduler_address}):
        with np.load(outcome.arrays["predictions"]) as arrays:
            assert len(arrays["y"]) > 0
        found[outcome.trial.id] = outcome
    assert [outcome.status for outcome in found.values()] == [Status.DONE] * 3
    told = [outcome.facts["dask"] for outcome in found.values()]
    assert {one["machine"] for one in told} == {machine.machine_id()}
    assert not any(outcome.facts["alone"] for outcome in found.values())
    assert all(one["worker"].startswith("tcp://") and one["lost"] == [] for one in told)


def test_a_worker_reads_a_table_once_for_all_trials(cluster, tmp_path):
    plugin = Path(shutil.copy(PLUGIN.with_name("counted.py"), tmp_path))
    ref = DatasetRef("counted", hashlib.sha256(b"counted").hexdigest())
    found = run(cluster, job(*({} for _ in range(12)), dataset=ref, plugins=(str(plugin),)))
    assert [outcome.status for outcome in found] == [Status.DONE] * 12
    workers = {outcome.facts["dask"]["worker"] for outcome in found}
    readers = plugin.with_suffix(".reads").read_text().split()
    assert len(readers) == len(set(readers)) == len(workers)


def test_a_failure_is_an_outcome_too(cluster):
    statuses = [outcome.status for outcome in run(cluster, job({"fit": "segfault"}, {}))]
    assert statuses == [Status.CRASHED, Status.DONE]


def test_a_timed_job_has_its_host_alone(cluster):
    found = run(cluster, job({}, timed=True), job({}, timed=True), job({}))
    assert [outcome.facts["alone"] for outcome in found] == [False, True, True]
    assert [outcome.trial.timed for outcome in found] == [False, True, True]
    spans = sorted((outcome.started, outcome.ended) for outcome in found if outcome.trial.timed)
    assert spans[0][1] <= spans[1][0]


def test_a_lost_worker_s_jobs_are_done_elsewhere(cluster):
    with distributed.Client(cluster) as client:
        client.wait_for_workers(2)

        def kill():
            while not any(client.run(busy).values()):
                time.sleep(0.05)
            address = next(one for one, works in client.run(busy).items() if works)
            os.kill(client.run(os.getpid, workers=[address])[address], signal.SIGKILL)

        killer = threading.Thread(target=kill)
        killer.start()
        found = run(cluster, *(job({"fit": "sleep", "seconds": 1.0}) for _ in range(4)))
        killer.join()
    assert [outcome.status for outcome in found] == [Status.DONE] * 4
    lost = [outcome.facts["dask"]["lost"] for outcome in found]
    assert sum(map(len, lost)) == 1


def busy(dask_worker):
    return bool(dask_worker.state.executing)


class FakeFuture:
    """A task at a worker that goes: it is done, and its result never comes."""

    status = "finished"
    is_cancelled = False

    def cancel(self):
        self.is_cancelled = True

    def result(self, timeout):
        raise TimeoutError


def crew_with(parts, *there):
    """Return a crew of workers, (address, host) each, and the tasks that it hands out."""
    crew, handed = DaskWorkers(FakeClient(), None, ()), []
    crew.client.submit = lambda *_, **asked: handed.append(asked["workers"][0]) or FakeFuture()
    own = machine.machine_id()
    crew.membership.known = {address: {"machine": own, "host": host} for address, host in there}
    crew.waiting.extend(parts)
    return crew, handed


class FakeClient:
    pass


def test_what_loses_every_worker_costs_itself_alone_and_is_tried_again():
    crew, _ = crew_with(parts_of(job({}, {}, {})), ("a", "one"))
    ended = []
    for _ in range(_dask_crew.ATTEMPTS):
        crew.submit_next(["a"], alone=False)
        (future,) = crew.running
        ended += crew.give_up_lost([])
        assert future.is_cancelled
    (lost,) = ended
    assert (lost.status, lost.failure.kind) == (Status.CRASHED, "WorkerLost")
    assert lost.facts["dask"]["lost"] == ["a"] * 3
    assert may_succeed_now(lost.status, lost.facts, job().limits)
    (left,) = crew.waiting
    assert [errand.lost for errand in left] == [[], []]


def test_a_result_that_never_comes_is_asked_of_another_worker(monkeypatch):
    monkeypatch.setattr(distributed, "wait", lambda *_, **__: None)
    crew, handed = crew_with(parts_of(job({}, {})), ("a", "one"), ("b", "two"))
    crew.submit_next(["a"], alone=False)
    assert crew.take_done([]) == []
    crew.submit_next(["b"], alone=False)
    assert handed == ["a", "b"]
    assert crew.assigned["b"][0].lost == ["a"]


@pytest.mark.parametrize("alone", [False, True])
def test_a_worker_whose_result_never_came_rests_until_it_is_seen_to_be_gone(monkeypatch, alone):
    """Else one that was killed would cost a trial all its attempts before the scheduler knows."""
    monkeypatch.setattr(distributed, "wait", lambda *_, **__: None)
    crew, handed = crew_with(parts_of(job({}, {})), ("a", "one"))
    crew.submit_next(["a"], alone=alone)
    assert crew.take_done([]) == []
    for _ in range(_dask_crew.ATTEMPTS):
        crew.wake(["a"])
        crew.submit_next(["a"], alone=alone)
    assert handed == ["a"]
    crew.wake([])  # gone
    crew.submit_next(["a"], alone=alone)  # a new one, at the same address
    assert handed == ["a", "a"]
    assert crew.take_done([]) == []
    crew.resting = dict.fromkeys(crew.resting, 0.0)  # their time is over
    crew.wake(["a"])  # still there: it was slow
    crew.submit_next(["a"], alone=alone)
    assert handed == ["a"] * 3


def test_what_is_timed_shares_its_host_with_nothing():
    parts = parts_of(job({}, {})) + parts_of(job({}))
    crew, handed = crew_with(parts, ("b", "one"), ("c", "two"))
    crew.submit_next(["b"], alone=True)
    crew.membership.known["a"] = crew.membership.known[
        "b"
    ]  # came later, and is the first of its host now
    crew.submit_next(["a", "b"], alone=True)
    assert handed == ["b"]
    crew.submit_next(["a", "b", "c"], alone=True)
    assert handed == ["b", "c"]


def duel():
    a, b = job({}, timed=True), job({}, timed=True)
    return Duel(a, b, "d" + a.trials[0].id[1:], 1, 1, ("fit", "predict"))


def test_both_sides_of_a_duel_meet_on_one_worker_of_one_host(cluster):
    (found,) = run_duels_dask([duel()], None, {"scheduler": cluster.scheduler_address})
    assert found.status is Status.DONE
    assert {block.phase for block in found.blocks} == {"fit", "predict"}
    assert found.facts["dask"]["machine"] == machine.machine_id()
    assert found.facts["dask"]["worker"].startswith("tcp://")


def test_duels_that_no_worker_may_fight_are_fought_here(cluster, monkeypatch):
    said, wanted = [], duel()
    here = lambda one: said.append(one) or "fought"  # noqa: E731 - a line is enough
    assert list(run_duels_dask([wanted], here, {})) == ["fought"]
    monkeypatch.setattr(machine, "machine_id", lambda: "another")
    options = {"scheduler": cluster.scheduler_address}
    assert list(run_duels_dask([wanted], here, options)) == ["fought"]
    monkeypatch.undo()
    lost = given_up(_dask_crew.WorkItem(wanted, ["x"] * 3))
    monkeypatch.setattr(DaskWorkers, "run", lambda *_, **__: iter([lost]))
    assert list(run_duels_dask([wanted], here, options)) == ["fought"]
    assert said == [wanted] * 3


def test_a_duel_whose_workers_were_lost_has_this_host_alone(cluster, monkeypatch):
    held, wanted = [], duel()

    @contextmanager
    def lock(*, alone):
        held.append(alone)
        yield
        held.pop()

    lost = given_up(_dask_crew.WorkItem(wanted, ["x"] * 3))
    monkeypatch.setattr(DaskWorkers, "run", lambda *_, **__: iter([lost]))
    monkeypatch.setattr(dask, "on_this_host", lock)
    options = {"scheduler": cluster.scheduler_address}
    assert list(run_duels_dask([wanted], lambda _: list(held), options)) == [[True]]


def test_a_mistake_of_the_caller_is_not_told_as_a_missing_scheduler(cluster):
    asked = {"scheduler": cluster.scheduler_address}
    with pytest.raises(OSError, match="of the body"), connected(asked, []):
        raise OSError("of the body")


def test_a_scheduler_that_dies_is_told_in_words(monkeypatch):
    monkeypatch.setattr(dask, "CONNECTING", "3s")  # and to connect again
    with cluster_of(1) as own:
        found = run_dask(
            [job({}, {"fit": "sleep", "seconds": 3.0})],
            None,
            {"scheduler": own.scheduler_address},
        )
        assert next(found).status is Status.DONE
        own.close()
        with pytest.raises(ClusterError, match=r"is lost.*run again"):
            list(found)


def test_a_call_that_hangs_is_given_up():
    class Hanging:
        def run(self, *_, **__):
            time.sleep(1.0)

    assert _dask_crew.ask(Hanging(), 0.05, print) is None


def test_timed_jobs_stay_here_where_no_worker_is_like_this_machine(cluster, monkeypatch):
    monkeypatch.setattr(machine, "machine_id", lambda: "another")
    options, timed = {"scheduler": cluster.scheduler_address}, job({}, timed=True)
    assert list(run_dask([timed], lambda one: iter([one]), options)) == [timed]


@pytest.mark.parametrize(
    ("options", "said"),
    [({"colour": 1}, "no option 'colour'"), ({"scheduler": "tcp://127.0.0.1:9"}, "no Dask")],
)
def test_wrong_options_are_refused(options, said, monkeypatch):
    monkeypatch.setattr(dask, "CONNECTING", "1s")
    with pytest.raises(ConfigError, match=said):
        list(run_dask([job({})], None, options))


def test_a_long_job_travels_in_parts():
    whole = job(*({} for _ in range(20)))
    parts = parts_of(whole)
    assert [len(part) for part in parts] == [8, 8, 4]
    assert [errand.what.trials for part in parts for errand in part] == [
        (trial,) for trial in whole.trials
    ]
