"""Categorical columns of X as codes of levels.

The identity of a category is its text, as in CatBoost: 1 and "1" are one category. A missing value
is the category "nan". Real numbers raise an error. Levels are numbered in order of
appearance, except that the most frequent one has the code 0 in columns that may be one-hot.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat
from numbers import Integral, Real

import numpy as np
from scipy import sparse

from algorithms.estimator.deferred_imports import is_frame, pd
from algorithms.estimator.frames import as_pandas, is_polars
from algorithms.symmetric.city_hash import city_hash

FEW_VALUES = 1 << 10  # of a frame that is read at once
UNSEEN = -1  # code of a level that is absent from training
MISSING = "nan"
FEW_ROWS = 32  # number of rows up to which finding the distinct ones takes longer than it saves
MAX_ORDERED = 255  # maximum number of levels of a one-hot column
HASH_BITS = 0xFFFFFFFF
TEXT = ("string", "mixed", "mixed-integer", "bytes")  # kinds of object columns with categories


@dataclass(frozen=True)
class CategoricalColumns:
    """Positions of the categorical columns of a model."""

    columns: tuple  # int, ascending

    def read(self, X):
        """Return numeric X and the codes of the categorical columns.

        Returns
        -------
        numeric : X with zeros in the categorical columns
        codes : int32 (n_columns, n_rows), as `codes_of` returns them
        """
        X = as_table(X)
        n_columns = X.shape[1] if X.ndim == 2 else 0
        if n_columns <= self.columns[-1]:
            raise ValueError(
                f"X has {n_columns} features, but column {self.columns[-1]} is categorical"
            )
        columns = columns_of(X)
        codes = np.empty((len(self.columns), len(X)), np.int32)
        for number, j in enumerate(self.columns):
            codes[number] = self.codes_of_rows(number, columns[j], name_of(X, j))
        return without_categories(X, columns, self.columns), codes

    def codes_of_rows(self, number, values, name):
        """Return the code of each row of a column, int32 (n_rows,).

        Parameters
        ----------
        number : number of the column among the categorical ones
        values : array of numpy or pandas (n_rows,)
        name : name of the column, for error messages
        """
        own, texts = distinct_texts(values, name)
        return self.codes_of(number, texts)[own]


@dataclass(frozen=True)
class Categories(CategoricalColumns):
    """Categorical columns, and the levels of each in the order of their codes."""

    levels: tuple  # pandas.Index of str, one a column

    def codes_of_rows(self, number, values, name):
        """Return the code of each row, as the base class does; levels of training are fast."""
        if values.dtype != object:
            return super().codes_of_rows(number, values, name)
        try:
            codes = self.codes_of(number, values)
        except TypeError:  # a value has no hash
            return super().codes_of_rows(number, values, name)
        rest = np.flatnonzero(codes == UNSEEN)
        if len(rest):
            codes[rest] = super().codes_of_rows(number, values[rest], name)
        return codes

    def codes_of(self, number, texts):
        """Return the code of each text of a column, int32, UNSEEN if it is absent from training."""
        code = self._numbers[number].get
        return np.fromiter(map(code, texts, repeat(UNSEEN)), np.int32, len(texts))

    @cached_property
    def _numbers(self):
        """The code of each level, one dict a column."""
        return [{text: code for code, text in enumerate(own)} for own in self.levels]

    def __getstate__(self):
        return {"columns": self.columns, "levels": self.levels}

    def __setstate__(self, state):
        self.__dict__.update(state)


@dataclass(frozen=True)
class HashedCategories(CategoricalColumns):
    """Categorical columns with hashes in place of levels, as in CatBoost's files."""

    def codes_of(self, _number, texts):
        """Return the hash of each text, int32."""
        return level_hashes(texts)


def level_hashes(texts):
    """Return CatBoost's hashes of levels, int32: the low half of CityHash64."""
    return np.array([city_hash(text) & HASH_BITS for text in texts], np.uint32).view(np.int32)


