"""Tests of the explanations why a trial runs again or is reused."""

import dataclasses

import pytest

from harness.core.errors import ConfigError
from harness.core.model import (
    DatasetRef,
    Duel,
    DuelOutcome,
    Failure,
    Job,
    Outcome,
    Split,
    Status,
    Task,
    Trial,
)
from harness.planning.explain import explain, explain_duel
from harness.store import Store

CELL = "c" * 16
INGREDIENTS = {
    "cell": CELL,
    "plugin": "algorithms.bagging",
    "code": "a1b2c3d4e5f60718",
    "versions": {"numba": "0.68.0", "numpy": "2.4.0"},
    "dataset": "d" * 64,
    "measurement": 1,
}
TRIAL = Trial(
    algorithm="bagging",
    params={},
    preparation="native",
    dataset="wine",
    split=Split(),
    seed=3,
    threads=1,
    cell=CELL,
    id="1" * 16,
    task=Task.MULTICLASS,
    ingredients=INGREDIENTS,
)
ENDED = "2026-11-21T09:42:01.500+00:00"


@pytest.fixture
def store(tmp_path):
    with Store.open(tmp_path / "results", write=True) as store:
        yield store


def measure(store, trial=TRIAL, status=Status.DONE, **fields):
    run = store.begin_run("quick", {}, "", {}, [])
    store.record(run, Outcome(trial, status, ended=ENDED, **fields))
    return run


def changed(**ingredients):
    now = {**INGREDIENTS, **ingredients}
    return dataclasses.replace(TRIAL, id="2" * 16, ingredients=now)


def test_duel_is_known_stale_or_failed(store):
    def side(name, **ingredients):
        now = {**INGREDIENTS, **ingredients}
        trial = dataclasses.replace(TRIAL, algorithm=name, cell=name, timed=True, ingredients=now)
        return Job(name, "m", DatasetRef("wine", "d" * 64), (trial,))

    def stored(id_, status, failure=None):
        duel = Duel(side("ours"), side("theirs"), id_)
        run = store.begin_run("quick", {}, "", {}, [])
        store.record_duel(run, DuelOutcome(duel, status, failure=failure, ended=ENDED))
        return run

    assert explain_duel(store, "e1") == explain_duel(store, "") == []
    run = stored("e1", Status.DONE)
    head = "ours against theirs on wine (duel e1)"
    known = f"known: timed on 2026-11-21 09:42 in run {run}, so it is reused"
    assert explain_duel(store, "e") == [head, f"{known}; add --fresh to time it again"]
    now = Duel(side("ours", code="9" * 16), side("theirs"), "e9")
    assert explain_duel(store, "e1", now)[1:] == [
        "stale, so it is timed again",
        f"last timed in run {run}; since then:",
        "the code of algorithms.bagging changed (digest a1b2c3d4e5f6 → 999999999999)",
    ]
    stored("f1", Status.CRASHED, Failure("crash", "it fell"))
    assert explain_duel(store, "f1")[1].startswith("failed last time (crashed: it fell), timed")
    stored("e2", Status.DONE)
    with pytest.raises(ConfigError, match="matches 2 duels"):
        explain_duel(store, "e")


def test_head_names_the_trial(store):
    head = explain(store, "", TRIAL)[0]
    assert head == (f"bagging on wine, kfold5-s0-r0-f0, seed 3 (trial {TRIAL.id}, cell {CELL})")


def test_cell_never_measured_is_new(store):
    assert explain(store, "", TRIAL)[1:] == ["new: no trial of this cell was ever measured here"]


def test_known_trial_gives_time_and_run(store):
    run = measure(store)
    when = f"measured on 2026-11-21 09:42 in run {run}"
    message = f"known: {when}, so it is reused; add --fresh to run it again"
    assert explain(store, "", TRIAL)[1:] == [message]
    assert explain(store, TRIAL.id[:4])[1:] == [message]
    assert explain(store, CELL)[1:] == [message]


def test_skipped_trial_gives_the_reason(store):
    measure(store, status=Status.SKIPPED, reason="takes no missing values")
    assert "known: skipped (takes no missing values)" in explain(store, CELL)[1]


