"""Histogram gradient boosting: leaf-wise trees on binned features.

Ke, Meng, Finley, Wang, Chen, Ma, Ye, Liu: LightGBM: a highly efficient gradient boosting decision
tree. NeurIPS 2017. Shi, Ke, Chen, Zheng, Liu: Quantized training of gradient boosting decision
trees. NeurIPS 2022.

    F₀ = argmin_c Σ l(y, c)                    g = ∂l/∂F,  h = ∂²l/∂F²  at F_{m−1}
    F_m = F_{m−1} + η · tree_m
    leaf value  v = −T(G) / (H + λ)            T(G) = sign(G) max(|G| − α, 0)
    split gain  T(G_L)²/(H_L + λ) + T(G_R)²/(H_R + λ) − T(G)²/(H + λ)

Training bins every feature once, into at most 255 bins. A leaf's histogram holds Σg and Σh of each
bin. The histogram of the smaller of two siblings is built from its rows; the other one is the
parent's minus that. The leaf with the largest gain is split next, until there are `num_leaves`.

g and h are quantized: each is an integer multiple of a step, rounded up or down at random so that
its expectation is exact (`gbdt/kernels/gradient_packing.py`, docs/decisions/histogram-booster.md).
Integer sums are exact in any order, so the model is bitwise identical for any number of threads.

One-side sampling (GOSS) keeps the a·n rows with the largest |g h| and a random b·n of the others,
which get a larger weight to represent the rows left out. Mutually exclusive features share a
column (EFB, `algorithms/gbdt/bundles.py`).
"""

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin

from algorithms.declarations import capacities, search_spaces, variants
from algorithms.estimator.labels import codes_among
from algorithms.estimator.sample_weight import weights_by_class
from algorithms.estimator.validation_rows import WatchedAdapter, stops_early
from algorithms.gbdt.base import BaseHistogramBoosting
from algorithms.gbdt.binned import adapter
from algorithms.gbdt.input_table import trim
from algorithms.gbdt.library_training import probabilities_like
from algorithms.gbdt.lightgbm_interface import LightGBMInterface, ValuePredictions
from algorithms.gbdt.objectives import check_targets, read_watched, to_probabilities
from algorithms.model_io.init_model import code_labels
from harness import ALL_TASKS, Accepts, Algorithm, hookimpl


