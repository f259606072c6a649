"""Plugins that break one promise each: every one is named, in words."""

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


class Honest:
    """A stump that keeps every promise; liars change one thing."""

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


class Drifting(Honest):
    fits = 0

    def predict(self, X):
        return super().predict(X) + self.shift

    def fit(self, native):
        super().fit(native)
        Drifting.fits += 1
        self.shift = 1e-9 * Drifting.fits

    def export_trees(self):
        raise TypeError("its trees cannot be exported")


class Scribbling(Honest):
    def fit(self, native):
        super().fit(native)
        native[0][0, 0] += 1.0


class Chatty(Honest):
    def fit(self, native):
        super().fit(native)
        os.write(1, b"[1] training\n")


class Deaf(Honest):
    def fit(self, native):
        super().fit((*native[:2], None))


class Lazy(Honest):
    def fit(self, native):
        X, y, _ = native
        super().fit((X, np.full_like(y, y.mean()), None))


class Stale(Honest):
    def predict_one(self, x):
        return self.predict(x) * 1.001


class Bragging(Honest):
    def export_trees(self):
        found = super().export_trees()
        return TreeEnsemble.from_arrays({**found.to_arrays(), "value": 2 * found.value})


class Torn(Honest):
    def fit(self, native):
        super().fit(native)
        self.shift = 1e-12 * (self.spec.threads - 1)

    def predict(self, X):
        return super().predict(X) * (1 + self.shift)

    def export_trees(self):
        raise TypeError("its trees cannot be exported")


class Narrow(Honest):
    def fit(self, native):
        if len(native[0]) == 1:
            raise IndexError("index 1 is out of bounds")
        super().fit(native)


class Stumbling(Honest):
    def fit(self, native):
        if len(set(native[1])) == 1:
            raise TypeError("'NoneType' object is not subscriptable")
        super().fit(native)


class Misshapen(Honest):
    def predict(self, X):
        return super().predict(X)[:, None]


LIARS = {
    Drifting: ("the same seed gives the same bits", "off"),
    Scribbling: ("inputs are not modified", "X of training was modified"),
    Chatty: ("nothing is printed", "[1] training"),
    Deaf: ("rows with larger weights count more", "are weights passed on?"),
    Lazy: ("predictions are better than a constant", "that of a constant"),
    Stale: ("predict_one agrees with predict", "predict_one differs"),
    Bragging: ("exported trees give the same predictions", "the exported ensemble differs"),
    Torn: ("the number of threads does not change the result", "training with 2 threads"),
    Narrow: ("one training row is enough, or rejected with a reason", "raises IndexError"),
    Stumbling: ("a constant target is learnt, or rejected with a reason", "raises TypeError"),
    Misshapen: ("predictions have the right shape, dtype and range", "shape (60, 1), not (60,)"),
}


OF_ALGORITHMS = [check for check in CHECKS if check.kind == "algorithm"]


def findings(adapter):
    registry = Registry()
    algorithm = Algorithm("liar", adapter, REGRESSION, summary="for a test")
    registry.add("algorithm", Algorithm, algorithm, "", "")
    return {check.name: check.run(subject) for check, subject in cases(registry, "liar")}


def test_a_plugin_that_keeps_every_promise_passes_every_check():
    found = findings(Honest)
    assert len(found) == len(OF_ALGORITHMS)
    assert {f.state for f in found.values()} == {"ok", "skipped"}


@pytest.mark.parametrize("liar", LIARS, ids=lambda c: c.__name__)
def test_a_lie_is_named(liar):
    promise, words = LIARS[liar]
    found = findings(liar)[promise]
    assert found.state == "failed"
    assert words in found.message


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
        reference="sklearn.decision_tree", rungs={"default": "L3"}, summary="for a test"))
"""


def test_a_crash_and_a_hang_are_findings_and_the_rest_goes_on(tmp_path):
    plugin = tmp_path / "crashing.py"
    plugin.write_text(PLUGIN)
    found = {f.check: f for f in check_supervised("crashing", [plugin], timeout=3.0)}
    assert len(found) == len(OF_ALGORITHMS)
    one_row = found["one training row is enough, or rejected with a reason"]
    assert one_row.state == "failed"
    assert "SIGSEGV" in one_row.message
    assert "crashing.py" in one_row.message
    assert "longer than 3 s" in found["one column is enough"].message
    assert found["a saved model predicts the same"].state == "skipped"


def test_the_command_answers_by_its_exit_code(tmp_path, capsys, monkeypatch):
    plugin = tmp_path / "crashing.py"
    plugin.write_text(PLUGIN.replace("time.sleep(60)", "pass"))
    arguments = ["harness", "plugin", "check", "crashing", "--plugin", str(plugin), "--json"]
    monkeypatch.setattr("sys.argv", arguments)
    assert main() == 1
    told = json.loads(capsys.readouterr().out)
    claim = told["findings"]["algorithm"][-1]
    assert (claim["check"], claim["state"]) == ("it reaches the claimed parity level", "failed")
    assert "claims L3" in claim["message"]
