"""Objectives of the histogram booster, under LightGBM's names.

An objective has an initial score, derivatives (`gbdt/kernels/gradients.py`) and a link from scores
to predictions. Leaves of L1, quantile and MAPE are renewed: a leaf's value is a quantile of its
rows' residuals.

With two classes, the weights of positive rows are multiplied by `scale_pos_weight`, or those of the
rarer class so that both have the same total weight (`is_unbalance`). As in LightGBM, the initial
score ignores both.
"""

from dataclasses import dataclass

import numpy as np
from sklearn.utils import assert_all_finite

from algorithms.estimator.sample_weight import split_unit
from algorithms.gbdt.kernels import gradients as kinds
from algorithms.prediction.kernels.links import write_sigmoids, write_softmax
from algorithms.runtime.exact_sums import exact_total

ALIASES = {
    "l2": "regression",
    "mse": "regression",
    "mean_squared_error": "regression",
    "regression_l2": "regression",
    "l1": "regression_l1",
    "mae": "regression_l1",
    "mean_absolute_error": "regression_l1",
    "softmax": "multiclass",
    "ova": "multiclassova",
    "ovr": "multiclassova",
    "multiclass_ova": "multiclassova",
    "rmse": "regression",
    "l2_root": "regression",
    "root_mean_squared_error": "regression",
    "mean_absolute_percentage_error": "mape",
    "xentropy": "cross_entropy",
}
REGRESSION = {
    "regression": kinds.L2,
    "regression_l1": kinds.L1,
    "huber": kinds.HUBER,
    "quantile": kinds.QUANTILE,
    "poisson": kinds.POISSON,
    "gamma": kinds.GAMMA,
    "tweedie": kinds.TWEEDIE,
    "fair": kinds.FAIR,
    "pseudo_huber": kinds.PSEUDO_HUBER,
    "mape": kinds.MAPE,
    "cross_entropy": kinds.LOGISTIC,
}
COUNTS = ("poisson", "tweedie")
CLASSES = ("binary", "multiclass", "multiclassova")
LINKS = dict.fromkeys(kinds.LOGARITHMIC, "exp") | {kinds.LOGISTIC: "sigmoid"}
TINY = 1e-15  # minimum distance of class frequencies from 0 and 1, as in LightGBM
MIN_MEAN = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True)
class Objective:
    """A loss with its constants.

    ``kind`` is a constant of `gbdt/kernels/gradients.py`, or None for softmax. ``n_scores`` is the
    number of scores per row. ``link`` is a link name of `harness.TreeEnsemble`.
    """

    name: str
    kind: int | None
    constant: float
    n_scores: int
    link: str
    positive: float = 1.0  # weight of the rows of the second of two classes
    balanced: bool = False  # whether both classes get the same total weight

    is_ranking = False  # whether gradients of a row depend on the other rows of its query

    @property
    def constant_h(self):
        """Whether h of a row is its weight."""
        return self.kind in kinds.CONSTANT

    @property
    def renewed(self):
        """Quantile of the residuals that is a leaf's value, or None if leaves are not renewed."""
        if self.kind in (kinds.L1, kinds.MAPE):
            return 0.5
        return self.constant if self.kind == kinds.QUANTILE else None

    @property
    def first_quantile(self):
        """Quantile of the targets that is the initial score, or None."""
        return 0.5 if self.kind == kinds.PSEUDO_HUBER else self.renewed

    def quantile_weights(self, y, weight):
        """Return the weights of rows in quantiles, float64 (n_rows,), or None if all are 1."""
        if self.kind != kinds.MAPE:
            return weight
        return (1.0 if weight is None else weight) / np.maximum(1.0, np.abs(y))

    def weigh(self, y, weight, total=exact_total):
        """Return the product of row and class weights, or None if all are 1.

        Parameters
        ----------
        y : (n_rows,) class codes or values
        weight : float64 (n_rows,), or None
        total : as in `first_scores`
        """
        negative, positive = 1.0, self.positive
        if self.balanced:
            n_positive, n_negative = total(y == 1), total(y != 1)
            if n_positive and n_negative:
                negative = max(n_positive / n_negative, 1.0)
                positive = max(n_negative / n_positive, 1.0)
        if negative == positive == 1.0:
            return weight
        of_class = np.where(y == 1, positive, negative)
        return of_class if weight is None else weight * of_class

    def targets(self, y):
        """Return the targets of each score, (n_scores, n_rows); for softmax (1, n_rows) codes.

        Values are float64, class codes float32.
        """
        dtype = np.float32 if self.name in CLASSES else np.float64
        if self.kind is None or self.n_scores == 1:
            return np.ascontiguousarray(y, dtype)[None]
        return (y == np.arange(self.n_scores)[:, None]).astype(dtype)

    def first_scores(self, y, weight, total=exact_total):
        """Return the constant that minimizes the loss, float64 (n_scores,).

        Parameters
        ----------
        y, weight : as in `weigh`
        total : callable, optional
            Maps an array to its exact sum; in distributed training, to the sum over all ranks.
        """
        if self.first_quantile is not None:
            counted = self.quantile_weights(y, weight)
            return np.array([weighted_quantile(y, counted, self.first_quantile)])
        weight = np.ones(len(y)) if weight is None else weight
        if self.kind is None:
            by_class = np.array([total(weight * (y == k)) for k in range(self.n_scores)])
            return np.log(np.maximum(by_class / total(weight), TINY))
        return np.array([self._first(target, weight, total) for target in self.targets(y)])

    def _first(self, y, weight, total):
        mean = total(y * weight) / total(weight)
        if self.kind == kinds.LOGISTIC:
            share = min(max(mean, TINY), 1.0 - TINY)
            return np.log(share / (1.0 - share)) / self.constant
        return np.log(max(mean, MIN_MEAN)) if self.link == "exp" else mean