def fit_categories(X, cat_features):
    """Return the `Categories` of the training rows, numeric X and the codes.

    Without categorical columns the result is None, X and None.

    Parameters
    ----------
    X : table (n_rows, n_features)
    cat_features : sequence of positions and names, or None
        None selects the columns of a frame that hold categories or text.

    Returns
    -------
    categories : Categories
    numeric : X with zeros in the categorical columns
    codes : int32 (n_categorical, n_rows)

    Raises
    ------
    ValueError
        If a column does not exist, or holds real numbers.
    """
    given = X
    if cat_features is not None or is_polars(X):
        X = as_table(X)
    columns = find_columns(X, cat_features)
    if not columns:
        return None, given, None
    values = columns_of(X)
    pairs = [factorize(values[j], name_of(X, j)) for j in columns]
    found, codes = order_levels(columns, pairs)
    return found, without_categories(X, values, columns), codes


def order_levels(columns, pairs):
    """Return the `Categories` of some columns, and codes by which the most frequent level is 0.

    Parameters
    ----------
    columns : tuple of int
    pairs : list of (codes, texts of the levels), one a column, levels by order of appearance
    """
    pairs = [most_frequent_first(*one) for one in pairs]
    codes = np.array([own for own, _ in pairs], np.int32)
    return Categories(columns, tuple(pd.Index(keys, dtype=object) for _, keys in pairs)), codes


def number_levels_again(categories, codes):
    """Return the `Categories` and codes of rows that were reordered, as `order_levels` does."""
    pairs = []
    for own, levels in zip(codes, categories.levels, strict=True):
        numbers, distinct = pd.factorize(own)
        pairs.append((numbers, levels.to_numpy()[distinct]))
    return order_levels(categories.columns, pairs)


def as_table(X):
    """Return X as a pandas frame or a 2-dimensional array that can hold categories."""
    if is_polars(X):
        return as_pandas(X)
    if sparse.issparse(X):
        raise ValueError("a sparse matrix cannot hold categorical columns: give a frame")
    if is_frame(X) or isinstance(X, np.ndarray):
        return X
    return np.array(X, dtype=object)


def find_columns(X, cat_features):
    """Return the positions of the categorical columns, ascending.

    Raises
    ------
    ValueError
        If an entry of ``cat_features`` is not a column, or if it lacks a column with text.
    """
    is_array = not is_frame(X)
    textual = [] if is_array else [j for j in range(X.shape[1]) if holds_text(X.iloc[:, j])]
    if cat_features is None:
        return tuple(textual)
    if isinstance(cat_features, (str, Integral)):
        cat_features = [cat_features]
    columns = set()
    for one in cat_features:
        columns.add(find_column(X, one))
    rest = [name_of(X, j) for j in textual if j not in columns]
    if rest:
        raise ValueError(f"columns {rest} hold categories or text, but cat_features lacks them")
    if columns and is_array and X.dtype.kind == "f":
        raise ValueError(
            "X is an array of real numbers, but cat_features names columns of it: give a frame, "
            "or an array of dtype object or int"
        )
    return tuple(sorted(columns))


def find_column(X, one):
    """Return the position of a column given by position or name."""
    n_columns = X.shape[1] if X.ndim == 2 else 0
    if isinstance(one, Integral) and not isinstance(one, bool):
        if 0 <= one < n_columns:
            return int(one)
        raise ValueError(f"cat_features has {one}, but X has {n_columns} columns")
    names = list(X.columns) if is_frame(X) else []
    if one not in names:
        raise ValueError(f"cat_features has {one!r}, which is not a column of X")
    return names.index(one)


def holds_text(column):
    """Return True if a frame's column holds categories or text."""
    kind = column.dtype
    if isinstance(kind, (pd.CategoricalDtype, pd.StringDtype)):
        return True
    return kind.kind == "O" and pd.api.types.infer_dtype(column, skipna=True) in TEXT


def columns_of(X):
    """Return the values of each column of a frame or array: list of arrays (n_rows,)."""
    if not is_frame(X):
        return list(X.T)
    if 0 < X.size <= FEW_VALUES:
        kinds = X.dtypes.to_numpy()
        if all(isinstance(kind, np.dtype) for kind in kinds):
            # one read of all values saves 8 µs a column
            columns = X.to_numpy(dtype=object).T
            return [own.astype(kind, copy=False) for own, kind in zip(columns, kinds, strict=True)]
    return [
        column.to_numpy() if isinstance(column.dtype, np.dtype) else column.array
        for _, column in X.items()
    ]


def name_of(X, j):
    """Return the name of a column, or its position."""
    return X.columns[j] if is_frame(X) else j


