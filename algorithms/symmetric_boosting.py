"""Boosting of symmetric trees: all nodes of a level have the same split.

Dorogush, Ershov, Gulin: CatBoost: gradient boosting with categorical features support. 2018.
Prokhorenkova, Gusev, Vorobev, Dorogush, Gulin: CatBoost: unbiased boosting with categorical
features. NeurIPS 2018.

A tree of depth d has d splits s_j = [x_f > b] and 2ᵈ leaves; the leaf of a row is Σ_j s_j(x) 2ʲ.
With the derivatives g, h of −loss at F_{m−1}, weights w, and the sums G, H, W of a leaf:

    F_m   = F_{m−1} + η v[leaf of x]
    v     = G / (−H + λ′)  (Newton)   or   G / (W + λ′)  (Gradient)        λ′ = λ ΣW / n
    score = Σ a G / √(Σ a² W)  (Cosine)   or   Σ a G  (L2)                 a = G / (W + λ′)

The sums of a score run over both sides of all leaves of a level, so one split is chosen for all of
them. Each level adds the split with the best score until there are d; there is no minimum gain.
Normal noise, which falls as the model grows, is added to each score (`random_strength`).

A categorical column with more than `one_hot_max_size` levels becomes ordered target statistics: in
a permutation of the rows, with the n earlier rows of the same level, of which k have y = 1,

    (k + P) / (n + 1)        P: a prior

so a row's own target does not enter its statistic. Prediction counts all training rows.

`boosting_type="Ordered"` takes the derivatives of a row from models trained without its target.
"""

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin

from algorithms.declarations import capacities, search_spaces, variants
from algorithms.estimator.labels import codes_among
from algorithms.estimator.validation_rows import WatchedAdapter, stops_early
from algorithms.model_io.init_model import code_labels
from algorithms.symmetric.base import BaseSymmetricBoosting, read_targets
from algorithms.symmetric.class_names import codes_in_order, read_class_names
from algorithms.symmetric.class_weights import refuse_class_weights, weigh_classes
from algorithms.symmetric.fitted_model import ValuePredictions
from algorithms.symmetric.virtual_ensembles import VirtualEnsembles
from harness import ALL_TASKS, Accepts, Algorithm, EstimatorAdapter, hookimpl


