"""Base class of the two histogram boosters: read parameters and rows, train, store the model."""

from dataclasses import replace
from typing import ClassVar

import numpy as np
from sklearn.utils.validation import _check_sample_weight

from algorithms.compat.lightgbm_parameters import LIGHTGBM
from algorithms.compat.parameters import LibraryParameters
from algorithms.estimator.constraints import read_interactions, read_signs
from algorithms.estimator.fit_context import fit_context
from algorithms.estimator.sample_weight import drop_unweighted, split_unit_of_params
from algorithms.estimator.seeds import draw_seed
from algorithms.gbdt.bin_limits import read_bin_limits, read_forced_bins
from algorithms.gbdt.binned import Binned, Rows
from algorithms.gbdt.binning import bin_table, dense_bins, find_bins
from algorithms.gbdt.boosting import Booster, Target
from algorithms.gbdt.dart import Dart
from algorithms.gbdt.early_stopping import Evaluation, EvaluationLoop
from algorithms.gbdt.fitted_model import HistogramModel
from algorithms.gbdt.forced_splits import bin_finder, find_forced_bins, read_forced_splits
from algorithms.gbdt.gradient_quantization import IN_ORDER
from algorithms.gbdt.grower import make_growers
from algorithms.gbdt.high_cardinality import find_high_cardinality
from algorithms.gbdt.init_score import Start
from algorithms.gbdt.input_table import (
    are_ordered,
    find_categorical,
    read_table,
    reads_as_lightgbm,
)
from algorithms.gbdt.library_training import train_like
from algorithms.gbdt.linear_leaves import fitter_of
from algorithms.gbdt.metrics import find_metric
from algorithms.gbdt.missing_values import missing_kind, replace_missing
from algorithms.gbdt.model import join_trees
from algorithms.gbdt.objectives import default_objective, find_objective
from algorithms.gbdt.params import (
    CONSTRAINTS,
    check_together,
    make_rules,
    read_feature_contri,
    read_layout,
    whole,
)
from algorithms.gbdt.phase_timer import INPUT, MODEL, timed_phase
from algorithms.gbdt.random_forest import RandomForest, average
from algorithms.gbdt.row_order import find_order, is_worth_it
from algorithms.gbdt.sampling import sampled_share
from algorithms.gbdt.split_table import split_columns
from algorithms.gbdt.streamed_table import Batches, StreamedTable
from algorithms.gbdt.thread_choice import fit_threads
from algorithms.model_io.init_model import load_init_model
from algorithms.prediction.predictor import FastPredictor
from algorithms.runtime.memory import give_back
from algorithms.runtime.threads import Workers

MIN_VALUES_BY_ROWS = 1 << 27  # values from which on bins are stored in row-major order only
MAX_COLUMNS_BY_ROWS = 64  # their bins of a row are one cache line


