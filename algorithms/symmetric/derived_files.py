"""Derived columns of a model with categories as JSON values, for model files.

This project's format stores them as they are. CatBoost's format stores hashes instead of levels
(`algorithms/model_io/catboost_categories.py`); `to_hashed` converts a trained model to hashes.
"""

import numpy as np

from algorithms.estimator.deferred_imports import pd
from algorithms.model_io.errors import ModelFileError
from algorithms.model_io.limits import MAX_OUTPUTS
from algorithms.symmetric.categories import (
    Categories,
    HashedCategories,
    level_hashes,
)
from algorithms.symmetric.ctr_options import BORDERS, COUNTER, MEAN, PRIORS
from algorithms.symmetric.derived_columns import DerivedColumns, Indicator
from algorithms.symmetric.projections import Combiner, HashCombiner, Projection
from algorithms.symmetric.target_statistics import (
    CountTable,
    StatisticFormula,
    StoredStatistic,
)

MAX_ROWS = 2**53  # rows of a level: float64 holds all smaller integers
INT32 = -(2**31), 2**31 - 1
FORMULA = ("prior", "weight", "shift", "scale")
PARTS = ("columns", "borders", "levels")  # of a projection


def describe(derived):
    """Return the JSON values of `DerivedColumns`: dict."""
    projections, keys = list(derived.combiners), list(derived.tables)
    projection_of = {
        one.table_key: projections.index(one.projection)
        for one in derived.features
        if not isinstance(one, Indicator)
    }
    return {
        "n_features": derived.n_features,
        "categories": describe_categories(derived.categories),
        "projections": [describe_projection(one, derived.combiners[one]) for one in projections],
        "tables": [describe_table(derived.tables[key], projection_of[key]) for key in keys],
        "features": [
            {"column": one.column, "level": one.level}
            if isinstance(one, Indicator)
            else describe_statistic(one, keys.index(one.table_key))
            for one in derived.features
        ],
    }


def describe_categories(categories):
    """Return the JSON values of the categorical columns; hashed ones have no levels."""
    if isinstance(categories, HashedCategories):
        return [{"column": column} for column in categories.columns]
    pairs = zip(categories.columns, categories.levels, strict=True)
    return [{"column": column, "levels": list(levels)} for column, levels in pairs]


def describe_parts(projection):
    """Return the JSON values of a projection: dict."""
    return {
        "columns": list(projection.columns),
        "borders": [[j, float(border), bool(right)] for j, border, right in projection.borders],
        "levels": [list(pair) for pair in projection.levels],
    }


def read_parts(saved):
    """Return the projection of JSON values that `describe_parts` returned in this version."""
    borders = tuple((j, np.float32(border), right) for j, border, right in saved["borders"])
    return Projection(tuple(saved["columns"]), borders, tuple(map(tuple, saved["levels"])))


def describe_projection(projection, combiner):
    """Return the JSON values of a projection and of its `Combiner` or `HashCombiner`."""
    saved = describe_parts(projection)
    if isinstance(combiner, HashCombiner):
        return {**saved, "hashes": combiner.index.tolist()}
    steps = [[width, None if keys is None else keys.tolist()] for width, keys in combiner.steps]
    return {**saved, "steps": steps}


def describe_table(table, projection):
    """Return the JSON values of a `CountTable` of projection number ``projection``."""
    return {
        "projection": projection,
        "kind": table.kind,
        "counts": table.counts[:-1].tolist(),
        "total": table.total,
    }


