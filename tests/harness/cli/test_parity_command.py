"""``harness parity``, with real workers and a stranger's algorithms."""

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
    """A stranger's tree, which is scikit-learn's with a fault where it is asked for."""
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
                           reference="sklearn.decision_tree", rungs={"default": "L3"}))
        register(Algorithm("opaque", estimator_adapter(lambda spec: DummyClassifier()), tasks))
    '''
)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("parity")
    (folder / "stranger.py").write_text(PLUGIN)
    return folder


@pytest.fixture
def run(place, capsys, monkeypatch):
    """Return a function that runs the command; it gives exit code, stdout and stderr."""
    monkeypatch.chdir(place)

    def call(*arguments):
        command = ["parity", *arguments, "--plugin", "stranger.py", "--folds", "2"]
        command += ["--results", "results"]
        code = harness.main(command, standalone_mode=False)
        said = capsys.readouterr()
        return code or 0, said.out, said.err

    return call


def test_a_strangers_tree_is_the_references_bit_for_bit_and_known_the_next_time(run, monkeypatch):
    code, out, err = run("twin", "-d", "iris", "--require", "L3", "--json")
    assert code == 0, err
    assert "compile: 1" in err  # it can take minutes, so nobody should wait in silence
    told = json.loads(out)
    (one,) = told["parity"]
    assert (one["algorithm"], one["reference"]) == ("twin", "sklearn.decision_tree")
    assert (one["rung"], one["claimed"], one["verdict"]) == ("L3", "L3", "equivalent")
    assert list(one["splits"].values()) == ["bits", "bits"]
    assert one["comparison"]["rows"] == 75
    with Store.open("results") as store:
        outcomes = [outcome for outcome, _ in store.outcomes(told["run"])]
        assert len(outcomes) == 4
        assert all(set(o.arrays) == {"predictions", "classes", "trees"} for o in outcomes)
    monkeypatch.setattr(tree_comparison, "Supervisor", None)  # nobody is asked again
    code, out, _ = run("twin", "-d", "iris", "--require", "L3", "--json")
    assert code == 0
    assert json.loads(out)["parity"] == told["parity"]


def test_a_missed_rung_fails_the_gate_and_is_drawn(run):
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
def test_what_cannot_be_compared_says_why(run, arguments, code, reason):
    found, out, err = run(*arguments, "-d", "iris")
    assert found == code
    assert reason in err
    assert "none   not shown to agree" in out


def test_a_dataset_that_not_both_can_take_is_left_out_and_none_left_is_an_error(run):
    with pytest.raises(ConfigError, match="no chosen dataset can be taken by twin and sklearn"):
        run("twin", "-d", "diabetes")
    with pytest.raises(ConfigError, match="has no reference"):
        run("opaque", "-d", "iris")
    with pytest.raises(ConfigError, match="did you mean 'twin'"):
        run("twim", "-d", "iris")


def test_an_algorithm_against_itself_is_grown_twice(run):
    code, out, _ = run("twin", "twin", "-d", "iris", "--set", "max_depth=2", "--json")
    (one,) = json.loads(out)["parity"]
    assert (code, one["rung"], one["params"]) == (0, "L3", [{"max_depth": 2}] * 2)


@pytest.mark.parametrize(
    ("rungs", "required", "code"),
    [
        (["L3", "L2"], None, 0),
        (["L3", "L2"], "l2", 0),
        (["L3", "L2"], "L3", 1),
        (["L3", None], None, 3),
        (["L3", None], "L0", 1),
        ([None], None, 4),
    ],
)
def test_the_exit_code_tells_a_missed_rung_before_a_failure(rungs, required, code):
    found = tuple(
        Parity(
            "a", "b", "d", ({}, {}), "native", "raw", r or "", "", {"f0": "bits"} if r else {}, None
        )
        for r in rungs
    )
    assert _exit_code(found, required) == code
