"""Objectives of symmetric-tree boosting under CatBoost's names.

`symmetric/kernels/leaf_sums.py` has the derivatives. The initial score is the mean for RMSE, a
quantile for MAE and Quantile, the quantiles for MultiQuantile, and 0 for the other losses.
"""

from dataclasses import dataclass

import numpy as np

from algorithms.symmetric.kernels import leaf_sums as kinds

REGRESSION = (
    *("RMSE", "MAE", "Quantile", "Expectile", "Huber", "Poisson", "Tweedie", "CrossEntropy"),
    *("MultiQuantile", "RMSEWithUncertainty"),
)
PAIRWISE, NORMAL, CALLABLE = -1, -2, -3  # kinds of losses that `kinds` does not have
BINARY = ("Logloss", "CrossEntropy")
CLASSES = ("MultiClass",)
KINDS = {
    "RMSE": (kinds.RMSE, "identity"),
    "MAE": (kinds.QUANTILE, "identity"),
    "Quantile": (kinds.QUANTILE, "identity"),
    "MultiQuantile": (kinds.QUANTILE, "identity"),
    "RMSEWithUncertainty": (NORMAL, "identity"),
    "Expectile": (kinds.EXPECTILE, "identity"),
    "Huber": (kinds.HUBER, "identity"),
    "Poisson": (kinds.POISSON, "exp"),
    "Tweedie": (kinds.TWEEDIE, "exp"),
    "Logloss": (kinds.LOGISTIC, "sigmoid"),
    "CrossEntropy": (kinds.LOGISTIC, "sigmoid"),
    "MultiClass": (kinds.SOFTMAX, "softmax"),
}
ITERATIONS = {  # default leaf_estimation_iterations of Newton and Gradient
    "RMSE": (1, 1),
    "RMSEWithUncertainty": (1, 1),
    "MAE": (1, 1),
    "Quantile": (1, 1),
    "Expectile": (5, 10),
    "Huber": (1, 1),
    "Tweedie": (1, 1),
    "Poisson": (10, 1),
    "Logloss": (10, 40),
    "CrossEntropy": (10, 40),
    "MultiClass": (1, 10),
    "YetiRank": (1, 1),
    "PairLogit": (10, 40),
}
PARAMETERS = {  # name, limits, default and an example of the parameter of a loss
    "Quantile": ("alpha", (0.0, 1.0), 0.5, 0.9),
    "Expectile": ("alpha", (0.0, 1.0), None, 0.9),
    "Huber": ("delta", (0.0, np.inf), None, 1.0),
    "Tweedie": ("variance_power", (1.0, 2.0), None, 1.5),
}
FEW_ITERATIONS, FEW_FEATURES = 200, 20  # below both there is one leaf estimation iteration


@dataclass(frozen=True)
class Objective:
    """A loss; ``link`` is a link of `harness.TreeEnsemble`.

    ``parameter`` is α of Quantile and Expectile, δ of Huber, and the variance power of Tweedie.
    """

    name: str
    kind: int
    link: str
    n_scores: int
    parameter: float = 0.5
    options: str = ""  # text after the colon of loss_function
    levels: tuple = ()  # the quantiles of MultiQuantile, one for each score

    is_pairwise = False  # whether it is a loss of pairs of rows
    has_classes = False  # whether a row has a score for each class, for losses of the user
    can_backtrack = True  # whether the loss can be computed
    default_one_hot = 2  # default of ``one_hot_max_size``
    default_ctr = None  # default of ``simple_ctr`` and ``combinations_ctr``

    @property
    def default_l2(self):
        """Default of ``l2_leaf_reg``."""
        return 3.0

    @property
    def text(self):
        """The loss as CatBoost writes it, such as "Huber:delta=1"."""
        return f"{self.name}:{self.options}" if self.options else self.name

    @property
    def slope(self):
        """The parameter of the loss in float32, as CatBoost reads it."""
        return float(np.float32(self.parameter))

    @property
    def slopes(self):
        """The parameter of each score in float32, for losses without classes."""
        return tuple(float(np.float32(level)) for level in self.levels) or (self.slope,)

    @property
    def has_several_outputs(self):
        """Whether a regression predicts several values per row."""
        return bool(self.levels) or self.kind == NORMAL

    @property
    def is_exp(self):
        """Whether scores are stored as eᶠ."""
        return self.kind in (kinds.LOGISTIC, kinds.POISSON)

    @property
    def starts_from_average(self):
        """Default of ``boost_from_average``."""
        return self.kind in (kinds.RMSE, kinds.QUANTILE)

    @property
    def default_method(self):
        """Default of ``leaf_estimation_method``."""
        return "Exact" if self.kind == kinds.QUANTILE else "Newton"

    def default_iterations(self, method, iterations, n_features):
        """Return the default of ``leaf_estimation_iterations``."""
        is_small = iterations < FEW_ITERATIONS and n_features < FEW_FEATURES
        if method == "Exact" or is_small:
            return 1
        return ITERATIONS[self.name][method == "Gradient"]

    def first_scores(self, y, weight, *, from_average):
        """Return the initial scores, float64 (n_scores,)."""
        if self.kind == NORMAL:
            return first_normal_scores(y, weight)
        start = np.zeros(self.n_scores)
        if not from_average:
            return start
        if self.kind == kinds.RMSE:
            start[0] = np.float32(weighted_mean(y, weight))
        elif self.kind == kinds.QUANTILE:
            levels = self.levels or (self.parameter,)
            start[:] = [weighted_quantile(y, weight, level) for level in levels]
        elif self.kind == kinds.LOGISTIC:
            p = np.clip(weighted_mean(y, weight), 1e-6, 1.0 - 1e-6)
            start[0] = np.log(p / (1.0 - p))
        elif self.kind == kinds.POISSON:
            start[0] = np.log(max(weighted_mean(y, weight), np.finfo(np.float64).tiny))
        return start


