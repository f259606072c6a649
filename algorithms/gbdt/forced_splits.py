"""Splits that the user forces at the top of each tree: LightGBM's ``forcedsplits_filename``.

The file holds a JSON object with "feature" (its index, or its name in a frame), "threshold" (of a
categorical feature: a category's code) and, optionally, the objects "left" and "right" for the
splits of the two children.
"""

import json
from dataclasses import dataclass
from numbers import Integral, Real
from pathlib import Path

import numpy as np

from algorithms.gbdt.kernels.booster_arrays import NO_FORCED

NO_CHILD = -1


@dataclass(frozen=True)
class ForcedSplits:
    """Forced splits in breadth-first order."""

    feature: np.ndarray  # int64 (n_splits,)
    threshold: np.ndarray  # float64 (n_splits,)
    children: np.ndarray  # int64 (n_splits, 2): left and right split, or `NO_CHILD`


def read_forced_splits(path, n_features, names=()):
    """Return the `ForcedSplits` of a file, or None without a file name.

    Parameters
    ----------
    path : str or path, or empty
    n_features : int
    names : list of the column names, or empty

    Raises
    ------
    ValueError
        If there is no such file, it is not JSON, or a split is invalid.
    """
    if not path:
        return None
    where = f"forcedsplits_filename={str(path)!r}"
    try:
        root = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"{where} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise ValueError(f"{where} is not a JSON file: {error}") from error
    features, thresholds, children, waiting = [], [], [], [root]
    while len(features) < len(waiting):
        split = waiting[len(features)]
        if not isinstance(split, dict):
            raise ValueError(  # noqa: TRY004 - the value comes from a file
                f"{where} has {split!r} where a split is expected, a JSON object"
            )
        features.append(read_feature(split, where, n_features, list(names)))
        thresholds.append(read_threshold(split, where))
        numbers = []
        for side in ("left", "right"):
            is_given = bool(split.get(side))
            numbers.append(len(waiting) if is_given else NO_CHILD)
            waiting += [split[side]] if is_given else []
        children.append(numbers)
    return ForcedSplits(np.array(features), np.array(thresholds), np.array(children))


def read_feature(split, where, n_features, names):
    """Return the index of a split's feature; raise ValueError if there is no such feature."""
    feature = split.get("feature")
    if isinstance(feature, str) and feature in names:
        return names.index(feature)
    is_number = isinstance(feature, Integral) and not isinstance(feature, bool)
    if is_number and 0 <= feature < n_features:
        return int(feature)
    if is_number:
        raise ValueError(
            f"Forced splits file includes feature index {feature}, but maximum feature index in "
            f"dataset is {n_features - 1} ({where})"
        )
    known = f"numbers from 0 to {n_features - 1}" + (f" or names among {names}" if names else "")
    raise ValueError(f"{where} has a split of the feature {feature!r}; features are {known}")


def read_threshold(split, where):
    """Return the threshold of a split; raise ValueError if it is not a number."""
    threshold = split.get("threshold")
    if not isinstance(threshold, Real) or isinstance(threshold, bool) or np.isnan(threshold):
        raise ValueError(
            f"{where} has the threshold {threshold!r} for the feature {split['feature']!r}; it "
            "must be a number"
        )
    return float(threshold)


def find_forced_bins(splits, find_bin):
    """Return the forced splits with bins as thresholds, int64 (n_splits, 4).

    The columns are the feature, the bin, and the numbers of the left and the right split. The bin
    is the last one that goes left, or that of the category; −1 if there is none.

    Parameters
    ----------
    splits : ForcedSplits or None
    find_bin : callable (feature, threshold) → bin
    """
    if splits is None:
        return NO_FORCED
    pairs = zip(splits.feature.tolist(), splits.threshold.tolist(), strict=True)
    bins = [find_bin(feature, threshold) for feature, threshold in pairs]
    return np.column_stack([splits.feature, bins, splits.children]).astype(np.int64)


def bin_finder(binner):
    """Return the function `find_bin` of a `Binner`, for `find_forced_bins`.

    It raises ValueError for a categorical feature of more categories than bins.
    """

    def find_bin(feature, threshold):
        if feature in binner.high_cardinality:
            raise ValueError(
                f"a split of the categorical feature {feature} cannot be forced: it has more "
                "categories than bins"
            )
        codes = binner.codes[feature]
        if codes is None:
            return int(np.searchsorted(binner.edges[feature], threshold, side="left"))
        found = np.flatnonzero(codes == threshold)
        return int(found[0]) if len(found) else -1

    return find_bin
