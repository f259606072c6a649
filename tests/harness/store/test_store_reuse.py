"""Which outcomes count again: successes always, failures where nothing has changed for them."""

import dataclasses

import pytest

from harness.model import Limits, Status
from harness.reuse import may_end_otherwise, reusable
from harness.store import Store

MIB = 2**20


def job_of(kit, trials, **limits):
    job = kit.duel_outcome().duel.a
    return dataclasses.replace(job, trials=tuple(trials), limits=Limits(**limits))


def failed(kit, number, status, **facts):
    return dataclasses.replace(kit.outcome(number, status), facts=facts)


@pytest.fixture
def stored(tmp_path, kit):
    """A store in which trial 0 succeeded, 1 was late, 2 too big, 3 raised, 4 never began."""
    with Store.open(tmp_path, write=True) as store:
        fill(store, kit)
        yield store


def fill(store, kit):
    run = kit.begin(store)
    limits = {"timeout": 60.0, "memory": 100 * MIB}
    store.record(run, kit.outcome(0))
    store.record(run, failed(kit, 1, Status.TIMEOUT, failed_in="fit", limits=limits))
    store.record(run, failed(kit, 2, Status.OUT_OF_MEMORY, failed_in="fit", limits=limits))
    store.record(run, failed(kit, 3, Status.FAILED, failed_in="fit", limits=limits))
    store.record(run, failed(kit, 4, Status.FAILED, failed_in="start"))


@pytest.mark.parametrize(
    ("timeout", "memory", "counting"),
    [
        (60.0, 100 * MIB, {0, 1, 2, 3}),
        (30.0, 50 * MIB, {0, 1, 2, 3}),
        (61.0, 100 * MIB, {0, 2, 3}),
        (60.0, 101 * MIB, {0, 1, 3}),
        (600.0, 0, {0, 3}),  # no cap is wider than any
    ],
)
def test_a_failure_under_a_narrower_limit_does_not_count(stored, kit, timeout, memory, counting):
    job = job_of(kit, map(kit.trial, range(6)), timeout=timeout, memory=memory)
    assert set(reusable(stored, [job])) == {kit.trial(i).id for i in counting}
    assert set(reusable(stored, [job], retry_failed=True)) == {kit.trial(0).id}


def test_limits_are_those_of_each_job(stored, kit):
    wide = job_of(kit, [kit.trial(1)], timeout=600.0)
    narrow = job_of(kit, [kit.trial(2)], memory=MIB)
    assert set(reusable(stored, [wide, narrow])) == {kit.trial(2).id}


def test_what_an_older_version_stored_without_limits_counts():
    assert not may_end_otherwise(Status.TIMEOUT, {"failed_in": "fit"}, Limits(timeout=1e6))
    assert not may_end_otherwise(Status.OUT_OF_MEMORY, {}, Limits())
    # the machine itself was too small then: there was no cap
    assert not may_end_otherwise(
        Status.OUT_OF_MEMORY, {"limits": {"timeout": 1.0, "memory": 0}}, Limits(memory=1)
    )
