"""Watch evaluation tables, and say when training has gone on long enough."""

from dataclasses import dataclass

import numpy as np
from sklearn.utils import assert_all_finite, column_or_1d
from sklearn.utils.validation import _check_sample_weight, check_consistent_length

from algorithms.estimator.verbose import say
from algorithms.gbdt.early_stopping import improves
from algorithms.newton.base_margin import read_margin
from algorithms.newton.input_table import read_rows
from algorithms.prediction.predictor import FastPredictor


@dataclass(frozen=True)
class Asked:
    """What ``fit`` is told of evaluation tables.

    Raises
    ------
    ValueError
        Where ``verbose`` is negative, or there are not as many weights or margins as tables.
    """

    tables: list  # of (X, y)
    weights: list | None  # of arrays or None, one a table
    margins: list | None  # of arrays or None, one a table
    verbose: bool | int | None

    def __post_init__(self):
        if self.verbose and self.verbose < 0:
            raise ValueError(f"verbose is a number of rounds, not {self.verbose}")
        own = {"sample_weight_eval_set": self.weights, "base_margin_eval_set": self.margins}
        n_tables = len(self.tables)
        for name, given in own.items():
            if given is not None and len(given) != n_tables:
                raise ValueError(
                    f"{name} has {len(given)} entries for {n_tables} tables of eval_set"
                )


class Watch:
    """The metrics of evaluation tables, round by round.

    The last metric of the last table decides when to stop, as in XGBoost.

    Parameters
    ----------
    model : the estimator
    asked : Asked
    metrics : of `newton.metrics.find_metrics`
    base : float32 (n_scores,), scores before the first round

    Raises
    ------
    ValueError
        Where stopping is wanted and there is no table to decide it; by `is_over`, where its metric
        is no number as long as one waits.
    """

    def __init__(self, model, asked, metrics, base):
        self.patience = model.early_stopping_rounds
        tables = asked.tables
        if self.patience is not None and not tables:
            raise ValueError("early_stopping_rounds needs an eval_set to watch")
        none = [None] * len(tables)
        weights = none if asked.weights is None else asked.weights
        margins = none if asked.margins is None else asked.margins
        self.tables = [
            Table(model, *table, weight, base, margin)
            for table, weight, margin in zip(tables, weights, margins, strict=True)
        ]
        self.model, self.metrics = model, metrics
        self.history = {}
        self.rounds, self.best_round, self.best = 0, 0, None
        self.every, self.skipped = int(asked.verbose or 0), None

    def begin(self, ensemble):
        """Take in the trees of rounds that were trained before; these are not rated."""
        for table in self.tables:
            table.add(ensemble)

    def is_over(self, ensemble):
        """Note a new round's trees; return whether it was the last one to wait for."""
        self.rounds += 1
        value = None
        for number, table in enumerate(self.tables):
            found = table.predict(ensemble)
            own = self.history.setdefault(f"validation_{number}", {})
            for name, metric, _ in self.metrics:
                value = metric(table.y, found, table.weight)
                own.setdefault(name, []).append(value)
        self.tell()
        if self.patience is None or value is None:
            return False
        higher = self.metrics[-1][2]
        if improves(value, self.best, higher):
            self.best_round, self.best = self.rounds - 1, value
        is_over = self.rounds - 1 - self.best_round >= self.patience
        if is_over and self.best is None:
            raise ValueError(
                f"eval_metric {self.metrics[-1][0]!r} of the last table of eval_set has been NaN "
                f"for {self.rounds} rounds: it cannot say when to stop"
            )
        return is_over

    def tell(self):
        """Print the last round's metrics as XGBoost does, where it is their turn."""
        if not (self.every and self.history):
            return
        cells = [
            f"\t{table}-{name}:{values[-1]:.5f}"
            for table, own in self.history.items()
            for name, values in own.items()
        ]
        self.skipped = f"[{self.rounds - 1}]" + "".join(cells)
        if (self.rounds - 1) % self.every == 0:
            self.end()

    def end(self):
        """Print the line that was passed over last, if any."""
        if self.skipped is not None:
            say(self.skipped)
        self.skipped = None


class Table:
    """One evaluation table, with its scores so far."""

    def __init__(self, model, X, y, weight, base, margin):
        self.X = read_rows(model, X, reset=False)
        self.y = model._encode_y(column_or_1d(y))  # noqa: SLF001 - its own part
        check_consistent_length(self.X, self.y)
        assert_all_finite(self.y, input_name="y of eval_set")
        if weight is not None:
            weight = _check_sample_weight(weight, self.X, ensure_non_negative=True)
        self.weight = weight
        shape = self.X.shape[0], len(base)
        self.score = np.empty(shape)
        self.score[:] = (
            base if margin is None else read_margin(margin, *shape, "base_margin_eval_set")
        )

    def add(self, ensemble):
        """Add trees to the scores."""
        FastPredictor(ensemble).add(self.X, self.score)

    def predict(self, ensemble):
        """Add trees to the scores; return the predictions."""
        self.add(ensemble)
        return ensemble.from_raw(self.score.astype(np.float32))
