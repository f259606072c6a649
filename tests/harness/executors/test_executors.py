import threading
import time
from dataclasses import replace

import pytest
from jobs import job

from harness.core.errors import ConfigError, StoreError
from harness.core.model import Outcome, Status
from harness.execution.supervisor import Supervisor
from harness.executors.local import JobQueue, run_local


class Fake:
    """A fake supervisor that records which jobs run concurrently."""

    def __init__(self):
        self.lock = threading.Lock()
        self.now = 0
        self.beside = {}
        self.order = []

    def supervise(self, job):
        for trial in job.trials:
            with self.lock:
                self.now += 1
                self.beside[trial.id] = self.now
                self.order.append(trial.id)
            time.sleep(0.05)
            with self.lock:
                self.now -= 1
            yield Outcome(trial, Status.DONE)


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_every_trial_runs_once_and_timed_ones_last_and_alone(workers):
    timed = job({}, {}, timed=True)
    jobs = [timed, job({}, {}), job({}), job({})]
    fake = Fake()
    results = list(run_local(iter(jobs), fake.supervise, {"jobs": workers}))
    expected = sorted(t.id for j in jobs for t in j.trials)
    assert sorted(o.trial.id for o in results) == expected
    assert [fake.beside[t.id] for t in timed.trials] == [1, 1]
    assert fake.order[-2:] == [t.id for t in timed.trials]
    assert max(fake.beside.values()) == min(workers, 3)


def test_error_in_a_thread_is_raised_and_stops_the_others():
    fake = Fake()
    broken = job({})

    def supervise(one):
        if one is broken:
            raise StoreError("disk full")
        yield from fake.supervise(one)

    with pytest.raises(StoreError, match="disk full"):
        list(run_local([broken, *(job({}) for _ in range(50))], supervise, {"jobs": 2}))
    time.sleep(0.2)
    assert len(fake.order) < 10


def test_caller_that_stops_early_stops_the_threads():
    fake = Fake()
    outcomes = run_local([job({}) for _ in range(50)], fake.supervise, {"jobs": 2})
    next(outcomes)
    outcomes.close()
    time.sleep(0.2)
    assert len(fake.order) < 10


@pytest.mark.parametrize("options", [{"jobs": 0}, {"jobs": "two"}, {"job": 2}])
def test_options_are_checked(options):
    with pytest.raises(ConfigError, match="jobs"):
        list(run_local([], lambda _: iter(()), options))


def test_no_jobs_give_no_outcomes():
    assert list(run_local([], lambda _: iter(()), {"jobs": 4})) == []


def test_concurrent_trials_are_marked_as_not_alone(tmp_path):
    nap = {"fit": "sleep", "seconds": 0.5}
    jobs = [job(nap, nap, {}), job(nap, nap, {})]
    with Supervisor(tmp_path) as supervisor:
        results = list(run_local(jobs, supervisor.supervise, {"jobs": 2}))
    assert [o.status for o in results] == [Status.DONE] * 6
    assert any(o.facts["alone"] is False for o in results)


def test_thread_keeps_one_plugin_until_nothing_else_is_left():
    names = [*("aaaa"), *("bbb"), *("c")]
    job_queue = JobQueue([replace(job({}), plugin=name) for name in names])
    one = two = None
    taken = []
    for _ in range(4):
        one, two = job_queue.take(one), job_queue.take(two)
        taken.append(one.plugin + two.plugin)
    # The first stays with a; the second with b, then takes the untouched c. No thread splits a.
    assert taken == ["ab", "ab", "ab", "ac"]
    assert job_queue.take(one) is None
    assert job_queue.take(two) is None


def test_threads_share_the_only_plugin():
    job_queue = JobQueue([job({}) for _ in range(4)])
    one, two = job_queue.take(), job_queue.take()
    assert job_queue.take(one) is not None
    assert job_queue.take(two) is not None
    assert job_queue.take(one) is None
