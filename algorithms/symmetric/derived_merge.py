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
    both = [derived_files.describe(derived_files.to_hashed(one)) for one in (first, second)]
    projections, places = [], {}  # place of each hash, by the parts of a projection
    for saved in both:
        for one in saved["projections"]:
            key = key_of(one)
            if key not in places:
                places[key] = {}
                projections.append({name: one[name] for name in PARTS})
            for own in one["hashes"]:
                places[key].setdefault(own, len(places[key]))
    tables, features = [], []
    for saved in both:
        numbers = []
        offset = len(tables)
        tables += [move_table(table, saved["projections"], places) for table in saved["tables"]]
        for one in saved["features"]:
            moved = {**one, "table": one["table"] + offset} if "table" in one else one
            if moved not in features:
                features.append(moved)
            numbers.append(features.index(moved))
    for one in projections:
        one["hashes"] = list(places[key_of(one)])
    merged = {**both[0], "projections": projections, "tables": tables, "features": features}
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
    own = projections[table["projection"]]
    key = key_of(own)
    counts = np.array(table["counts"])
    moved = np.zeros((len(places[key]), *counts.shape[1:]), counts.dtype)
    moved[[places[key][one] for one in own["hashes"]]] = counts
    return {**table, "projection": list(places).index(key), "counts": moved.tolist()}