class HistogramBoostingClassifier(ClassifierMixin, LightGBMInterface, BaseHistogramBoosting):
    """Histogram gradient boosting classifier with LightGBM's parameter names and defaults.

    Parameters
    ----------
    num_leaves : int, default=31
        Maximum number of leaves of a tree.
    max_depth : int, default=-1
        Maximum number of splits between the root and a leaf. −1 means no limit.
    learning_rate : float, default=0.1
        Shrinkage η of each tree's leaf values.
    n_estimators : int, default=100
        Number of boosting rounds.
    subsample_for_bin : int, default=200000
        Approximate number of rows in the sample from which the bin edges are computed.
    objective : str or callable, default=None
        "binary", "multiclass" or "multiclassova". None selects "binary" for two classes and
        "multiclass" for more. A callable takes (y, raw scores) and returns g and h, each of the
        shape of the scores.
    class_weight : dict or "balanced", default=None
        Weight of each class. It is multiplied with the sample weights.
    min_split_gain : float, default=0.0
        Minimum gain of a split.
    min_child_weight : float, default=1e-3
        Minimum Σh of a child.
    min_child_samples : int, default=20
        Minimum number of rows of a child, estimated from Σh. Without weights, a numeric column
        without missing values is not used if every threshold has fewer rows on one side (if at
        most `subsample_for_bin` rows are given).
    subsample : float, default=1.0
        Fraction of the rows in a bag, in (0, 1].
    subsample_freq : int, default=0
        Number of rounds after which a new bag is drawn. 0 disables bagging.
    colsample_bytree : float, default=1.0
        Fraction of the features that each tree may use, in (0, 1].
    reg_alpha : float, default=0.0
        L1 regularization α of leaf values.
    reg_lambda : float, default=0.0
        L2 regularization λ of leaf values.
    random_state : int, RandomState or None, default=None
        Seed of gradient rounding and of sampling. None means 0, so results are deterministic by
        default, as in LightGBM. With parity="scikit-learn", None draws a new seed in each fit, as
        scikit-learn does.
    n_jobs : int, default=None
        Number of threads. None uses all. The model does not depend on it.
    importance_type : {"split", "gain"}, default="split"
        Content of `feature_importances_`: number of splits, or sum of gains.
    max_bin : int, default=255
        Maximum number of bins of a feature, between 2 and 255.
    min_data_in_bin : int, default=3
        Minimum number of sampled rows in a bin.
    enable_bundle : bool, default=True
        Whether features that are never non-zero in the same row share a column.
    max_conflict_rate : float, default=0.0
        Maximum fraction of the rows in which features of one bundle may be non-zero together. In
        such a row only one of them keeps its value; the others are read as zero.
    bundle_order : {"count", "degree"}, default="count"
        Order in which features are bundled: by number of non-zero entries, or by number of
        features that they conflict with.
    is_enable_sparse : bool, default=True
        Whether columns with few entries are stored as sparse columns instead of two bytes per row.
        The model does not depend on it.
    data_sample_strategy : {"bagging", "goss"}, default="bagging"
        Row sampling: bagging, or gradient-based one-side sampling.
    top_rate : float, default=0.2
        Fraction a of the rows that one-side sampling keeps because of their large gradients.
    other_rate : float, default=0.1
        Fraction b of the rows that one-side sampling draws from the others. `top_rate` and
        `other_rate` together must be at most 1.
    goss_rank : {"gh", "g"}, default="gh"
        Ranking of rows in one-side sampling: by |g h| as in LightGBM, or by |g| as in the paper.
    max_delta_step : float, default=0.0
        Maximum absolute leaf value. 0 means no limit; for classes it means 10 / `learning_rate`
        in default mode, so that one leaf changes the log-odds by at most 10. LightGBM has no such
        limit, and its loss can grow without bound where classes are rare. It has no effect on
        leaves that are quantiles ("regression_l1", "quantile", "mape"), and neither have
        `reg_alpha` and `path_smooth`.
    path_smooth : float, default=0.0
        Strength of smoothing of a leaf value towards its parent's value, in rows.
    extra_trees : bool, default=False
        Whether each feature of a node gets one random threshold, or one random set of categories.
    monotone_constraints : array-like of {-1, 0, 1} of shape (n_features,), default=None
        Direction of each feature's effect. It must be 0 for categorical columns. Not available
        for "regression_l1", "quantile" and "mape".
    interaction_constraints : list of lists of int, default=None
        Groups of features that may occur together on the path to a leaf. Features in no group are
        not used. None or an empty list allows all.
    categorical_feature : "auto", list of int or str, or bool mask (n_features,), default="auto"
        Columns whose values are category codes. "auto" selects the columns of a frame that have a
        categorical dtype.
    cat_smooth : float, default=10.0
        Smoothing of the gradient statistics by which categories are sorted. If a feature has more
        than `max_bin` − 1 categories in dense X, several categories share a bin, assigned again for
        each tree, and those of fewer than `cat_smooth` rows are treated as missing.
    cat_l2 : float, default=10.0
        L2 regularization of splits on categories, in addition to `reg_lambda`.
    max_cat_threshold : int, default=32
        Maximum number of categories (of bins, if categories share them) in the set of a split.
    max_cat_to_onehot : int, default=4
        Maximum number of categories up to which a split separates one category from the rest.
    min_data_per_group : int, default=100
        Minimum number of rows per category group in a split.
    boost_from_average : bool, default=True
        Whether F₀ is the constant that minimizes the loss. Otherwise F₀ is 0.
    early_stopping_round : int, default=None
        Number of rounds without improvement of a metric of an evaluation table after which
        training stops. None or 0 disables early stopping.
    early_stopping_min_delta : float, default=0.0
        An improvement counts only if it is larger than this.
    boosting_type : {"gbdt", "dart", "rf", "goss"}, default="gbdt"
        "dart" drops some earlier rounds while a new one is trained. "rf" averages trees grown on
        bags. "goss" is the same as data_sample_strategy="goss".
    drop_rate : float, default=0.1
        DART: probability that a round is dropped.
    max_drop : int, default=50
        DART: maximum number of dropped rounds. 0 or less means no limit.
    skip_drop : float, default=0.5
        DART: probability that no round is dropped.
    uniform_drop : bool, default=False
        DART: whether all rounds are equally likely to be dropped. Otherwise the probability is
        proportional to the weight of a round.
    xgboost_dart_mode : bool, default=False
        DART: whether to use XGBoost's weights of new and dropped rounds.
    scale_pos_weight : float, default=1.0
        Weight of the second of two classes. The initial score ignores it, as in LightGBM.
    is_unbalance : bool, default=False
        Whether the rarer of two classes gets the same total weight as the other. The initial
        score ignores it, as in LightGBM.
    linear_tree : bool, default=False
        Whether leaves are linear models of the numeric features on the leaf's path, fitted by ridge
        regression. As in LightGBM, the first tree of each score has constant leaves, and a row with
        a missing value in one of the leaf's features gets a constant.
    linear_lambda : float, default=0.0
        Penalty of the squared slopes of linear leaves.
    parity : {"lightgbm", "scikit-learn"}, default=None
        Library whose trees are reproduced bit for bit: LightGBM's, or those of scikit-learn's
        HistGradientBoosting. This mode uses one thread and is not optimized for speed
        (docs/decisions/parity-with-lightgbm.md).
    **kwargs
        All other LightGBM parameters and all aliases (docs/moving.md), among them the next ones.
    metric : str or list of str, default=None
        Metrics of evaluation tables. None selects the metric of the objective.
    first_metric_only : bool, default=False
        Whether only the first metric is used for early stopping.
    feature_contri : list of float of length n_features, default=None
        Factors of the gains of each feature's splits. A feature whose factor is 0 is not used.
    feature_fraction_bynode : float, default=1.0
        Fraction of the features of a tree that are drawn for each node, in (0, 1].
    monotone_penalty : float, default=0.0
        Penalty p of splits on monotone features. In the first ⌊p⌋ levels of a tree they are taken
        only where no other feature has a gain; below, the factor of their gains rises to 1 with the
        depth (`gbdt/kernels/feature_weights.py`).

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_classes_ : int
        Number of classes.
    n_features_in_ : int
        Number of features seen in `fit`.
    ensemble_ : harness.TreeEnsemble
        The fitted trees.
    feature_importances_ : ndarray of shape (n_features,)
        Importance of each feature, according to `importance_type`.
    n_estimators_, n_iter_ : int
        Number of rounds in the model.
    best_iteration_ : int
        Best round found by early stopping; 0 without early stopping.
    best_score_ : dict of dict
        Table → metric → value at the best round, or at the last one.
    evals_result_ : dict of dict
        Table → metric → list of values, one per round.
    booster_ : HistogramBooster
        View of the model with the methods of LightGBM's Booster.
    feature_name_ : list of str
        Feature names, as in LightGBM.
    n_features_ : int
        Number of features, as in LightGBM.
    objective_ : str or callable
        Objective used in training, as in LightGBM.
    """

    def _y_checks(self):
        """Return the keyword arguments of scikit-learn's check of y."""
        return {}

    def _read_y(self, y, labels=None):
        """Return class codes and store the labels; by default the distinct values of y."""
        self.classes_, codes = code_labels(y, labels)
        self.n_classes_ = len(self.classes_)
        return codes.astype(np.int64, copy=False)

    def _encode_y(self, y):
        """Return the class codes of an evaluation table's labels."""
        return codes_among(self.classes_, y, "eval_set has labels that y does not have")

    def _weigh(self, codes, weight):
        """Return the product of row and class weights, or None if all are 1."""
        if self.class_weight is not None:
            counted = weight if self.parity is None else None
            by_class = weights_by_class(self.class_weight, self.classes_[codes], counted)
            weight = by_class if weight is None else weight * by_class
        return trim(weight)

    def _predict_scores(self, score):
        """Return the class probabilities of raw scores, float64 (n_rows, n_classes)."""
        if self.parity_ is not None:
            return probabilities_like(self.parity_, score, self._link)
        return to_probabilities(score, self._link)

    def predict_proba(
        self,
        X,
        raw_score=False,
        start_iteration=0,
        num_iteration=None,
        pred_leaf=False,
        pred_contrib=False,
        validate_features=False,
        **kwargs,
    ):
        """Return the class probabilities, float64 (n_rows, n_classes).

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n_rows, n_features)
            As in ``fit``.
        raw_score : bool, default=False
            Return raw scores, (n_rows,) or (n_rows, n_scores).
        start_iteration : int, default=0
            First round to use.
        num_iteration : int, default=None
            Number of rounds to use. None, 0 and negative numbers use all rounds of the model.
        pred_leaf : bool, default=False
            Return the number of each row's leaf in each tree, (n_rows, n_trees).
        pred_contrib : bool, default=False
            Return the contributions of each feature, and then of the base, to the raw scores:
            float64 (n_rows, n_scores × (n_features + 1)), the scores side by side. For sparse X,
            the result is sparse, with one matrix per score.
        validate_features : bool, default=False
            Raise an error if a frame's columns are not those of training in the same order.
        **kwargs
            ``pred_early_stop``, ``pred_early_stop_freq`` and ``pred_early_stop_margin``, by
            default the constructor's. LightGBM's other prediction parameters have no effect.
        """
        X = self._read_for_prediction(X, validate_features, kwargs)
        rounds = start_iteration, num_iteration, self._margin_rule(kwargs)
        kind = {"raw_score": raw_score, "pred_leaf": pred_leaf, "pred_contrib": pred_contrib}
        special = self._special_prediction(X, **kind, rounds=rounds)
        return self._answer(self._range_raw(X, *rounds)) if special is None else special

    def predict(
        self,
        X,
        raw_score=False,
        start_iteration=0,
        num_iteration=None,
        pred_leaf=False,
        pred_contrib=False,
        validate_features=False,
        **kwargs,
    ):
        """Return the most probable label of each row; the first one in a tie.

        Parameters are as in `predict_proba`.
        """
        kind = {"raw_score": raw_score, "pred_leaf": pred_leaf, "pred_contrib": pred_contrib}
        rounds = {"start_iteration": start_iteration, "num_iteration": num_iteration}
        names = {"validate_features": validate_features}
        result = self.predict_proba(X, **kind, **rounds, **names, **kwargs)
        return result if any(kind.values()) else self.classes_.take(result.argmax(axis=1))

    def decision_function(self, X):
        """Return the raw scores: (n_rows,) for two classes, otherwise (n_rows, n_classes)."""
        score = self._raw(X)
        return score[:, 0] if score.shape[1] == 1 else score

    def staged_decision_function(self, X):
        """Yield `decision_function` after each round."""
        for score in self._staged_raw(X):
            yield score[:, 0] if score.shape[1] == 1 else score

    def staged_predict_proba(self, X):
        """Yield `predict_proba` after each round."""
        for score in self._staged_raw(X):
            yield self._answer(score)

    def staged_predict(self, X):
        """Yield `predict` after each round."""
        for proba in self.staged_predict_proba(X):
            yield self.classes_.take(proba.argmax(axis=1))


