"""Tests of runs: membership, reuse, history and messages to a reader."""

from datetime import UTC, datetime

import pytest

from harness.core.errors import ConfigError, StoreError
from harness.core.model import Status
from harness.store import Store, write
from harness.store.artifacts import Artifacts


@pytest.fixture
def store(tmp_path):
    with Store.open(tmp_path / "results", write=True) as store:
        yield store


def test_run_is_recorded_from_beginning_to_end(store, kit):
    run = kit.begin(store)
    begun = store.run(run)
    assert (begun["name"], begun["status"], begun["config_hash"]) == ("quick", "running", "c0ffee")
    assert begun["machine"] == {"cpu": "one"}
    assert begun["environments"] == [{"name": "here", "python": "", "root": ""}]
    assert begun["ended"] == ""
    store.event(run, "warning", {"load": 3.5})
    store.finish_run(run, "done")
    ended = store.run()
    assert ended["status"] == "done"
    assert begun["started"] <= ended["ended"]
    assert [(e["kind"], e["data"]) for e in store.events(run)] == [("warning", {"load": 3.5})]


def test_latest_run_is_the_last_begun_even_if_the_clock_went_back(store, kit, monkeypatch):
    first = kit.begin(store)
    monkeypatch.setattr(write, "datetime", Earlier)
    second = kit.begin(store)
    assert second < first
    assert [run["id"] for run in store.runs()] == [second, first]
    assert store.run()["id"] == second


class Earlier(datetime):
    @classmethod
    def now(cls, tz=None):
        return datetime(2001, 1, 1, tzinfo=UTC)


def test_run_is_found_by_any_unambiguous_part_of_its_id(store, kit, monkeypatch):
    ends = iter(["aaaa", "aaaa", "abbb"])
    monkeypatch.setattr(write.secrets, "token_hex", lambda _: next(ends))
    first, second = kit.begin(store), kit.begin(store)  # an id that is taken is drawn again
    assert store.run("aaaa")["id"] == first
    assert store.run(second[-2:])["id"] == second
    with pytest.raises(ConfigError, match=f"{first}, {second}"):
        store.run("20")
    with pytest.raises(ConfigError, match="unknown run"):
        store.run("")


def test_store_without_runs_is_reported(store):
    for ask in (store.run, store.outcomes, store.duels, store.pending, store.events):
        with pytest.raises(ConfigError, match="no runs"):
            ask()
    assert store.runs() == []
    assert set(store.counts().values()) == {0}
    assert store.known(["f00"]) == {}
    assert store.typical_seconds() == {}


def test_outcomes_keep_the_order_of_the_plan(store, kit):
    run = kit.begin(store)
    trials = [kit.trial(i) for i in (3, 1, 2)]
    store.plan_trials(run, trials)
    assert store.pending(run) == trials
    for i in (2, 3):
        store.record(run, kit.outcome(i))
    store.record(run, kit.outcome(7))  # unplanned ones come last
    assert [o.trial.seed for o, _ in store.outcomes(run)] == [3, 2, 7]
    assert store.pending(run) == [kit.trial(1)]
    assert store.counts(run) == {"done": 3, "planned": 4, "reused": 0}


def test_known_outcome_is_reused_and_counts(store, kit):
    first = kit.begin(store)
    for i in range(3):
        store.record(first, kit.outcome(i))
    second = kit.begin(store)
    trials = [kit.trial(i) for i in range(4)]
    store.plan_trials(second, trials)
    known = store.known([t.id for t in trials])
    assert known == {kit.trial(i).id: Status.DONE for i in range(3)}
    store.attach(second, *known)
    store.record(second, kit.outcome(3))
    assert [reused for _, reused in store.outcomes(second)] == [True, True, True, False]
    assert store.outcomes(second)[0][0] == kit.outcome(0)
    assert store.counts(second) == {"done": 4, "planned": 4, "reused": 3}
    assert store.counts()["outcomes"] == 4


def test_duel_is_reused(store, kit):
    first = kit.begin(store)
    store.record_duel(first, kit.duel_outcome(1))
    store.record_duel(first, kit.duel_outcome(2, Status.CRASHED))
    ids = [kit.duel_outcome(i).duel.id for i in (1, 2, 3)]
    assert store.known_duels(ids) == {ids[0]: Status.DONE, ids[1]: Status.CRASHED}
    assert store.known_duels(ids, retry_failed=True) == {ids[0]: Status.DONE}
    second = kit.begin(store)
    store.attach_duels(second, ids[0])
    assert store.duels(second) == [(kit.duel_outcome(1), True)]
    assert store.find_duels(ids[0]) == [(kit.duel_outcome(1), first)]
    assert [o.status for o, _ in store.find_duels(ids[0][:1])][:1] == [Status.DONE]
    assert store.find_duels("%") == store.find_duels(ids[2]) == []
    with pytest.raises(StoreError, match="no outcome"):
        store.attach_duels(second, ids[2])


