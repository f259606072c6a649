"""Data of the suite, made once and stored as array files, so that a case maps them into memory."""

from pathlib import Path

import numpy as np

TEST_SHARE = 4  # one row of four tests


def tables():
    """Yield (name, classes, X, y) of what scikit-learn carries or generates by a seed."""
    from sklearn import datasets

    for name, load in (
        ("breast_cancer", datasets.load_breast_cancer),
        ("digits", datasets.load_digits),
        ("diabetes", datasets.load_diabetes),
    ):
        X, y = load(return_X_y=True)
        yield name, 0 if name == "diabetes" else len(np.unique(y)), X, y
    X, y = datasets.make_friedman1(12_000, n_features=20, noise=1.0, random_state=0)
    yield "friedman1", 0, X, y


def write(folder):
    """Write every table into a folder; return what a case must know to find it."""
    found = {}
    for name, classes, X, target in tables():
        y = target.astype(np.int64 if classes else np.float64)
        order = np.random.default_rng(0).permutation(len(y))
        parts = {"test": order[: len(y) // TEST_SHARE], "train": order[len(y) // TEST_SHARE :]}
        for part, rows in parts.items():
            np.save(Path(folder) / f"{name}-{part}-X.npy", np.ascontiguousarray(X[rows], float))
            np.save(Path(folder) / f"{name}-{part}-y.npy", y[rows])
        found[name] = {"classes": classes}
    return found


def read(name, part):
    """Map (X, y) of a part; asv runs each case in the folder that `write` filled."""
    return tuple(np.load(f"{name}-{part}-{axis}.npy", mmap_mode="r") for axis in "Xy")
