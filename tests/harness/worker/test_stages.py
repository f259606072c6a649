"""Tests of stages, members and variations of a loaded trial, for every form of table."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

from harness.analysis.diagnostics import InapplicableError
from harness.core.errors import HarnessError
from harness.core.model import Spec, Task
from harness.worker import stages
from harness.worker.variations import vary

N, D = 12, 4


def loaded_trial(X=None, categorical=(), weight=None, **adapter):
    X = np.arange(N * D, dtype=float).reshape(N, D) if X is None else X
    return SimpleNamespace(
        train=(X, np.arange(N, dtype=float), weight),
        X_test=X[:3] if not hasattr(X, "iloc") else X.iloc[:3],
        rows=SimpleNamespace(test=np.arange(3)),
        spec=Spec(Task.REGRESSION, categorical=categorical),
        columns=tuple("abcd"),
        algorithm=None,
        adapter=SimpleNamespace(**adapter),
    )


def test_many_stages_are_thinned_and_the_last_is_kept():
    def staged(X):
        for i in range(250):
            yield np.full(X.shape[0], float(i))

    result = stages.staged(loaded_trial(staged=staged, weight=np.ones(N)))
    assert len(result["stage"]) == stages.MAX_STAGES
    assert result["stage"][[0, -1]].tolist() == [1, 250]
    np.testing.assert_array_equal(result["output"][:, 0], result["stage"] - 1.0)
    assert result["output"].shape == (100, 3)
    assert result["train_output"].shape == (100, N)
    assert result["train_weight"].tolist() == [1.0] * N
    assert result["clock_stage"].size == result["clock_seconds"].size == 0


def timed_trial(monkeypatch, seconds_per_member):
    """Return a trial of 100 members whose fit takes some seconds per member, and its fits."""
    now, fits = [0.0], []

    class Adapter:
        def __init__(self, spec):
            self.members = spec.params["trees"]

        def prepare(self, *_):
            return None

        def fit(self, _):
            fits.append(self.members)
            now[0] += seconds_per_member * self.members

    monkeypatch.setattr(stages, "perf_counter", lambda: now[0])
    trial = loaded_trial(staged=lambda X: (np.full(X.shape[0], float(i)) for i in range(100)))
    capacity = {"trees": SimpleNamespace(name="trees")}
    trial.algorithm = SimpleNamespace(capacity=capacity, adapter=Adapter)
    trial.spec = Spec(Task.REGRESSION, params={"trees": 100})
    return trial, fits


def test_smaller_models_of_a_fast_algorithm_are_timed(monkeypatch):
    trial, fits = timed_trial(monkeypatch, 0.01)
    found = stages.staged(trial)
    assert fits == [1, 1, 12, 12, 25, 25, 50, 50, 100, 100]
    np.testing.assert_array_equal(found["clock_stage"], [1, 12, 25, 50, 100])
    np.testing.assert_allclose(found["clock_seconds"], 0.01 * found["clock_stage"])


def test_times_of_a_slow_algorithm_are_extrapolated(monkeypatch):
    trial, fits = timed_trial(monkeypatch, 0.5)
    found = stages.staged(trial)
    assert fits == [1, 1, 12, 12]
    np.testing.assert_array_equal(found["clock_stage"], [1, 12, 100])
    np.testing.assert_allclose(found["clock_seconds"], 0.5 * found["clock_stage"])


def test_missing_estimator_methods_are_reported():
    def staged(X):
        raise AttributeError("'Forest' object has no attribute 'staged_predict'")
        yield

    with pytest.raises(HarnessError, match="it has no staged predictions"):
        stages.staged(loaded_trial(staged=staged))
    with pytest.raises(HarnessError, match="no staged predictions"):
        stages.staged(loaded_trial())
    with pytest.raises(HarnessError, match="has no stages"):
        stages.staged(loaded_trial(staged=lambda X: iter(())))


def test_other_attribute_errors_are_not_hidden():
    def staged(X):
        raise AttributeError("no attribute 'booster'")
        yield

    with pytest.raises(AttributeError, match="booster"):
        stages.staged(loaded_trial(staged=staged))


def test_members_need_trees():
    with pytest.raises(HarnessError, match="no export_trees"):
        stages.members(loaded_trial())

    def export_trees():
        raise InapplicableError("it is a single tree")

    with pytest.raises(InapplicableError):
        stages.members(loaded_trial(export_trees=export_trees))


@pytest.mark.parametrize(("n", "most"), [(1, 5), (5, 5), (7, 5), (1000, 5), (6, 5)])
def test_rows_are_sampled_evenly(n, most):
    result = stages.evenly(n, most)
    assert len(result) == len(set(result.tolist())) == min(n, most)
    assert result[0] == 0
    assert result[-1] == n - 1
    assert np.ptp(np.diff(result)) <= 1 if len(result) > 1 else True


FORMS = {
    "array": lambda X: X,
    "sparse": csr_matrix,
    "frame": pd.DataFrame,
}


def dense(X):
    return X.toarray() if hasattr(X, "toarray") else np.asarray(X)


@pytest.mark.parametrize("form", FORMS)
def test_rows_are_reordered_together(form):
    before = np.arange(N * D, dtype=float).reshape(N, D)
    one = loaded_trial(FORMS[form](before), weight=np.arange(N) * 2.0)
    vary(one, order=1)
    X, y, weight = one.train
    assert sorted(y) == list(range(N))
    assert y.tolist() != list(range(N))
    np.testing.assert_array_equal(dense(X), before[y.astype(int)])
    np.testing.assert_array_equal(weight, 2 * y)
    assert dense(one.X_test).shape == (3, D)


@pytest.mark.parametrize("form", FORMS)
def test_share_of_rows_and_columns_is_kept(form):
    before = np.arange(N * D, dtype=float).reshape(N, D)
    one = loaded_trial(FORMS[form](before), categorical=(0, 1, 3))
    vary(one, rows=0.5, columns=0.5)
    X, y, weight = one.train
    assert (X.shape, len(y), weight) == ((6, 2), 6, None)
    np.testing.assert_array_equal(dense(X), before[y.astype(int)][:, [0, 3]])
    np.testing.assert_array_equal(dense(one.X_test), before[:3, [0, 3]])
    assert one.spec.categorical == (0, 1)
    assert one.columns == ("a", "d")


def test_tiny_share_keeps_at_least_one():
    one = loaded_trial()
    vary(one, rows=0.001, columns=0.001)
    assert one.train[0].shape == (2, 1)
    vary(one)
    assert one.train[0].shape == (2, 1)
