"""Histogram boosting: leaf-wise trees on binned features.

Ke, Meng, Finley, Wang, Chen, Ma, Ye, Liu: LightGBM: a highly efficient gradient boosting decision
tree. NeurIPS 2017. Shi, Ke, Chen, Zheng, Liu: Quantized training of gradient boosting decision
trees. NeurIPS 2022.

    F₀ = argmin_c Σ l(y, c)                    g = ∂l/∂F,  h = ∂²l/∂F²  at F_{m−1}
    F_m = F_{m−1} + η · tree_m
    leaf value  v = −T(G) / (H + λ)            T(G) = sign(G) max(|G| − α, 0)
    split gain  T(G_L)²/(H_L + λ) + T(G_R)²/(H_R + λ) − T(G)²/(H + λ)

Every feature is brought into at most 255 bins once. A leaf's histogram holds Σg and Σh of each
bin; of two siblings the smaller one's is built, the other is what remains of their parent's. The
leaf with the largest gain is split next, until there are `num_leaves`.

g and h are whole numbers of a step, rounded up or down at random so that their expectation is
exact, and summed as integers (`gbdt/kernels/gradient_packing.py`,
docs/decisions/histogram-booster.md). So sums are exact and have no order: the model is the same,
to the bit, for any number of threads.

One-side sampling (GOSS) keeps the a·n rows with the largest |g h|, and b·n of the others, weighed
by how many they stand for. Exclusive features share a column (EFB, `algorithms/gbdt/bundles.py`).
"""

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin

from algorithms.declarations import search_spaces, variants
from algorithms.estimator.labels import codes_among
from algorithms.estimator.sample_weight import weights_by_class
from algorithms.estimator.validation_rows import WatchedAdapter, stops_early
from algorithms.gbdt.base import BaseHistogramBoosting
from algorithms.gbdt.binned import adapter
from algorithms.gbdt.input_table import trim
from algorithms.gbdt.library_training import probabilities_like
from algorithms.gbdt.lightgbm_interface import LightGBMInterface
from algorithms.gbdt.objectives import check_targets, read_watched, to_probabilities, to_values
from algorithms.model_io.init_model import code_labels
from harness import ALL_TASKS, Accepts, Algorithm, Argument, hookimpl


