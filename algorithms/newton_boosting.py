"""Second-order boosting: each tree takes a Newton step on a regularized objective.

Chen, Guestrin: XGBoost: A scalable tree boosting system. KDD 2016.

    L = Σ_i l(y_i, F(x_i)) + Σ_m Ω(tree_m)          Ω = γ T + ½ λ Σ_j w_j² + α Σ_j |w_j|
    L ≈ Σ_i [g_i f(x_i) + ½ h_i f(x_i)²] + Ω(f)     g = ∂l/∂F,  h = ∂²l/∂F²  at F = F_{m−1}

For a tree with T leaves, where G_j and H_j are the sums of g and h over leaf j:

    w*_j = −T(G_j) / (H_j + λ)                      T(G) = sign(G) max(|G| − α, 0)
    L*   = −½ Σ_j T(G_j)² / (H_j + λ) + γ T
    gain = T(G_L)² / (H_L + λ) + T(G_R)² / (H_R + λ) − T(G)² / (H + λ)      kept where ≥ γ
    F_m  = F_{m−1} + η w*[leaf of x]

As in XGBoost, γ is compared with the gain without its factor ½. `tree_method` selects the candidate
thresholds: "exact" tries all (`newton/exact_grower.py`); "approx" tries weighted quantiles per tree
or per node, or random values (`newton/approx_grower.py`); "hist" tries the edges of bins chosen
once (`newton/histogram_grower.py`). Each node sends missing values to the side with more gain.
"""

from typing import ClassVar

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils._param_validation import StrOptions

from algorithms.declarations import capacities, search_spaces, variants
from algorithms.estimator.labels import codes_among
from algorithms.estimator.validation_rows import WatchedAdapter, stops_early
from algorithms.model_io.init_model import code_labels
from algorithms.newton.base import BaseNewtonBoosting
from algorithms.newton.model import flat
from algorithms.newton.objectives import BINARY, CLASSES, REGRESSION
from algorithms.newton.params import CONSTRAINTS
from algorithms.newton.quantiles import rearrange
from algorithms.newton.several_targets import LABELS, read_labels
from algorithms.newton.value_predictions import ValuePredictions
from algorithms.newton.xgboost_interface import XGBoostInterface
from harness import ALL_TASKS, Accepts, Algorithm, estimator_adapter, hookimpl

HALF = 0.5  # probability above which a label is predicted


