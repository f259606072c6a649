"""Second-order boosting: each tree takes a Newton step on a regularised objective.

Chen, Guestrin: XGBoost: A scalable tree boosting system. KDD 2016.

    L = Σ_i l(y_i, F(x_i)) + Σ_m Ω(tree_m)          Ω = γ T + ½ λ Σ_j w_j² + α Σ_j |w_j|
    L ≈ Σ_i [g_i f(x_i) + ½ h_i f(x_i)²] + Ω(f)     g = ∂l/∂F,  h = ∂²l/∂F²  at F = F_{m−1}

Of a tree with T leaves, where G_j and H_j are the sums of g and h over leaf j:

    w*_j = −T(G_j) / (H_j + λ)                      T(G) = sign(G) max(|G| − α, 0)
    L*   = −½ Σ_j T(G_j)² / (H_j + λ) + γ T
    gain = T(G_L)² / (H_L + λ) + T(G_R)² / (H_R + λ) − T(G)² / (H + λ)      kept where ≥ γ
    F_m  = F_{m−1} + η w*[leaf of x]

As in the library, γ is held against the gain without its ½. `tree_method` says which thresholds
are tried: "exact" all (`newton/exact_grower.py`), "approx" weighted quantiles of each tree, or of
each node, or random values (`newton/approx_grower.py`), "hist" bins chosen once
(`newton/histogram_grower.py`). Missing values go to the side that gains more, node by node.
"""

from typing import ClassVar

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils._param_validation import StrOptions

from algorithms.declarations import search_spaces, variants
from algorithms.estimator.labels import codes_among
from algorithms.estimator.validation_rows import WatchedAdapter, stops_early
from algorithms.model_io.init_model import code_labels
from algorithms.newton.base import BaseNewtonBoosting
from algorithms.newton.model import flat
from algorithms.newton.objectives import BINARY, CLASSES, REGRESSION
from algorithms.newton.params import CONSTRAINTS
from algorithms.newton.xgboost_interface import XGBoostInterface
from harness import ALL_TASKS, Accepts, Algorithm, Argument, estimator_adapter, hookimpl


