"""Early stopping of second-order boosting: metrics of the evaluation sets, round by round."""

from dataclasses import dataclass

import numpy as np
from sklearn.utils import assert_all_finite, column_or_1d
from sklearn.utils.validation import _check_sample_weight, check_consistent_length

from algorithms.estimator.verbose import say
from algorithms.gbdt.early_stopping import improves
from algorithms.newton.base_margin import read_margin
from algorithms.newton.input_table import read_rows
from algorithms.newton.linear_model import LinearModel
from algorithms.newton.several_targets import read_targets
from algorithms.prediction.predictor import FastPredictor


@dataclass(frozen=True)
class EvaluationSets:
    """The arguments of ``fit`` about evaluation sets.

    Raises
    ------
    ValueError
        If ``verbose`` is negative, or the number of weights or margins differs from the number of
        tables.
    """

    tables: list  # of (X, y)
    weights: list | None  # of arrays or None, one a table
    margins: list | None  # of arrays or None, one a table
    verbose: bool | int | None
    bounds: list | None = None  # of ranking: the first rows of the queries, an array a table

    def __post_init__(self):
        if self.verbose and self.verbose < 0:
            raise ValueError(f"verbose must be a bool or a number of rounds, not {self.verbose}")
        arguments = {"sample_weight_eval_set": self.weights, "base_margin_eval_set": self.margins}
        n_tables = len(self.tables)
        for name, given in arguments.items():
            if given is not None and len(given) != n_tables:
                raise ValueError(
                    f"{name} has {len(given)} entries for {n_tables} tables of eval_set"
                )


class EarlyStopping:
    """Metrics of the evaluation sets, round by round, and the decision to stop.

    The last metric of the last evaluation set decides when to stop, as in XGBoost.

    Parameters
    ----------
    model : the estimator
    eval_sets : EvaluationSets
    metrics : list, as returned by `newton.metrics.find_metrics`
    base : float32 (n_scores,), scores before the first round
    arrange : function that returns predictions as ``predict`` does; None: they are unchanged

    Raises
    ------
    ValueError
        If early stopping is requested without an evaluation set. `is_over` raises it if the metric
        is NaN in all rounds until training would stop.
    """

    def __init__(self, model, eval_sets, metrics, base, arrange=None):
        self.arrange = arrange
        self.patience = model.early_stopping_rounds
        tables = eval_sets.tables
        if self.patience is not None and not tables:
            raise ValueError("early_stopping_rounds needs an eval_set")
        none = [None] * len(tables)
        weights = none if eval_sets.weights is None else eval_sets.weights
        margins = none if eval_sets.margins is None else eval_sets.margins
        bounds = none if eval_sets.bounds is None else eval_sets.bounds
        self.eval_sets = [
            EvaluationSet(model, *table, base, *others)
            for table, *others in zip(tables, weights, margins, bounds, strict=True)
        ]
        self.model, self.metrics = model, metrics
        self.history = {}
        self.rounds, self.best_round, self.best = 0, 0, None
        self.every, self.skipped = int(eval_sets.verbose or 0), None

    def begin(self, ensemble):
        """Add the trees of earlier rounds to the scores; their metrics are not computed."""
        for table in self.eval_sets:
            table.add(ensemble)

    def is_over(self, ensemble):
        """Add a round's trees and compute the metrics; return whether to stop."""
        self.rounds += 1
        value = None
        for number, table in enumerate(self.eval_sets):
            prediction = table.predict(ensemble)
            prediction = prediction if self.arrange is None else self.arrange(prediction)
            values_by_metric = self.history.setdefault(f"validation_{number}", {})
            for name, metric, _ in self.metrics:
                value = table.evaluate(metric, prediction)
                values_by_metric.setdefault(name, []).append(value)
        self.print_metrics()
        if self.patience is None or value is None:
            return False
        higher = self.metrics[-1][2]
        if improves(value, self.best, higher):
            self.best_round, self.best = self.rounds - 1, value
        is_over = self.rounds - 1 - self.best_round >= self.patience
        if is_over and self.best is None:
            raise ValueError(
                f"eval_metric {self.metrics[-1][0]!r} of the last table of eval_set has been NaN "
                f"for {self.rounds} rounds: it cannot decide when to stop"
            )
        return is_over

    def print_metrics(self):
        """Print the last round's metrics as XGBoost does, every ``verbose`` rounds."""
        if not (self.every and self.history):
            return
        cells = [
            f"\t{table}-{name}:{values[-1]:.5f}"
            for table, values_by_metric in self.history.items()
            for name, values in values_by_metric.items()
        ]
        self.skipped = f"[{self.rounds - 1}]" + "".join(cells)
        if (self.rounds - 1) % self.every == 0:
            self.end()

    def end(self):
        """Print the metrics of the last round if they are not printed yet."""
        if self.skipped is not None:
            say(self.skipped)
        self.skipped = None


class EvaluationSet:
    """One evaluation set with its current scores.

    Parameters
    ----------
    model : the estimator
    X, y : the table
    base : float32 (n_scores,), scores before the first round
    weight : array-like (n_rows,) or None; of ranking: (n_queries,) float64
    margin : array-like (n_rows, n_scores) that replaces the base score, or None
    bounds : (n_queries + 1,) int64, first rows of the queries, or None
    """

    def __init__(self, model, X, y, base, weight, margin, bounds):
        self.X = read_rows(model, X, reset=False)
        n_targets = model._n_targets  # noqa: SLF001 - same package
        y = column_or_1d(y) if n_targets == 1 else read_targets(y, n_targets)
        self.y = model._encode_y(y)  # noqa: SLF001 - same package
        check_consistent_length(self.X, self.y)
        assert_all_finite(self.y, input_name="y of eval_set")
        if weight is not None and bounds is None:
            weight = _check_sample_weight(weight, self.X, ensure_non_negative=True)
        self.weight, self.bounds = weight, bounds
        shape = self.X.shape[0], len(base)
        self.score = np.empty(shape)
        self.score[:] = (
            base if margin is None else read_margin(margin, *shape, "base_margin_eval_set")
        )

    def add(self, ensemble):
        """Add trees, or the step of a `LinearModel`, to the scores."""
        is_step = isinstance(ensemble, LinearModel)
        (ensemble if is_step else FastPredictor(ensemble)).add(self.X, self.score)

    def predict(self, ensemble):
        """Add trees to the scores; return the new predictions."""
        self.add(ensemble)
        return ensemble.from_raw(self.score.astype(np.float32))

    def evaluate(self, metric, prediction):
        """Return the value of a metric of `newton.metrics` or `newton.ranking_metrics`."""
        if getattr(metric, "takes_scores", False):  # a metric of the user, of raw scores
            prediction = self.score
        queries = () if self.bounds is None else (self.bounds,)
        return metric(self.y, prediction, self.weight, *queries)
