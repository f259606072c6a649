"""Tests that plugins modifying their input, each in one kind of table, are reported."""

import numpy as np
import pytest
from scipy.sparse import issparse
from sklearn.tree import DecisionTreeRegressor

from harness import Accepts, Algorithm, Task
from harness.conformance.inputs import native_kinds, no_mutation
from harness.conformance.subject import Subject

EVERYTHING = Accepts(missing=True, categorical=True, sparse=True)


class Clean:
    """A stump that accepts every kind of table, and copies before it changes anything."""

    def __init__(self, spec):
        self.spec = spec

    def numbers(self, X):
        return X if issparse(X) else np.array(X, dtype=np.float64)

    def prepare(self, X, y, weight):
        return X, y, weight

    def fit(self, native):
        X, y, weight = native
        model = DecisionTreeRegressor(max_depth=2, random_state=0)
        self.model = model.fit(np.nan_to_num(dense(self.numbers(X))), y, sample_weight=weight)

    def predict(self, X):
        return self.model.predict(np.nan_to_num(dense(self.numbers(X))))

    def predict_one(self, x):
        return self.predict(x)

    def staged(self, X):
        yield self.predict(X)


def dense(X):
    return X.toarray() if issparse(X) else X


class Imputing(Clean):
    """An adapter that fills missing values in place; a second call finds nothing to fill."""

    def prepare(self, X, y, weight):
        if isinstance(X, np.ndarray):
            X[np.isnan(X)] = 0.0
        return X, y, weight


class FillingFrames(Clean):
    def predict(self, X):
        if hasattr(X, "columns") and X["c0"].isna().any():
            X["c0"] = X["c0"].fillna(0.0)
        return super().predict(X)


class Recoding(Clean):
    def prepare(self, X, y, weight):
        if hasattr(X, "columns"):
            X["c4"] = X["c4"].cat.codes
        return X, y, weight


class Scaling(Clean):
    def predict(self, X):
        if issparse(X):
            X.data /= 2.0
        return super().predict(X)


class Pruning(Clean):
    """An adapter that drops small stored values from a sparse matrix."""

    def prepare(self, X, y, weight):
        if issparse(X):
            X.data[np.abs(X.data) < 0.1] = 0.0
            X.eliminate_zeros()
        return X, y, weight


class Weighing(Clean):
    def prepare(self, X, y, weight):
        weight *= len(weight) / weight.sum()
        return X, y, weight


class Centering(Clean):
    def fit(self, native):
        native[1][:] -= native[1].mean()
        super().fit(native)


class OneByOne(Clean):
    def predict_one(self, x):
        predictions = self.predict(x)
        if isinstance(x, np.ndarray):
            x[:] = 0.0
        return predictions


class Staging(Clean):
    def staged(self, X):
        yield self.predict(X)
        if isinstance(X, np.ndarray):
            X += 1.0


WRITERS = {
    Imputing: "X of training, with missing values, was modified",
    FillingFrames: "X of predict, with missing and categorical values, was modified",
    Recoding: "X of training, with categorical values, was modified",
    Scaling: "X of predict, with sparse values, was modified",
    Pruning: "X of training, with sparse values, was modified",
    Weighing: "weight was modified",
    Centering: "y was modified",
    OneByOne: "X of predict_one was modified",
    Staging: "X of staged was modified",
}


def subject(adapter, accepts=EVERYTHING):
    declared = Algorithm("writer", adapter, frozenset({Task.REGRESSION}), accepts=accepts)
    return Subject(declared, Task.REGRESSION)


def test_algorithm_accepting_every_table_and_modifying_none_passes():
    assert no_mutation.run(subject(Clean)).state == "ok"


@pytest.mark.parametrize("writer", WRITERS, ids=lambda c: c.__name__)
def test_modified_input_is_named(writer):
    result = no_mutation.run(subject(writer))
    assert (result.state, result.message) == ("failed", WRITERS[writer])


@pytest.mark.parametrize("writer", [Imputing, FillingFrames, Recoding, Scaling])
def test_unsupported_table_is_not_tried(writer):
    assert no_mutation.run(subject(writer, Accepts())).state == "ok"


def test_tables_are_those_the_algorithm_accepts():
    assert native_kinds(Accepts()) == [{}]
    assert native_kinds(Accepts(missing=True)) == [{}, {"missing": True}]
    assert native_kinds(Accepts(categorical=True, sparse=True)) == [
        {},
        {"categorical": True},
        {"sparse": True},
    ]
    assert {"missing": True, "categorical": True} in native_kinds(EVERYTHING)