class HistogramBoostingRegressor(
    RegressorMixin, ValuePredictions, LightGBMInterface, BaseHistogramBoosting
):
    """Histogram gradient boosting regressor with LightGBM's parameter names and defaults.

    All other parameters and attributes are those of `HistogramBoostingClassifier`, except those
    that concern classes.

    Parameters
    ----------
    objective : str or callable, default=None
        "regression" (used for None), "regression_l1", "huber", "fair", "pseudo_huber", "quantile",
        "mape", "poisson", "gamma", "tweedie", "cross_entropy" (y between 0 and 1), or one of
        LightGBM's aliases. LightGBM has no "pseudo_huber".
    alpha : float, default=0.9
        "huber": absolute residual above which the loss is linear. "quantile": the quantile.
    fair_c : float, default=1.0
        "fair": residual around which the loss changes from quadratic to linear.
    huber_slope : float, default=1.0
        "pseudo_huber": residual around which the loss changes from quadratic to linear.
    poisson_max_delta_step : float, default=0.7
        "poisson": h is multiplied by exp(`poisson_max_delta_step`), which keeps steps small.
    tweedie_variance_power : float, default=1.5
        "tweedie": variance power, above 1 and below 2.
    """

    def _y_checks(self):
        """Return the keyword arguments of scikit-learn's check of y."""
        return {"y_numeric": True}

    def _read_y(self, y, _labels=None):
        """Return y as float64; raise ValueError if the objective does not allow its values."""
        y = y.astype(np.float64, copy=False)
        check_targets(self.objective, y)
        return y

    def _encode_y(self, y):
        """Return an evaluation table's y; raise ValueError if the objective does not allow it."""
        return read_watched(self.objective, y)


