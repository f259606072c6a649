"""Parsing of monotone and interaction constraints of the boosters."""

import json
from collections.abc import Iterable
from numbers import Integral
from reprlib import repr as short

import numpy as np

WORD = 64  # bits
MONOTONE, INTERACTION = "monotone_constraints", "interaction_constraints"


def read_signs(wanted, n_features, names=(), *, every=False):
    """Return monotone constraints, int64 (n_features,): −1, 0, 1.

    Parameters
    ----------
    wanted : one number per column, as a sequence or as XGBoost's "(1,-1)"; or a dict, column
        index or name → sign; or None
    n_features : int
    names : list of the columns' names, or empty
    every : bool
        Whether all columns must have one, as in LightGBM; in XGBoost the last ones may be omitted.

    Raises
    ------
    ValueError, TypeError
        If they cannot be parsed, or refer to columns that X does not have.
    """
    signs = np.zeros(n_features, np.int64)
    if wanted is None:
        return signs
    if isinstance(wanted, str):
        wanted = read_text(wanted, MONOTONE, "(1,0,-1)")
    if isinstance(wanted, dict):
        columns = [find_column(column, n_features, names, MONOTONE) for column in wanted]
        given = list(wanted.values())
    else:
        columns, given = slice(len(wanted)), wanted
        if len(wanted) > n_features or (every and len(wanted) < n_features):
            raise ValueError(
                f"{MONOTONE}={short(wanted)} has {len(wanted)} numbers; X has {n_features} columns"
            )
    if any(not np.isscalar(sign) or sign not in (-1, 0, 1) for sign in given):
        raise ValueError(
            f"{MONOTONE}={short(wanted)} must hold -1, 0 or 1 for each column, and nothing else"
        )
    signs[columns] = given
    return signs


def read_interactions(wanted, n_features, names=(), *, others_alone):
    """Return the interaction groups of each feature as bit sets, uint64 (n_features, n_words).

    n_words is 0 if all features may interact.

    Parameters
    ----------
    wanted : lists of columns or of their names, or text of these lists; None or an empty text: all
        features may interact
    n_features : int
    names : list of the columns' names, or empty
    others_alone : bool
        True: each feature in no group is a group of its own, as in XGBoost; with an empty list no
        two features interact. False: features in no group are not used, as in LightGBM; an empty
        list is no constraint, and an empty group is ignored.

    Raises
    ------
    ValueError, TypeError
        If they cannot be parsed, or refer to a column that X does not have.
    """
    if wanted is None or wanted == "":
        return all_free(n_features)
    if isinstance(wanted, str):
        wanted = read_text(wanted, INTERACTION, "[[0, 1], [2, 3]]")
    if any(isinstance(group, str) or not isinstance(group, Iterable) for group in wanted):
        raise ValueError(
            f"{INTERACTION}={short(wanted)} must be lists of columns, such as [[0, 1], [2, 3]]"
        )
    groups = [{find_column(c, n_features, names, INTERACTION) for c in group} for group in wanted]
    groups = [group for group in groups if group]
    if others_alone:
        groups += [{f} for f in range(n_features) if not any(f in group for group in groups)]
    bits = np.zeros((n_features, -(-len(groups) // WORD)), np.uint64)
    for number, group in enumerate(groups):
        word, bit = divmod(number, WORD)
        bits[sorted(group), word] |= np.uint64(1 << bit)
    return bits


def all_free(n_features):
    """Return the bit sets for unconstrained interactions: no words."""
    return np.zeros((n_features, 0), np.uint64)


def find_column(column, n_features, names, parameter):
    """Return the index of a column that is given by index or by name."""
    if isinstance(column, str) and column in names:
        return names.index(column)
    if not isinstance(column, str | Integral):
        raise TypeError(
            f"{parameter} has {column!r} for a column, which is neither a number nor a name of one"
        )
    if isinstance(column, str) or not 0 <= column < n_features:
        raise ValueError(f"{parameter} names {column!r}, which is not a column of X")
    return int(column)


def read_text(text, parameter, example):
    """Return the list parsed from text in round or square brackets."""
    plain = text.replace("(", "[").replace(")", "]").replace(",]", "]")
    try:
        parsed = json.loads(plain)
    except json.JSONDecodeError:
        parsed = None
    is_list = isinstance(parsed, list)
    if not is_list:
        raise ValueError(f"{parameter}={text!r} cannot be read: write it as in '{example}'")
    return parsed