class NewtonBoostingClassifier(ClassifierMixin, XGBoostInterface, BaseNewtonBoosting):
    """Second-order boosting for classes; parameters carry XGBoost's names and defaults.

    A parameter of None has its default.

    Parameters
    ----------
    n_estimators : int
        Rounds.
    learning_rate : float
        η.
    max_depth, max_leaves : int
        Most questions on the way to a leaf, and most leaves; 0: any number.
    max_bin : int
        Most bins of a column, of missing values too; at most 256. Categories have 255 in any case;
        where there are more of them, each tree has other groups.
    grow_policy : {"depthwise", "lossguide"}
        Which leaves there are where `max_leaves` leaves out some: the upper ones, or those of the
        splits that gain most.
    tree_method : {"hist", "exact", "approx", "auto"}
        Which thresholds are tried; "auto" is "hist".
    proposal : {"global", "local", "random"}
        Of "approx": candidates for each tree, for each node, or drawn at random for each tree.
    sketch_eps : float, optional
        ε of "approx": there are about 1/ε candidates a column; by default `max_bin`.
    objective : str or callable, optional
        "binary:logistic" or "multi:softprob", by what the number of classes asks for. A callable
        (y, raw scores) returns g and h, shaped as the scores; with sample weights it also takes
        ``sample_weight``, and applies them.
    gamma : float
        γ, least gain of a split.
    prune : {"post", "pre"}, optional
        Whether grown trees are pruned by γ, as the library's "exact" does, or growth stops at it,
        as the others do; by default as the library.
    min_child_weight : float
        Least Σh of a side.
    max_delta_step : float, optional
        Bound on a leaf's value before η; 0: none. By default that of "count:poisson" is 0.7. As
        α, it binds no leaf of "reg:absoluteerror" and "reg:quantileerror", a quantile of its rows.
    subsample : float
        Share of rows that a round is grown on.
    colsample_bytree, colsample_bylevel, colsample_bynode : float
        Share of columns of a tree, of those for a level, and of those for a node.
    reg_alpha, reg_lambda : float
        α and λ.
    scale_pos_weight : float
        Weight of the second of two classes.
    base_score : float or array-like, optional
        Prediction before the first tree; by default the one that fits best.
    random_state : int, RandomState, optional
        Decides samples, and rounding of "hist" and "approx". None is 0, as in XGBoost: defaults
        are deterministic.
    missing : float
        Value that stands for a missing one, besides NaN; infinity may.
    monotone_constraints : array-like, dict or str, optional
        -1, 0 or 1 for columns; not with "reg:absoluteerror" and "reg:quantileerror", but where
        ``parity`` follows the library, which lets their leaves break them. 0 for categories.
    interaction_constraints : list of lists of int or str, optional
        Columns that may stand together on a path to a leaf; a column that no list names may only
        stand alone. As in XGBoost an empty list is a constraint, too: each column stands alone.
    importance_type : {"gain", "weight", "cover", "total_gain", "total_cover"}
        What `feature_importances_` counts.
    max_cat_to_onehot, max_cat_threshold : int
        A column of fewer categories than the first has each of them held against all others; of
        more, one side of a split has at most so many as the second says.
    eval_metric : str, callable or list, optional
        By default the objective's own.
    early_stopping_rounds : int, optional
        Stop after so many rounds in which the last evaluation table did not improve.
    warm_start : bool, whether a further fit adds rounds to those there are
    parity : {"xgboost"}, optional
        Grow XGBoost's own trees, by its arithmetic; slower.
    n_jobs : int, optional
        Threads; None is all. The model is the same for any number.
    enable_categorical : bool
        Whether columns of a frame may be categories; False: they are refused.
    callbacks : list of xgboost.callback.TrainingCallback, optional
    booster, device, feature_types, feature_weights, multi_strategy : optional
        XGBoost's parameters; a value that asks for something not built here raises ValueError.
    num_parallel_tree, sampling_method, validate_parameters, verbosity : optional
        The same.
    **kwargs
        All other parameters of XGBoost, and its aliases, see docs/moving.md.

    Attributes
    ----------
    classes_ : (n_classes,) labels; n_classes_, n_features_in_ : int
    ensemble_ : harness.TreeEnsemble, of the rounds that predict
    n_iter_ : int, rounds trained
    best_iteration, best_score : of early stopping
    feature_importances_ : (n_features,); intercept_ : float32 (n_scores,), the base score
    """

    _parameter_constraints: ClassVar = {
        **CONSTRAINTS,
        "objective": [StrOptions({*BINARY, *CLASSES}), callable, None],
    }

    def _y_checks(self):
        """Return what scikit-learn checks of y."""
        return {}

    def _read_y(self, y, labels=None):
        """Return class codes, float64; keep the labels, by default those there are."""
        self.classes_, codes = code_labels(y, labels)
        self.n_classes_ = len(self.classes_)
        return codes.astype(np.float64)

    def _check_weights(self, codes, weight):
        """Raise where the rows that weigh something are of one class."""
        if len(np.unique(codes[weight > 0.0])) == 1:
            raise ValueError("of the rows that weigh something, y has one class alone")

    def _encode_y(self, y):
        """Return the codes of an evaluation table's labels."""
        return codes_among(self.classes_, y, "eval_set has labels that y has not")

    def predict_proba(self, X, validate_features=True, base_margin=None, iteration_range=None):
        """Return the probabilities of the classes, float64 (n_rows, n_classes).

        Parameters
        ----------
        X : as in ``fit``
        validate_features : bool
            Whether the names of a frame's columns must be those of training.
        base_margin : array-like (n_rows,) or (n_rows, n_scores), optional
            Raw scores that the trees are added to in place of the base score.
        iteration_range : (int, int), optional
            Rounds that are used, from the first to before the last; (…, 0): up to the best one.
        """
        raw = self._raw(X, iteration_range, base_margin, checks_names=validate_features)
        return self._predict_scores(raw)

    def predict(
        self, X, *, output_margin=False, validate_features=True, base_margin=None,
        iteration_range=None,
    ):  # fmt: skip
        """Return the most probable label of each row, the first if equal; or raw scores.

        Parameters
        ----------
        output_margin : bool
            Whether raw scores are returned; the others are as in `predict_proba`.
        """
        raw = self._raw(X, iteration_range, base_margin, checks_names=validate_features)
        if output_margin:
            return flat(raw)
        return self.classes_.take(self._predict_scores(raw).argmax(axis=1))

    def decision_function(self, X):
        """Return the raw scores: (n_rows,) of two classes, else (n_rows, n_classes)."""
        return flat(self._raw(X))

    def staged_predict_proba(self, X):
        """Yield `predict_proba` after each round."""
        for score in self._staged_raw(X):
            yield self._predict_scores(score)

    def staged_predict(self, X):
        """Yield `predict` after each round."""
        for proba in self.staged_predict_proba(X):
            yield self.classes_.take(proba.argmax(axis=1))


