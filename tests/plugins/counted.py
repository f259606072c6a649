"""A dataset that logs each read with the process id, one line each, in a file beside this one.

Tests copy this file into a folder of their own.
"""

import hashlib
import os
from pathlib import Path

import numpy as np
import pandas as pd

from harness import Dataset, Table, Task, hookimpl

ROWS = 40  # a fifth of them are test rows
DIGEST = hashlib.sha256(b"counted").hexdigest()


def load(**_):
    file = os.open(Path(__file__).with_suffix(".reads"), os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(file, f"{os.getpid()}\n".encode())
    os.close(file)
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(ROWS, 2)), columns=["a", "b"])
    return Table(X, np.arange(ROWS) % 2, ("no", "yes"), test_rows=np.arange(ROWS) % 5 == 0)


@hookimpl
def register_datasets(register):
    about = {"n_classes": 2, "given_test": True, "summary": "Notes who reads it."}
    register(Dataset("counted", Task.BINARY, load, DIGEST, ROWS, 2, **about))