class NewtonBoostingClassifier(ClassifierMixin, XGBoostInterface, BaseNewtonBoosting):
    """Second-order boosting classifier with XGBoost's parameter names and defaults.

    A parameter that is None takes its default value.

    Parameters
    ----------
    n_estimators : int
        Number of boosting rounds.
    learning_rate : float
        η.
    max_depth, max_leaves : int
        Maximum depth of a tree, and maximum number of leaves; 0 means no limit.
    max_bin : int
        Maximum number of bins per column, including the bin of missing values; at most 256. A
        categorical column always has up to 255 bins. If it has more categories, each tree groups
        them again.
    grow_policy : {"depthwise", "lossguide"}
        Which splits are kept if `max_leaves` limits the tree: the ones nearest to the root, or
        the ones with the largest gain.
    tree_method : {"hist", "exact", "approx", "auto"}
        Selects the candidate thresholds; "auto" is "hist".
    proposal : {"global", "local", "random"}
        For "approx": candidates per tree, per node, or drawn at random per tree.
    sketch_eps : float, optional
        ε of "approx": about 1/ε candidates per column; by default `max_bin`.
    objective : str or callable, optional
        "binary:logistic" or "multi:softprob", depending on the number of classes, or
        "binary:hinge" for two classes, whose probabilities are 0 and 1. A callable
        (y, raw scores) returns g and h, shaped as the scores; with sample weights it also takes
        ``sample_weight`` and must apply them.
    gamma : float
        γ, minimum gain of a split.
    prune : {"post", "pre"}, optional
        "post" prunes grown trees by γ, as XGBoost's "exact" does; "pre" stops growth where the
        gain is below γ, as its other methods do. The default follows XGBoost.
    min_child_weight : float
        Minimum Σh of a child.
    max_delta_step : float, optional
        Bound on the absolute value of a leaf before η; 0 means no bound. The default is 0.7 for
        "count:poisson". Neither this bound nor α applies to the leaves of "reg:absoluteerror" and
        "reg:quantileerror", whose values are quantiles of their rows.
    subsample : float
        Fraction of the rows that each round is trained on.
    colsample_bytree, colsample_bylevel, colsample_bynode : float
        Fraction of the columns drawn for each tree, then for each level, then for each node.
    reg_alpha, reg_lambda : float
        α and λ.
    scale_pos_weight : float
        Weight of the second of two classes.
    base_score : float or array-like, optional
        Prediction before the first tree; by default the best-fitting constant.
    random_state : int, RandomState, optional
        Seed of row and column sampling and of the rounding in "hist" and "approx". None means 0,
        as in XGBoost, so the defaults are deterministic.
    missing : float
        Value that is read as missing, in addition to NaN; infinity is allowed.
    monotone_constraints : array-like, dict or str, optional
        -1, 0 or 1 per column; must be 0 for categorical columns. Not supported for
        "reg:absoluteerror" and "reg:quantileerror", except with ``parity``, which follows
        XGBoost: there the leaves of these losses may violate the constraints.
    interaction_constraints : list of lists of int or str, optional
        Groups of columns that may occur together on a path to a leaf; a column in no group may
        only occur alone. As in XGBoost an empty list is a constraint too: each column occurs
        alone.
    importance_type : {"gain", "weight", "cover", "total_gain", "total_cover"}
        Kind of importance in `feature_importances_`.
    max_cat_to_onehot, max_cat_threshold : int
        A column with fewer categories than the first is split one category against all others
        (one-hot). Otherwise one side of a split has at most as many categories as the second.
    eval_metric : str, callable or list, optional
        By default the metric of the objective.
    early_stopping_rounds : int, optional
        Stop after this many rounds without improvement on the last evaluation set.
    warm_start : bool
        Whether a further call of ``fit`` adds rounds to the existing ones.
    parity : {"xgboost"}, optional
        Build exactly the trees of the installed XGBoost by following its arithmetic; slower. See
        `parity/xgboost_releases.py` for the versions.
    n_jobs : int, optional
        Number of threads; None uses all. The model does not depend on it.
    enable_categorical : bool
        Whether a frame may have categorical columns; if False, they raise ValueError.
    callbacks : list of xgboost.callback.TrainingCallback, optional
    booster : {"gbtree", "dart", "gblinear"}, optional
        "dart" trains each round without some of the earlier trees: see `newton/dart.py` for its
        parameters `rate_drop`, `skip_drop`, `one_drop`, `sample_type` and `normalize_type`.
        "gblinear" trains a linear model by coordinate descent instead of trees: see
        `newton/linear_model.py`. Only the parameters about objectives, metrics and rounds, α and λ
        have an effect; α and λ are multiplied by the sum of the weights, as in XGBoost.
    feature_weights : array-like (n_features,), optional
        Weights with which columns are drawn, if a parameter ``colsample_…`` is below 1.
    multi_strategy : {"one_output_per_tree", "multi_output_tree"}, optional
        "multi_output_tree" grows one tree a round for all targets, quantiles or classes; its leaves
        hold a value for each. Not with categorical columns, monotone constraints, `parity`, other
        boosters than "gbtree" and other tree methods than "hist". By default each has its own tree.
    device, feature_types : optional
        XGBoost's parameters; an unsupported value raises ValueError.
    num_parallel_tree : int, optional
        Number of trees that each round grows for each score. They draw rows and columns
        independently, and the round adds their mean.
    sampling_method, validate_parameters, verbosity : optional
        As `booster`.
    **kwargs
        All other parameters of XGBoost and its aliases; see docs/moving.md.

    Attributes
    ----------
    classes_ : (n_classes,) labels; n_classes_, n_features_in_ : int
    ensemble_ : harness.TreeEnsemble, the rounds used for prediction
    n_iter_ : int, number of trained rounds
    best_iteration, best_score : set by early stopping
    feature_importances_ : (n_features,); intercept_ : float32 (n_scores,), the base score, or the
        bias of a linear model
    coef_ : coefficients of a linear model
    """

    _parameter_constraints: ClassVar = {
        **CONSTRAINTS,
        "objective": [StrOptions({*BINARY, *CLASSES}), callable, None],
    }

    def _y_checks(self):
        """Return the options with which scikit-learn validates y."""
        return {}

    def _read_y(self, y, labels=None):
        """Return class codes, float64; store the class labels, by default those in y.

        With several columns y holds labels, each 0 or 1.
        """
        if y.ndim == 2:
            self.classes_, self.n_classes_ = np.array(LABELS), len(LABELS)
            return read_labels(y)
        self.classes_, codes = code_labels(y, labels)
        self.n_classes_ = len(self.classes_)
        return codes.astype(np.float64)

    def _check_weights(self, codes, weight):
        """Raise ValueError if all rows with a positive weight belong to one class."""
        if codes.ndim == 1 and len(np.unique(codes[weight > 0.0])) == 1:
            raise ValueError("all rows with a positive sample_weight belong to one class")

    def _encode_y(self, y):
        """Return the class codes of an evaluation set's labels."""
        if self._n_targets > 1:
            return read_labels(y)
        return codes_among(self.classes_, y, "eval_set has labels that y does not have")

    def predict_proba(self, X, validate_features=True, base_margin=None, iteration_range=None):
        """Return the probabilities of the classes, float64 (n_rows, n_classes).

        With several labels: the probability of each label, (n_rows, n_labels).

        Parameters
        ----------
        X : as in ``fit``
        validate_features : bool
            Whether the column names of a frame must equal those of training.
        base_margin : array-like (n_rows,) or (n_rows, n_scores), optional
            Raw scores that replace the base score.
        iteration_range : (int, int), optional
            Half-open range of rounds to use; (…, 0) means all rounds up to the best one.
        """
        raw = self._raw(X, iteration_range, base_margin, checks_names=validate_features)
        return self._predict_scores(raw)

    def predict(
        self, X, *, output_margin=False, validate_features=True, base_margin=None,
        iteration_range=None,
    ):  # fmt: skip
        """Return the most probable label of each row (the first in a tie), or raw scores.

        With several labels: 0 or 1 for each, (n_rows, n_labels).

        Parameters
        ----------
        output_margin : bool
            Whether to return raw scores; the other parameters are as in `predict_proba`.
        """
        raw = self._raw(X, iteration_range, base_margin, checks_names=validate_features)
        if output_margin:
            return flat(raw)
        return self._choose(self._predict_scores(raw))

    def _choose(self, proba):
        """Return the most probable class of each row, or with several labels 0 or 1 for each."""
        at = proba > HALF if self._n_targets > 1 else proba.argmax(axis=1)
        return self.classes_.take(at.astype(np.intp))

    def decision_function(self, X):
        """Return raw scores: (n_rows,) for two classes, else (n_rows, n_classes)."""
        return flat(self._raw(X))

    def staged_predict_proba(self, X):
        """Yield `predict_proba` after each round."""
        for score in self._staged_raw(X):
            yield self._predict_scores(score)

    def staged_predict(self, X):
        """Yield `predict` after each round."""
        for proba in self.staged_predict_proba(X):
            yield self._choose(proba)

    def _check_task(self, path, ensemble):
        """Raise ModelFileError if the file holds no classifier; one with several labels is one."""
        if not has_labels(ensemble):
            super()._check_task(path, ensemble)

    def _take_model(self, ensemble):
        """Set the fitted attributes from a model read from a file."""
        if has_labels(ensemble):
            self.classes_, self.n_classes_ = np.array(LABELS), len(LABELS)
            self._n_targets = ensemble.n_outputs
        super()._take_model(ensemble)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = self.parity is None
        return tags


