"""Watch tables that are not trained on, and say when training has gone on long enough."""

import warnings

import numpy as np
from sklearn.utils.validation import _check_sample_weight, check_consistent_length, column_or_1d

from algorithms.estimator.eval_sets import read_tables, read_weights
from algorithms.gbdt.input_table import read_table
from algorithms.gbdt.model import join_trees
from algorithms.prediction.predictor import FastPredictor


class Watch:
    """The metric of evaluation tables, round by round.

    Parameters
    ----------
    params : the estimator
    start : Start
    tables : list of (X, y), or None
    weights : list of arrays or None, one a table, or None
    metric : as in ``fit``

    Raises
    ------
    TypeError
        Where tables are no list of pairs, or weights no list.
    ValueError
        Where stopping is wanted and there is no table to decide it, or rounds change later.
    """

    def __init__(self, params, start, tables, weights, metric):
        self.params = params
        self.patience = params.early_stopping_round
        tables = read_tables(tables, may_be_one=True)
        if self.patience is not None and not tables:
            raise ValueError("early_stopping_round needs an eval_set to watch")
        if self.patience is not None and params.boosting_type == "dart":
            raise ValueError("early_stopping_round cannot be had with boosting_type='dart'")
        weights = read_weights(weights, len(tables))
        self.tables = [
            Table(params, start, number, *table, weight)
            for number, (table, weight) in enumerate(zip(tables, weights, strict=True))
        ]
        self.metric = params._metric(metric) if tables else None  # noqa: SLF001 - its own part
        self.history = {}
        self.best_round, self.best = 0, None

    def boost(self, grower, rounds):
        """Have a grower add to its rounds until there are enough, or none helps; return them."""
        for _ in range(self.params.n_estimators):
            grower.boost()
            if self.is_over(rounds):
                break
        return rounds

    def is_over(self, rounds):
        """Note the last round; return whether it was the last one to wait for."""
        done = 0
        for number, table in enumerate(self.tables):
            name, value, higher = table.rate(rounds, self.metric)
            values = self.history.setdefault(f"valid_{number}", {}).setdefault(name, [])
            values.append(value)
            done = len(values)
            watched = number == 0 and self.patience is not None
            if watched and improves(value, self.best, higher, self.params.early_stopping_min_delta):
                self.best_round, self.best = done, value
        if self.patience is not None and done - self.best_round >= self.patience:
            if self.best is None:
                warnings.warn(
                    f"the metric of the first eval_set was NaN in all of {done} rounds, so "
                    "training stops, and nothing says which of them are best",
                    stacklevel=5,  # who called `fit`
                )
            return True
        return not self.tables and self._is_settled(rounds[-1])

    def _is_settled(self, trees):
        """Return whether every further round would be as empty as this one.

        Its trees have no split and move no score, and nothing is drawn anew.
        """
        p = self.params
        drawn = p.data_sample_strategy == "goss" or p.boosting_type == "dart" or p.extra_trees
        drawn = drawn or p.subsample < 1.0 or p.colsample_bytree < 1.0
        return not drawn and not any(np.count_nonzero(tree.nodes["value"]) for tree in trees)


def improves(value, best, higher, least=0.0):
    """Return whether a metric's value is better than the best so far, if any; NaN never is.

    ``least`` is what it has to be better by more than.
    """
    if best is None:
        return not np.isnan(value)
    return value > best + least if higher else value < best - least


class Table:
    """One evaluation table, with its scores so far."""

    def __init__(self, params, start, number, X, y, weight):
        self.params = params
        self.X = read_table(params, X, reset=False)
        self.y = params._encode_y(column_or_1d(y))  # noqa: SLF001 - its own part
        check_consistent_length(self.X, self.y)
        if weight is not None:
            weight = _check_sample_weight(weight, self.X, ensure_non_negative=True)
        self.weight = weight
        self.first = self.score = start.scores(self.X, number)

    def rate(self, rounds, metric):
        """Add the last round of trees, or all where rounds change, and return the metric."""
        p, new = self.params, rounds[-1:]
        if p.boosting_type == "dart":
            self.score, new = self.first, rounds
        base = p._base if self.score is None else np.zeros(len(p._base))  # noqa: SLF001 - its own part
        walker = FastPredictor(join_trees(new, p._binner, base))  # noqa: SLF001 - its own part
        found = walker.raw(self.X)
        self.score = found if self.score is None else self.score + found
        return metric(self.y, p._predict_scores(self.score), self.weight)  # noqa: SLF001 - its own part
