"""XGBoost's objectives: gradients and hessians in float32, and the initial score.

If no base score is given, it is estimated as in XGBoost:

    losses of a generalized linear model   the weighted mean of y, in float64, then its link
    pseudo-Huber, or a scale_pos_weight    one Newton step from F = 0: −Σg / max(Σh, 10⁻⁶)
    absolute error, quantiles              the (weighted) median, or quantile
    smoothed absolute error (3.4)          one Newton step from the weighted mean of y
    softmax                                log (share of the class + 10⁻⁶), minus their mean
"""

from dataclasses import dataclass

import numpy as np

from algorithms.newton.params import read_base
from algorithms.newton.quantiles import quantile
from algorithms.parity.kernels import xgboost_gradient as kernels
from algorithms.parity.kernels.xgboost_arrays import RT_EPS

ONE = np.float32(1.0)


@dataclass(frozen=True)
class Loss:
    """Properties of an objective."""

    kind: int | None  # None: softmax
    link: int = kernels.IDENTITY
    lowest: float = -np.inf  # minimum of labels
    highest: float = np.inf
    scaled: bool = False  # whether scale_pos_weight is used
    linear: bool = True  # whether the mean of y is the base score

    @property
    def inverse(self):
        """Function that converts a score to a mean."""
        return {kernels.LOG: kernels.EXP, kernels.LOGIT: kernels.SIGMOID}.get(
            self.link, kernels.IDENTITY
        )


LOSSES = {
    "reg:squarederror": Loss(kernels.SQUARED, scaled=True),
    "reg:logistic": Loss(kernels.LOGISTIC, kernels.LOGIT, 0.0, 1.0, scaled=True),
    "binary:logistic": Loss(kernels.LOGISTIC, kernels.LOGIT, 0.0, 1.0, scaled=True),
    "reg:gamma": Loss(kernels.GAMMA, kernels.LOG, np.nextafter(0.0, 1.0), scaled=True),
    "count:poisson": Loss(kernels.POISSON, kernels.LOG, 0.0),
    "reg:tweedie": Loss(kernels.TWEEDIE, kernels.LOG, 0.0),
    "reg:pseudohubererror": Loss(kernels.PSEUDO_HUBER, linear=False),
    "reg:absoluteerror": Loss(kernels.ABSOLUTE, linear=False),
    "reg:quantileerror": Loss(kernels.QUANTILE, linear=False),
    "multi:softprob": Loss(None),
    "multi:softmax": Loss(None),
}