def find_objective(params, n_classes):
    """Return the objective of the parameters.

    Parameters
    ----------
    params : the estimator
    n_classes : 0 for regression

    Raises
    ------
    ValueError
        If the task has no objective of that name, or a parameter of it is invalid.
    """
    usual = "MultiClass" if n_classes > 2 else "Logloss" if n_classes else "RMSE"
    name, _, options = (params.loss_function or usual).partition(":")
    allowed = (CLASSES if n_classes > 2 else (*BINARY, *CLASSES)) if n_classes else REGRESSION
    if name not in allowed:
        task = f"{n_classes} classes" if n_classes else "regression"
        raise ValueError(
            f"loss_function {name!r} is not supported for {task}: use one of {allowed}"
        )
    kind, link = KINDS[name]
    if name == "MultiQuantile":
        levels = read_levels(options)
        return Objective(name, kind, link, len(levels), options=options, levels=levels)
    n_scores = max(n_classes, 2) if kind == kinds.SOFTMAX else 2 if kind == NORMAL else 1
    return Objective(name, kind, link, n_scores, read_parameter(name, options), options)


def read_parameter(name, options):
    """Return the parameter of a loss such as "Quantile:alpha=0.9"; 0.5 for losses without one."""
    if name not in PARAMETERS:
        if options:
            known = ", ".join(f"{one}:{PARAMETERS[one][0]}" for one in PARAMETERS)
            raise ValueError(f"loss_function {name}:{options}: only {known} have a parameter")
        return 0.5
    wanted, (low, high), usual, example = PARAMETERS[name]
    if not options and usual is not None:
        return usual
    key, _, value = options.partition("=")
    try:
        number = float(value)
    except ValueError:
        number = np.nan
    if key != wanted or not low < number < high:
        between = f"between {low:g} and {high:g}" if np.isfinite(high) else f"above {low:g}"
        raise ValueError(
            f"loss_function {name}{':' * bool(options)}{options} needs the parameter {wanted} "
            f"{between}, as in '{name}:{wanted}={example}'"
        )
    return number


def first_normal_scores(y, weight):
    """Return the mean and the logarithm of the standard deviation of y, float64 (2,).

    Parameters
    ----------
    y, weight : (n_rows,) float32; weight is (0,) if all are 1

    Raises
    ------
    ValueError
        If all values of y are equal.
    """
    if (y == y[0]).all():
        raise ValueError("loss_function 'RMSEWithUncertainty' needs y with at least two values")
    y, weights = y.astype(np.float64), weight if len(weight) else None
    mean = np.average(y, weights=weights)
    variance = np.average((y - mean) ** 2, weights=weights)
    return np.array([mean, 0.5 * np.log(variance)])


def read_levels(options):
    """Return the quantiles of MultiQuantile, tuple of float, from text such as "alpha=0.1,0.9"."""
    key, _, values = options.partition("=")
    try:
        levels = tuple(float(value) for value in values.split(","))
    except ValueError:
        levels = ()
    if key != "alpha" or len(levels) < 2 or not all(0.0 < level < 1.0 for level in levels):
        raise ValueError(
            f"loss_function MultiQuantile{':' * bool(options)}{options} needs at least two values "
            "of alpha between 0 and 1, as in 'MultiQuantile:alpha=0.1,0.5,0.9'"
        )
    return levels


def weighted_mean(y, weight):
    """Return the mean of float32 targets; float32 products are summed in row order in float64."""
    if not len(weight):
        return np.cumsum(y, dtype=np.float64)[-1] / len(y)
    product = np.cumsum(y * weight, dtype=np.float64)[-1]
    return product / np.cumsum(weight, dtype=np.float64)[-1]


def weighted_quantile(values, weight, alpha, delta=kinds.QUANTILE_DELTA):
    """Return CatBoost's quantile of float32 values.

    It is the first value at which the cumulative weight reaches α of the total. It is moved by
    ``delta`` to the side on which the row itself counts, and rounded to float32.

    Parameters
    ----------
    values : (n,) float32
    weight : (n,) float32, or (0,) if all are 1
    alpha : float between 0 and 1
    delta : float
    """
    if not len(values):
        return 0.0
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    weights = weight[order].astype(np.float64) if len(weight) else np.ones(len(values))
    reached = np.cumsum(weights)
    wanted = alpha * reached[-1]
    at = min(int(np.searchsorted(reached, wanted - 1e-12)), len(values) - 1)
    value = ordered[at]
    is_equal = ordered == value
    below = weights[ordered < value].sum()
    own = weights[is_equal].sum()
    moved = delta if below + alpha * own < wanted - 1e-12 else -delta
    return float(np.float32(float(value) + moved))
