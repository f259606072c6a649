"""Ranking metrics under XGBoost's names: NDCG, mean average precision, precision at a rank."""

from functools import partial

import numpy as np

from algorithms.gbdt.kernels.ranking import write_average_precision, write_ndcg
from algorithms.gbdt.query_groups import find_discounts, local_order
from algorithms.newton.metrics import find_metric
from algorithms.newton.ranking_objectives import gains_of

NAMES = ("ndcg", "map", "pre")


def read_name(name):
    """Return the parts of a metric's name such as "ndcg@5-", or None if it is not a ranking metric.

    The parts are the metric, the rank or None, and whether a query without relevant documents
    counts as 0 instead of 1.
    """
    metric, _, rank = name.removesuffix("-").partition("@")
    if metric not in NAMES or (rank and not rank.isdigit()) or rank == "0":
        return None
    return metric, int(rank) if rank else None, name.endswith("-")


def default_metric(objective, settings):
    """Return the name of the metric of an objective, as in XGBoost.

    Parameters
    ----------
    objective : "rank:ndcg", "rank:pairwise" or "rank:map"
    settings : RankingSettings
    """
    name = "map" if objective == "rank:map" else "ndcg"
    return name if settings.truncation is None else f"{name}@{settings.truncation}"


def find_ranking_metrics(wanted, objective, settings, params):
    """Return the metrics of a ranking, a list of (name, metric, higher is better).

    ``metric(y, prediction, weight, bounds)`` returns a number. The weights are those of queries;
    metrics that are not about ranking give them to the rows of the query.

    Parameters
    ----------
    wanted : name, callable (y, prediction) → number, or list of these; None: the objective's own
    objective : name of the objective
    settings : RankingSettings
    params : the estimator, for constants

    Raises
    ------
    ValueError, TypeError
        If a name is unknown.
    """
    wanted = default_metric(objective, settings) if wanted is None else wanted
    found = []
    for one in wanted if isinstance(wanted, list) else [wanted]:
        if isinstance(one, str) and read_name(one) is not None:
            exponential = settings.exponential
            found.append((one, partial(value_of_queries, one, exponential), True))
        else:
            name, metric, higher = find_metric(one, params, is_classifier=False)
            found.append((name, partial(value_of_rows, metric), higher))
    return found


def value_of_queries(name, exponential, y, prediction, weight, bounds):
    """Return a ranking metric; the parameters are those of `ranking_value`."""
    return ranking_value(name, y, prediction, weight, bounds, exponential=exponential)


def value_of_rows(metric, y, prediction, weight, bounds):
    """Return a metric of rows, each with the weight of its query."""
    if weight is not None:
        weight = np.repeat(weight, np.diff(bounds))
    return metric(y, prediction, weight)


def ranking_value(name, y, score, weight, bounds, *, exponential=True):
    """Return a metric, the weighted mean over queries.

    Parameters
    ----------
    name : name that `read_name` knows
    y, score : (n_rows,) float64, labels and raw scores
    weight : (n_queries,) float64, or None
    bounds : (n_queries + 1,) int64, first rows of the queries, of which none is empty
    exponential : bool
        Whether the gain of NDCG is 2^y − 1.
    """
    metric, rank, empty_is_zero = read_name(name)
    sizes = np.diff(bounds)
    levels = np.array([sizes.max() if rank is None else rank], np.int64)
    score = np.ascontiguousarray(score, np.float64)
    if metric == "pre":
        found = precision(y, score, bounds, int(levels[0]))
    else:
        out, spare = np.empty((len(sizes), 1)), np.empty(sizes.max(), np.int32)
        order = local_order(bounds)
        if metric == "ndcg":
            gain, codes = np.unique(gains_of(y, exponential=exponential), return_inverse=True)
            counts, discounts = np.empty(len(gain), np.int64), find_discounts(bounds)
            given = score, codes.astype(np.float64), bounds, gain, discounts, levels
            write_ndcg(*given, order, spare, counts, out)
        else:
            write_average_precision(score, 1.0 * (y > 0.0), bounds, levels, order, spare, out)
        found = out[:, 0]
        if empty_is_zero:
            found[np.maximum.reduceat(y, bounds[:-1]) <= 0.0] = 0.0
    return float(np.average(found, weights=weight))


def precision(y, score, bounds, rank):
    """Return the share of relevant documents in the first ranks of each query, (n_queries,)."""
    sizes = np.diff(bounds)
    query = np.repeat(np.arange(len(sizes)), sizes)
    order = np.lexsort((-score, query))
    is_first = local_order(bounds) < rank
    hits = np.add.reduceat(1.0 * (y[order] > 0.0) * is_first, bounds[:-1])
    return hits / np.minimum(sizes, rank)