def default_objective(n_classes):
    """Return the name of the default objective; 0 classes means regression."""
    if not n_classes:
        return "regression"
    return "binary" if n_classes <= 2 else "multiclass"


def find_objective(params, n_classes):
    """Return the `Objective` according to the parameters.

    Parameters
    ----------
    params : the estimator
    n_classes : 0 for regression

    Raises
    ------
    ValueError
        If the objective does not fit the task.
    """
    name = params.objective or default_objective(n_classes)
    name = ALIASES.get(name, name)
    fitting = CLASSES if n_classes else REGRESSION
    if name not in fitting:
        task = "classification" if n_classes else "regression"
        known = sorted([*fitting, *(alias for alias, own in ALIASES.items() if own in fitting)])
        raise ValueError(
            f"objective {params.objective!r} is not one for {task}: these are {', '.join(known)}"
        )
    if name in REGRESSION:
        kind = REGRESSION[name]
        constants = {
            kinds.HUBER: params.alpha,
            kinds.QUANTILE: params.alpha,
            kinds.POISSON: params.poisson_max_delta_step,
            kinds.TWEEDIE: params.tweedie_variance_power,
            kinds.FAIR: params.fair_c,
            kinds.PSEUDO_HUBER: params.huber_slope,
            kinds.LOGISTIC: 1.0,
        }
        link = LINKS.get(kind, "identity")
        return Objective(name, kind, float(constants.get(kind, 0.0)), 1, link)
    if n_classes > 2 and name == "binary":
        raise ValueError(f"objective 'binary' is for two classes; y has {n_classes}")
    if n_classes <= 2:
        sides = float(params.scale_pos_weight), bool(params.is_unbalance)
        return Objective("binary", kinds.LOGISTIC, 1.0, 1, "sigmoid", *sides)
    if name == "multiclass":
        return Objective(name, None, 0.0, n_classes, "softmax")
    return Objective(name, kinds.LOGISTIC, 1.0, n_classes, "sigmoid")


