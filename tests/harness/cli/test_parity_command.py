"""Tests of ``harness parity``, with real workers and a plugin's algorithms."""

import json
import textwrap

import pytest

from harness.analysis.run_view import Parity
from harness.cli import harness
from harness.cli.parity import _exit_code
from harness.core.errors import ConfigError
from harness.measurement import tree_comparison
from harness.store import Store

PLUGIN = textwrap.dedent(
    '''
    """A plugin's tree: scikit-learn's, with a fault on request."""
    from dataclasses import replace

    import numpy as np
    from sklearn.dummy import DummyClassifier
    from sklearn.tree import DecisionTreeClassifier

    from algorithms.reference._export_sklearn import export
    from harness import Algorithm, EstimatorAdapter, Task, estimator_adapter, hookimpl

    class Twin(EstimatorAdapter):
        def export_trees(self):
            e = export(self.model)
            if self.spec.params.get("fault") == "ulp":
                moved = np.where(e.left >= 0, np.nextafter(e.threshold, np.inf), e.threshold)
                return replace(e, threshold=moved)
            return e

    def build(spec):
        if spec.params.get("fault") == "raise":
            raise RuntimeError("this was planted")
        depth = spec.params.get("max_depth")
        return DecisionTreeClassifier(random_state=spec.seed, max_depth=depth)

    @hookimpl
    def register_algorithms(register):
        tasks = frozenset({Task.BINARY, Task.MULTICLASS})
        register(Algorithm("twin", lambda spec: Twin(build, spec), tasks,
                           reference="sklearn.decision_tree", parity_levels={"default": "L3"}))
        register(Algorithm("opaque", estimator_adapter(lambda spec: DummyClassifier()), tasks))
    '''
)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("parity")
    (folder / "plugin.py").write_text(PLUGIN)
    return folder


@pytest.fixture
def run(place, capsys, monkeypatch):
    """Return a function that runs the command and returns exit code, stdout and stderr."""
    monkeypatch.chdir(place)

    def call(*arguments):
        command = ["parity", *arguments, "--plugin", "plugin.py", "--folds", "2"]
        command += ["--results", "results"]
        code = harness.main(command, standalone_mode=False)
        captured = capsys.readouterr()
        return code or 0, captured.out, captured.err

    return call


def test_plugin_tree_equals_the_reference_bitwise_and_is_reused(run, monkeypatch):
    code, out, err = run("twin", "-d", "iris", "--require", "L3", "--json")
    assert code == 0, err
    assert "compile: 1" in err  # it can take minutes, so progress is printed
    data = json.loads(out)
    (one,) = data["parity"]
    assert (one["algorithm"], one["reference"]) == ("twin", "sklearn.decision_tree")
    assert (one["parity_level"], one["claimed"], one["verdict"]) == ("L3", "L3", "equivalent")
    assert list(one["splits"].values()) == ["bits", "bits"]
    assert one["comparison"]["rows"] == 75
    with Store.open("results") as store:
        outcomes = [outcome for outcome, _ in store.outcomes(data["run"])]
        assert len(outcomes) == 4
        assert all(set(o.arrays) == {"predictions", "classes", "trees"} for o in outcomes)
    monkeypatch.setattr(tree_comparison, "Supervisor", None)  # no worker is started again
    code, out, _ = run("twin", "-d", "iris", "--require", "L3", "--json")
    assert code == 0
    assert json.loads(out)["parity"] == data["parity"]


def test_missed_parity_level_fails_the_gate_and_is_drawn(run):
    code, out, _ = run("twin", "-d", "iris", "--a", "fault=ulp", "--require", "L3")
    assert code == 1
    assert "L2     the same trees from raw data" in out
    assert "Tree 0, the root (75 training rows): twin splits on “petal" in out
    assert "which are 1 float64 step apart" in out
    assert "A: twin" in out
    assert "▶ petal" in out


@pytest.mark.parametrize(
    ("arguments", "code", "reason"),
    [
        (["opaque", "sklearn.decision_tree"], 4, "opaque: trees not exported: TypeError"),
        (["twin", "--set", "a.fault=raise"], 4, "twin failed: this was planted"),
    ],
)
def test_impossible_comparison_gives_the_reason(run, arguments, code, reason):
    result, out, err = run(*arguments, "-d", "iris")
    assert result == code
    assert reason in err
    assert "none   not shown to agree" in out


def test_dataset_unsupported_by_one_side_is_left_out_and_none_left_is_an_error(run):
    with pytest.raises(ConfigError, match="no chosen dataset can be taken by twin and sklearn"):
        run("twin", "-d", "diabetes")
    with pytest.raises(ConfigError, match="has no reference"):
        run("opaque", "-d", "iris")
    with pytest.raises(ConfigError, match="did you mean 'twin'"):
        run("twim", "-d", "iris")


def test_algorithm_against_itself_is_grown_twice(run):
    code, out, _ = run("twin", "twin", "-d", "iris", "--set", "max_depth=2", "--json")
    (one,) = json.loads(out)["parity"]
    assert (code, one["parity_level"], one["params"]) == (0, "L3", [{"max_depth": 2}] * 2)


@pytest.mark.parametrize(
    ("parity_levels", "required", "code"),
    [
        (["L3", "L2"], None, 0),
        (["L3", "L2"], "l2", 0),
        (["L3", "L2"], "L3", 1),
        (["L3", None], None, 3),
        (["L3", None], "L0", 1),
        ([None], None, 4),
    ],
)
def test_exit_code_of_a_missed_level_takes_precedence_over_a_failure(parity_levels, required, code):
    result = tuple(
        Parity(
            "a", "b", "d", ({}, {}), "native", "raw", r or "", "", {"f0": "bits"} if r else {}, None
        )
        for r in parity_levels
    )
    assert _exit_code(result, required) == code