def without_categories(X, values, columns):
    """Return a copy of X with zeros in the categorical columns.

    A frame whose other columns are all numeric becomes float64.

    Parameters
    ----------
    X : frame or array
    values : list of arrays, as `columns_of` returns them
    columns : positions of the categorical columns
    """
    if not is_frame(X):
        X = X.astype(object) if X.dtype.kind in "USO" else X.copy()
        X[:, list(columns)] = 0
        return X
    rest = sorted(set(range(len(values))).difference(columns))
    if all(isinstance(values[j], np.ndarray) and values[j].dtype.kind in "iuf" for j in rest):
        numbers = np.zeros(X.shape)
        for j in rest:
            numbers[:, j] = values[j]
        return pd.DataFrame(numbers, columns=X.columns, copy=False)
    X = X.copy(deep=False)
    for j in columns:
        X.isetitem(j, np.zeros(len(X)))
    return X


def factorize(values, name):
    """Return the code of each row, int64, and the texts of the levels by order of appearance.

    Raises
    ------
    ValueError
        If the column holds real numbers.
    """
    codes, texts = distinct_texts(values, name)
    numbers = {}
    merged = [numbers.setdefault(text, len(numbers)) for text in texts]
    return np.array(merged, np.int64)[codes], np.array(list(numbers), dtype=object)


def distinct_texts(values, name):
    """Return indices, int (n_rows,), and the list of texts that they select for the rows.

    Two texts can be equal.

    Parameters
    ----------
    values : array of numpy or pandas (n_rows,)
    name : name of the column, for error messages

    Raises
    ------
    ValueError
        If the column holds real numbers.
    """
    kind = values.dtype
    is_numpy = isinstance(kind, np.dtype)
    if isinstance(kind, pd.CategoricalDtype):
        values, own = values.codes, values.categories
        codes, distinct = distinct_values(values, name)
        return codes, [MISSING if code < 0 else key_of(own[code], name) for code in distinct]
    if is_numpy and kind.kind in "iub":
        codes, distinct = distinct_values(values, name)
        return codes, [str(int(value)) for value in distinct]
    if kind.kind == "f" and len(values):
        key_of(values[0], name, may_be_missing=False)
    codes, distinct = distinct_values(np.asarray(values, dtype=object), name)
    return codes, [key_of(value, name) for value in distinct]


def distinct_values(values, name):
    """Return indices and the values that they select; raise ValueError if one has no hash."""
    if len(values) <= FEW_ROWS:
        return np.arange(len(values)), values.tolist()
    try:
        return pd.factorize(values, use_na_sentinel=False)
    except TypeError:
        for value in values:
            if not isinstance(value, Hashable):
                raise unusable(value, name) from None
        raise


def most_frequent_first(codes, keys):
    """Return codes and texts in which the most frequent level has the code 0.

    It is exchanged with the level that had the code 0. Of equally frequent levels the one with the
    lowest hash is used, as in CatBoost.
    """
    if not 1 < len(keys) <= MAX_ORDERED:
        return codes, keys
    counts = np.bincount(codes)
    tied = np.flatnonzero(counts == counts.max())
    hashes = [city_hash(keys[level]) & HASH_BITS for level in tied]
    most = int(tied[np.argmin(hashes)])
    places = np.arange(len(keys))
    places[[0, most]] = most, 0
    return places[codes], keys[places]


def key_of(value, name, *, may_be_missing=True):
    """Return the text that identifies a category; raise ValueError for real numbers."""
    if isinstance(value, (str, bytes)):
        return text_of(value, name)
    if may_be_missing and pd.isna(value):
        return MISSING
    if isinstance(value, (Integral, np.bool_)):
        return str(int(value))
    raise unusable(value, name)


def text_of(value, name):
    """Return text, or the text of bytes; raise ValueError if it has no UTF-8 form."""
    try:
        return value.decode() if isinstance(value, bytes) else value.encode().decode()
    except UnicodeError:
        raise ValueError(
            f"column {name!r} is categorical, but {value!r} has no form in UTF-8"
        ) from None


def unusable(value, name):
    """Return the ValueError about a value that is not a category."""
    kind = "real number" if isinstance(value, Real) else "value"
    return ValueError(
        f"column {name!r} is categorical, but has the {kind} {value}: categories are integers or "
        "text; convert real numbers and missing values to text"
    )