class BaseHistogramBoosting(LibraryParameters, HistogramModel):
    """Base class of the classifier and the regressor."""

    _parameter_constraints: ClassVar = CONSTRAINTS
    _parameter_table: ClassVar = LIGHTGBM
    metric = None  # defaults of parameters that the constructor takes as **kwargs
    first_metric_only = False
    verbosity = None
    use_missing = True
    zero_as_missing = False
    max_bin_by_feature = None
    forcedbins_filename = ""
    forcedsplits_filename = ""
    bagging_by_query = False
    feature_contri = None
    feature_fraction_bynode = 1.0
    monotone_penalty = 0.0
    multi_error_top_k = 1
    auc_mu_weights = None
    pred_early_stop = False
    pred_early_stop_freq = 10
    pred_early_stop_margin = 10.0
    _bounds = None  # in training of a ranker: from `read_group`

    def __init__(
        self,
        *,
        num_leaves=31,
        max_depth=-1,
        learning_rate=0.1,
        n_estimators=100,
        subsample_for_bin=200000,
        objective=None,
        class_weight=None,
        min_split_gain=0.0,
        min_child_weight=1e-3,
        min_child_samples=20,
        subsample=1.0,
        subsample_freq=0,
        colsample_bytree=1.0,
        reg_alpha=0.0,
        reg_lambda=0.0,
        random_state=None,
        n_jobs=None,
        importance_type="split",
        max_bin=255,
        min_data_in_bin=3,
        enable_bundle=True,
        max_conflict_rate=0.0,
        bundle_order="count",
        is_enable_sparse=True,
        data_sample_strategy="bagging",
        top_rate=0.2,
        other_rate=0.1,
        goss_rank="gh",
        max_delta_step=0.0,
        path_smooth=0.0,
        extra_trees=False,
        monotone_constraints=None,
        interaction_constraints=None,
        categorical_feature="auto",
        cat_smooth=10.0,
        cat_l2=10.0,
        max_cat_threshold=32,
        max_cat_to_onehot=4,
        min_data_per_group=100,
        boost_from_average=True,
        early_stopping_round=None,
        early_stopping_min_delta=0.0,
        boosting_type="gbdt",
        drop_rate=0.1,
        max_drop=50,
        skip_drop=0.5,
        uniform_drop=False,
        xgboost_dart_mode=False,
        alpha=0.9,
        poisson_max_delta_step=0.7,
        tweedie_variance_power=1.5,
        fair_c=1.0,
        huber_slope=1.0,
        scale_pos_weight=1.0,
        is_unbalance=False,
        linear_tree=False,
        linear_lambda=0.0,
        parity=None,
        **kwargs,
    ):
        self._set_constructor_params(locals())

    @fit_context(prefer_skip_nested_validation=True)
    def _train(self, X, y, sample_weight, init_score, evaluation, init_model):
        """Train; aliases of parameters are already resolved.

        Parameters
        ----------
        X, y, sample_weight, init_score, init_model : as in ``fit``
        evaluation : Evaluation
        """
        self.parity_ = None  # evaluation reads it before training ends
        before = None if init_model is None else load_init_model(init_model)
        X, y, weight = self._read_training(X, y, sample_weight, before)
        start = Start(self, before, init_score, evaluation.init_scores)
        if self.parity is not None:
            by_class = hasattr(self, "classes_") and self.class_weight is not None
            is_weighted = sample_weight is not None or by_class
            options = {
                "eval_set": evaluation.tables,
                "init_model": init_model,
                "init_score": init_score,
            }
            train_like(self, X, y, weight, is_weighted=is_weighted, **options)
            return self
        if weight is not None:
            start.check_given(len(y))
            if self._bounds is None:  # rows of a query keep their places in it
                weight, X, y, start.given = drop_unweighted(weight, X, y, start.given)
        loop = EvaluationLoop(self, start, evaluation)
        with Workers(fit_threads(X, self._threads())) as workers:
            binned = self._bin_rows(X, y, weight, workers)
            size, X = X.size, X if start.is_given or reads_values(self) else None
            give_back(size)
            booster = self._booster(binned, X, y, weight, workers, start)
            grower = make_trainer(booster, X)
            del X, y, weight, binned  # training reads only the bins and the target
            give_back(size)
            rounds = loop.boost(grower, booster)
            del grower, booster  # frees memory for joining the trees
        self._keep(rounds, loop, start)
        return self

    def _read_and_bin(self, X, y, sample_weight=None):
        """Return binned training `Rows`, the input of `_fit_binned`."""
        self._validate_params()
        X, y, weight = self._read_training(X, y, sample_weight, None)
        if weight is not None:
            weight, X, y = drop_unweighted(weight, X, y)
        with Workers(self._threads()) as workers:
            binned = self._bin_rows(X, y, weight, workers)
        size, X = X.size, X if reads_values(self) else None
        give_back(size)
        return Rows(self, X, y, weight, binned)

    def _fit_binned(self, rows):
        """Train on `Rows` that `_read_and_bin` of this model or of its original returned."""
        self.parity_ = None
        start = Start(self, None, None, None)
        loop = EvaluationLoop(self, start, Evaluation())
        with Workers(self._threads()) as workers:
            booster = self._booster(rows.binned, *rows[1:4], workers, start)
            grower = make_trainer(booster, rows.X)
            rounds = loop.boost(grower, booster)
            del grower, booster
        self._keep(rounds, loop, start)
        return self

    @timed_phase(INPUT)
    def _read_training(self, X, y, sample_weight, before):
        """Return validated X, y and weights; set the attributes derived from them.

        ``before`` is the initial model, or None.
        """
        known, labels = (before.categories, before.labels) if before else (None, None)
        ordered = are_ordered(X) if reads_as_lightgbm(self) else ()
        if isinstance(X, Batches):
            if before is not None:
                raise ValueError("init_model needs the whole table in memory, not batches")
            X = StreamedTable(self, X)
            y = X.checked_targets(**self._y_checks())
        else:
            X, y = read_table(self, X, y=y, reset=True, known=known, **self._y_checks())
        y = self._read_y(y, labels)
        weight = None
        if sample_weight is not None:
            weight = _check_sample_weight(
                sample_weight, X, dtype=np.float64, ensure_non_negative=True
            )
        weight = self._weigh(y, weight)
        self._is_categorical = find_categorical(self, self.categorical_feature, ordered)
        self._objective = self._find_objective()
        return X, y, weight

    def _bin_rows(self, X, y, weight, workers):
        """Return the `Binned` rows of validated X, or of a `StreamedTable`."""
        is_streamed = isinstance(X, StreamedTable)
        X = X if is_streamed else replace_missing(self, X)
        n_features = X.shape[1]
        columns = n_features, list(getattr(self, "feature_names_in_", []))
        monotone = read_signs(self.monotone_constraints, *columns, every=True)
        groups = read_interactions(self.interaction_constraints, *columns, others_alone=False)
        layout = read_layout(self)
        table = X if is_streamed else split_columns(X, workers, bundles=layout.bundles)
        limits = read_bin_limits(self), whole(self.subsample_for_bin), whole(self.min_data_in_bin)
        in_leaf = self.min_child_samples if self._split_unit(y, weight)[1] is None else 0
        forced = read_forced_bins(self.forcedbins_filename)
        sampled, of_order = X.sample(limits[1]) if is_streamed else (table, None)
        binner = find_bins(sampled, self._is_categorical, *limits, workers, whole(in_leaf), forced)
        binner = replace(binner, missing_kind=missing_kind(self))
        objective, order = self._objective, IN_ORDER
        if not self.linear_tree and is_worth_it(self, table, objective):
            given = binner, objective, objective.targets(y), workers
            order = X.find_order(of_order, *given) if is_streamed else find_order(table, *given)
        del sampled, of_order
        give_back(X.size)
        keeps_columns = not is_stored_by_rows(self, table, binner)
        if is_streamed:
            rows = X.bin(binner, workers, order[0], keeps_columns=keeps_columns)
            bins = dense_bins(*rows, binner, monotone, groups)
        else:
            given = table, binner, monotone, groups, workers, layout, order[0]
            bins = bin_table(*given, keeps_columns=keeps_columns)
        high_cardinality = find_high_cardinality(X, binner, order[0])
        return Binned(
            bins,
            binner,
            order,
            high_cardinality,
            make_rules(self._split_unit(y, weight)[0], monotone, objective),
            find_forced_bins(self._read_forced_splits(), bin_finder(binner)),
            read_feature_contri(self.feature_contri, n_features),
        )

    def _read_forced_splits(self):
        """Return the `ForcedSplits` of the parameters, or None."""
        names = getattr(self, "feature_names_in_", ())
        return read_forced_splits(self.forcedsplits_filename, self.n_features_in_, names)

    def _split_unit(self, y, weight):
        """Return `split_unit_of_params` of the sample weights times the objective's weights."""
        if not callable(self._objective):
            weight = self._objective.weigh(y, weight)
        return split_unit_of_params(self, weight)

    def _booster(self, binned, X, y, weight, workers, start):
        """Return the `Booster` before its first round."""
        self._binner, number = binned.binner, binned.order[0]
        objective = self._objective
        growers = make_growers(binned, workers, self._n_scores)
        if callable(objective):
            targets, first = np.asarray(y, np.float64)[None], np.zeros(self._n_scores)
        else:
            targets = objective.targets(y)
            first = objective.first_scores(y, split_unit_of_params(self, weight)[1])
        split = self._split_unit(y, weight)
        _, weight, unit = split
        self._base = first if self.boost_from_average else np.zeros(len(first))
        constant = None if self.boost_from_average or start.is_given else first
        score = np.empty((len(first), len(y)))
        if start.is_given:
            self._base, score[:] = start.base, start.scores(X).T
        else:
            score[:] = self._base[:, None]
        if len(number):
            targets = targets.take(number, axis=1)  # C-contiguous, unlike indexing
            weight = None if weight is None else weight[number]
            score = score.take(number, axis=1) if start.is_given else score
        seed = draw_seed(self.random_state)
        target = Target(objective, targets, weight, constant, self._bounds)
        given = growers, workers, target, score
        booster = Booster(self, *given, seed, binned.order, binned.high_cardinality, start.n_rounds)
        booster.weight_unit = unit
        booster.linear = fitter_of(split[0], X, self._is_categorical)
        if len(growers) == 1 and booster.linear is None:
            growers[0].share_memory(booster.g[0], booster.workspaces[0].records)
        return booster

    @timed_phase(MODEL)
    def _keep(self, rounds, loop, start):
        """Store the trained rounds as the fitted model."""
        self.best_iteration_ = start.n_rounds + loop.best_round if loop.best_round else 0
        self.best_score_ = loop.best_score
        self.evals_result_ = loop.history
        self._callback_attributes = loop.model.attributes()
        rounds = rounds[: loop.best_round or None]
        if self.boosting_type == "rf":
            average(rounds)
        self.n_estimators_ = self.n_iter_ = start.n_rounds + len(rounds)
        codes = getattr(self, "classes_", None)
        new = join_trees(rounds, self._binner, self._base, self._link, codes)
        self.ensemble_ = start.extend(new)
        self._walker = FastPredictor(self.ensemble_)

    @property
    def _n_scores(self):
        """Number of scores per row."""
        if not callable(self._objective):
            return self._objective.n_scores
        n_classes = getattr(self, "n_classes_", 0)
        return n_classes if n_classes > 2 else 1

    @property
    def _link(self):
        """Link function from scores to predictions, a name as in `harness.TreeEnsemble`."""
        if not callable(self._objective):
            return self._objective.link
        n_classes = getattr(self, "n_classes_", 0)
        return {0: "identity", 2: "sigmoid"}.get(n_classes, "softmax")

    def _find_objective(self):
        """Return the `Objective`, or the callable; check that the parameters are compatible."""
        objective = self.objective
        if not callable(objective):
            objective = find_objective(self, getattr(self, "n_classes_", 0))
        check_together(self, objective)
        return objective

    def _metric(self, wanted):
        """Return the metric of a name; an empty name selects the objective's metric."""
        objective = self._objective
        n_classes = getattr(self, "n_classes_", 0)
        name = default_objective(n_classes) if callable(objective) else objective.name
        return find_metric(wanted or name, name, self)


def reads_values(params):
    """Return whether training reads the values of the rows after they are binned."""
    return params.boosting_type == "dart" or params.linear_tree


def is_stored_by_rows(params, table, binner):
    """Return whether the bins of a table are stored in row-major order only.

    This halves their memory. A partition then reads 28 bytes of a row of 28 columns instead of one,
    so it is used from `MIN_VALUES_BY_ROWS` values on.

    Parameters
    ----------
    params : the estimator
    table : SplitTable or StreamedTable
    binner : Binner
    """
    n_rows, n_columns = table.shape
    return (
        n_rows * n_columns >= MIN_VALUES_BY_ROWS
        and n_columns <= MAX_COLUMNS_BY_ROWS
        and not len(table.sparse_columns)
        and all(codes is None for codes in binner.codes)
        and sampled_share(params) == 1.0
    )


def make_trainer(booster, X):
    """Return the object that adds rounds with the method of ``boosting_type``.

    Parameters
    ----------
    booster : Booster
    X : (n_rows, n_features), the rows that the booster's grower has binned; only DART reads them
    """
    kind = booster.params.boosting_type
    if kind == "dart":
        return Dart(booster, X)
    return RandomForest(booster) if kind == "rf" else booster
