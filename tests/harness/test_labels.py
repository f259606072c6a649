"""Tests of labels, which distinguish variants of one algorithm with other params."""

from types import SimpleNamespace

import pytest

import harness
from harness.cli import harness as command_line
from harness.config.experiment import parse_experiment
from harness.core.errors import ConfigError
from harness.core.libraries import Surroundings
from harness.core.model import ALL_TASKS, Algorithm, Dataset, Task
from harness.gate.run import _Measurement
from harness.planning.candidates import without_labels
from harness.planning.plan import make_plan
from harness.plugins.registry import HOOKS, Registry, load_registry
from harness.runs.request import RunOptions

VARIANTS = [
    {"name": "ours", "label": "few", "params": {"n": 1}},
    {"name": "ours", "label": "many", "params": {"n": 9}},
]
PAIRS = [["many", "few"]]


def registry():
    result, kinds = Registry(), dict(HOOKS.values())
    ours = Algorithm("ours", adapter=lambda spec: None, tasks=ALL_TASKS, reference="theirs")
    theirs = Algorithm("theirs", adapter=lambda spec: None, tasks=ALL_TASKS, origin="reference")
    table = Dataset("d", Task.BINARY, load=lambda: None, digest="d", rows=100, columns=3)
    for kind, thing in (("algorithm", ours), ("algorithm", theirs), ("dataset", table)):
        result.add(kind, kinds[kind], thing, "plugin", __file__)
    return result


def experiment(algorithms=VARIANTS, **keys):
    return parse_experiment({"name": "x", "datasets": ["d"], "algorithms": algorithms} | keys, "x")


def plan(*args, **keys):
    return make_plan(experiment(*args, **keys), registry(), Surroundings())


def test_label_identifies_trials_duels_and_facts():
    made = plan(duels={"datasets": ["d"], "pairs": PAIRS}, verdicts={"pairs": PAIRS})
    assert [(job.algorithm, job.name) for job in made.jobs] == [("ours", "few"), ("ours", "many")]
    assert {(t.algorithm, t.params["n"]) for t in made.trials()} == {("few", 1), ("many", 9)}
    (duel,) = made.duels
    assert [(side.algorithm, side.name) for side in (duel.a, duel.b)] == [
        ("ours", "many"),
        ("ours", "few"),
    ]
    assert [side.trials[0].params["n"] for side in (duel.a, duel.b)] == [9, 1]
    assert made.declared["pairs"] == PAIRS
    assert set(made.declared["algorithms"]) == {"few", "many"}
    assert {t["algorithm"] for t in made.declared["tracks"]} == {"few", "many"}


def test_without_pairs_each_variant_is_compared_with_the_reference():
    made = plan([*VARIANTS, "theirs"])
    assert made.declared["pairs"] == [["few", "theirs"], ["many", "theirs"]]


def test_grid_of_a_label_makes_variants_of_it():
    made = plan([{"name": "ours", "label": "some", "grid": {"n": [1, 2]}}])
    assert {(t.algorithm, t.params["n"]) for t in made.trials()} == {("some", 1), ("some", 2)}


@pytest.mark.parametrize(
    ("algorithms", "message"),
    [
        ([{"name": "our*", "label": "few"}], "not for a glob"),
        ([VARIANTS[0], VARIANTS[0]], "labels given twice: few"),
        ([{"name": "ours", "label": "a b"}], "label: String should match"),
        ([{"name": "ours", "label": "theirs"}], "is the name of an algorithm"),
    ],
)
def test_ambiguous_label_is_refused(algorithms, message):
    with pytest.raises(ConfigError, match=message):
        plan(algorithms)


def test_pair_of_unknown_names_is_refused():
    with pytest.raises(ConfigError, match="unknown algorithm 'several'"):
        plan(verdicts={"pairs": [["many", "several"]]})


def test_without_labels_there_are_no_pairs_of_labels():
    pairs = [*PAIRS, ["ours", "theirs"]]
    requested = without_labels(experiment(duels={"pairs": pairs}, verdicts={"pairs": PAIRS}))
    assert [choice.label for choice in requested.algorithms] == ["", ""]
    assert (requested.duels.pairs, requested.verdicts.pairs) == ([("ours", "theirs")], [])


def test_renamed_algorithms_drop_the_pairs_of_labels():
    registry = load_registry(strangers=False)
    requested = (
        RunOptions("ablation/sampling", algorithms=("histogram_boosting",))
        .request(registry)
        .experiment
    )
    assert {choice.name for choice in requested.algorithms} == {
        "histogram_boosting",
        "lightgbm.gbdt",
    }
    assert {choice.label for choice in requested.algorithms} == {""}
    assert {"n_estimators": 100} in [dict(choice.params) for choice in requested.algorithms]
    assert (requested.duels.pairs, requested.verdicts.pairs) == ([], [])
    whole = RunOptions("ablation/sampling").request(registry).experiment
    assert len(whole.duels.pairs) == 3


def test_gate_against_a_revision_uses_the_algorithm_behind_a_label():
    requested = experiment(VARIANTS[:1], parity={"pairs": [["few", "theirs"]]})
    given = SimpleNamespace(experiment=requested, datasets=())
    result = _Measurement._experiment(SimpleNamespace(request=given, names=["ours"]))
    (choice,) = result.algorithms
    assert (choice.name, choice.label, choice.params) == ("ours", "", {"n": 1})
    assert result.parity.pairs == []


PLUGIN = """
from sklearn.dummy import DummyClassifier
from harness import Algorithm, Task, estimator_adapter, hookimpl

@hookimpl
def register_algorithms(register):
    dummy = estimator_adapter(lambda spec: DummyClassifier(**spec.params))
    register(Algorithm("dummy", dummy, frozenset({Task.MULTICLASS}), params={"strategy": "prior"}))
"""


@pytest.mark.slow
def test_run_distinguishes_variants_in_verdicts_duels_diagnostics_and_reports(tmp_path, capfd):
    (tmp_path / "plugin.py").write_text(PLUGIN)
    pairs = [["common", "random"]]
    requested = {
        "datasets": ["iris"],
        "algorithms": [
            {"name": "dummy", "label": "common", "params": {"strategy": "most_frequent"}},
            {"name": "dummy", "label": "random", "params": {"strategy": "uniform"}},
        ],
        "splits": {"folds": 2},
        "verdicts": {"pairs": pairs},
        "duels": {"datasets": ["iris"], "pairs": pairs, "launches": 1, "blocks": 1},
        "parity": {"datasets": ["iris"], "pairs": pairs},
        "diagnostics": {"names": ["determinism", "agreement"], "datasets": ["iris"]},
    }
    place = {"plugins": [tmp_path / "plugin.py"], "results": tmp_path / "results"}
    run = harness.run(requested, **place)
    assert set(run.to_frame()["algorithm"]) == {"common", "random"}
    names = {(v.algorithm, v.reference) for v in (*run.verdicts, *run.speeds, *run.parity)}
    assert names == {("common", "random")}
    diagnosed = {(d.name, d.algorithm, d.reference) for d in run.view.diagnostics}
    assert diagnosed == {
        ("determinism", "common", ""),
        ("determinism", "random", ""),
        ("agreement", "common", "random"),
    }
    capfd.readouterr()
    results = ["--results", str(place["results"])]
    assert command_line.main(["report", "--markdown", *results], standalone_mode=False) in (None, 0)
    assert "| common | random |" in capfd.readouterr().out