def build(spec):
    """Return the unfitted booster for a harness spec."""
    labeled = spec.task.is_classification
    boosting = HistogramBoostingClassifier if labeled else HistogramBoostingRegressor
    model = boosting(random_state=spec.seed, n_jobs=spec.threads)
    if spec.categorical:
        model.categorical_feature = list(spec.categorical)
    return model.set_params(**spec.params)


def make_adapter(spec):
    """Return the adapter for a spec; with early stopping it holds out validation rows."""
    if "early_stopping_rounds" in spec.params:
        return WatchedAdapter(build, spec, "early_stopping_round")
    return adapter(build)(spec)


@hookimpl
def register_algorithms(register):
    """Register histogram boosting with the harness."""
    register(
        Algorithm(
            "histogram_boosting",
            make_adapter,
            ALL_TASKS,
            accepts=Accepts(missing=True, categorical=True, sparse=True),
            params={"n_estimators": 100},
            early_stopping=stops_early,
            estimators=(
                "algorithms.HistogramBoostingClassifier",
                "algorithms.HistogramBoostingRegressor",
            ),
            capacity=capacities.HISTOGRAM_BOOSTING,
            space=search_spaces.HISTOGRAM_BOOSTING,
            variants=variants.HISTOGRAM_BOOSTING,
            reference="lightgbm.gbdt",
            parity_levels={"default": "L0", "lightgbm": "L3", "scikit-learn": "L3"},
            libraries=("numpy", "numba", "scikit-learn"),
            paper="https://proceedings.neurips.cc/paper/2017/hash/6449f44a102fde848669bdd9eb6b76fa-Abstract.html",
            summary="leaf-wise boosting on histograms of exact integer sums",
        )
    )
