"""Section ``cats`` of XGBoost's JSON model, since XGBoost 3.1: the names of categories.

XGBoost uses it to encode the categories of a frame as the codes of its trees. Text columns are
stored like in Arrow: concatenated UTF-8 and end offsets. Integers are stored with their dtype,
which must equal the frame's. ``sorted_idx`` has the argsort of each column's categories, for
XGBoost's binary search.
"""

from itertools import pairwise

import numpy as np

from algorithms.estimator.deferred_imports import pd
from algorithms.model_io.errors import ModelFileError
from algorithms.model_io.limits import integers

TYPES = {  # XGBoost's number of each integer dtype
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
COUNTS_BYTES = [3, 4]  # first version that counts bytes of names, not characters


def write(categories, n_features):
    """Return the section of a model.

    Parameters
    ----------
    categories : dict, column index → pd.Index of its categories, in the order of their codes
        Categories that are neither all text nor all integers (booleans, floats, mixed) are written
        as text: XGBoost rejects frames with such categories, but accepts frames with their text.
    n_features : int

    Raises
    ------
    ModelFileError
        If two categories of a column are equal as text.
    """
    none = pd.Index([], dtype=object)
    columns = [column_of(categories.get(j, none)) for j in range(n_features)]
    sizes = [len(keys) for _, keys in columns]
    if not any(sizes):
        return {"enc": [], "feature_segments": [], "sorted_idx": []}
    return {
        "enc": [entry for entry, _ in columns],
        "feature_segments": np.cumsum([0, *sizes]).tolist(),
        "sorted_idx": [j for _, keys in columns for j in ascending(keys)],
    }


def column_of(categories):
    """Return XGBoost's entry of a column's categories, and the list of their sort keys."""
    values = categories.tolist()
    if not values:
        return {"offsets": [], "values": []}, []  # like a numeric column
    kind = pd.Index(values).dtype if categories.dtype == object else categories.dtype
    kind = getattr(kind, "numpy_dtype", kind)  # nullable pandas dtypes
    if isinstance(kind, np.dtype) and kind.kind in "iu":
        return {"type": NUMBERS[kind.newbyteorder("=")], "values": values}, values
    names = [str(value) for value in values]
    if len(set(names)) < len(names):
        raise ModelFileError("XGBoost's format stores categories as text, and two are the same")
    names = [signed_bytes(name) for name in names]
    ends = np.cumsum([0, *map(len, names)]).tolist()
    return {"offsets": ends, "values": [byte for name in names for byte in name]}, names


def signed_bytes(name):
    """Return the UTF-8 bytes of a text as signed integers, which XGBoost stores and compares."""
    return np.frombuffer(name.encode("utf-8", "surrogatepass"), np.int8).tolist()


def ascending(keys):
    """Return the argsort of keys."""
    return sorted(range(len(keys)), key=keys.__getitem__)


def read(model, n_features, version):
    """Return the categories of a model: dict, column index → array.

    The result is empty if there is no such section (XGBoost up to 3.0, or trained on arrays), or if
    the names are not reliable: up to version 3.3 XGBoost confuses characters with bytes in pandas
    frames, so names are cut at wrong positions after the first non-ASCII character. Such names
    mostly look valid ("été" becomes "ét"), so non-ASCII names of these versions are ignored.

    Parameters
    ----------
    model : dict, part of the JSON model that has the section
    n_features : int
    version : list of int, XGBoost version of the file

    Raises
    ------
    ModelFileError
        If the section does not match the model. Malformed data raises KeyError, TypeError,
        ValueError or OverflowError.
    """
    columns = model.get("cats", {}).get("enc", [])
    if len(columns) not in (0, n_features):
        raise ModelFileError(f"it names categories of {len(columns)} columns of {n_features}")
    by_column = {}
    for place, column in enumerate(columns):
        if not column["values"] and len(column.get("offsets", [])) < 2:
            continue  # a numeric column
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
            except UnicodeDecodeError:  # written by such a version, saved again by a later one
                return {}
        if len(set(values.tolist())) < len(values):
            raise ModelFileError(f"it has a category of column {place} twice")
        by_column[place] = values
    return by_column


def names_of(column):
    """Return the category names of a text column, list of str."""
    run = integers(column["values"], -128, 127, "text of categories").astype(np.int8).tobytes()
    ends = integers(column["offsets"], 0, len(run), "offsets of categories").tolist()
    if any(start > end for start, end in pairwise(ends)):
        raise ModelFileError("the offsets of category names do not match their text")
    return [run[start:end].decode("utf-8") for start, end in pairwise(ends)]
