"""Jobs on a Dask cluster of real processes."""

import os
import signal
import threading
import time

import numpy as np
import pytest
from dask_kit import cluster_of
from jobs import job

from harness import machine
from harness.builtin import dask_executor
from harness.builtin.dask_executor import parts_of, refuse_unlike, run_dask
from harness.errors import ConfigError
from harness.model import Status

distributed = pytest.importorskip("distributed", reason="the extra 'dask' is not installed")

# distributed leaves sockets and event loops to the garbage collector when workers are killed.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


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
    assert all(one["worker"].startswith("tcp://") and one["lost"] == [] for one in told)


def test_a_failure_is_an_outcome_too(cluster):
    statuses = [outcome.status for outcome in run(cluster, job({"fit": "segfault"}, {}))]
    assert statuses == [Status.CRASHED, Status.DONE]


def test_a_timed_job_has_its_host_alone(cluster):
    found = run(cluster, job({}, timed=True), job({}, timed=True), job({}))
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


@pytest.mark.slow
def test_a_long_matrix_survives_worker_after_worker(cluster):
    count = int(os.environ.get("DASK_TRIALS", "120"))  # 500 in a longer campaign
    jobs = [job(*({"fit": "sleep", "seconds": 0.05} for _ in range(4))) for _ in range(count // 4)]
    stop = threading.Event()

    def kill_five(client):
        for _ in range(5):
            stop.wait(4.0)
            address = next((one for one, works in client.run(busy).items() if works), None)
            if address is not None and not stop.is_set():
                os.kill(client.run(os.getpid, workers=[address])[address], signal.SIGKILL)
                client.wait_for_workers(2, timeout=60)

    with distributed.Client(cluster) as client:
        client.wait_for_workers(2)
        killer = threading.Thread(target=kill_five, args=(client,))
        killer.start()
        found = run(cluster, *jobs)
        stop.set()
        killer.join()
    assert len({outcome.trial.id for outcome in found}) == len(found) == count // 4 * 4
    assert {outcome.status for outcome in found} == {Status.DONE}
    assert any(outcome.facts["dask"]["lost"] for outcome in found)


def test_what_loses_every_worker_is_given_up(cluster, monkeypatch):
    monkeypatch.setattr(dask_executor, "ATTEMPTS", 1)
    crew = dask_executor.Crew(None, None, ())
    future = FakeFuture()
    crew.running[future] = (dask_executor.Task(job({}, {})), "tcp://gone")
    found = list(crew.give_up_lost([], []))
    assert [outcome.status for outcome in found] == [Status.CRASHED] * 2
    assert "1 workers were lost with it: tcp://gone" in found[0].failure.message
    assert future.is_cancelled


class FakeFuture:
    is_cancelled = False

    def cancel(self):
        self.is_cancelled = True


def test_every_difference_of_versions_is_listed():
    own = {"versions": {"numpy": "2.4", "numba": "0.68"}}
    answers = {"tcp://a": {"versions": {"numpy": "2.3"}}, "tcp://b": own}
    with pytest.raises(ConfigError) as told:
        refuse_unlike(own, answers)
    assert "numpy is 2.3 at tcp://a, and 2.4 here" in str(told.value)
    assert "numba is missing at tcp://a" in str(told.value)
    assert "tcp://b" not in str(told.value)
    refuse_unlike(own, {"tcp://b": own})


def test_timed_jobs_need_hardware_of_this_class():
    crew = dask_executor.Crew(None, None, ())
    own = machine.machine_id()
    crew.known = {
        "a": {"machine": own, "host": "one"},
        "b": {"machine": own, "host": "one"},
        "c": {"machine": "other", "host": "two"},
    }
    assert crew.alone(["a", "b", "c"]) == ["a"]
    with pytest.raises(ConfigError, match="class of hardware"):
        crew.alone(["c"])
    assert crew.alone([]) == []


@pytest.mark.parametrize(
    ("options", "said"),
    [({"colour": 1}, "no option 'colour'"), ({"scheduler": "tcp://127.0.0.1:9"}, "no Dask")],
)
def test_wrong_options_are_refused(options, said, monkeypatch):
    monkeypatch.setattr(dask_executor, "CONNECTING", "1s")
    with pytest.raises(ConfigError, match=said):
        list(run_dask([job({})], None, options))


def test_a_long_job_travels_in_parts():
    whole = job(*({} for _ in range(20)))
    parts = parts_of(whole)
    assert [len(part.trials) for part in parts] == [8, 8, 4]
    assert tuple(trial for part in parts for trial in part.trials) == whole.trials
