"""Text files of training rows, as LightGBM's command line reads them.

The first column is the label; columns are separated by tabs or commas, or entries are written as
``index:value``. Files of the same name with ".weight", ".query", ".init" and ".position" hold the
other fields.
"""

from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_svmlight_file

from algorithms.compat.lightgbm.messages import LightGBMError

OTHERS = {
    "weight": ".weight",
    "group": ".query",
    "init_score": ".init",
    "position": ".position",
}


def read_text_table(path):
    """Return the rows of a file, and its fields: name → values.

    Raises
    ------
    LightGBMError
        If the file does not exist or is not a table of numbers.
    """
    path = Path(path)
    if not path.is_file():
        raise LightGBMError(f"Could not open data file {path}")
    with path.open(encoding="utf-8", errors="replace") as file:
        first = file.readline()
    try:
        if ":" in first:
            rows, label = load_svmlight_file(str(path), zero_based=True)
        else:
            separator = "\t" if "\t" in first else ","
            table = pd.read_csv(path, sep=separator, header=None).to_numpy(np.float64)
            rows, label = table[:, 1:], table[:, 0]
    except ValueError as error:
        raise LightGBMError(f"Unknown format of training data in {path}: {error}") from error
    fields = {"label": label}
    for name, suffix in OTHERS.items():
        beside = Path(f"{path}{suffix}")
        if beside.is_file():
            fields[name] = np.loadtxt(beside, dtype=str if name == "position" else float)
    if "group" in fields:
        fields["group"] = fields["group"].astype(np.int32)
    return rows, fields
