"""An algorithm that logs each execution in a ledger, and datasets of this file only.

``HARNESS_LEDGER`` names the ledger: a line for each call of ``fit``, appended in one write, so
that a test can count the executions, whichever process was killed. If
``HARNESS_CAMPAIGN`` is set, an empty report section prints when the report is built.
"""

import ctypes
import hashlib
import os
import sys
import time
from functools import partial

import numpy as np
import pandas as pd

from harness import Algorithm, Dataset, Section, Spec, Table, Task, hookimpl

ROWS = {"few": 50, "many": 100}  # a fifth of them are test rows


class Ledger:
    """Predict the mean; ``deed`` is the action of ``fit``, ``number`` makes trials different."""

    def __init__(self, spec: Spec):
        self.params = spec.params

    def prepare(self, X, y, weight):
        return y

    def fit(self, native):
        line = f"{self.params['deed']} {self.params['number']} {len(native)}\n"
        ledger = os.open(os.environ["HARNESS_LEDGER"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(ledger, line.encode())
        os.close(ledger)
        if self.params["deed"] == "crash":
            ctypes.string_at(0)
        time.sleep(600 if self.params["deed"] == "hang" else 0.02)
        self.mean = float(native.mean())

    def predict(self, X):
        return np.full(len(X), self.mean)

    def predict_one(self, x):
        return self.predict(x)


def load(rows, **_):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(rows, 3)), columns=list("abc"))
    return Table(X, X["a"].to_numpy() + rng.normal(size=rows), test_rows=np.arange(rows) % 5 == 0)


@hookimpl
def register_algorithms(register):
    # "reference": nothing is compiled, so nothing but trials is written into the ledger
    params = {"deed": "work", "number": 0}
    tasks = frozenset({Task.REGRESSION})
    register(Algorithm("ledger", Ledger, tasks, origin="reference", params=params))


@hookimpl
def register_datasets(register):
    for name, rows in ROWS.items():
        digest = hashlib.sha256(name.encode()).hexdigest()
        bring = partial(load, rows)
        register(Dataset(name, Task.REGRESSION, bring, digest, rows, 3, given_test=True))


def tell(page):
    if os.environ.get("HARNESS_CAMPAIGN"):
        print("report: 1", file=sys.stderr, flush=True)  # noqa: T201 - as stages are told


@hookimpl
def register_report_sections(register):
    register(Section("ledger", "Ledger", 0, tell))
