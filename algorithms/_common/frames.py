"""Frames of polars that hold categories, as those of pandas; polars itself is never imported."""

import sys

import pandas as pd
from pandas.api.types import infer_dtype

CATEGORIES = ("Categorical", "Enum")  # names of polars' types of categories


def with_categories(X, known=None):
    """Return X; a frame of polars that holds categories as a frame of pandas, else as it is.

    Parameters
    ----------
    X : what a caller gave
    known : dict, optional
        The categories that training saw: where there are some, a column of plain text holds them
        too, as in a frame of pandas.
    """
    if not is_polars(X) or not (known or any(is_category(kind) for kind in X.dtypes)):
        return X
    return as_pandas(X)


def columns_of_lists(X, n_lists):
    """Return the places of the columns that a model's lists of categories are of, list of int.

    LightGBM takes the columns whose dtype is categorical, in their order; where these are not as
    many as the lists, those of text are taken too, as text can only be categories.

    Parameters
    ----------
    X : pandas.DataFrame
    n_lists : int

    Raises
    ------
    ValueError
        Where neither are as many as the lists.
    """
    kinds = [infer_dtype(X.iloc[:, j]) for j in range(X.shape[1])]
    places = [j for j, kind in enumerate(kinds) if kind == "categorical"]
    if len(places) != n_lists:
        places = [j for j, kind in enumerate(kinds) if kind in ("categorical", "string")]
    if len(places) != n_lists:
        raise ValueError(
            f"X has categories in the columns {X.columns[places].tolist()}; the model is of a file "
            f"whose lists of categories are {n_lists}, and do not name their columns: give each of "
            "these the dtype category, as in training, or all columns as an array, with codes"
        )
    return places


def is_polars(X):
    """Return whether X is a data frame of polars; a lazy one is none."""
    polars = sys.modules.get("polars")  # nobody has such a frame who has not imported it
    return polars is not None and isinstance(X, polars.DataFrame)


def is_category(kind):
    """Return whether a type of polars is one of categories."""
    return kind.base_type().__name__ in CATEGORIES


def as_pandas(X):
    """Return a frame of polars as one of pandas.

    An Enum has its own categories, in its order; a Categorical those that stand in it, sorted: all
    that polars numbers in a process may be of other columns too.
    """
    columns = {}
    for name, kind in zip(X.columns, X.dtypes, strict=True):
        if is_category(kind):
            own = kind.categories.to_list() if kind.base_type().__name__ == "Enum" else None
            columns[name] = pd.Categorical(X[name].to_list(), categories=own)
        else:
            columns[name] = X[name].to_numpy()
    return pd.DataFrame(columns)
