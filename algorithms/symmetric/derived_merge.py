"""Derived columns of a continued training: those of the earlier model, and those of the new trees.

Each model keeps its own tables of target statistics. Levels are identified by hashes, as in
CatBoost's files, because the two models number them differently.
"""

import json

import numpy as np

from algorithms.symmetric import derived_files
from algorithms.symmetric.derived_files import PARTS


def merge_derived(first, second):
    """Return the `DerivedColumns` of two models, and where those of the second model are.

    Parameters
    ----------
    first, second : DerivedColumns, of the same columns of X

    Returns
    -------
    merged : DerivedColumns
    numbers : int64 (n,), number of each derived column of the second model among the merged ones
    """
    models = [derived_files.describe(derived_files.to_hashed(one)) for one in (first, second)]
    projections, places = [], {}  # place of each hash, by the parts of a projection
    for model in models:
        for projection in model["projections"]:
            key = key_of(projection)
            if key not in places:
                places[key] = {}
                projections.append({name: projection[name] for name in PARTS})
            for level in projection["hashes"]:
                places[key].setdefault(level, len(places[key]))
    tables, features = [], []
    for model in models:
        numbers = []
        offset = len(tables)
        tables += [move_table(table, model["projections"], places) for table in model["tables"]]
        for feature in model["features"]:
            has_table = "table" in feature
            moved = {**feature, "table": feature["table"] + offset} if has_table else feature
            if moved not in features:
                features.append(moved)
            numbers.append(features.index(moved))
    for projection in projections:
        projection["hashes"] = list(places[key_of(projection)])
    merged = {**models[0], "projections": projections, "tables": tables, "features": features}
    n_columns = first.n_features + len(features)
    return derived_files.read(merged, n_columns), np.array(numbers, np.int64)


def key_of(projection):
    """Return a text that identifies the parts of a projection, from its JSON values."""
    return json.dumps([projection[name] for name in PARTS])


def move_table(table, projections, places):
    """Return the JSON values of a table with the levels of both models.

    Parameters
    ----------
    table : dict
    projections : list of dict, those of its model
    places : dict of dict, places of the hashes by the parts of a projection
    """
    projection = projections[table["projection"]]
    key = key_of(projection)
    counts = np.array(table["counts"])
    moved = np.zeros((len(places[key]), *counts.shape[1:]), counts.dtype)
    moved[[places[key][level] for level in projection["hashes"]]] = counts
    return {**table, "projection": list(places).index(key), "counts": moved.tolist()}