class Objective:
    """Objective with its targets and weights.

    Parameters
    ----------
    settings : Settings
    y : (n,) float, targets or class codes
    weight : (n,) float, optional
    """

    def __init__(self, settings, y, weight):
        self.settings = settings
        if settings.objective not in LOSSES:
            known = ", ".join(LOSSES)
            raise ValueError(
                f"parity='xgboost' does not support objective={settings.objective!r}: use one of "
                f"{known}"
            )
        self.loss = LOSSES[settings.objective]
        self.y = np.ascontiguousarray(y, np.float32)
        if self.y.min() < self.loss.lowest or self.y.max() > self.loss.highest:
            raise ValueError(f"y has values that objective={settings.objective!r} does not allow")
        self.is_weighted = weight is not None
        self.weight = (
            np.ascontiguousarray(weight, np.float32) if self.is_weighted else np.ones_like(self.y)
        )
        self.scaled = self.weight  # weight of a row times that of its class
        if self.loss.scaled and settings.scale_pos_weight != ONE:
            self.scaled = np.where(
                self.y == ONE, self.weight * settings.scale_pos_weight, self.weight
            )
        self.constants = self.constants_of_scores()
        self.n_scores = len(self.constants)

    @property
    def h_is_constant(self):
        """Whether a row's hessian is the same in every round."""
        return self.renews or self.loss.kind == kernels.SQUARED

    @property
    def is_quantile(self):
        """Whether the objective is an absolute or a quantile error."""
        return self.loss.kind in (kernels.ABSOLUTE, kernels.QUANTILE)

    @property
    def is_smoothed(self):
        """Whether the objective is a smoothed absolute or quantile error."""
        return self.is_quantile and self.settings.release.smooths_quantiles

    @property
    def renews(self):
        """Whether leaf values are quantiles of the residuals."""
        return self.is_quantile and not self.is_smoothed

    def differentiate(self, score, g, h):
        """Write g and h; all arrays are float32 (n_scores, n)."""
        if self.loss.kind is None:
            kernels.differentiate_classes(score, self.y, self.weight, g, h)
            return
        write = kernels.differentiate_smoothed if self.is_smoothed else kernels.differentiate
        for k, a in enumerate(self.constants):
            write(self.loss.kind, a, score[k], self.y, self.scaled, g[k], h[k])

    def constants_of_scores(self):
        """Return the loss's constant for each score, float32."""
        settings = self.settings
        if self.loss.kind is None:
            return np.ones(int(self.y.max()) + 1, np.float32)
        if self.loss.kind == kernels.QUANTILE and len(settings.quantile_alpha) == 0:
            raise ValueError("objective='reg:quantileerror' requires quantile_alpha")
        constant = {
            kernels.POISSON: settings.rules.max_delta_step,
            kernels.TWEEDIE: settings.tweedie_variance_power,
            kernels.PSEUDO_HUBER: settings.huber_slope,
            kernels.QUANTILE: settings.quantile_alpha,
            kernels.ABSOLUTE: np.float32(0.5),  # the median
        }.get(self.loss.kind, ONE)
        return np.atleast_1d(constant)

    def base(self):
        """Return the initial raw scores, float32 (n_scores,)."""
        if self.settings.base_score is not None:
            given = read_base(self.settings.base_score, self.n_scores).astype(np.float32)
            return self.to_score(np.broadcast_to(given, self.n_scores).copy())
        if self.loss.kind is None:
            return self.log_shares()
        if self.is_smoothed and self.loss.kind == kernels.ABSOLUTE:
            return self.step_from_mean()
        if self.is_quantile:
            quantiles = [self.quantile_of(self.y, slice(None), k) for k in range(self.n_scores)]
            return np.array(list(map(self.round_like_library, quantiles)), np.float32)
        is_scaled = abs(self.settings.scale_pos_weight - ONE) > RT_EPS
        if self.loss.linear and not (self.loss.scaled and is_scaled):
            return self.to_score(np.array([self.mean()], np.float32))
        step = self.newton_step(np.float32(0.0))
        return self.to_score(apply_function(self.loss.inverse, step))

    def to_score(self, mean):
        """Return the link of means, float32."""
        if self.loss.link == kernels.LOGIT:
            if not ((mean >= 0.0) & (mean <= 1.0)).all():
                raise ValueError("base_score of a logistic objective must be between 0 and 1")
            mean = np.clip(mean, RT_EPS, ONE - RT_EPS)
        return apply_function(self.loss.link, mean)

    def mean(self):
        """Return the weighted mean of y: a sum, in order, of terms that are divided first."""
        y = self.y.astype(np.float64)
        if not self.is_weighted:
            return add_up(y / len(y))
        return add_up(y / add_up(self.weight) * self.weight)

    def quantile_of(self, values, rows, k):
        """Return the quantile of score k of the float32 values of some rows."""
        weight = self.weight[rows] if self.is_weighted else None
        return quantile(values, weight, np.float64(self.constants[k]))

    def round_like_library(self, value):
        """Return a median, rounded as in XGBoost's mean over machines (here a single one)."""
        if self.loss.kind == kernels.QUANTILE:
            return value
        total = add_up(self.weight)
        return np.float64(np.float32(value * total)) * (1.0 / total)

    def newton_step(self, score):
        """Return one Newton step from a score of all rows, float32 (1,)."""
        g, h = np.empty((2, 1, len(self.y)), np.float32)
        self.differentiate(np.full((1, len(self.y)), score), g, h)
        step = -add_up(g[0]) / max(add_up(h[0]), np.float64(RT_EPS))
        return np.array([step], np.float32)

    def step_from_mean(self):
        """Return the mean of y plus one Newton step; 0 if the sum of weights is almost 0."""
        if add_up(self.weight) < kernels.MIN_WEIGHT:
            return np.zeros(1, np.float32)
        mean = np.float32(self.mean())
        return self.newton_step(mean) + mean

    def log_shares(self):
        """Return the centered logarithms of the shares of the classes."""
        counts = np.zeros(self.n_scores, np.float32)
        np.add.at(counts, self.y.astype(np.int64), self.weight)
        shares = (counts * (1.0 / add_up(self.weight))).astype(np.float32)
        logs = apply_function(kernels.LOG, shares + RT_EPS)
        return logs - np.add.accumulate(logs / np.float32(self.n_scores))[-1]


def apply_function(kind, values):
    """Return a function of `xgboost_gradient` applied to float32 values."""
    result = values.copy()
    kernels.transform(kind, result)
    return result


def add_up(values):
    """Return the float64 sum, added in order."""
    return np.add.accumulate(values, dtype=np.float64)[-1]