def test_failure_gives_the_retry_command(store):
    run = measure(store, status=Status.TIMEOUT, failure=Failure("timeout", "60 s were up"))
    assert explain(store, "", TRIAL)[1:] == [
        f"failed last time (timeout: 60 s were up), measured on 2026-11-21 09:42 in run {run}",
        "it is reused as a failure; add --retry-failed or a longer --timeout to run it again",
    ]


def test_trial_that_never_started_runs_again(store):
    measure(store, status=Status.FAILED, facts={"failed_in": "start"})
    assert explain(store, CELL)[-1] == "it never started, so it runs again"


def test_lost_arrays_are_named_as_the_reason(store, tmp_path):
    (tmp_path / "p.npz").write_bytes(b"x")
    measure(store, arrays={"predictions": str(tmp_path / "p.npz")})
    next(store.artifacts.files()).unlink()
    assert explain(store, "", TRIAL)[1].endswith("its stored arrays are missing, so it runs again")


@pytest.mark.parametrize(
    ("now", "message"),
    [
        (
            {"code": "ffff000011112222"},
            "the code of algorithms.bagging changed (digest a1b2c3d4e5f6 → ffff00001111)",
        ),
        ({"versions": {"numba": "0.68.1", "numpy": "2.4.0"}}, "numba 0.68.0 → 0.68.1"),
        ({"versions": {"numba": "0.68.0"}}, "numpy 2.4.0 → none"),
        (
            {"dataset": "e" * 64},
            f"the dataset's rows or reading options changed (digest {'d' * 12} → {'e' * 12})",
        ),
        ({"measurement": 2}, "trials are measured in a new way (version 1 → 2)"),
        ({"machine": "m2"}, "measured on another machine (none; this is m2)"),
        ({"plugin": "mine"}, "another plugin registers the algorithm (algorithms.bagging → mine)"),
        ({"weather": "rain"}, "weather changed (none → rain)"),
        ({}, "ids are computed differently"),
    ],
)
def test_each_change_is_described(store, now, message):
    run = measure(store)
    assert explain(store, "", changed(**now))[1:] == [
        "stale, so it runs again",
        f"last measured on 2026-11-21 09:42 in run {run} (done); since then:",
        message,
    ]


def test_several_changes_are_all_compared_with_the_newest_measurement(store):
    measure(store)
    measure(store, changed(code="b" * 16))
    expected = dataclasses.replace(
        changed(code="c" * 16, versions={"numba": "0.69.0", "numpy": "2.4.1"}), id="3" * 16
    )
    assert explain(store, "", dataclasses.replace(expected, timed=True))[3:] == [
        "a timed trial is needed now",
        f"the code of algorithms.bagging changed (digest {'b' * 12} → {'c' * 12})",
        "numba 0.68.0 → 0.69.0",
        "numpy 2.4.0 → 2.4.1",
    ]


def test_planned_trial_that_never_ran_is_new(store):
    run = store.begin_run("quick", {}, "", {}, [])
    store.plan_trials(run, [TRIAL])
    assert explain(store, CELL)[1].startswith("new")


def test_removed_run_is_reported(store):
    measure(store)
    kept = store.begin_run("other", {}, "", {}, [])
    store.attach(kept, TRIAL.id)
    with store.writing() as database:
        database.execute("DELETE FROM run WHERE id <> ?", kept)
    assert "in a run that was removed since" in explain(store, CELL)[1]


def test_unknown_or_ambiguous_name_is_an_error(store):
    measure(store)
    measure(store, dataclasses.replace(TRIAL, id="1" * 15 + "2", cell="e" * 16))
    for name in ("9", ""):
        with pytest.raises(ConfigError, match="starts with"):
            explain(store, name)
    with pytest.raises(ConfigError, match="matches 2 cells"):
        explain(store, "1111")


def test_stored_text_cannot_control_the_terminal(store):
    measure(store, status=Status.FAILED, failure=Failure("E", "red \x1b[31m\nnew line"))
    assert all(line.isprintable() for line in explain(store, CELL))
