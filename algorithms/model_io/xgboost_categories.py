"""The names of categories in XGBoost's JSON: the section ``cats`` of a model, since XGBoost 3.1.

By it XGBoost turns the categories of any frame into the codes that its trees ask for. A column of
text is held as Arrow holds it, one run of UTF-8 and where each name ends; whole numbers with their
type, which a frame's must equal. ``sorted_idx`` has the places of a column's categories in
ascending order, as XGBoost looks names up by halving.
"""

from itertools import pairwise

import numpy as np
import pandas as pd

from algorithms.model_io.errors import ModelFileError
from algorithms.model_io.limits import integers

TYPES = {  # XGBoost's number of a type of whole numbers
    9: np.int8,
    10: np.uint8,
    11: np.int16,
    12: np.uint16,
    13: np.int32,
    14: np.uint32,
    15: np.int64,
    16: np.uint64,
}
NUMBERS = {np.dtype(kind): number for number, kind in TYPES.items()}
COUNTS_BYTES = [3, 4]  # the first version that tells the bytes of a frame's names from letters


def write(categories, n_features):
    """Return the section of a model.

    Parameters
    ----------
    categories : dict, place of a column → pd.Index of its categories, in the order of their codes
        Of what is neither all text nor all whole numbers (booleans, fractions, several kinds) the
        text is written: XGBoost refuses frames of such categories, and serves frames of their text.
    n_features : int

    Raises
    ------
    ModelFileError
        Where two categories of a column are the same as text.
    """
    none = pd.Index([], dtype=object)
    columns = [column_of(categories.get(j, none)) for j in range(n_features)]
    sizes = [len(keys) for _, keys in columns]
    if not any(sizes):
        return {"enc": [], "feature_segments": [], "sorted_idx": []}
    return {
        "enc": [told for told, _ in columns],
        "feature_segments": np.cumsum([0, *sizes]).tolist(),
        "sorted_idx": [j for _, keys in columns for j in ascending(keys)],
    }


def column_of(categories):
    """Return what XGBoost holds of a column's categories, and what it sorts them by, list."""
    values = categories.tolist()
    if not values:
        return {"offsets": [], "values": []}, []  # as of a column of numbers
    kind = pd.Index(values).dtype if categories.dtype == object else categories.dtype
    kind = getattr(kind, "numpy_dtype", kind)  # of pandas' own types that know missing values
    if isinstance(kind, np.dtype) and kind.kind in "iu":
        return {"type": NUMBERS[kind.newbyteorder("=")], "values": values}, values
    names = [str(value) for value in values]
    if len(set(names)) < len(names):
        raise ModelFileError("XGBoost's form holds categories as text, and two are the same")
    names = [signed_bytes(name) for name in names]
    ends = np.cumsum([0, *map(len, names)]).tolist()
    return {"offsets": ends, "values": [byte for name in names for byte in name]}, names


def signed_bytes(name):
    """Return the UTF-8 of a text as XGBoost holds and compares it: numbers of signed bytes."""
    return np.frombuffer(name.encode("utf-8", "surrogatepass"), np.int8).tolist()


def ascending(keys):
    """Return the places of keys in ascending order."""
    return sorted(range(len(keys)), key=keys.__getitem__)


def read(model, n_features, version):
    """Return the categories that a model names: dict, place of a column → array.

    Empty where it has no such section (XGBoost up to 3.0, a model of arrays), and where names are
    not to be relied on: up to version 3.3 XGBoost takes letters for bytes in a frame of pandas,
    which cuts names at wrong places from the first letter on that is not ASCII. Such names mostly
    look sound ("été" becomes "ét"), so none of these versions is believed.

    Parameters
    ----------
    model : dict, of the JSON form, in which the section stands
    n_features : int
    version : list of int, of the XGBoost that wrote it

    Raises
    ------
    ModelFileError
        Where the section does not fit the model. What is malformed raises KeyError, TypeError,
        ValueError or OverflowError.
    """
    columns = model.get("cats", {}).get("enc", [])
    if len(columns) not in (0, n_features):
        raise ModelFileError(f"it names categories of {len(columns)} columns of {n_features}")
    found = {}
    for place, column in enumerate(columns):
        if not column["values"] and len(column.get("offsets", [])) < 2:
            continue  # a column of numbers
        if "offsets" not in column:
            kind = np.dtype(TYPES[column["type"]])
            span = np.iinfo(kind)
            values = np.array(column["values"], kind)
            if kind != np.uint64:
                integers(column["values"], int(span.min), int(span.max), "numbers of categories")
        else:
            if min(column["values"], default=0) < 0 and version < COUNTS_BYTES:
                return {}
            try:
                values = np.array(names_of(column), object)
            except UnicodeDecodeError:  # of such a version, written again by a later one
                return {}
        if len(set(values.tolist())) < len(values):
            raise ModelFileError(f"it names a category of column {place} twice")
        found[place] = values
    return found


def names_of(column):
    """Return the names of a column of text, list of str."""
    run = integers(column["values"], -128, 127, "text of categories").astype(np.int8).tobytes()
    ends = integers(column["offsets"], 0, len(run), "offsets of categories").tolist()
    if any(start > end for start, end in pairwise(ends)):
        raise ModelFileError("where names of categories end does not fit their text")
    return [run[start:end].decode("utf-8") for start, end in pairwise(ends)]
