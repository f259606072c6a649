"""Validation of evaluation sets, and of the results of user-defined objectives."""

from inspect import signature

import numpy as np

EXTRA = ("weight", "group")  # names of further arguments of a user's objective or metric


def read_tables(given, *, may_be_one=False):
    """Return ``eval_set`` as a list of pairs (X, y); None gives an empty list.

    Parameters
    ----------
    given : the ``eval_set`` of the user
    may_be_one : bool
        Whether a tuple is one pair, as in LightGBM; else it is a sequence of pairs.

    Raises
    ------
    TypeError
        If it is not a list of pairs.
    """
    if given is None:
        return []
    tables = [given] if may_be_one and isinstance(given, tuple) else given
    if not isinstance(tables, list | tuple) or not all(map(is_pair, tables)):
        raise TypeError(
            f"eval_set must be a list of (X, y), such as eval_set=[(X, y)]; it is {kind_of(given)}"
        )
    return list(tables)


def read_weights(given, n_tables):
    """Return the weights of evaluation sets, a list with one entry per set.

    Parameters
    ----------
    given : the ``eval_sample_weight`` of the user, or None
    n_tables : int

    Raises
    ------
    TypeError
        If it is not a list.
    ValueError
        If it has another length.
    """
    if given is None:
        return [None] * n_tables
    if not isinstance(given, list | tuple):
        raise TypeError(
            "eval_sample_weight must be a list, with an entry for each of eval_set; it is "
            f"{kind_of(given)}"
        )
    if len(given) != n_tables:
        raise ValueError(
            f"eval_sample_weight has {len(given)} entries for {n_tables} tables of eval_set"
        )
    return list(given)


def is_pair(table):
    """Return whether an entry of ``eval_set`` is a pair."""
    return isinstance(table, list | tuple) and len(table) == 2


def read_derivatives(found, shape, *, may_be_flat=False):
    """Return the gradients and hessians of a user-defined objective, float64 with ``shape``.

    Parameters
    ----------
    found : result of the user's function
    shape : shape of the scores passed to the function
    may_be_flat : bool
        Whether the arrays may be flat in row-major order, or have one column for a single score.

    Raises
    ------
    TypeError
        If they are not two arrays.
    ValueError
        If one has another shape, or a hessian is negative.
    """
    if not isinstance(found, list | tuple | np.ndarray) or len(found) != 2:
        raise TypeError(
            "the objective must return two arrays, gradients and hessians; it returned "
            f"{kind_of(found)}"
        )
    g, h = (np.asarray(one, np.float64) for one in found)
    for values, what in ((g, "gradients"), (h, "hessians")):
        is_flat = values.size == np.prod(shape) and 1 in (values.ndim, len(shape))
        if values.shape != shape and not (may_be_flat and is_flat):
            raise ValueError(
                f"the objective returned {what} of shape {values.shape}; scores have {shape}"
            )
    if (h < 0.0).any():
        raise ValueError("the objective returned negative hessians; they must be at least 0")
    return g.reshape(shape), h.reshape(shape)


def count_arguments(function, usual=2):
    """Return the number of arguments without a default that a user's function takes.

    Arguments named ``weight`` or ``group`` always count. If the signature is unknown, or
    takes any number of arguments, ``usual`` is returned.
    """
    try:
        parameters = signature(function).parameters.values()
    except (TypeError, ValueError):
        return usual
    if any(one.kind == one.VAR_POSITIONAL for one in parameters):
        return usual
    return len([one for one in parameters if one.default is one.empty or one.name in EXTRA])


def kind_of(given):
    """Return the type of an object as text; for a sequence also the types of its items."""
    if not isinstance(given, list | tuple):
        return "None" if given is None else f"a {type(given).__name__}"
    parts = ", ".join(type(one).__name__ for one in given[:3])
    more = f", … ({len(given)})" if len(given) > 3 else ""
    return f"a {type(given).__name__} of {parts or 'nothing'}{more}"