class SymmetricBoostingClassifier(VirtualEnsembles, ClassifierMixin, BaseSymmetricBoosting):
    """Classifier of boosted symmetric trees with CatBoost's parameter names and defaults.

    Parameters
    ----------
    iterations : int
        Number of trees.
    learning_rate : float, optional
        η; by default it is chosen by the number of rows and iterations, as in CatBoost.
    depth : int
        Number of splits of a tree, at most 16.
    l2_leaf_reg : float, optional
        λ; the default is 3.
    random_strength : float
        Scale of the noise of split scores; 0 means none.
    border_count : int
        Maximum number of borders per column, at most 255.
    feature_border_type : str
        "GreedyLogSum", "GreedyMinEntropy", "MaxLogSum", "MinEntropy", "Median", "Uniform" or
        "UniformAndQuantiles".
    nan_mode : {"Min", "Max", "Forbidden"}
        Whether missing values lie below or above all others.
    bootstrap_type : {"MVS", "Bayesian", "Bernoulli", "No"}, optional
        Row weights of a tree's structure. The default is "MVS", or "Bayesian" for several scores.
    subsample : float, optional
        Fraction of the rows of "MVS" (0.8) and "Bernoulli" (0.66); 1 below 100 rows.
    bagging_temperature : float
        T of "Bayesian": weights are (−ln U)ᵀ.
    mvs_reg : float, optional
        λ of "MVS"; by default it follows the last tree.
    rsm : float
        Fraction of the columns drawn for each tree; with ``parity`` for each level, as in CatBoost.
    grow_policy : {"SymmetricTree", "Depthwise", "Lossguide"}
        "Depthwise" and "Lossguide" choose a split for each node: of all leaves of a level, or of
        the leaf with the largest gain. They are for plain boosting, without combinations.
    max_leaves : int, optional
        Maximum number of leaves of "Lossguide"; the default is 31.
    min_data_in_leaf : int
        Minimum number of rows of a leaf that "Depthwise" and "Lossguide" split.
    score_function : {"Cosine", "L2", "NewtonCosine", "NewtonL2"}
        The Newton scores weight rows by the second derivatives of the loss. CatBoost has them on
        GPUs only.
    leaf_estimation_method : {"Newton", "Gradient", "Exact"}, optional
    leaf_estimation_iterations : int, optional
        Number of steps; the default depends on the loss.
    leaf_estimation_backtracking : {"AnyImprovement", "No"}, optional
        Whether a step is halved until the loss falls; it is by default, except with ``langevin``.
    boost_from_average : bool, optional
        Whether the initial score is the best constant instead of 0.
    has_time : bool
        Whether the order of the rows is that of time: target statistics and "Ordered" follow it
        instead of random permutations.
    cat_features : sequence of int or str, optional
        Categorical columns by position or name; by default those of a frame with categories or
        text. Categories are integers or text; a missing value is the category "nan".
    one_hot_max_size : int, optional
        Largest number of levels that get one-hot splits, at most 255; the default is 2.
    max_ctr_complexity : int, optional
        Largest number of columns of a combination; 4, or 1 with fewer than 200 iterations.
    simple_ctr, combinations_ctr : str or list of str, optional
        Target statistics, such as "Borders:TargetBorderCount=2:CtrBorderCount=15:Prior=0.5". The
        kinds are "Borders", "Buckets", "BinarizedTargetMeanValue" and "Counter".
    ctr_target_border_count : int, optional
        Number of borders of the target for statistics; by default 1, or one less than the number
        of classes.
    monotone_constraints : sequence, dict or str, optional
        Per column: 1 if predictions must not decrease with it, −1 not increase, 0 unconstrained. A
        sequence of at most n_features signs, a dict by column number or name, or text such as
        "(1,0,-1)" or "age:1,price:-1". ValueError with constraints on categorical columns, other
        trees than symmetric ones, "Ordered", `parity`, several scores or a ranking loss.
    feature_weights, first_feature_use_penalties, per_object_feature_penalties : optional
        Weight of a column's gain (1), and penalties of the score of a column that no tree uses yet,
        once or for each sampled row (0). A sequence, a dict by column number or name, or text such
        as "(1,0.5)" or "age:0.5,3:2". See `symmetric/feature_penalties.py`.
    penalties_coefficient : float
        Factor of both penalties.
    model_shrink_rate : float, optional
        s: before each tree but the first, the model so far is multiplied by 1 − s η. The default is
        0; with ``langevin`` it is 0.001, or 0.01 for "Decreasing".
    model_shrink_mode : {"Constant", "Decreasing"}
        "Decreasing" multiplies by 1 − s / t before tree t + 1.
    langevin : bool, optional
        Whether noise is added to the derivatives and leaf values; see `symmetric/langevin.py`. By
        default it is if ``diffusion_temperature`` is given.
    diffusion_temperature : float, optional
        T: the noise falls as it rises; 0 means no noise. The default is 10 000.
    posterior_sampling : bool, optional
        Langevin boosting with T = n and ``model_shrink_rate`` 1 / 2n for n rows, which makes
        `virtual_ensembles_predict` a sample of the posterior.
    model_size_reg : float
        Penalty of statistics with many levels that no tree uses yet.
    boosting_type : {"Plain", "Ordered"}, optional
        "Ordered" takes the gradient of a row from models trained without its target; see
        `symmetric/ordered_boosting.py`. The default is "Plain".
    approx_on_full_history : bool
        Whether "Ordered" estimates leaf values for each row from all rows before it.
    fold_len_multiplier : float
        Ratio of the lengths of successive segments of "Ordered", above 1.
    fold_permutation_block : int
        Number of consecutive rows that permutations keep together; 0 means n / 1000 + 1, at most
        256.
    loss_function : str or object, optional
        "Logloss" or "CrossEntropy" for two classes, "MultiClass" for any number, or an object with
        ``calc_ders_range`` or ``calc_ders_multi``; see `symmetric/callable_loss.py`.
    eval_metric : str, callable or object, optional
        By default the loss; also "Accuracy" and "AUC", a function (y, probabilities) → number, or
        an object with ``evaluate``, ``get_final_error`` and ``is_max_optimal``.
    custom_metric : str or object, or list of these, optional
        Further metrics, which `evals_result_` records; they do not decide when to stop.
    eval_fraction : float, optional
        Fraction of the rows that are held out as the evaluation set: with ``has_time`` the last
        rows, otherwise random ones.
    ignored_features : list of int or str, optional
        Columns, by position or name, that training and prediction do not read.
    early_stopping_rounds, od_type, od_wait, od_pval : optional
        Overfitting detector; see `symmetric/early_stopping.py`.
    use_best_model : bool, optional
        Whether the model ends at the best iteration; by default if there is an evaluation set.
    best_model_min_trees : int, optional
        Minimum number of trees of the best model.
    random_seed : int, RandomState, optional
        Seed of sampling, noise and rounding; None means 0.
    thread_count : int, optional
        Number of threads; None uses all. The model does not depend on it.
    verbose : bool or int, optional
        Print the metrics of the evaluation sets, every n-th iteration.
    metric_period : int, optional
        n if ``verbose`` is True.
    save_snapshot : bool, optional
        Whether the state of the training is saved, so that it continues if it is interrupted: `fit`
        with the same parameters and data reads the file, and gives the model of an uninterrupted
        training. ``iterations`` may be larger if it changes no default, such as that of
        ``learning_rate``. ValueError with another training's file.
    snapshot_file : str or path, optional
        File of the snapshots, "experiment.cbsnapshot" by default. A relative path is below
        ``train_dir``, which is "catboost_info" by default.
    snapshot_interval : float
        Number of seconds between snapshots; the last one is saved at the end.
    parity : {"catboost"}, optional
        Build exactly CatBoost's trees by following its arithmetic and its random numbers; slower.
    class_names : list, optional
        Labels in the order of the classes; by default those of y, ascending.
    class_weights : dict or list, optional
    auto_class_weights : {"Balanced", "SqrtBalanced"}, optional
    scale_pos_weight : float, optional
        Weight of the second of two classes.
    **kwargs
        Synonyms of these names and CatBoost's other parameters.

    Attributes
    ----------
    classes_ : (n_classes,) labels; n_classes_, n_features_in_ : int
    ensemble_ : harness.TreeEnsemble, the trees used for prediction
    n_iter_ : int, number of trained trees; tree_count_ : int, of those used for prediction
    learning_rate_ : float
    best_iteration_ : int, with an evaluation set; evals_result_ : dict
    feature_importances_ : (n_features,)
    """

    def _y_checks(self):
        """Return the options with which scikit-learn validates y."""
        return {}

    def _read_y(self, y):
        """Return class codes, float64; store the class labels."""
        if self.class_names is not None:
            self.classes_ = read_class_names(self.class_names, self._initial.labels)
            codes = codes_in_order(self.classes_, y, "y has labels that class_names does not have")
        else:
            self.classes_, codes = code_labels(y, self._initial.labels)
        self.n_classes_ = len(self.classes_)
        return codes.astype(np.float64)

    def _weigh_classes(self, codes, weight):
        """Return the sample weights times those of the classes, or None if all are 1."""
        return weigh_classes(self, codes, weight)

    def _check_y(self, codes, weight):
        """Raise ValueError if all rows with a positive weight belong to one class."""
        used = codes[weight > 0.0] if len(weight) else codes
        if len(np.unique(used)) == 1:
            raise ValueError("all rows with a positive sample_weight belong to one class")

    def _encode_y(self, y):
        """Return the class codes of labels, such as those of an evaluation set."""
        is_sorted = (np.sort(self.classes_) == self.classes_).all()
        encode = codes_among if is_sorted else codes_in_order
        return encode(self.classes_, y, "there are labels that the model does not have")

    def predict_proba(self, X, ntree_start=0, ntree_end=0):
        """Return the probabilities of the classes, float64 (n_rows, n_classes).

        Parameters
        ----------
        X : as in ``fit``
        ntree_start, ntree_end : int
            Half-open range of trees to use; 0 as the end means all.
        """
        return self._predict_scores(self._raw(X, ntree_start, ntree_end))

    def predict(self, X, ntree_start=0, ntree_end=0):
        """Return the most probable label of each row, the first one in a tie.

        Parameters
        ----------
        X, ntree_start, ntree_end : as in `predict_proba`
        """
        proba = self.predict_proba(X, ntree_start, ntree_end)
        return self.classes_.take(proba.argmax(axis=1))

    def decision_function(self, X):
        """Return raw scores: (n_rows,) for two classes, else (n_rows, n_classes)."""
        raw = self._raw(X)
        if len(self.classes_) == 2:
            return raw[:, 0] if raw.shape[1] == 1 else raw[:, 1] - raw[:, 0]
        return raw

    def staged_predict_proba(self, X):
        """Yield `predict_proba` after each tree."""
        for score in self._staged_raw(X):
            yield self._predict_scores(score)

    def staged_predict(self, X):
        """Yield `predict` after each tree."""
        for proba in self.staged_predict_proba(X):
            yield self.classes_.take(proba.argmax(axis=1))


