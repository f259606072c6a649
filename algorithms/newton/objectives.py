"""Objectives of second-order boosting under XGBoost's names: derivatives and initial scores.

The derivatives are those of `gbdt/kernels/gradients.py`, and with r = F − y and slope δ

    reg:pseudohubererror    g = r / √(1 + r²/δ²)    h = 1 / √(1 + r²/δ²)
    multi:softprob          h_k = 2 p_k (1 − p_k)

The second derivative of the pseudo-Huber loss (the cube of the h above) vanishes far from y, so
Newton steps overshoot, and boosting diverges if |r| is many δ. The h above is the curvature of the
parabola that touches the loss at F and lies above it elsewhere: its steps never increase the loss
(Huber, Ronchetti: Robust statistics, 2009, chapter 7). With `parity`, h is the second derivative,
as in XGBoost.

The initial score is the best-fitting constant: after the link it is the mean of y, or the class
frequencies; for absolute and quantile errors it is the quantile. All are estimated as in XGBoost 3,
except that weights of 1 are ignored (XGBoost's weighted quantile selects another neighbor). Leaf
values of absolute and quantile errors are that quantile too. If there is no closed form, the
initial score is one Newton step from 0; expectiles take it from the mean of y
(`newton/expectiles.py`). "reg:squaredlogerror" starts from its best constant, where
XGBoost takes that step. The pseudo-Huber loss uses the median, because its step
from 0 ends about ȳ³ away (as in XGBoost; `parity` follows it).
"""

from dataclasses import dataclass
from functools import partial

import numpy as np

from algorithms.estimator.eval_sets import read_derivatives
from algorithms.gbdt.kernels import gradients as kinds
from algorithms.gbdt.kernels.gradients import ROWS, differentiate, differentiate_classes
from algorithms.model_io.ascending_scores import scores_of
from algorithms.newton import expectiles
from algorithms.newton.elementwise_losses import differentiate_hinge, differentiate_squared_log
from algorithms.newton.params import max_delta_step, read_base
from algorithms.newton.quantiles import quantile
from algorithms.newton.survival import DISTRIBUTIONS, differentiate_aft, differentiate_cox

SOFTMAX, PSEUDO_HUBER, SQUARED_LOG, COX, HINGE = -1, -2, -3, -4, -5
EXPECTILE = -6
AFT = {name: -7 - number for number, name in enumerate(DISTRIBUTIONS)}
IN_NUMPY = {  # kind → function (scores, y, constant) that returns g and h of all rows
    SQUARED_LOG: differentiate_squared_log,
    HINGE: differentiate_hinge,
    COX: differentiate_cox,
    **{kind: partial(differentiate_aft, name) for name, kind in AFT.items()},
}
REGRESSION = {
    "reg:squarederror": (kinds.L2, "identity"),
    "reg:logistic": (kinds.LOGISTIC, "sigmoid"),
    "reg:absoluteerror": (kinds.L1, "identity"),
    "reg:pseudohubererror": (PSEUDO_HUBER, "identity"),
    "reg:quantileerror": (kinds.QUANTILE, "identity"),
    "count:poisson": (kinds.POISSON, "exp"),
    "reg:gamma": (kinds.GAMMA, "exp"),
    "reg:tweedie": (kinds.TWEEDIE, "exp"),
    "reg:squaredlogerror": (SQUARED_LOG, "identity"),
    "reg:expectileerror": (EXPECTILE, "identity"),
    "binary:logitraw": (kinds.LOGISTIC, "identity"),
    "survival:cox": (COX, "exp"),
    "survival:aft": (AFT["normal"], "exp"),
}
BINARY = ("binary:logistic", "binary:hinge")
CLASSES = ("multi:softprob", "multi:softmax")
BLOCK = 1 << 13
NO_WEIGHT = np.empty(0)
CLOSEST = 1e-6  # minimum distance of a mean from 0 and 1, as in XGBoost
MIN_H = np.float32(1e-16)
TINY = 1e-16  # minimum frequency of a class
HALF = 0.5  # share of the second class above which it is the more frequent one
AFT_START = 0.5  # prediction of survival:aft before the first tree, as in XGBoost
MIN_MEAN = np.finfo(np.float64).tiny