class HistogramBoostingClassifier(ClassifierMixin, LightGBMInterface, BaseHistogramBoosting):
    """Histogram boosting for classes; parameters carry LightGBM's names and defaults.

    Parameters
    ----------
    num_leaves, max_depth : int
        Most leaves of a tree, and most questions on the way to one (−1: any number).
    learning_rate : float, η
    n_estimators : int, rounds
    subsample_for_bin : int, about how many rows the bins' edges are chosen on
    objective : str or callable, optional
        "binary", "multiclass" or "multiclassova"; by default what the number of classes asks
        for. A callable (y, raw scores) returns g and h, each shaped as the scores.
    class_weight : dict, {"balanced"}, optional
        Weight of each class, on top of sample weights.
    scale_pos_weight, is_unbalance : float, bool
        Of two classes: weight of the second one, or whether the rarer one is made as heavy as the
        other. The first score knows nothing of them, as in LightGBM.
    min_split_gain, min_child_weight, min_child_samples : number
        Least gain of a split, least Σh and least rows (estimated from Σh) of a side.
    subsample, subsample_freq : float, int
        Share of rows of a bag, and after how many rounds a new one is drawn (0: never).
    colsample_bytree : float, share of features of a tree
    reg_alpha, reg_lambda : float, α and λ
    random_state : int, RandomState, optional
        Decides rounding and samples. None is 0: as in LightGBM, defaults are deterministic. With
        parity="scikit-learn" None draws a new seed at each fit, as that library does.
    n_jobs : int, optional; threads, None is all: the model is the same for any number
    importance_type : {"split", "gain"}, what `feature_importances_` counts
    max_bin, min_data_in_bin : int
        Most bins of a feature (at most 255), and fewest rows of a bin.
    enable_bundle, max_conflict_rate : bool, float
        Whether features that are never both away from zero share a column; and in which share of
        rows they may be, one of which is read as zero there.
    bundle_order : {"count", "degree"}, by entries, or by features that collide with one
    is_enable_sparse : bool
        Whether columns of few entries are listed, else two bytes a row; the model is the same.
    data_sample_strategy : {"bagging", "goss"}
    top_rate, other_rate : float, a and b of one-side sampling; together at most 1
    goss_rank : {"gh", "g"}, by what it ranks rows: |g h| as LightGBM, or |g| as the paper
    max_delta_step, path_smooth : float
        Bound on a leaf's value; rows' worth of its parent's value that it is drawn to. As
        `reg_alpha`, they shape no leaf that is a quantile: "regression_l1", "quantile", "mape".
    extra_trees : bool, whether one threshold, or set, is drawn for each feature of a node
    monotone_constraints : array-like of -1, 0, 1 (n_features,), optional
        Not with "regression_l1", "quantile" and "mape"; 0 for columns of categories.
    interaction_constraints : list of lists of int, optional
        Features that may stand together on a way to a leaf; those in no list are not used. Without
        a list every feature may be.
    categorical_feature : "auto", list of int or str, or mask, bool (n_features,)
        Columns whose values are codes of categories; "auto": those of a frame's categorical dtype.
    cat_smooth, cat_l2, max_cat_threshold, max_cat_to_onehot, min_data_per_group : number
        Of splits on categories. Of more than max_bin − 1 in dense X some share a bin, others for
        each tree; `max_cat_threshold` then counts bins.
    boost_from_average : bool
        Whether F₀ is the constant that fits best, else 0.
    early_stopping_round, early_stopping_min_delta : int, optional; float
        Stop after so many rounds in which a metric of an evaluation table improved by no more than
        that; 0: never.
    boosting_type : {"gbdt", "dart", "rf", "goss"}
        "dart" drops some of the earlier rounds while one is grown; "rf" is the mean of trees that
        are grown on bags; "goss" is data_sample_strategy="goss".
    drop_rate, max_drop, skip_drop, uniform_drop, xgboost_dart_mode : float, int, float, bool, bool
        Of DART: chance of a round to be dropped, most rounds dropped (0 or less: any number),
        chance that none is, whether heavy rounds are as likely, and XGBoost's weights of steps.
    parity : {"lightgbm", "scikit-learn"}, optional
        Grow LightGBM's own trees, or HistGradientBoosting's, to the bit: one thread, and no
        target for speed (docs/decisions/parity-with-lightgbm.md).
    **kwargs
        All other parameters of LightGBM, and all aliases, see docs/moving.md; among them
    metric : str or list of str
        Metrics of evaluation tables; by default the objective's own.
    first_metric_only : bool
        Whether the first metric alone stops training.

    Attributes
    ----------
    classes_ : (n_classes,) labels; n_classes_, n_features_in_ : int
    ensemble_ : harness.TreeEnsemble; feature_importances_ : (n_features,)
    n_estimators_, n_iter_ : int, rounds kept
    best_iteration_ : int, of early stopping; 0 without
    best_score_ : dict, table → metric → value at the best round, or at the last one
    evals_result_ : dict, table → metric → list
    booster_ : the model under the names of LightGBM's Booster
    feature_name_, n_features_, objective_ : as in LightGBM
    """

    def _y_checks(self):
        """Return what scikit-learn checks of y."""
        return {}

    def _read_y(self, y, labels=None):
        """Return class codes; keep the labels, by default those there are."""
        self.classes_, codes = code_labels(y, labels)
        self.n_classes_ = len(self.classes_)
        return codes.astype(np.int64, copy=False)

    def _encode_y(self, y):
        """Return the codes of an evaluation table's labels."""
        return codes_among(self.classes_, y, "eval_set has labels that y has not")

    def _weigh(self, codes, weight):
        """Return the weights of rows and of classes multiplied, or None where all are 1."""
        if self.class_weight is not None:
            counted = weight if self.parity is None else None
            by_class = weights_by_class(self.class_weight, self.classes_[codes], counted)
            weight = by_class if weight is None else weight * by_class
        return trim(weight)

    def _predict_scores(self, score):
        """Return the probabilities of raw scores, float64 (n_rows, n_classes)."""
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
        """Return the probabilities of the classes, float64 (n_rows, n_classes).

        Parameters
        ----------
        X : as in ``fit``
        raw_score : bool
            Return raw scores, (n_rows,) or (n_rows, n_scores).
        start_iteration : int, the first round that is used
        num_iteration : int, optional
            How many rounds are used; by default, and where it is not above 0, all that were kept.
        pred_leaf : bool
            Return the number of each row's leaf in each tree, (n_rows, n_trees).
        pred_contrib : bool
            Return what each feature, and then the base, adds to the raw scores:
            float64 (n_rows, n_scores × (n_features + 1)), the scores side by side; sparse of
            sparse X, one matrix a score.
        validate_features : bool
            Whether the columns of a frame must be those of training, in their order.
        **kwargs : further names of LightGBM's prediction parameters; they have no effect
        """
        X = self._read_for_prediction(X, validate_features, kwargs)
        rounds = start_iteration, num_iteration
        asked = {"raw_score": raw_score, "pred_leaf": pred_leaf, "pred_contrib": pred_contrib}
        found = self._special_prediction(X, **asked, rounds=rounds)
        return self._answer(self._range_raw(X, *rounds)) if found is None else found

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
        """Return the most probable label of each row, the first if equal.

        Parameters are as in `predict_proba`.
        """
        asked = {"raw_score": raw_score, "pred_leaf": pred_leaf, "pred_contrib": pred_contrib}
        rounds = {"start_iteration": start_iteration, "num_iteration": num_iteration}
        names = {"validate_features": validate_features}
        found = self.predict_proba(X, **asked, **rounds, **names, **kwargs)
        return found if any(asked.values()) else self.classes_.take(found.argmax(axis=1))

    def decision_function(self, X):
        """Return the raw scores: (n_rows,) of two classes, else (n_rows, n_classes)."""
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