class SymmetricBoostingRegressor(
    VirtualEnsembles, RegressorMixin, ValuePredictions, BaseSymmetricBoosting
):
    """Regressor of boosted symmetric trees with CatBoost's parameter names and defaults.

    Parameters and attributes are those of `SymmetricBoostingClassifier`, except the ones about
    classes, and:

    Parameters
    ----------
    loss_function : str or object with ``calc_ders_range``, optional
        "RMSE" (the default), "MAE", "Quantile:alpha=0.9", "Expectile:alpha=0.9", "Huber:delta=1",
        "Poisson", "Tweedie:variance_power=1.5" or "CrossEntropy". The predictions of Poisson and
        Tweedie are means. With "MultiQuantile:alpha=0.1,0.5,0.9" predictions have a column for
        each quantile (Koenker and Bassett 1978: Regression quantiles). Those of
        "RMSEWithUncertainty" are the mean and the variance of a normal distribution; `ensemble_`
        has the mean and the logarithm of the standard deviation (`symmetric/uncertainty.py`).
    """

    def _y_checks(self):
        """Return the options with which scikit-learn validates y."""
        return {"y_numeric": True}

    def _read_y(self, y):
        """Return y as float64; raise ValueError if float32 cannot hold it."""
        return read_targets(y)

    def _weigh_classes(self, _y, weight):
        """Return the sample weights; raise ValueError if a parameter is for classes."""
        refuse_class_weights(self)
        return weight

    def _check_y(self, y, _weight):
        """Raise ValueError if the loss does not allow the values of y."""
        name = self._objective.name
        if name in ("Poisson", "Tweedie") and (y < 0).any():
            raise ValueError(f"loss_function {name!r} needs y >= 0")
        if name == "CrossEntropy" and ((y < 0).any() or (y > 1).any()):
            raise ValueError("loss_function 'CrossEntropy' needs 0 <= y <= 1")

    def _encode_y(self, y):
        """Return the targets of an evaluation set, float64."""
        return np.asarray(y, np.float64)