def test_failure_is_known_unless_it_is_to_be_retried(store, kit):
    run = kit.begin(store)
    for i, status in enumerate(Status):
        store.record(run, kit.outcome(i, status))
    ids = [kit.trial(i).id for i, _ in enumerate(Status)]
    assert list(store.known(ids).values()) == list(Status)
    assert set(store.known(ids, retry_failed=True).values()) == {Status.DONE, Status.SKIPPED}


def test_newest_attempt_counts_and_older_ones_stay_in_history(store, kit):
    first, second = kit.begin(store), kit.begin(store)
    store.record(first, kit.outcome(1, Status.TIMEOUT))
    store.record(second, kit.outcome(1))
    other = kit.trial(1, id="0" * 16)
    store.record(second, kit.outcome(1, Status.CRASHED, of=other))
    messages = [(o.trial.id, o.status, run) for o, run in store.history(kit.trial(1).cell)]
    assert messages == [
        (kit.trial(1).id, Status.TIMEOUT, first),
        (kit.trial(1).id, Status.DONE, second),
        (other.id, Status.CRASHED, second),
    ]
    assert store.known([kit.trial(1).id]) == {kit.trial(1).id: Status.DONE}
    assert [o.status for o, _ in store.outcomes(first)] == [Status.TIMEOUT]  # as it was reported
    store.record(first, kit.outcome(1, Status.FAILED))  # a second attempt in the same run
    assert [o.status for o, _ in store.outcomes(first)] == [Status.FAILED]
    assert store.known([kit.trial(1).id]) == {kit.trial(1).id: Status.FAILED}


def test_outcome_without_its_arrays_is_not_known(full, kit):
    with Store.open(full) as store:
        outcomes = [o for o, _ in store.outcomes() if o.status is Status.DONE]
        ids = [o.trial.id for o in outcomes]
        assert set(store.known(ids)) == set(ids)
        next(iter(Artifacts(full / "artifacts").files())).unlink()
        assert len(store.known(ids)) == 1


def test_reuse_of_missing_results_is_refused(store, kit):
    run = kit.begin(store)
    store.plan_trials(run, [kit.trial(1), kit.trial(2)])
    store.record(run, kit.outcome(1))
    again = kit.begin(store)
    with pytest.raises(StoreError, match="no outcome"):
        store.attach(again, kit.trial(1).id, kit.trial(2).id)
    assert store.outcomes(again) == []


def test_trials_are_found_by_the_start_of_either_id(store, kit):
    run = kit.begin(store)
    store.plan_trials(run, [kit.trial(0x10), kit.trial(0x20)])
    assert store.find("f" + "0" * 13 + "1") == [kit.trial(0x10)]
    assert store.find("0" * 14) == [kit.trial(0x20), kit.trial(0x10)]
    assert store.find("%") == store.find("_") == store.find("g") == []


def test_estimate_uses_durations_of_stored_trials(store, kit):
    run = kit.begin(store)
    for i in range(3):
        slow = [kit.Sample("fit", float(i), 0.0), kit.Sample("predict", 0.5, 0.0)]
        slow.append(kit.Sample("import", 7.0, 7.0))  # of the job, not of the trial
        store.record(run, kit.outcome(i, samples=tuple(slow)))
    store.record(run, kit.outcome(4, Status.FAILED, samples=(kit.Sample("fit", 99.0, 0.0),)))
    assert store.typical_seconds() == {("bagging", "wine"): 1.5}


def test_reader_writes_nothing(full, kit):
    assert Store.exists(full)
    assert not Store.exists(full.parent)
    with Store.open(full) as store:
        run = store.run()["id"]
        for write_something in (
            lambda: kit.begin(store),
            lambda: store.record(run, kit.outcome(1)),
            lambda: store.attach(run, kit.trial(1).id),
            lambda: store.finish_run(run, "failed"),
        ):
            with pytest.raises(StoreError, match="reading only"):
                write_something()
    with pytest.raises(StoreError, match="no results"):
        Store.open(full.parent)
    assert not Store.exists(full.parent)