def has_labels(ensemble):
    """Return whether an ensemble predicts the probabilities of several labels."""
    return ensemble.link == "sigmoid" and ensemble.n_outputs > 1 and not ensemble.classes


class NewtonBoostingRegressor(
    RegressorMixin, ValuePredictions, XGBoostInterface, BaseNewtonBoosting
):
    """Second-order boosting regressor with XGBoost's parameter names and defaults.

    Parameters and attributes are those of `NewtonBoostingClassifier`, except the ones about
    classes, and in addition:

    Parameters
    ----------
    objective : str or callable, optional
        "reg:squarederror" (the default), "reg:absoluteerror", "reg:pseudohubererror",
        "reg:quantileerror", "reg:logistic", "count:poisson", "reg:gamma", "reg:tweedie",
        "reg:squaredlogerror", "reg:expectileerror", "binary:logitraw" (it predicts raw scores of y
        from 0 to 1) or "survival:cox" (rows with y < 0 are censored at the time −y; it predicts
        relative hazards).
    huber_slope : float
        δ of the pseudo-Huber loss.
    quantile_alpha : float or array-like
        Quantile to fit; if there are several, predictions have one column for each.
    rearrange_quantiles : bool
        Whether several quantiles are sorted in each row, so that they do not cross. Raw scores and
        models read by XGBoost are not sorted.
    expectile_alpha : float or array-like
        Level of "reg:expectileerror", from 0 to 1; if there are several, they ascend, and
        predictions have one column for each. The columns do not cross: all raw scores after the
        first one are transformed gaps between two columns, as in XGBoost 3.3.
    tweedie_variance_power : float
        Between 1 and 2, exclusive.
    """

    _parameter_constraints: ClassVar = {
        **CONSTRAINTS,
        "objective": [StrOptions(set(REGRESSION)), callable, None],
    }

    def _read_y(self, y, _labels=None):
        """Return y as float64; raise ValueError if the objective does not allow its values."""
        y = y.astype(np.float64, copy=False)
        if self.objective == "reg:gamma" and (y <= 0).any():
            raise ValueError("objective 'reg:gamma' needs y > 0")
        is_share = self.objective in ("reg:logistic", "binary:logitraw")
        if is_share and ((y < 0).any() or (y > 1).any()):
            raise ValueError(f"objective {self.objective!r} needs 0 <= y <= 1")
        if self.objective == "survival:aft":
            raise ValueError(
                "objective 'survival:aft' needs bounds of y, which `fit` does not take: use train "
                "of algorithms.compat.xgboost with label_lower_bound and label_upper_bound"
            )
        if self.objective == "reg:squaredlogerror" and (y <= -1).any():
            raise ValueError("objective 'reg:squaredlogerror' needs y > -1")
        if self.objective in ("count:poisson", "reg:tweedie") and ((y < 0).any() or not y.any()):
            raise ValueError(f"objective {self.objective!r} needs y >= 0 with a positive sum")
        return y

    def _check_weights(self, y, weight):
        """Accept any weights."""

    def _arrange(self, predictions):
        """Return predictions; several quantiles are sorted if ``rearrange_quantiles`` is True."""
        n_levels = np.size(self.quantile_alpha)  # a loaded model may not have the objective's name
        if not (self.rearrange_quantiles and 1 < n_levels == predictions.shape[-1]):
            return predictions
        return rearrange(predictions, self.quantile_alpha)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = self.parity is None
        return tags