def describe_statistic(statistic, table):
    """Return the JSON values of a statistic with table number ``table``."""
    formula = {name: getattr(statistic.formula, name) for name in FORMULA}
    return {"table": table, "target": statistic.target, **formula}


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
    ModelFileError
        If they are of an earlier version.
    """
    if "tables" not in saved and saved.get("features"):
        raise ModelFileError(
            "target statistics are stored in an earlier form: train and save the model again"
        )
    n_features = check_integer(saved["n_features"], 0, n_columns)
    categories = read_categories(saved["categories"], n_features)
    limits = level_limits(categories)
    derived = DerivedColumns(categories, n_features)
    combiners = [read_projection(one, limits, n_features) for one in saved["projections"]]
    tables = [read_table(one, combiners) for one in saved["tables"]]
    for one in saved["features"]:
        if "table" in one:
            number = check_integer(one["table"], 0, len(tables) - 1)
            combiner, table = tables[number]
            statistic = read_statistic(one, number, combiner.projection, table)
            derived.add_statistic(statistic, combiner, table)
        else:
            column = one["column"]
            derived.add(Indicator(column, check_integer(one["level"], *limits[column])))
    if derived.n_columns != n_columns or len(derived.numbers) != len(derived.features):
        raise ValueError("the derived columns are not those of the trees")
    return derived


def check_integer(value, low, high):
    """Return an integer from ``low`` to ``high``; raise ValueError for another value."""
    if type(value) is not int or not low <= value <= high:
        raise ValueError(f"{value!r:.40} is not an integer from {low} to {high}")
    return value


def read_categories(saved, n_features):
    """Return the `Categories` or `HashedCategories` of JSON values."""
    columns = tuple(check_integer(one["column"], 0, n_features - 1) for one in saved)
    if not columns or list(columns) != sorted(set(columns)):
        raise ValueError("the categorical columns are not in ascending order")
    if not any("levels" in one for one in saved):
        return HashedCategories(columns)
    levels = tuple(pd.Index(one["levels"], dtype=object) for one in saved)
    if not all(isinstance(text, str) for own in levels for text in own):
        raise ValueError("the levels of the categorical columns are not text")
    if not all(own.is_unique for own in levels):
        raise ValueError("a categorical column has the same level twice")
    return Categories(columns, levels)


def level_limits(categories):
    """Return the smallest and the largest code of each categorical column, dict."""
    if isinstance(categories, HashedCategories):
        return dict.fromkeys(categories.columns, INT32)
    sizes = (len(own) for own in categories.levels)
    return {j: (0, size - 1) for j, size in zip(categories.columns, sizes, strict=True)}


def read_projection(saved, limits, n_features):
    """Return the `Combiner` or `HashCombiner` of JSON values.

    Parameters
    ----------
    saved : dict
    limits : dict, smallest and largest code of each categorical column
    n_features : int
    """
    columns = tuple(saved["columns"])
    borders = tuple(
        (check_integer(j, 0, n_features - 1), np.float32(border), bool(right))
        for j, border, right in saved["borders"]
    )
    levels = tuple((j, check_integer(level, *limits[j])) for j, level in saved["levels"])
    if not columns or any(j not in limits for j in columns):
        raise ValueError("a combination has no categorical column, or one that does not exist")
    projection = Projection(columns, borders, levels)
    if "hashes" in saved:
        hashes = [check_integer(one, 0, 2**64 - 1) for one in saved["hashes"]]
        combiner = HashCombiner(projection, np.array(hashes, np.uint64))
        if not combiner.index.is_unique:
            raise ValueError("a combination has the same hash twice")
        return combiner
    if len(saved["steps"]) != len(columns) + len(borders) + len(levels) - 1:
        raise ValueError("a combination has other parts than its columns and splits")
    return Combiner.without_training(
        projection, *read_steps(saved["steps"], limits[columns[0]][1] + 1)
    )


def read_steps(saved, size):
    """Return the steps of a `Combiner`, and its number of codes.

    Parameters
    ----------
    saved : list of JSON values
    size : int, number of codes of the first part
    """
    steps = []
    for width, keys in saved:
        size *= check_integer(width, 0, 2**31)
        index = None if keys is None else pd.Index(np.array(keys, np.int64))
        if index is not None and not index.is_unique:
            raise ValueError("a combination has the same code twice")
        size = size if index is None else len(index)
        steps.append((width, index))
    return steps, size


def read_table(saved, combiners):
    """Return the combiner and the `CountTable` of JSON values."""
    combiner = combiners[check_integer(saved["projection"], 0, len(combiners) - 1)]
    kind, counts = saved["kind"], np.array(saved["counts"])
    if kind not in PRIORS:
        raise ValueError(f"{kind!r:.40} is not a kind of statistic")
    if counts.dtype.kind != "i" and not (kind == MEAN and counts.dtype.kind == "f"):
        raise ValueError("a table of a statistic does not consist of numbers")
    n_columns = {COUNTER: 1, MEAN: 2}.get(kind, counts.shape[-1])
    if counts.shape != (combiner.size, n_columns):
        raise ValueError(f"a table of {combiner.size} levels has the shape {counts.shape}")
    if not ((counts >= 0) & (counts < MAX_ROWS)).all():
        raise ValueError("a table of a statistic has a negative, missing or infinite number")
    total = check_integer(saved["total"], 0, MAX_ROWS)
    counts = np.vstack([counts, np.zeros((1, n_columns), counts.dtype)])
    return combiner, CountTable(kind, counts, total)


def read_statistic(saved, number, projection, table):
    """Return the `StoredStatistic` of JSON values.

    Parameters
    ----------
    saved : dict
    number : int, number of the table
    projection : Projection
    table : CountTable
    """
    n_targets = table.counts.shape[1] - (table.kind == BORDERS)
    most = 0 if table.kind in (COUNTER, MEAN) else min(n_targets, MAX_OUTPUTS) - 1
    target = check_integer(saved["target"], 0, most)
    formula = [float(saved[name]) for name in FORMULA]
    if not np.isfinite(np.array(formula, np.float32)).all() or formula[1] <= 0.0:
        raise ValueError("the formula of a statistic has an infinite or missing number")
    return StoredStatistic(projection, number, target, StatisticFormula(*formula))


def to_hashed(derived):
    """Return `DerivedColumns` with CatBoost's hashes in place of levels.

    Raises
    ------
    ModelFileError
        If two levels of a column or of a combination have the same hash.
    """
    if isinstance(derived.categories, HashedCategories):
        return derived
    columns = derived.categories.columns
    hashes = {
        j: level_hashes(own) for j, own in zip(columns, derived.categories.levels, strict=True)
    }
    found, converted = DerivedColumns(HashedCategories(columns), derived.n_features), {}
    for feature in derived.features:
        if isinstance(feature, Indicator):
            own = hashes[feature.column]
            check_distinct(own)
            found.add(Indicator(feature.column, int(own[feature.level])))
            continue
        key = feature.table_key
        if key not in converted:
            combiner = derived.combiners[feature.projection]
            converted[key] = len(converted), *hash_table(combiner, derived.tables[key], hashes)
        number, combiner, table = converted[key]
        projection = combiner.projection
        statistic = StoredStatistic(projection, number, feature.target, feature.formula)
        found.add_statistic(statistic, combiner, table)
    return found


def check_distinct(hashes):
    """Raise ModelFileError if two levels have the same hash."""
    if len(np.unique(hashes)) < len(hashes):
        raise ModelFileError(
            "two categories have the same hash, which CatBoost takes for one category: use "
            "format='harness'"
        )


def hash_table(combiner, table, hashes):
    """Return the `HashCombiner` and the `CountTable` of the levels that have training rows.

    Parameters
    ----------
    combiner : Combiner
    table : CountTable
    hashes : dict, categorical column → int32 hashes of its levels
    """
    own = combiner.projection
    levels = tuple((j, int(hashes[j][level])) for j, level in own.levels)
    projection = Projection(own.columns, own.borders, levels)
    known = np.flatnonzero(table.counts[:-1].any(axis=1))
    combined = combiner.hash_levels([hashes[j] for j in own.columns])[known]
    check_distinct(combined)
    counts = np.vstack([table.counts[known], table.counts[-1:]])
    return HashCombiner(projection, combined), CountTable(table.kind, counts, table.total)
