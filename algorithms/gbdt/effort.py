"""Effort of cross-fitted boosting: parameters by effort and size of the table, and a cost model.

The unit of effort is the time of LightGBM's default, 100 rounds of trees with 31 leaves. A fixed
model of that time turns a budget in seconds into an effort before training. So the trained model
does not depend on the speed of the machine at that moment.
"""

from dataclasses import asdict, dataclass

EFFORTS = {"low": 1.0, "medium": 4.0, "high": 24.0}
UNIT_SECONDS = 0.02  # of the cost model: start, of one score
UNIT_SECONDS_OF_VALUE = 4.5e-7  # and for each value of the table
LEAST_EFFORT, MOST_EFFORT = 0.25, 1000.0


@dataclass(frozen=True)
class Plan:
    """Parameters that follow from the effort and from the size of the table."""

    n_folds: int
    max_rounds: int
    patience: int
    learning_rate: float
    num_leaves: int
    min_child_samples: int
    reg_lambda: float
    subsample: float
    colsample_bytree: float
    extra_trees: bool  # one random threshold for each feature of a node

    def booster_params(self):
        """Return the parameters of the histogram booster."""
        names = ("learning_rate", "num_leaves", "min_child_samples", "reg_lambda")
        plan = asdict(self)
        return {name: plan[name] for name in (*names, "colsample_bytree", "extra_trees")}


def seconds_of_unit(n_rows, n_columns, n_scores):
    """Return the modelled seconds of one unit of effort, on one thread of a usual machine."""
    return n_scores * (UNIT_SECONDS + UNIT_SECONDS_OF_VALUE * n_rows * n_columns)


def effort_of_budget(seconds, n_rows, n_columns, n_scores):
    """Return the effort that a budget in seconds allows by the cost model."""
    effort = seconds / seconds_of_unit(n_rows, n_columns, n_scores)
    return min(max(effort, LEAST_EFFORT), MOST_EFFORT)


def make_plan(effort, n_rows, n_columns):
    """Return the `Plan` of an effort for a table.

    Parameters
    ----------
    effort : float, in units of LightGBM's default
    n_rows, n_columns : int
    """
    n_folds = 3 if effort < 2.0 else 5 if effort < 12.0 else 8
    n_folds = max(1, min(n_folds, n_rows))
    rate = min(0.2, max(0.02, 0.16 / effort**0.5))
    rounds = int(min(5000, max(20, 130 * effort / n_folds * 2.0)))
    return Plan(
        n_folds=n_folds,
        max_rounds=rounds,
        patience=max(10, round(3.0 / rate)),
        learning_rate=rate,
        num_leaves=max(4, min(16, n_rows // 30)),
        min_child_samples=max(2, min(20, n_rows // 200)),
        reg_lambda=1.0,
        subsample=0.8,
        colsample_bytree=0.8 if n_columns > 5 else 1.0,
        extra_trees=True,
    )
