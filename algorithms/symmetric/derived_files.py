"""Derived columns of a model with categories as JSON values, for this project's model files."""

import numpy as np

from algorithms.estimator.deferred_imports import pd
from algorithms.model_io.limits import MOST_OUTPUTS
from algorithms.symmetric.categories import Categories
from algorithms.symmetric.ctr_options import MOST_BORDERS, PRIORS, CtrOptions
from algorithms.symmetric.derived_columns import DerivedColumns, Indicator
from algorithms.symmetric.projections import Combiner, Projection
from algorithms.symmetric.target_statistics import Statistic


def describe(derived):
    """Return the JSON values of `DerivedColumns`: dict."""
    projections = list(derived.combiners)
    return {
        "n_features": derived.n_features,
        "categories": [
            {"column": column, "levels": list(levels)}
            for column, levels in zip(
                derived.categories.columns, derived.categories.levels, strict=True
            )
        ],
        "projections": [
            describe_projection(one, derived.combiners[one].steps) for one in projections
        ],
        "features": [
            {"column": one.column, "level": one.level}
            if isinstance(one, Indicator)
            else describe_statistic(one, projections.index(one.projection), derived.values_of(one))
            for one in derived.features
        ],
    }


def describe_projection(projection, steps):
    """Return the JSON values of a projection and of the steps of its `Combiner`."""
    return {
        "columns": list(projection.columns),
        "borders": [[j, float(border), bool(right)] for j, border, right in projection.borders],
        "levels": [list(pair) for pair in projection.levels],
        "steps": [[width, None if keys is None else keys.tolist()] for width, keys in steps],
    }


def describe_statistic(statistic, number, values):
    """Return the JSON values of a statistic of projection ``number``."""
    options = statistic.options
    return {
        "projection": number,
        "kind": options.kind,
        "priors": list(options.priors),
        "n_borders": options.n_borders,
        "target_borders": options.target_borders,
        "target_border_type": options.target_border_type,
        "target": statistic.target,
        "prior": statistic.prior,
        "values": values.astype(np.float64).tolist(),
    }


def read(saved, n_columns):
    """Return the `DerivedColumns` of JSON values.

    Parameters
    ----------
    saved : dict, as `describe` returns it
    n_columns : int, columns of X with the derived ones

    Raises
    ------
    ValueError, TypeError, KeyError, IndexError
        If the values are malformed.
    """
    n_features = check_integer(saved["n_features"], n_columns)
    categories = read_categories(saved["categories"], n_features)
    derived = DerivedColumns(categories, n_features, None)
    sizes = {j: len(own) for j, own in zip(categories.columns, categories.levels, strict=True)}
    combiners = [read_projection(one, sizes, n_features) for one in saved["projections"]]
    for one in saved["features"]:
        if "projection" not in one:
            column = check_integer(one["column"], n_features)
            feature = Indicator(column, check_integer(one["level"], sizes[column]))
        else:
            feature = read_statistic(one, derived, combiners)
        derived.numbers[feature] = derived.n_columns
        derived.features.append(feature)
    if derived.n_columns != n_columns or len(derived.numbers) != len(derived.features):
        raise ValueError("the derived columns are not those of the trees")
    return derived


def check_integer(value, end):
    """Return an integer from 0 to ``end``; raise ValueError for another value."""
    if type(value) is not int or not 0 <= value <= end:
        raise ValueError(f"{value!r:.40} is not an integer from 0 to {end}")
    return value


def read_categories(saved, n_features):
    """Return the `Categories` of JSON values."""
    columns = tuple(check_integer(one["column"], n_features - 1) for one in saved)
    levels = tuple(pd.Index(one["levels"], dtype=object) for one in saved)
    texts = all(isinstance(text, str) for own in levels for text in own)
    if not columns or list(columns) != sorted(set(columns)) or not texts:
        raise ValueError("the categorical columns are not ascending columns with text")
    if not all(own.is_unique for own in levels):
        raise ValueError("a categorical column has the same level twice")
    return Categories(columns, levels)


def read_projection(saved, sizes, n_features):
    """Return the `Combiner` of JSON values.

    Parameters
    ----------
    saved : dict
    sizes : dict, number of levels of each categorical column
    n_features : int
    """
    columns = tuple(saved["columns"])
    borders = tuple(
        (check_integer(j, n_features - 1), np.float32(border), bool(right))
        for j, border, right in saved["borders"]
    )
    levels = tuple((j, check_integer(level, sizes[j])) for j, level in saved["levels"])
    size, steps = sizes[columns[0]], []
    if any(j not in sizes for j in columns) or len(saved["steps"]) != (
        len(columns) + len(borders) + len(levels) - 1
    ):
        raise ValueError("a combination has other parts than its columns and splits")
    for width, keys in saved["steps"]:
        size *= check_integer(width, 2**31)
        index = None if keys is None else pd.Index(np.array(keys, np.int64))
        if index is not None and not index.is_unique:
            raise ValueError("a combination has the same code twice")
        size = size if index is None else len(index)
        steps.append((width, index))
    return Combiner.without_training(Projection(columns, borders, levels), steps, size)


def read_statistic(saved, derived, combiners):
    """Return the `Statistic` of JSON values; its tables are stored in ``derived``."""
    combiner = combiners[check_integer(saved["projection"], len(combiners) - 1)]
    if saved["kind"] not in PRIORS:
        raise ValueError(f"{saved['kind']!r:.40} is not a kind of statistic")
    priors = np.array(saved["priors"], np.float64)
    if priors.ndim != 1 or not np.isfinite(priors).all():
        raise ValueError("the priors of a statistic are not a list of finite numbers")
    options = CtrOptions(
        saved["kind"],
        tuple(priors.tolist()),
        check_integer(saved["n_borders"], MOST_BORDERS),
        saved["target_borders"],
        saved["target_border_type"],
    )
    target = check_integer(saved["target"], MOST_OUTPUTS)
    prior = check_integer(saved["prior"], len(priors) - 1)
    found = Statistic(combiner.projection, options, target, prior)
    values = np.array(saved["values"], np.float32)
    if values.shape != (combiner.size + 1,):
        raise ValueError(f"a statistic of {combiner.size} levels has {values.size} values")
    if not np.isfinite(values).all():
        raise ValueError("a statistic has values that are not finite")
    derived.store(found, combiner, values)
    return found
