"""Several targets in second-order boosting: each round grows one tree for each target.

The loss of a row is the sum of the losses of its targets. The targets share the sampled rows of a
round and nothing else, as with XGBoost's ``multi_strategy="one_output_per_tree"``.
"""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from sklearn.utils import check_array

from algorithms.gbdt.ranking_curves import area
from algorithms.newton.metrics import call_metric, find_metrics
from algorithms.newton.objectives import EXPECTILE, Custom, Objective
from algorithms.newton.params import read_base

LABELS = (0, 1)  # values of each column of a table of labels


@dataclass(frozen=True)
class SeveralTargets:
    """Objective of several targets.

    Parameters
    ----------
    each : Objective of one target, with one score per row
    n_scores : int, number of targets
    """

    each: Objective
    n_scores: int

    by_query = False  # whether derivatives of a row depend on the other rows of its query

    @property
    def name(self):
        """Name of the objective."""
        return self.each.name

    @property
    def link(self):
        """Link of `harness.TreeEnsemble`."""
        return self.each.link

    @property
    def renewed(self):
        """Quantile levels of the residuals that become leaf values, one per target, or None."""
        return None if self.each.renewed is None else self.each.renewed * self.n_scores

    def weigh(self, _y, weight):
        """Return the weights unchanged; `differentiate` applies ``scale_pos_weight``."""
        return weight

    def differentiate(self, score, y, weight, g, h, workers):
        """Write g and h at the current scores; as `Objective.differentiate`, y has columns."""
        for k in range(self.n_scores):
            target, one = target_column(y, k), slice(k, k + 1)
            own = self.each.weigh(target, weight)
            self.each.differentiate(score[one], target, own, g[one], h[one], workers)

    def first_scores(self, y, weight, given, workers):
        """Return the initial scores before the link is applied, float32 (n_targets,)."""
        starts = [None] * self.n_scores
        if given is not None:
            starts = np.broadcast_to(read_base(given, self.n_scores), self.n_scores).tolist()
        found = []
        for k, start in enumerate(starts):
            target = target_column(y, k)
            own = self.each.weigh(target, weight)
            found.append(self.each.first_scores(target, own, start, workers))
        return np.concatenate(found).astype(np.float32)


def target_column(y, k):
    """Return a target of a table, (n_rows,); of a vector, the vector."""
    return y if y.ndim == 1 else np.ascontiguousarray(y[:, k])


def count_targets(y):
    """Return the number of columns of an array-like with several columns, otherwise 1."""
    try:
        shape = y.shape if hasattr(y, "shape") else np.asarray(y).shape
    except ValueError:  # rows of different lengths
        return 1
    return shape[1] if len(shape) == 2 and shape[1] > 1 else 1


def make_objective_of_targets(objective, n_targets):
    """Return an objective for several targets.

    Raises
    ------
    ValueError
        If the objective has several scores per target, or is that of expectiles.
    """
    if isinstance(objective, Custom):
        return replace(objective, n_scores=n_targets)
    if objective.n_scores > 1:
        raise ValueError(f"{objective.name!r} with several scores does not support several targets")
    if objective.kind == EXPECTILE:  # as in XGBoost
        raise ValueError(f"{objective.name!r} does not support several targets")
    return SeveralTargets(objective, n_targets)


def read_labels(y):
    """Return a table of labels as float64.

    Raises
    ------
    ValueError
        If a value is neither 0 nor 1.
    """
    y = np.asarray(y)
    if not np.isin(y, LABELS).all():
        raise ValueError("y with several columns must hold the labels 0 and 1")
    return y.astype(np.float64)


def read_targets(y, n_targets):
    """Return the targets of an evaluation set, (n_rows, n_targets).

    Raises
    ------
    ValueError
        If it has another number of targets.
    """
    y = check_array(y, dtype=None, ensure_all_finite=False, input_name="y of eval_set")
    if y.shape[1] != n_targets:
        raise ValueError(f"y of eval_set has {y.shape[1]} columns; the model has {n_targets}")
    return y


def find_metrics_of_targets(wanted, objective, params, n_classes, n_targets):
    """Return the metrics of one or several targets; see `find_metrics`.

    Built-in metrics are means over all values of all targets, as in XGBoost. A callable gets the
    tables of all targets and predictions.
    """
    if n_targets == 1:
        return find_metrics(wanted, objective, params, n_classes)
    return [metric_of_targets(*one) for one in find_metrics(wanted, objective, params, 0)]


def metric_of_targets(name, metric, higher):
    """Return an entry of `find_metrics` for several targets."""
    if metric.func is call_metric:
        return name, metric, higher
    if metric.func is area:
        raise ValueError(f"eval_metric {name!r} does not support several targets")
    return name, partial(mean_of_targets, metric), higher


def mean_of_targets(metric, y, prediction, weight):
    """Return a metric of all values of all targets."""
    if weight is not None:
        weight = np.repeat(weight, y.shape[1])
    return metric(y.ravel(), prediction.ravel(), weight)