def build(spec):
    """Return the booster of a harness spec."""
    is_classifier = spec.task.is_classification
    boosting = SymmetricBoostingClassifier if is_classifier else SymmetricBoostingRegressor
    return boosting(random_seed=spec.seed, thread_count=spec.threads).set_params(**spec.params)


class NumericExport:
    """Mixin of adapters that export trees of numeric columns only."""

    def export_trees(self):
        """Return the trees; raise TypeError if they read target statistics or levels."""
        if self.model.get_cat_feature_indices():
            raise TypeError("trees that read categorical columns cannot be exported")
        return super().export_trees()


class SymmetricAdapter(NumericExport, EstimatorAdapter):
    """Adapter of the estimators."""


class WatchedSymmetricAdapter(NumericExport, WatchedAdapter):
    """Adapter of the estimators with early stopping."""


def make_adapter(spec):
    """Return the adapter of a spec; with early stopping it holds out validation rows."""
    if "early_stopping_rounds" in spec.params:
        return WatchedSymmetricAdapter(build, spec)
    return SymmetricAdapter(build, spec)


@hookimpl
def register_algorithms(register):
    """Register boosting of symmetric trees with the harness."""
    register(
        Algorithm(
            "symmetric_boosting",
            make_adapter,
            ALL_TASKS,
            accepts=Accepts(missing=True, categorical=True, sparse=True),
            params={"n_estimators": 100},
            defaults={"n_estimators": 1000},
            early_stopping=stops_early,
            estimators=(
                "algorithms.SymmetricBoostingClassifier",
                "algorithms.SymmetricBoostingRegressor",
            ),
            capacity=capacities.SYMMETRIC_BOOSTING,
            space=search_spaces.SYMMETRIC_BOOSTING,
            variants=variants.SYMMETRIC_BOOSTING,
            reference="catboost.plain",
            parity_levels={"default": "L0"},  # without parity the random numbers are our own
            libraries=("numpy", "numba", "scikit-learn"),
            paper="https://arxiv.org/abs/1706.09516",
            summary="boosting of symmetric trees, ordered target statistics of categories",
        )
    )
