"""Tests that algorithms breaking one rule each are reported with that rule."""

import json
import os

import numpy as np
import pytest
from sklearn.tree import DecisionTreeRegressor

from harness import Algorithm, Task, Tree, TreeEnsemble
from harness.__main__ import main
from harness.conformance.checks import cases
from harness.conformance.findings import CHECKS
from harness.conformance.supervised import check_supervised
from harness.plugins.registry import Registry

REGRESSION = frozenset({Task.REGRESSION})


class Correct:
    """A stump that follows every rule; its subclasses break one each."""

    def __init__(self, spec):
        self.spec = spec

    def prepare(self, X, y, weight):
        return X, y, weight

    def fit(self, native):
        X, y, weight = native
        model = DecisionTreeRegressor(max_depth=2, random_state=0)
        self.model = model.fit(X, y, sample_weight=weight)

    def predict(self, X):
        return self.model.predict(X)

    def predict_one(self, x):
        return self.predict(x)

    def export_trees(self):
        tree = self.model.tree_
        grown = Tree(
            feature=np.where(tree.children_left < 0, -1, tree.feature),
            threshold=tree.threshold,
            left=tree.children_left,
            right=tree.children_right,
            value=tree.value[:, :, 0],
        )
        return TreeEnsemble.join([grown], n_features=tree.n_features, input_dtype="float32")


class Drifting(Correct):
    fits = 0

    def predict(self, X):
        return super().predict(X) + self.shift

    def fit(self, native):
        super().fit(native)
        Drifting.fits += 1
        self.shift = 1e-9 * Drifting.fits

    def export_trees(self):
        raise TypeError("its trees cannot be exported")


class Scribbling(Correct):
    def fit(self, native):
        super().fit(native)
        native[0][0, 0] += 1.0


class Chatty(Correct):
    def fit(self, native):
        super().fit(native)
        os.write(1, b"[1] training\n")


class Deaf(Correct):
    def fit(self, native):
        super().fit((*native[:2], None))


class Lazy(Correct):
    def fit(self, native):
        X, y, _ = native
        super().fit((X, np.full_like(y, y.mean()), None))


class Stale(Correct):
    def predict_one(self, x):
        return self.predict(x) * 1.001


class Bragging(Correct):
    def export_trees(self):
        result = super().export_trees()
        return TreeEnsemble.from_arrays({**result.to_arrays(), "value": 2 * result.value})


class Torn(Correct):
    def fit(self, native):
        super().fit(native)
        self.shift = 1e-12 * (self.spec.threads - 1)

    def predict(self, X):
        return super().predict(X) * (1 + self.shift)

    def export_trees(self):
        raise TypeError("its trees cannot be exported")


class Narrow(Correct):
    def fit(self, native):
        if len(native[0]) == 1:
            raise IndexError("index 1 is out of bounds")
        super().fit(native)


class Stumbling(Correct):
    def fit(self, native):
        if len(set(native[1])) == 1:
            raise TypeError("'NoneType' object is not subscriptable")
        super().fit(native)


class Misshapen(Correct):
    def predict(self, X):
        return super().predict(X)[:, None]


FAULTY = {
    Drifting: ("the same seed gives the same bits", "off"),
    Scribbling: ("inputs are not modified", "X of training was modified"),
    Chatty: ("nothing is printed", "[1] training"),
    Deaf: ("rows with larger weights count more", "are weights passed on?"),
    Lazy: ("predictions are better than a constant", "that of a constant"),
    Stale: ("predict_one agrees with predict", "predict_one differs"),
    Bragging: ("exported trees give the same predictions", "the exported ensemble differs"),
    Torn: ("the number of threads does not change the result", "training with 2 threads"),
    Narrow: ("one training row is enough, or rejected with a reason", "raises IndexError"),
    Stumbling: ("a constant target is learned, or rejected with a reason", "raises TypeError"),
    Misshapen: ("predictions have the right shape, dtype and range", "shape (60, 1), not (60,)"),
}


OF_ALGORITHMS = [check for check in CHECKS if check.kind == "algorithm"]


def findings(adapter):
    registry = Registry()
    algorithm = Algorithm("faulty", adapter, REGRESSION, summary="for a test")
    registry.add("algorithm", Algorithm, algorithm, "", "")
    return {check.name: check.run(subject) for check, subject in cases(registry, "faulty")}


def test_correct_plugin_passes_every_check():
    result = findings(Correct)
    assert len(result) == len(OF_ALGORITHMS)
    assert {f.state for f in result.values()} == {"ok", "skipped"}


@pytest.mark.parametrize("faulty_adapter", FAULTY, ids=lambda c: c.__name__)
def test_broken_rule_is_named(faulty_adapter):
    rule, words = FAULTY[faulty_adapter]
    result = findings(faulty_adapter)[rule]
    assert result.state == "failed"
    assert words in result.message


PLUGIN = """
import os, signal, time
from harness import Algorithm, Task, estimator_adapter, hookimpl

class Crashing:
    def __init__(self, spec):
        self.spec = spec
    def prepare(self, X, y, weight):
        return X, y
    def fit(self, native):
        X, y = native
        if len(X) == 1:
            os.kill(os.getpid(), signal.SIGSEGV)
        if X.shape[1] == 1:
            time.sleep(60)
        self.mean, self.first = y.mean(), X[:, 0].mean()
    def predict(self, X):
        return self.mean + (X[:, 0] - self.first)
    predict_one = predict

@hookimpl
def register_algorithms(register):
    register(Algorithm("crashing", Crashing, frozenset({Task.REGRESSION}),
        reference="sklearn.decision_tree", parity_levels={"default": "L3"}, summary="for a test"))
"""


@pytest.mark.slow
def test_crash_and_hang_are_findings_and_checks_continue(tmp_path):
    plugin = tmp_path / "crashing.py"
    plugin.write_text(PLUGIN)
    results = {f.check: f for f in check_supervised("crashing", [plugin], timeout=3.0)}
    assert len(results) == len(OF_ALGORITHMS)
    one_row = results["one training row is enough, or rejected with a reason"]
    assert one_row.state == "failed"
    assert "SIGSEGV" in one_row.message
    assert "crashing.py" in one_row.message
    assert "longer than 3 s" in results["one column is enough"].message
    assert results["a saved model predicts the same"].state == "skipped"


@pytest.mark.slow
def test_command_returns_its_exit_code(tmp_path, capsys, monkeypatch):
    plugin = tmp_path / "crashing.py"
    plugin.write_text(PLUGIN.replace("time.sleep(60)", "pass"))
    arguments = ["harness", "plugin", "check", "crashing", "--plugin", str(plugin), "--json"]
    monkeypatch.setattr("sys.argv", arguments)
    assert main() == 1
    data = json.loads(capsys.readouterr().out)
    claim = data["findings"]["algorithm"][-1]
    assert (claim["check"], claim["state"]) == ("it reaches the claimed parity level", "failed")
    assert "claims L3" in claim["message"]