@dataclass(frozen=True)
class Objective:
    """A loss with its constants; ``link`` is a link of `harness.TreeEnsemble`."""

    name: str
    kind: int
    constant: float
    n_scores: int
    link: str
    scale_pos_weight: float = 1.0
    shares: tuple = ()  # quantile levels, one per score
    levels: tuple = ()  # expectile levels, one per score

    @property
    def by_query(self):
        """Whether derivatives of a row depend on other rows."""
        return self.kind == COX

    @property
    def renewed(self):
        """Quantile levels of the residuals that become leaf values, one per score, or None."""
        return self.shares or None

    @property
    def constant_h(self):
        """Whether h is the weight of the row."""
        return self.kind in kinds.CONSTANT

    @property
    def h_factor(self):
        """Factor of the kernel's h.

        The kernel's h of softmax is LightGBM's K/(K−1) p (1−p). XGBoost's is 2 p (1−p), the sum of
        |∂²l/∂F_k ∂F_j| over j. This diagonal dominates the matrix, so the steps of all classes can
        be taken at once. Both are equal for K = 2.
        """
        return 2.0 * (self.n_scores - 1.0) / self.n_scores if self.kind == SOFTMAX else 1.0

    def weigh(self, y, weight):
        """Return weights with ``scale_pos_weight`` applied, or None if all are 1."""
        if self.kind != kinds.LOGISTIC or self.scale_pos_weight == 1.0:
            return weight
        scale = np.where(y == 1.0, self.scale_pos_weight, 1.0)
        return scale if weight is None else weight * scale

    def differentiate(self, score, y, weight, g, h, workers):
        """Write g and h at the current scores.

        Parameters
        ----------
        score : (n_scores, n_rows) float64
        y : (n_rows,) float64, values or class codes
        weight : (n_rows,) float64 or None, as `weigh` returns it
        g, h : (n_scores, n_rows) float32, written
        workers : Workers
        """
        if self.kind in IN_NUMPY:
            first, second = IN_NUMPY[self.kind](score[0], y, self.constant)
            factor = 1.0 if weight is None else weight
            g[0], h[0] = first * factor, second * factor
            return
        if self.kind == EXPECTILE:
            first, second = expectiles.differentiate_expectiles(score, y, self.levels)
            factor = 1.0 if weight is None else weight
            g[:], h[:] = first * factor, second * factor
            return
        weights = NO_WEIGHT if weight is None else weight
        n_rows = len(y)

        def share(first, last):
            first, last = first * BLOCK, min(last * BLOCK, n_rows)
            if self.kind == SOFTMAX:
                work = np.empty((len(score) + 2, ROWS))
                differentiate_classes(score, y, weights, work, g, h, first, last)
                own = h[:, first:last]
                own *= np.float32(self.h_factor)
                np.maximum(own, MIN_H, out=own)
            elif self.kind == PSEUDO_HUBER:
                rows = slice(first, last)
                self.differentiate_huber(score[0, rows], y[rows], weight, g, h, rows)
            else:
                for k in range(self.n_scores):
                    constant = self.shares[k] if self.kind == kinds.QUANTILE else self.constant
                    one = (score[k], y, weights, g[k], h[k], first, last)
                    differentiate(self.kind, constant, *one)
                if self.constant_h and weight is None:
                    h[:, first:last] = 1.0

        workers.share(share, -(-n_rows // BLOCK))

    def differentiate_huber(self, score, y, weight, g, h, rows):
        """Write the derivatives of the pseudo-Huber loss for a slice of rows."""
        r = score - y
        w = 1.0 if weight is None else weight[rows]
        h[0, rows] = curvature = w / np.sqrt(1.0 + (r / self.constant) ** 2)
        g[0, rows] = r * curvature

    def first_scores(self, y, weight, given, workers):
        """Return the initial scores before the link is applied, float32 (n_scores,).

        Parameters
        ----------
        y, weight : as in `differentiate`
        given : base_score, on the scale of predictions, or None
        workers : Workers
        """
        if given is not None:
            mean = read_base(given, self.n_scores)
            if self.link == "sigmoid" and not ((mean > 0.0) & (mean < 1.0)).all():
                raise ValueError(f"base_score of {self.name} must lie between 0 and 1")
            if self.link == "exp" and not (mean > 0.0).all():
                raise ValueError(f"base_score of {self.name} must be above 0")
            return self.margin(mean)
        if self.renewed is not None or self.kind == PSEUDO_HUBER:
            return np.float32([quantile_of(y, weight, s) for s in self.shares or (0.5,)])
        if self.kind == EXPECTILE:
            return expectiles.first_scores(y, weight, self.levels)
        if self.scale_pos_weight != 1.0 or self.kind == COX:
            g, h = np.empty((2, 1, len(y)), np.float32)
            self.differentiate(np.zeros((1, len(y))), y, weight, g, h, workers)
            total = h.sum(dtype=np.float64)
            return np.float32([-g.sum(dtype=np.float64) / total if total > 0.0 else 0.0])
        return self.best_constant(y, weight)

    def best_constant(self, y, weight):
        """Return the best-fitting constant scores where they have a closed form.

        The start of survival:aft is XGBoost's constant, that of binary:hinge a prediction.
        """
        if self.kind == SOFTMAX:
            total = np.bincount(y.astype(np.int64), weight, self.n_scores)
            log = np.log(np.maximum(total / total.sum(), TINY))
            return (log - log.mean()).astype(np.float32)
        if self.kind in AFT.values():
            return self.margin(np.array([AFT_START]))
        if self.kind == HINGE:  # the prediction of the more frequent class, as in XGBoost
            return np.float32([np.average(y, weights=weight) > HALF])
        if self.kind == SQUARED_LOG:
            return self.margin(np.expm1([np.average(np.log1p(y), weights=weight)]))
        return self.margin(np.array([np.average(y, weights=weight)]))

    def margin(self, mean):
        """Return the scores whose predictions are ``mean``, float32 (n_scores,)."""
        if self.link == "sigmoid":
            p = np.clip(mean, CLOSEST, 1.0 - CLOSEST)
            mean = np.log(p / (1.0 - p))
        elif self.link == "exp":
            mean = np.log(np.maximum(mean, MIN_MEAN))
        elif self.link == "ascending":
            mean = scores_of(np.broadcast_to(mean, self.n_scores))
        return np.broadcast_to(mean, self.n_scores).astype(np.float32)


@dataclass(frozen=True)
class Custom:
    """A user-defined loss: a callable (y, scores) → (g, h), with ``sample_weight`` if given."""

    function: object
    n_scores: int
    link: str
    name: str = "custom"
    renewed = None
    by_query = False

    def weigh(self, _y, weight):
        """Return the weights unchanged: the function applies them."""
        return weight

    def first_scores(self, _y, _weight, given, _workers):
        """Return the given base score, or zeros."""
        start = 0.0 if given is None else read_base(given, self.n_scores)
        return np.broadcast_to(start, self.n_scores).astype(np.float32)

    def differentiate(self, score, y, weight, g, h, _workers):
        """Write the derivatives that the function returns; they have the shape of its scores.

        Raises
        ------
        TypeError, ValueError
            As in `read_derivatives`.
        """
        raw = np.array(
            score[0] if len(score) == 1 else score.T, order="C"
        )  # a copy: the function may modify it
        options = {} if weight is None else {"sample_weight": weight}
        found = read_derivatives(self.function(y, raw, **options), raw.shape, may_be_flat=True)
        with np.errstate(over="ignore"):  # infinite derivatives are rejected later
            for to, values in zip((g, h), found, strict=True):
                to[:] = values.T.reshape(to.shape)


def read_shares(given):
    """Return the quantile levels as a tuple of floats.

    Raises
    ------
    ValueError
        If there is none, or one is not between 0 and 1.
    """
    shares = np.atleast_1d(np.asarray(given, np.float64))
    if shares.ndim != 1 or not shares.size or not ((shares > 0.0) & (shares < 1.0)).all():
        raise ValueError(f"quantile_alpha must lie between 0 and 1, each of them; it is {given!r}")
    return tuple(shares.tolist())


def quantile_of(values, weight, share):
    """Return XGBoost's quantile of values, with values and level rounded to float32."""
    weight = None if weight is None else weight.astype(np.float32)
    return quantile(values.astype(np.float32), weight, np.float64(np.float32(share)))


def find_objective(params, n_classes):
    """Return the objective of the parameters.

    Parameters
    ----------
    params : the estimator
    n_classes : 0 for regression

    Raises
    ------
    ValueError
        If the task has no objective of that name.
    """
    wanted = params.objective
    several = n_classes > 2
    if callable(wanted):
        link = ("softmax" if several else "sigmoid") if n_classes else "identity"
        return Custom(wanted, n_classes if several else 1, link)
    if not n_classes:
        return find_regression_objective(params)
    name = wanted or (CLASSES if several else BINARY)[0]
    if name not in (*CLASSES, *BINARY):
        raise ValueError(f"objective {name!r} is none of {[*BINARY, *CLASSES]}")
    if several:
        return Objective(CLASSES[0], SOFTMAX, 0.0, n_classes, "softmax")
    if name == "binary:hinge":
        return Objective(name, HINGE, 0.0, 1, "step")
    weight = float(params.scale_pos_weight)
    return Objective(BINARY[0], kinds.LOGISTIC, 1.0, 1, "sigmoid", weight)


def find_regression_objective(params):
    """Return the objective of regression; see `find_objective`."""
    name = params.objective or "reg:squarederror"
    if name not in REGRESSION:
        raise ValueError(f"objective {name!r} is none of {sorted(REGRESSION)}")
    kind, link = REGRESSION[name]
    if name == "survival:aft":
        kind, scale = AFT[params.aft_loss_distribution], params.aft_loss_distribution_scale
        return Objective(name, kind, float(np.float32(scale)), 1, link)
    if kind in (kinds.L1, kinds.QUANTILE):
        shares = (0.5,) if kind == kinds.L1 else read_shares(params.quantile_alpha)
        return Objective(name, kind, 0.0, len(shares), link, shares=shares)
    if kind == EXPECTILE:
        levels = expectiles.read_levels(params.expectile_alpha)
        link = "ascending" if len(levels) > 1 else link
        return Objective(name, kind, 0.0, len(levels), link, levels=levels)
    constants = {
        kinds.LOGISTIC: 1.0,
        PSEUDO_HUBER: params.huber_slope,
        kinds.POISSON: max_delta_step(params),
        kinds.TWEEDIE: params.tweedie_variance_power,
    }
    weight = float(params.scale_pos_weight) if kind == kinds.LOGISTIC else 1.0
    return Objective(name, kind, float(constants.get(kind, 0.0)), 1, link, weight)