def build(spec):
    """Return the booster of a harness spec."""
    boosting = NewtonBoostingClassifier if spec.task.is_classification else NewtonBoostingRegressor
    return boosting(random_state=spec.seed, n_jobs=spec.threads).set_params(**spec.params)


def make_adapter(spec):
    """Return the adapter of a spec; with early stopping it holds out validation rows."""
    if "early_stopping_rounds" in spec.params:
        return WatchedAdapter(build, spec)
    return estimator_adapter(build)(spec)


@hookimpl
def register_algorithms(register):
    """Register second-order boosting with the harness."""
    register(
        Algorithm(
            "newton_boosting",
            make_adapter,
            ALL_TASKS,
            accepts=Accepts(missing=True, categorical=True, sparse=True),
            params={"n_estimators": 100},
            early_stopping=stops_early,
            estimators=(
                "algorithms.NewtonBoostingClassifier",
                "algorithms.NewtonBoostingRegressor",
            ),
            capacity=capacities.NEWTON_BOOSTING,
            space=search_spaces.NEWTON_BOOSTING,
            variants=variants.NEWTON_BOOSTING,
            reference="xgboost.hist",
            parity_levels={"default": "L0", "xgboost": "L3"},
            libraries=("numpy", "numba", "scikit-learn"),
            paper="https://doi.org/10.1145/2939672.2939785",
            summary="second-order boosting with exact, approximate or histogram splits",
        )
    )
