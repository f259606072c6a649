"""Ranking metrics: NDCG and mean average precision at some ranks, as in LightGBM.

Each is a mean over queries, weighted by the mean row weight of a query. A query in which no
document is relevant counts as 1.
"""

from numbers import Integral

import numpy as np

from algorithms.gbdt.kernels.ranking import write_average_precision, write_ndcg
from algorithms.gbdt.query_groups import find_discounts, local_order, mean_weights

NAMES = {
    "ndcg": "ndcg",
    "lambdarank": "ndcg",
    "rank_xendcg": "ndcg",
    "xendcg": "ndcg",
    "xe_ndcg": "ndcg",
    "xe_ndcg_mart": "ndcg",
    "xendcg_mart": "ndcg",
    "map": "map",
    "mean_average_precision": "map",
}


def read_levels(given):
    """Return the ranks of evaluation, ascending ints.

    Parameters
    ----------
    given : int, sequence of int, or text such as "1,3,5"

    Raises
    ------
    ValueError
        If one is not a whole number above 0.
    """
    parts = given.split(",") if isinstance(given, str) else np.atleast_1d(given).tolist()
    levels = [int(one) if isinstance(one, str) and one.strip().isdigit() else one for one in parts]
    if not levels or not all(isinstance(one, Integral) and one > 0 for one in levels):
        raise ValueError(f"eval_at must hold whole numbers above 0; it is {given!r}")
    return sorted(int(one) for one in levels)


def ranking_metric(name, levels, gains):
    """Return the metric ``metric(y, prediction, weight, bounds)`` → list of results.

    Parameters
    ----------
    name : "ndcg" or "map"
    levels : from `read_levels`
    gains : tuple of float, gain of each label
    """
    ranks, gain = np.array(levels, np.int64), np.array(gains)

    def metric(y, prediction, weight, bounds):
        if bounds is None:
            raise ValueError(f"the metric {name!r} needs the query groups of every table")
        out = np.empty((len(bounds) - 1, len(ranks)))
        score = np.ascontiguousarray(prediction, np.float64)
        spare = np.empty(int(np.diff(bounds).max()), np.int32)
        order = local_order(bounds)
        if name == "ndcg":
            counts = np.empty(len(gain), np.int64)
            given = score, y, bounds, gain, find_discounts(bounds), ranks
            write_ndcg(*given, order, spare, counts, out)
        else:
            write_average_precision(score, y, bounds, ranks, order, spare, out)
        values = np.average(out, axis=0, weights=mean_weights(weight, bounds))
        return [
            (f"{name}@{rank}", float(value), True)
            for rank, value in zip(levels, values, strict=True)
        ]

    metric.__name__ = name
    metric.by_query = True
    return metric
