"""Storing and querying a million outcomes, with the time of each step."""

import dataclasses
import os
import time

import pytest

from harness.store import Store

RUNS = int(os.environ.get("STORE_RUNS", "10"))  # of EACH outcomes
EACH = 100_000


@pytest.fixture
def timed():
    """Call a function, print its duration, and return its result."""

    def call(what, function):
        start = time.perf_counter()
        result = function()
        print(f"\n{what}: {time.perf_counter() - start:.3f} s", end="")  # noqa: T201
        return result

    return call


def outcomes_of(kit, run):
    base = kit.outcome()
    for number in range(run * EACH, (run + 1) * EACH):
        cell = f"{number:016x}"
        trial = dataclasses.replace(base.trial, id=f"f{number:015x}", cell=cell, seed=number)
        yield dataclasses.replace(base, trial=trial)


@pytest.mark.slow
def test_million_outcomes_are_stored_and_found(tmp_path, kit, timed):
    with timed("open a new store", lambda: Store.open(tmp_path, write=True)) as store:
        for run in range(RUNS):
            name = kit.begin(store)
            say = f"store {EACH} outcomes in one transaction (run {run})"
            timed(say, lambda n=name, r=run: kit.record_all(store, n, outcomes_of(kit, r)))
            store.finish_run(name, "done")
        ids = [f"f{number:015x}" for number in range(0, RUNS * EACH, 10)]
        small = kit.begin(store)
        timed("plan 2000 known trials", lambda: plan(store, kit, small))
        timed("reuse 2000 outcomes", lambda: store.attach(small, *ids[:2000]))
        for number in range(RUNS * EACH, RUNS * EACH + 3):
            timed("record one more", lambda n=number: store.record(small, kit.outcome(n)))
        store.finish_run(small, "done")
    size = (tmp_path / "harness.db").stat().st_size
    print(f"\nfile: {size / 2**20:.0f} MiB", end="")  # noqa: T201
    with timed("open for writing (quick_check)", lambda: Store.open(tmp_path, write=True)):
        pass
    with timed("open for reading", lambda: Store.open(tmp_path)) as store:
        known = timed(f"known of {len(ids)} ids", lambda: store.known(ids))
        assert len(known) == len(ids)
        result = timed("outcomes of a run of 2003", store.outcomes)
        assert len(result) == 2003
        assert sum(reused for _, reused in result) == 2000
        assert len(timed("runs", store.runs)) == RUNS + 1
        counts = timed("counts of a run of 100000", lambda: store.counts(store.runs()[-1]["id"]))
        assert counts == {"done": EACH, "planned": EACH, "reused": 0}
        assert timed("counts of all", store.counts)["outcomes"] == RUNS * EACH + 3
        assert len(timed("history", lambda: store.history(f"{77:016x}"))) == 1
        assert len(timed("find", lambda: store.find(f"f{77:015x}"))) == 1
        timed("typical seconds", store.typical_seconds)


def plan(store, kit, run):
    store.plan_trials(run, [kit.trial(number) for number in range(0, 20_000, 10)])


def test_thousand_outcomes_are_stored_and_found_in_batches(tmp_path, kit, monkeypatch):
    monkeypatch.setattr("harness.store.fetch.BATCH", 7)
    with Store.open(tmp_path, write=True) as store:
        run = kit.begin(store)
        stored = [kit.outcome(number) for number in range(1000)]
        kit.record_all(store, run, stored)
        assert [outcome for outcome, _ in store.outcomes(run)] == stored
        assert list(store.known(o.trial.id for o in stored)) == [o.trial.id for o in stored]
