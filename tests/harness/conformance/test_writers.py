"""Plugins that write into what they are given, each on one kind of table: every one is named."""

import numpy as np
import pytest
from scipy.sparse import issparse
from sklearn.tree import DecisionTreeRegressor

from harness import Accepts, Algorithm, Task
from harness.conformance.inputs import native_kinds, no_mutation
from harness.conformance.subject import Subject

EVERYTHING = Accepts(missing=True, categorical=True, sparse=True)


class Clean:
    """A stump that takes every kind of table, and copies before it changes anything."""

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
    """It fills in place: from the second time on there is nothing left to fill."""

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
    """It drops small values from a sparse matrix: fewer are stored, none of them is changed."""

    def prepare(self, X, y, weight):
        if issparse(X):
            X.data[np.abs(X.data) < 0.1] = 0.0
            X.eliminate_zeros()
        return X, y, weight


class Weighing(Clean):
    def prepare(self, X, y, weight):
        weight *= len(weight) / weight.sum()
        return X, y, weight


class Centring(Clean):
    def fit(self, native):
        native[1][:] -= native[1].mean()
        super().fit(native)


class OneByOne(Clean):
    def predict_one(self, x):
        found = self.predict(x)
        if isinstance(x, np.ndarray):
            x[:] = 0.0
        return found


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
    Centring: "y was modified",
    OneByOne: "X of predict_one was modified",
    Staging: "X of staged was modified",
}


def subject(adapter, accepts=EVERYTHING):
    declared = Algorithm("writer", adapter, frozenset({Task.REGRESSION}), accepts=accepts)
    return Subject(declared, Task.REGRESSION)


def test_one_that_takes_every_kind_of_table_and_writes_to_none_passes():
    assert no_mutation.run(subject(Clean)).state == "ok"


@pytest.mark.parametrize("writer", WRITERS, ids=lambda c: c.__name__)
def test_a_writer_is_named_with_what_it_wrote_to(writer):
    found = no_mutation.run(subject(writer))
    assert (found.state, found.message) == ("failed", WRITERS[writer])


@pytest.mark.parametrize("writer", [Imputing, FillingFrames, Recoding, Scaling])
def test_a_table_that_never_reaches_it_is_not_tried(writer):
    assert no_mutation.run(subject(writer, Accepts())).state == "ok"


def test_the_tables_are_those_that_it_says_it_takes():
    assert native_kinds(Accepts()) == [{}]
    assert native_kinds(Accepts(missing=True)) == [{}, {"missing": True}]
    assert native_kinds(Accepts(categorical=True, sparse=True)) == [
        {},
        {"categorical": True},
        {"sparse": True},
    ]
    assert {"missing": True, "categorical": True} in native_kinds(EVERYTHING)
