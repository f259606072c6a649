"""Read what ``fit`` is told of evaluation tables, and what a user's own objective returns."""

from inspect import signature

import numpy as np

EXTRA = ("weight", "group")  # names of further arguments of a user's objective or metric


def read_tables(given, *, may_be_one=False):
    """Return the list of pairs (X, y) that ``eval_set`` stands for; None is none.

    Parameters
    ----------
    given : what the user has handed over
    may_be_one : bool
        Whether a tuple is one table, as in LightGBM; else it is a sequence of them.

    Raises
    ------
    TypeError
        Where it is no list of pairs.
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
    """Return the weights of evaluation tables, a list with an entry for each; None is none.

    Parameters
    ----------
    given : the ``eval_sample_weight`` that the user has handed over
    n_tables : int

    Raises
    ------
    TypeError
        Where it is no list.
    ValueError
        Where it has another length.
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
    """Return whether a table of ``eval_set`` is a pair."""
    return isinstance(table, list | tuple) and len(table) == 2


def read_derivatives(found, shape, *, may_be_flat=False):
    """Return the gradients and hessians that an objective has returned, float64 of a shape.

    Parameters
    ----------
    found : what the user's function returned
    shape : of the scores that it was given
    may_be_flat : bool
        Whether they may be in one dimension, row after row; those of one score also in a column.

    Raises
    ------
    TypeError
        Where they are no two arrays.
    ValueError
        Where one has another shape, or a hessian is negative.
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
    """Return how many arguments a user's function takes without a default.

    Those with a default count too where they are named ``weight`` or ``group``. Where this is not
    known, or it takes any number, it is the usual one.
    """
    try:
        parameters = signature(function).parameters.values()
    except (TypeError, ValueError):
        return usual
    if any(one.kind == one.VAR_POSITIONAL for one in parameters):
        return usual
    return len([one for one in parameters if one.default is one.empty or one.name in EXTRA])


def kind_of(given):
    """Return the type of an object, and of a sequence those of its parts."""
    if not isinstance(given, list | tuple):
        return "None" if given is None else f"a {type(given).__name__}"
    parts = ", ".join(type(one).__name__ for one in given[:3])
    more = f", … ({len(given)})" if len(given) > 3 else ""
    return f"a {type(given).__name__} of {parts or 'nothing'}{more}"
