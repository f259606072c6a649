"""Tests of the declaration that bin edges ignore sample weights."""

import pytest
from sklearn.tree import DecisionTreeRegressor

from harness import Accepts, Algorithm, Task, estimator_adapter
from harness.conformance.edges import estimator
from harness.conformance.kinds import unit_weights, weights_count
from harness.conformance.subject import Subject
from harness.plugins.adapters import EstimatorAdapter


def subject(min_rows, accepts, adapter=None):
    """Return a tree; if leaves need several rows, a row of weight 2 is not two rows."""

    def build(spec):
        return DecisionTreeRegressor(min_samples_leaf=min_rows, random_state=spec.seed)

    made = adapter or estimator_adapter(build)
    algorithm = Algorithm("tree", made, frozenset({Task.REGRESSION}), accepts=accepts)
    return Subject(algorithm, Task.REGRESSION)


def test_weights_that_bins_ignore_fail_unless_declared():
    result = estimator.run(subject(3, Accepts()))
    assert result.state == "failed"
    assert "check_sample_weight_equivalence_on_dense_data" in result.message
    assert estimator.run(subject(3, Accepts(weighted_bins=False))).state == "ok"


def test_needless_declaration_is_noted():
    result = estimator.run(subject(1, Accepts(weighted_bins=False)))
    assert result.state == "noted"
    assert "weighted_bins=False is declared" in result.message


@pytest.mark.parametrize("check", [unit_weights, weights_count])
def test_other_rules_of_weights_hold_with_the_declaration(check):
    assert check.run(subject(3, Accepts(weighted_bins=False))).state == "ok"


def test_weights_of_1_that_change_the_result_are_reported():
    class Doubling(EstimatorAdapter):
        def __init__(self, spec):
            super().__init__(lambda _: DecisionTreeRegressor(max_depth=2), spec)

        def predict(self, X):
            return super().predict(X) * (1.0 if self.plain else 2.0)

        def fit(self, native):
            super().fit(native)
            self.plain = native.weight is None

    assert unit_weights.run(subject(1, Accepts(), Doubling)).state == "skipped"
    result = unit_weights.run(subject(1, Accepts(weighted_bins=False), Doubling))
    assert result.state == "failed"
    assert "with weights of 1 predictions are up to" in result.message