def check_targets(name, y):
    """Raise ValueError if the objective does not allow the training targets y, float64."""
    check_range(name, y)
    if ALIASES.get(name, name) in COUNTS and y.sum() == 0:
        raise ValueError(f"objective {name!r} needs y >= 0 with a positive sum")


def check_range(name, y, where=""):
    """Raise ValueError if a value of y is outside the range of the objective.

    Parameters
    ----------
    name : str, callable or None, the objective
    y : float64 (n_rows,)
    where : str, name of the table for the error message
    """
    name = ALIASES.get(name, name)
    if name == "gamma" and (y < MIN_MEAN).any():
        least = "" if (y <= 0).any() else f", of at least {MIN_MEAN}"  # otherwise exp(F) is 0
        raise ValueError(f"objective 'gamma' needs y > 0{least}{where}")
    if name in COUNTS and (y < 0).any():
        raise ValueError(f"objective {name!r} needs y >= 0{where}")
    if name == "cross_entropy" and not ((y >= 0) & (y <= 1)).all():
        raise ValueError(f"objective 'cross_entropy' needs shares: y between 0 and 1{where}")


def read_watched(name, y):
    """Return the targets of an evaluation table, float64 (n_rows,).

    All of them may be 0, because no initial score is computed from them.

    Parameters
    ----------
    name : str, callable or None, the objective
    y : array (n_rows,)

    Raises
    ------
    ValueError
        If they are not finite, or the objective does not allow them.
    """
    y = y.astype(np.float64, copy=False)
    assert_all_finite(y, input_name="y of eval_set")
    check_range(name, y, where=" in eval_set")
    return y


def to_values(score, link):
    """Return the predictions of raw scores, float64 (n_rows,).

    Parameters
    ----------
    score : float64 (n_rows, 1)
    link : "identity", "exp" or "sigmoid"
    """
    if link == "sigmoid":
        with np.errstate(over="ignore"):
            return 1.0 / (1.0 + np.exp(-score[:, 0]))
    return np.exp(score[:, 0]) if link == "exp" else score[:, 0]


def to_probabilities(score, link):
    """Return the probabilities of raw scores, float64 (n_rows, n_classes).

    Parameters
    ----------
    score : float64 (n_rows, n_scores)
    link : "sigmoid" of each score alone, else "softmax"; one score is always one of two classes
    """
    n_rows, n_scores = score.shape
    out = np.empty((n_rows, max(n_scores, 2)))
    if n_scores == 1 or link == "sigmoid":
        write_sigmoids(score.reshape(-1), out.reshape(-1))
    else:
        write_softmax(score, out)
    return out


def weighted_quantile(values, weight, share):
    """Return a quantile by linear interpolation; with equal weights the same as NumPy's.

    With unequal weights it is the mean of the weighted quantile function over an interval of
    width 1 / n*, where n* = (Σw)² / Σw² is the effective number of rows (Akinshin: Weighted
    quantile estimators, 2023, type 7). So it depends only on ratios of weights, rows of weight 0
    have no influence, and rows of tiny weight almost none.

    Parameters
    ----------
    values : (n,) float64
    weight : (n,) float64 of at least 0, or None
    share : float between 0 and 1
    """
    weight, _ = split_unit(weight)
    if weight is not None and not weight.all():
        present = weight > 0.0
        values = values[present]
        weight, _ = split_unit(weight[present])
    if weight is None:
        return float(np.quantile(values, share))
    order = np.argsort(values, kind="stable")
    values, weight = values[order], weight[order] / weight.max()
    ends = np.cumsum(weight)
    ends /= ends[-1]
    width = (weight**2).sum() / weight.sum() ** 2
    first = share * (1.0 - width)
    covered = np.clip((ends - first) / width, 0.0, 1.0)
    covered[-1] = 1.0
    parts = np.diff(covered, prepend=0.0)
    return float(values[0] + parts @ (values - values[0]))
