"""Tests of the reuse of outcomes: successes always, failures if nothing has changed."""

import dataclasses
from types import SimpleNamespace

import pytest

from harness.core.model import Limits, Status, to_json
from harness.core.progress import Progress
from harness.measurement.tree_comparison import Comparisons, known_matches
from harness.planning.reuse import Pins, may_succeed_now, reusable, reusable_duels
from harness.planning.tree_comparisons import Match
from harness.store import Store

MIB = 2**20


def job_of(kit, trials, **limits):
    job = kit.duel_outcome().duel.a
    return dataclasses.replace(job, trials=tuple(trials), limits=Limits(**limits))


def failed(kit, number, status, **facts):
    return dataclasses.replace(kit.outcome(number, status), facts=facts)


@pytest.fixture
def stored(tmp_path, kit):
    """A store: trial 0 succeeded, 1 timed out, 2 exceeded memory, 3 raised, 4 never began."""
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
def test_failure_under_a_narrower_limit_does_not_count(stored, kit, timeout, memory, counting):
    job = job_of(kit, map(kit.trial, range(6)), timeout=timeout, memory=memory)
    assert set(reusable(stored, [job])) == {kit.trial(i).id for i in counting}
    assert set(reusable(stored, [job], retry_failed=True)) == {kit.trial(0).id}


def test_limits_are_those_of_each_job(stored, kit):
    wide = job_of(kit, [kit.trial(1)], timeout=600.0)
    narrow = job_of(kit, [kit.trial(2)], memory=MIB)
    assert set(reusable(stored, [wide, narrow])) == {kit.trial(2).id}


def test_results_of_older_versions_without_limits_count():
    assert not may_succeed_now(Status.TIMEOUT, {"failed_in": "fit"}, Limits(timeout=1e6))
    assert not may_succeed_now(Status.OUT_OF_MEMORY, {}, Limits())
    # the machine itself was too small then: there was no cap
    assert not may_succeed_now(
        Status.OUT_OF_MEMORY, {"limits": {"timeout": 1.0, "memory": 0}}, Limits(memory=1)
    )


# ------------------------------------------------------------------ duels and comparisons of trees

AGAIN = pytest.mark.parametrize(("timeout", "again"), [(60.0, False), (30.0, False), (61.0, True)])


def within(kit, timeout):
    """Return a duel whose sides have a limit in seconds."""
    duel = kit.duel_outcome().duel
    a, b = (dataclasses.replace(side, limits=Limits(timeout)) for side in (duel.a, duel.b))
    return dataclasses.replace(duel, a=a, b=b)


@AGAIN
def test_late_duel_is_run_again_under_a_wider_limit(tmp_path, kit, timeout, again):
    facts = {"failed_side": "b", "limits": to_json(Limits(60.0))}
    late = dataclasses.replace(kit.duel_outcome(0, Status.TIMEOUT), facts=facts)
    duel = within(kit, timeout)
    with Store.open(tmp_path, write=True) as store:
        store.record_duel(kit.begin(store), late)
        known = reusable_duels(store, [duel], Pins())
        assert reusable_duels(store, [duel], Pins(), retry_failed=True) == {}
    assert known == ({} if again else {duel.id: Status.TIMEOUT})


@AGAIN
def test_late_comparison_is_run_again_under_a_wider_limit(tmp_path, kit, timeout, again):
    def match(seconds):
        duel = within(kit, seconds)
        return Match(duel.a, duel.b)

    def late(job):
        yield kit.outcome(status=Status.TIMEOUT, of=job.trials[0])

    name, workers = match(60.0).what["id"], SimpleNamespace(folder=tmp_path, supervise=late)
    with Store.open(tmp_path / "results", write=True) as store:
        run = kit.begin(store)
        result = Comparisons(store, run, None, Progress())._match(match(60.0), workers)
        store.record_parity(run, match(60.0).what, *result)
        known = known_matches(store, [match(timeout)], retry_failed=False)
        assert known_matches(store, [match(timeout)], retry_failed=True) == {}
    assert known == ({} if again else {name: Status.TIMEOUT})
