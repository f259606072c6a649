"""XGBoost's `XGBRanker`: ranking of the rows of each query."""

from functools import partial

import numpy as np

from algorithms.compat.xgboost.estimators import LibraryEstimator, XGBModel
from algorithms.compat.xgboost.messages import allow_positional
from algorithms.newton.query_tables import read_bounds, read_entries
from algorithms.newton_ranking import NewtonBoostingRanker

QID = "qid"  # column of a frame that holds the query of each row
NO_QUERIES = "Either `group` or `qid` is required for ranking task"


class XGBRanker(LibraryEstimator, NewtonBoostingRanker):
    """`NewtonBoostingRanker` under XGBoost's name.

    Parameters
    ----------
    objective : {"rank:ndcg", "rank:pairwise", "rank:map"}, default="rank:ndcg"
    **kwargs
        The parameters of `LibraryEstimator`, and those of `NewtonBoostingRanker` about ranking.
    """

    @allow_positional
    def __init__(self, *, objective="rank:ndcg", **kwargs):
        super().__init__(objective=objective, **kwargs)

    @allow_positional
    def fit(
        self,
        X,
        y,
        *,
        group=None,
        qid=None,
        sample_weight=None,
        base_margin=None,
        eval_set=None,
        eval_group=None,
        eval_qid=None,
        verbose=False,
        xgb_model=None,
        sample_weight_eval_set=None,
        base_margin_eval_set=None,
        feature_weights=None,
    ):
        """Train the model; see `NewtonBoostingRanker.fit`.

        The queries of a frame may be its column "qid", instead of ``group`` or ``qid``.

        Returns
        -------
        The estimator.

        Raises
        ------
        ValueError
            If there are no queries, or parameters or data are invalid.
        """
        X, qid = split_queries(X, qid, group)
        if eval_set is not None:
            eval_set, eval_qid = split_eval_queries(eval_set, eval_qid, eval_group)
        return super().fit(
            X,
            y,
            group=group,
            qid=qid,
            sample_weight=sample_weight,
            base_margin=base_margin,
            eval_set=eval_set,
            eval_group=eval_group,
            eval_qid=eval_qid,
            verbose=verbose,
            xgb_model=xgb_model,
            sample_weight_eval_set=sample_weight_eval_set,
            base_margin_eval_set=base_margin_eval_set,
            feature_weights=feature_weights,
        )

    def score(self, X, y):
        """Return the last metric of ``eval_metric``, float; by default that of the objective.

        As in XGBoost, metrics of the user in a list are left out.

        Parameters
        ----------
        X : frame with a column "qid"
        y : array-like (n_rows,), labels
        """
        rows, qid = split_queries(X)
        y = np.asarray(y, np.float64)
        core = self._resolved()
        found = core._find_metrics()  # noqa: SLF001 - a copy of this estimator
        if isinstance(self.eval_metric, list):
            pairs = zip(self.eval_metric, found, strict=True)
            found = [one for given, one in pairs if not callable(given)] or found
        _, metric, _ = found[-1]
        return metric(y, self.predict(rows), None, read_bounds(None, qid, len(y)))

    def _find_metrics(self):
        """Return the metrics of the evaluation sets; see `find_ranking_metrics`.

        As in XGBoost, a metric of the user is computed for each query.
        """
        given = self.eval_metric if isinstance(self.eval_metric, list) else [self.eval_metric]
        return [
            (name, partial(mean_of_queries, one) if callable(one) else metric, higher)
            for one, (name, metric, higher) in zip(given, super()._find_metrics(), strict=True)
        ]

    def _frame(self, X):
        """Return the rows without the column "qid", with the types of ``feature_types``."""
        return super()._frame(drop_column(X, QID) if has_queries(X) else X)


XGBModel.register(XGBRanker)


def has_queries(X):
    """Return whether a table has a column "qid"."""
    return QID in getattr(X, "columns", ())


def drop_column(X, name):
    """Return a pandas or polars frame without a column."""
    return X.drop(columns=name) if hasattr(X, "iloc") else X.drop(name)


def split_queries(X, qid=None, group=None):
    """Return the rows without the column "qid", and the query of each row or None.

    Parameters
    ----------
    X : the rows
    qid, group : arguments of ``fit``, or None

    Raises
    ------
    ValueError
        If the queries are given twice, or not at all.
    """
    if has_queries(X):
        if qid is not None:
            raise ValueError("X has a column `qid`, and `qid` is given too: remove one of them")
        return drop_column(X, QID), X[QID]
    if qid is None and group is None:
        raise ValueError(NO_QUERIES)
    return X, qid


def split_eval_queries(eval_set, eval_qid, eval_group):
    """Return the evaluation tables without columns "qid", and the queries of their rows.

    Parameters
    ----------
    eval_set : list of (X, y)
    eval_qid, eval_group : lists with an entry for each table, or None

    Raises
    ------
    ValueError
        As in `split_queries`, or if a list has another length.
    """
    tables = list(eval_set)
    given = {"eval_qid": eval_qid, "eval_group": eval_group}
    lists = [read_entries(name, one, len(tables)) for name, one in given.items()]
    split = [
        (split_queries(X, qid, group), y)
        for (X, y), qid, group in zip(tables, *lists, strict=True)
    ]  # fmt: skip
    return [(rows, y) for (rows, _), y in split], [qid for (_, qid), _ in split]


def mean_of_queries(metric, y, prediction, _weight, bounds):
    """Return the mean of a metric over the queries, weighted by their numbers of rows.

    As in XGBoost 3.2, a query with one row has the value 1.

    Parameters
    ----------
    metric : callable (y, prediction) → number
    y, prediction : (n_rows,)
    bounds : (n_queries + 1,) int64, first rows of the queries
    """
    sizes = np.diff(bounds)
    values = [
        1.0 if size == 1 else metric(y[start : start + size], prediction[start : start + size])
        for start, size in zip(bounds, sizes, strict=False)
    ]
    return float(np.average(values, weights=sizes))
