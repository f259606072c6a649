"""The questions of a run: what is asked, what is answered, and what is known already."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from sized_duels import duel
from worlds import FOLDS, trial

from harness import Argument
from harness.analysis.build_view import view_run
from harness.config.diagnostics import Diagnostics
from harness.config.experiment import parse_experiment
from harness.core.errors import ConfigError
from harness.core.model import Split
from harness.core.progress import Progress
from harness.measurement import answers
from harness.measurement.diagnostics import KIND, Diagnosis, answered, questions
from harness.measurement.questions import Subject
from harness.planning.plan import Plan
from harness.plugins.registry import load_registry
from harness.runs.run import Request, plan_request, run_experiment
from harness.store import Store

PLUGIN = Path(__file__).resolve().parents[1] / "plugins" / "crowd.py"
EVERY = ["staged", "determinism", "scaling", "calibration"]
EVERY += ["importance", "agreement", "margins", "strength"]
SIZES = {"rows": [0.5, 1.0], "bins": [8, 64], "depth": [1, 3], "calls": 1}


def experiment_of(**table):
    data = {
        "name": "asked",
        "algorithms": ["crowd", "shaky"],
        "datasets": ["square"],
        "run": {"jobs": 1},
        "diagnostics": table,
    }
    return parse_experiment(data, "test")


def request_of(tmp_path, **table):
    files = (str(PLUGIN),)
    return Request(experiment_of(**table), plugin_files=files, results=tmp_path / "results")


@pytest.fixture(scope="module")
def registry():
    modules = ["harness.plugins.metrics", "harness.executors.local"]
    return load_registry([PLUGIN], modules=modules)


@pytest.fixture(scope="module")
def whole(registry, tmp_path_factory):
    """Return the request of a run with every diagnostic, and its view."""
    pair = [["crowd", "shaky"]]
    request = request_of(tmp_path_factory.mktemp("whole"), names=EVERY, pairs=pair, **SIZES)
    result = run_experiment(request, registry, Progress())
    with Store.open(request.results) as store:
        return request, view_run(store, result.run_id, registry)


@pytest.fixture(scope="module")
def told(whole):
    return {(d.name, d.algorithm, d.about): d for d in whole[1].diagnostics}


def test_every_question_is_answered(told):
    assert Counter(name for name, _, _ in told) == {
        **dict.fromkeys(EVERY, 2),
        "scaling": 6,
        "importance": 1,
        "agreement": 1,
    }
    reasons = [d.reason for d in told.values() if d.reason]
    assert reasons == ["it has no parameter for the depth to vary"] * 2
    assert all(d.sentence for d in told.values() if not d.reason)


def test_stages_are_scored_and_timed(told):
    found = told["staged", "crowd", ""].found
    assert found["stage"] == list(range(1, 13))
    assert found["rows"] == [60, 20]
    assert len(found["test"]) == len(found["train"]) == len(found["seconds"]) == 12
    assert all(s > 0 for s in found["seconds"])


def test_the_last_stage_is_the_whole_model(whole, told):
    (cell,) = [c for c in whole[1].cells if c.algorithm == "crowd"]
    assert told["staged", "crowd", ""].found["test"][-1] == pytest.approx(
        cell.scores["log_loss"][0], abs=1e-12
    )


def test_threads_and_row_order_are_found_out(told):
    sides = {name: told["determinism", name, ""].found["checks"] for name in ("crowd", "shaky")}
    same = {name: {c["check"]: c["same"] for c in checks} for name, checks in sides.items()}
    assert same["crowd"] == {"seed": True, "threads": True, "rows": False}
    assert same["shaky"] == {"seed": True, "threads": False, "rows": False}
    threads = next(c for c in sides["shaky"] if c["check"] == "threads")["agreement"]
    assert (threads["most_ulps"], threads["dtype"]) == (1, "float64")


def test_sizes_are_those_that_were_trained_on(told):
    assert sorted(told["scaling", "crowd", "rows"].found["x"]) == [30, 60]
    assert sorted(told["scaling", "crowd", "bins"].found["x"]) == [8, 64]


def test_depth_is_the_capacity_of_that_name(registry, tmp_path):
    plan = plan_request(request_of(tmp_path), registry)
    deep = replace(registry.algorithm("crowd"), capacity={"depth": Argument("levels")})
    evidence = SimpleNamespace(config=Diagnostics(depth=[2, 4]), algorithm=lambda _: deep)
    fits = answers._fits("depth", plan.jobs[0].trials[0], evidence, None)
    assert [(value, trial.params["levels"]) for value, trial, _ in fits] == [(2, 2), (4, 4)]


def test_the_two_crowds_agree(told):
    assert told["agreement", "crowd", ""].found["same"] == 1
    assert told["importance", "crowd", ""].found["kendall"] == 1
    assert told["agreement", "crowd", ""].reference == "shaky"


def test_members_are_taken_from_the_trees(told):
    assert told["strength", "crowd", ""].found["members"] == 12
    assert told["margins", "crowd", ""].found["train"]["rows"] == 60
    assert told["margins", "crowd", ""].found["test"]["rows"] == 20


def test_calibration_is_of_every_test_row(told):
    assert told["calibration", "crowd", ""].found["rows"] == 20


def test_of_several_seeds_and_sizes_every_test_row_counts_once():
    folds = [trial("ours", "blobs", fold, seed) for seed in (0, 1) for fold in range(FOLDS)]
    assert Subject(None, tuple(folds)).every_row_once == folds[:FOLDS]
    sets = [Split("draw", 2, repeat=n, train_rows=rows) for rows in (10, 40) for n in (0, 1)]
    drawn = [trial("ours", "blobs", 0, split=split) for split in sets]
    assert Subject(None, tuple(drawn)).every_row_once == drawn[:1]


def test_artifacts_are_kept_only_where_something_asks(whole, registry, tmp_path):
    (outcome,) = next(c for c in whole[1].cells if c.algorithm == "crowd").outcomes
    assert {"staged", "members", "trees", "predictions"} <= set(outcome.arrays)
    request = request_of(tmp_path)
    result = run_experiment(request, registry, Progress())
    with Store.open(request.results) as store:
        kept = {name for o, _ in store.outcomes(result.run_id) for name in o.arrays}
        assert kept == {"predictions", "classes"}
        assert store.events(result.run_id) == []


def test_answers_count_again_without_any_fit(whole, registry, monkeypatch):
    request, view = whole

    def refuse(*_):
        raise AssertionError("nothing needs to be fitted")

    monkeypatch.setattr("harness.measurement.diagnostics.probe", refuse)
    monkeypatch.setattr("harness.execution.supervisor.Supervisor.supervise", refuse)
    result = run_experiment(request, registry, Progress())
    with Store.open(request.results) as store:
        assert view_run(store, result.run_id, registry).diagnostics == view.diagnostics


def test_an_answer_that_could_not_be_given_is_asked_again():
    ids = {"id": "a", "reason": ""}, {"id": "b", "reason": "it failed"}
    assert answered(ids).keys() == {"a"}


def test_what_cannot_be_answered_says_why(whole, registry):
    request = replace(
        whole[0], experiment=experiment_of(names=["scaling"], rows=[], threads=[1024])
    )
    result = run_experiment(request, registry, Progress())
    with Store.open(request.results) as store:
        events = [e["data"] for e in store.events(result.run_id) if e["kind"] == KIND]
    why = "a slope needs at least two sizes; threads were timed at 0"
    assert [(e["reason"], e["found"]) for e in events] == [(why, {})] * 2


def test_duels_of_several_sizes_are_fitted_without_asking(registry, tmp_path):
    asked = Diagnostics(names=["scaling"], rows=[])
    with Store.open(tmp_path / "results", write=True) as store:
        run = store.begin_run("sized", {}, "", {}, [])
        for outcome in (duel(1000), duel(4000)):
            store.record_duel(run, outcome)
        Diagnosis(store, run, registry, Progress(), asked).carry_out(Plan())
        told = [e["data"] for e in store.events(run)]
    assert [(d["algorithm"], d["dataset"], d["about"]) for d in told] == [
        (name, "cloud", "rows of duels") for name in ("ours", "theirs")
    ]
    assert [d["found"]["slope"]["value"] for d in told] == pytest.approx([1, 1])


def test_an_unknown_name_in_a_pair_is_told_before_anything_runs(registry, tmp_path):
    request = request_of(tmp_path, names=["agreement"], pairs=[["crowd", "shakey"]])
    with pytest.raises(ConfigError, match="did you mean 'shaky'"):
        run_experiment(request, registry, Progress())
    assert not Store.exists(request.results)


def test_globs_choose_datasets(registry, tmp_path):
    request = request_of(tmp_path, names=["calibration"], datasets=["round*"])
    plan = plan_request(request, registry)
    assert questions(request.experiment.diagnostics, plan) == []


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"names": ["determinsm"]}, "Input should be 'staged'"),
        ({"nmaes": []}, "diagnostics.nmaes: unknown key 'nmaes': did you mean 'names'"),
        ({"rows": [0.0, 2.0]}, "diagnostics.rows.0"),
        ({"calls": 0}, "diagnostics.calls"),
    ],
)
def test_a_mistake_in_the_table_is_told(tmp_path, table, message):
    with pytest.raises(ConfigError, match=message):
        request_of(tmp_path, **table)


def test_reports_of_numpy_numbers_are_plain(told):
    assert not any(isinstance(v, np.generic) for v in told["strength", "crowd", ""].found.values())
