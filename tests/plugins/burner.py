"""An algorithm with a fixed amount of work that can burn an additional share of its time.

The true ratio of ``burn = 0.1`` is known: each call takes 1.1 times as long. The
share refers to the call's processor time, so that it does not depend on the load of the machine.
"""

import hashlib
import time

import numpy as np
import pandas as pd

from harness import Algorithm, Dataset, Spec, Table, Task, hookimpl

ROWS = 40  # a fifth of them are test rows
NUMBERS = 20_000  # sorted at a time
SORTS = 100  # some 12 ms of work


class Burner:
    """Predict the mean."""

    def __init__(self, spec: Spec):
        self.burn = spec.params["burn"]
        self.numbers = np.random.default_rng(0).normal(size=NUMBERS)

    def prepare(self, X, y, weight):
        return y

    def fit(self, native):
        began = time.thread_time()
        for _ in range(SORTS):
            np.sort(self.numbers)
        done = time.thread_time()
        until = done + self.burn * (done - began)
        while time.thread_time() < until:
            pass
        self.mean = float(native.mean())

    def predict(self, X):
        return np.full(len(X), self.mean)

    def predict_one(self, x):
        return self.predict(x)


def load(**_):
    numbers = np.arange(ROWS, dtype=float)
    return Table(pd.DataFrame({"x": numbers}), numbers, test_rows=np.arange(ROWS) % 5 == 0)


@hookimpl
def register_algorithms(register):
    params = {"burn": 0.0}
    register(Algorithm("burner", Burner, frozenset({Task.REGRESSION}), params=params))


@hookimpl
def register_datasets(register):
    digest = hashlib.sha256(b"ramp").hexdigest()
    register(Dataset("ramp", Task.REGRESSION, load, digest, ROWS, 1, given_test=True))