class HistogramBoostingRegressor(RegressorMixin, LightGBMInterface, BaseHistogramBoosting):
    """Histogram boosting for values; parameters carry LightGBM's names and defaults.

    Parameters and attributes are as in `HistogramBoostingClassifier`, without those of classes,
    and these:

    Parameters
    ----------
    objective : str or callable, optional
        "regression" (the default), "regression_l1", "huber", "fair", "pseudo_huber", "quantile",
        "mape", "poisson", "gamma", "tweedie", "cross_entropy" (of shares, y between 0 and 1), or
        an alias of LightGBM's, which has no "pseudo_huber".
    alpha : float
        Of "huber", the residual from which on the loss is linear; of "quantile", the quantile.
    fair_c, huber_slope : float
        Of "fair" and of "pseudo_huber", about where the loss turns from a square to a line.
    poisson_max_delta_step : float
        Of "poisson": h is e to the power of it times larger, which keeps steps small.
    tweedie_variance_power : float
        Of "tweedie", above 1 and below 2.
    """

    def _y_checks(self):
        """Return what scikit-learn checks of y."""
        return {"y_numeric": True}

    def _read_y(self, y, _labels=None):
        """Return the values, float64; raise where the objective cannot take them."""
        y = y.astype(np.float64, copy=False)
        check_targets(self.objective, y)
        return y

    def _encode_y(self, y):
        """Return an evaluation table's values; raise where they are none for the objective."""
        return read_watched(self.objective, y)

    def _weigh(self, _y, weight):
        """Return the weights, or None where all are 1."""
        return trim(weight)

    def _predict_scores(self, score):
        """Return the predictions of raw scores, float64 (n_rows,)."""
        return to_values(score, self._link)

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
        """Return predicted values, float64 (n_rows,).

        Parameters are as in `HistogramBoostingClassifier.predict_proba`.
        """
        X = self._read_for_prediction(X, validate_features, kwargs)
        rounds = start_iteration, num_iteration
        asked = {"raw_score": raw_score, "pred_leaf": pred_leaf, "pred_contrib": pred_contrib}
        found = self._special_prediction(X, **asked, rounds=rounds)
        return self._answer(self._range_raw(X, *rounds)) if found is None else found

    def staged_predict(self, X):
        """Yield `predict` after each round."""
        for score in self._staged_raw(X):
            yield self._answer(score)


def build(spec):
    """Return the booster of a harness spec."""
    labelled = spec.task.is_classification
    boosting = HistogramBoostingClassifier if labelled else HistogramBoostingRegressor
    model = boosting(random_state=spec.seed, n_jobs=spec.threads)
    if spec.categorical:
        model.categorical_feature = list(spec.categorical)
    return model.set_params(**spec.params)


def build_watched(spec, rounds):
    """Return the booster of a harness spec, told when to stop."""
    return build(spec).set_params(early_stopping_round=rounds)


def drive(spec):
    """Return the adapter of a spec; one that stops early holds out the rows to watch."""
    if "early_stopping_rounds" in spec.params:
        return WatchedAdapter(build_watched, spec)
    return adapter(build)(spec)


@hookimpl
def register_algorithms(register):
    """Offer histogram boosting to the harness."""
    register(
        Algorithm(
            "histogram_boosting",
            drive,
            ALL_TASKS,
            accepts=Accepts(missing=True, categorical=True, sparse=True),
            params={"n_estimators": 100},
            early_stopping=stops_early,
            estimators=(
                "algorithms.HistogramBoostingClassifier",
                "algorithms.HistogramBoostingRegressor",
            ),
            capacity={
                "trees": Argument("n_estimators"),
                "rate": Argument("learning_rate"),
                "depth": Argument("max_depth", convert=lambda depth: depth or -1),
                "leaves": Argument("num_leaves"),
                "bins": Argument("max_bin"),
                "min_samples": Argument("min_child_samples", "approximate", "of estimated counts"),
                "min_hessian": Argument("min_child_weight"),
                "l2": Argument("reg_lambda"),
            },
            space=search_spaces.HISTOGRAM_BOOSTING,
            variants=variants.HISTOGRAM_BOOSTING,
            reference="lightgbm.gbdt",
            rungs={"default": "L0", "lightgbm": "L3", "scikit-learn": "L3"},
            libraries=("numpy", "numba", "scikit-learn"),
            paper="https://proceedings.neurips.cc/paper/2017/hash/6449f44a102fde848669bdd9eb6b76fa-Abstract.html",
            summary="leaf-wise boosting on histograms of exact packed integers",
        )
    )