class NewtonBoostingRegressor(RegressorMixin, XGBoostInterface, BaseNewtonBoosting):
    """Second-order boosting for values; parameters carry XGBoost's names and defaults.

    Parameters and attributes are as in `NewtonBoostingClassifier`, without those of classes, and
    these:

    Parameters
    ----------
    objective : str or callable, optional
        "reg:squarederror" (the default), "reg:absoluteerror", "reg:pseudohubererror",
        "reg:quantileerror", "reg:logistic", "count:poisson", "reg:gamma" or "reg:tweedie".
    huber_slope : float
        δ of the pseudo-Huber loss.
    quantile_alpha : float or array-like
        The quantile that is fitted; of several, predictions have a column for each.
    tweedie_variance_power : float
        Above 1 and below 2.
    """

    _parameter_constraints: ClassVar = {
        **CONSTRAINTS,
        "objective": [StrOptions(set(REGRESSION)), callable, None],
    }

    def _y_checks(self):
        """Return what scikit-learn checks of y."""
        return {"y_numeric": True}

    def _read_y(self, y, _labels=None):
        """Return the values, float64; raise where the objective cannot take them."""
        y = y.astype(np.float64, copy=False)
        if self.objective == "reg:gamma" and (y <= 0).any():
            raise ValueError("objective 'reg:gamma' needs y > 0")
        if self.objective == "reg:logistic" and ((y < 0).any() or (y > 1).any()):
            raise ValueError("objective 'reg:logistic' needs 0 <= y <= 1")
        if self.objective in ("count:poisson", "reg:tweedie") and ((y < 0).any() or not y.any()):
            raise ValueError(f"objective {self.objective!r} needs y >= 0 with a positive sum")
        return y

    def _check_weights(self, y, weight):
        """Take any weights."""

    def _encode_y(self, y):
        """Return an evaluation table's values."""
        return np.asarray(y, np.float64)

    def predict(
        self, X, *, output_margin=False, validate_features=True, base_margin=None,
        iteration_range=None,
    ):  # fmt: skip
        """Return predicted values, float64 (n_rows,), or (n_rows, n_quantiles) of several.

        Parameters
        ----------
        X : as in ``fit``
        output_margin : bool
            Whether raw scores are returned, before the link.
        validate_features, base_margin, iteration_range
            As in `NewtonBoostingClassifier.predict_proba`.
        """
        raw = self._raw(X, iteration_range, base_margin, checks_names=validate_features)
        return flat(raw) if output_margin else self._predict_scores(raw)

    def staged_predict(self, X):
        """Yield `predict` after each round."""
        for score in self._staged_raw(X):
            yield self._predict_scores(score)


def build(spec):
    """Return the booster of a harness spec."""
    boosting = NewtonBoostingClassifier if spec.task.is_classification else NewtonBoostingRegressor
    return boosting(random_state=spec.seed, n_jobs=spec.threads).set_params(**spec.params)


def build_watched(spec, rounds):
    """Return the booster of a harness spec, told when to stop."""
    return build(spec).set_params(early_stopping_rounds=rounds)


def drive(spec):
    """Return the adapter of a spec; one that stops early holds out the rows to watch."""
    if "early_stopping_rounds" in spec.params:
        return WatchedAdapter(build_watched, spec)
    return estimator_adapter(build)(spec)


@hookimpl
def register_algorithms(register):
    """Offer second-order boosting to the harness."""
    register(
        Algorithm(
            "newton_boosting",
            drive,
            ALL_TASKS,
            accepts=Accepts(missing=True, categorical=True, sparse=True),
            params={"n_estimators": 100},
            early_stopping=stops_early,
            estimators=(
                "algorithms.NewtonBoostingClassifier",
                "algorithms.NewtonBoostingRegressor",
            ),
            capacity={
                "trees": Argument("n_estimators"),
                "rate": Argument("learning_rate"),
                "depth": Argument("max_depth", convert=lambda depth: depth or 0),
                "leaves": Argument("max_leaves", "approximate", "exact with grow_policy=lossguide"),
                "bins": Argument("max_bin"),
                "min_samples": Argument(
                    "", "impossible", "it counts hessians, not rows: see min_hessian"
                ),
                "min_hessian": Argument("min_child_weight"),
                "l2": Argument("reg_lambda"),
            },
            space=search_spaces.NEWTON_BOOSTING,
            variants=variants.NEWTON_BOOSTING,
            reference="xgboost.hist",
            rungs={"default": "L0", "xgboost": "L3"},
            libraries=("numpy", "numba", "scikit-learn"),
            paper="https://doi.org/10.1145/2939672.2939785",
            summary="second-order boosting, exact, on proposals or on histograms",
        )
    )
