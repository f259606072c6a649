"""Data and comparisons for the tests of batches of rounds, of both boosters."""

import numpy as np
import pandas as pd

from algorithms.gbdt.round_batches import RoundBatches

FIELDS = ["feature", "threshold", "left", "right", "default_left", "value", "gain", "cover"]
FIELDS += ["set_indptr", "set_codes", "categories", "offsets", "output", "base"]


def make_frame(n_rows=120):
    """Return a frame with missing values and a categorical column, and a numeric target."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(n_rows, 3)), columns=list("abc"))
    X.loc[::7, "a"] = np.nan
    X["d"] = pd.Categorical(rng.choice(list("klmnop"), n_rows))
    X["e"] = (rng.random(n_rows) < 0.1).astype(float)
    return X, X["b"] + X["d"].cat.codes + 0.3 * rng.normal(size=n_rows)


def make_classes(n_rows):
    """Return a table and codes of five classes of unequal frequency."""
    X, y = make_frame(n_rows)
    return X, np.digitize(y, np.linspace(0.5, 4.0, 4))


def assert_equal_models(models):
    """Check that two models have the same number of rounds and bitwise the same trees."""
    for name in FIELDS:
        batched, single = (getattr(model.ensemble_, name) for model in models)
        assert np.array_equal(batched, single, equal_nan=True), name
    assert models[0].n_iter_ == models[1].n_iter_


def record_counts(monkeypatch):
    """Return a list that gets the number of rounds asked for in each batch."""
    counts, add = [], RoundBatches.add

    def counted(self, count):
        counts.append(count)
        return add(self, count)

    monkeypatch.setattr(RoundBatches, "add", counted)
    return counts
