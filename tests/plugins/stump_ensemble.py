"""Bagged stumps ("stumps"), and a variant whose output depends on the threads ("shaky").

Rows are drawn by position, so another order of rows gives another ensemble.
"""

import hashlib

import numpy as np
import pandas as pd

from harness import Algorithm, Argument, Dataset, Spec, Table, Task, Tree, TreeEnsemble, hookimpl

ROWS, COLUMNS = 80, 3


class StumpEnsemble:
    """Stumps on bootstrap samples, each split at the median of one column."""

    shaky = False

    def __init__(self, spec: Spec):
        self.spec = spec

    def prepare(self, X, y, weight):
        return X, y

    def fit(self, native):
        X, y = native
        self.trees = [self._stump(X, y, t) for t in range(self.spec.params["trees"])]
        self.columns = X.shape[1]

    def _stump(self, X, y, t):
        rows = np.random.default_rng([self.spec.seed, t]).integers(0, len(y), len(y))
        x, y = X[rows, t % X.shape[1]], y[rows]
        cut = np.round(np.median(x) * self.spec.params["bins"]) / self.spec.params["bins"]
        left = x <= cut
        shares = [np.bincount(y[part], minlength=2) + 1.0 for part in (left, ~left)]
        leaves = [share / share.sum() for share in shares]
        return Tree(
            feature=np.array([t % X.shape[1], -1, -1], np.int32),
            threshold=np.array([cut, 0.0, 0.0]),
            left=np.array([1, -1, -1], np.int32),
            right=np.array([2, -1, -1], np.int32),
            value=np.array([np.full(2, 0.5), *leaves]),
            gain=np.array([abs(leaves[0][1] - leaves[1][1]), 0.0, 0.0]),
        )

    def predict(self, X):
        return self._of(self.trees, X)

    def predict_one(self, x):
        return self.predict(x)

    def staged(self, X):
        for count in range(1, len(self.trees) + 1):
            yield self._of(self.trees[:count], X)

    def export_trees(self):
        return self._join(self.trees)

    def _join(self, trees):
        return TreeEnsemble.join(
            trees, n_features=self.columns, combination="mean", classes=(0, 1), library="stumps"
        )

    def _of(self, trees, X):
        output = self._join(trees).predict(X)
        if self.shaky and self.spec.threads > 1:
            output[0] = np.nextafter(output[0], 1.0)
        return output


class Shaky(StumpEnsemble):
    """The same ensemble, except that one prediction differs with more than one thread."""

    shaky = True


def load(**_):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (ROWS, COLUMNS))
    y = (X[:, 0] + rng.normal(0, 0.5, ROWS) > 0).astype(np.int64)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    return Table(frame, y, ("no", "yes"), test_rows=np.arange(ROWS) % 4 == 0)


@hookimpl
def register_algorithms(register):
    shared = {
        "params": {"trees": 12, "bins": 64},
        "capacity": {"trees": Argument("trees"), "bins": Argument("bins")},
    }
    register(
        Algorithm("stumps", StumpEnsemble, frozenset({Task.BINARY}), origin="reference", **shared)
    )
    register(Algorithm("shaky", Shaky, frozenset({Task.BINARY}), origin="reference", **shared))


@hookimpl
def register_datasets(register):
    digest = hashlib.sha256(b"square").hexdigest()
    about = {"n_classes": 2, "given_test": True}
    register(Dataset("square", Task.BINARY, load, digest, ROWS, COLUMNS, **about))
