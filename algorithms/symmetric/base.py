"""Base class of the boosters of symmetric trees: read parameters and rows, train."""

from typing import ClassVar

import numpy as np
from scipy import sparse
from sklearn.utils import assert_all_finite
from sklearn.utils.validation import _check_sample_weight

from algorithms.compat.catboost_parameters import CATBOOST
from algorithms.compat.inputs import as_rows, as_vector
from algorithms.compat.parameters import LibraryParameters
from algorithms.estimator.eval_sets import read_tables, read_weights
from algorithms.estimator.fit_context import fit_context
from algorithms.estimator.library_versions import warn_of_other_version
from algorithms.estimator.sample_weight import drop_unweighted
from algorithms.estimator.seeds import draw_seed
from algorithms.newton.early_stopping import EvaluationSets
from algorithms.newton.input_table import read_rows
from algorithms.runtime.threads import ALONE, Workers
from algorithms.symmetric.binned_table import bin_rows
from algorithms.symmetric.boosting import Booster
from algorithms.symmetric.callable_loss import CallableBooster, find_callable_objective
from algorithms.symmetric.categorical_table import PERMUTATIONS, CategoricalTable
from algorithms.symmetric.categories import fit_categories, number_levels_again
from algorithms.symmetric.category_grower import CategoryGrower
from algorithms.symmetric.ctr_options import TargetClasses
from algorithms.symmetric.early_stopping import SymmetricEarlyStopping
from algorithms.symmetric.feature_penalties import read_penalties
from algorithms.symmetric.fitted_model import SymmetricModel
from algorithms.symmetric.grower import SymmetricGrower
from algorithms.symmetric.held_out_rows import hold_out_rows
from algorithms.symmetric.ignored_columns import blank_columns, find_ignored, keep_cat_features
from algorithms.symmetric.initial_scores import InitialScores
from algorithms.symmetric.iteration_history import IterationHistory, read_callbacks
from algorithms.symmetric.kernels.leaf_sums import SOFTMAX
from algorithms.symmetric.leafwise_categories import LeafwiseCategoryGrower
from algorithms.symmetric.leafwise_grower import LeafwiseGrower
from algorithms.symmetric.metrics import find_metric, find_metrics, find_output_metric
from algorithms.symmetric.monotone import MonotoneBooster, read_monotone
from algorithms.symmetric.objectives import CALLABLE, NORMAL, PAIRWISE, find_objective
from algorithms.symmetric.ordered_boosting import OrderedBooster
from algorithms.symmetric.ordered_categories import OrderedCategoryGrower
from algorithms.symmetric.ordered_grower import OrderedGrower
from algorithms.symmetric.params import (
    CONSTRAINTS,
    WITHOUT_RANDOM_NUMBERS,
    check_wanted,
    draws_random_numbers,
    needs_shuffled_rows,
    resolve,
)
from algorithms.symmetric.round_batches import add_in_batches, can_batch
from algorithms.symmetric.shrinkage import check_shrink_rate, shrink_trees
from algorithms.symmetric.snapshots import Snapshot, find_path
from algorithms.symmetric.uncertainty import NormalBooster

ALL_EQUAL = np.empty(0, np.float32)
MIN_CELLS_FOR_THREADS = 1_500_000  # rows × features × scores below which one thread is faster
BOOSTER_OF_KIND = {NORMAL: NormalBooster, CALLABLE: CallableBooster}


class BaseSymmetricBoosting(LibraryParameters, SymmetricModel):
    """Base class of the classifier, the regressor and the ranker."""

    _parameter_constraints: ClassVar = CONSTRAINTS
    _parameter_table: ClassVar = CATBOOST
    # Whether to record metrics of the training rows, and to ignore early stopping without an
    # evaluation set.
    _is_catboost_drop_in = False

    def __init__(
        self,
        *,
        iterations=1000,
        learning_rate=None,
        depth=6,
        l2_leaf_reg=None,
        random_strength=1.0,
        border_count=254,
        feature_border_type="GreedyLogSum",
        nan_mode="Min",
        bootstrap_type=None,
        subsample=None,
        bagging_temperature=1.0,
        mvs_reg=None,
        rsm=1.0,
        grow_policy="SymmetricTree",
        max_leaves=None,
        min_data_in_leaf=1,
        score_function="Cosine",
        leaf_estimation_method=None,
        leaf_estimation_iterations=None,
        leaf_estimation_backtracking=None,
        boost_from_average=None,
        boosting_type=None,
        has_time=False,
        approx_on_full_history=False,
        fold_len_multiplier=2.0,
        fold_permutation_block=0,
        cat_features=None,
        one_hot_max_size=None,
        max_ctr_complexity=None,
        simple_ctr=None,
        combinations_ctr=None,
        ctr_target_border_count=None,
        model_size_reg=0.5,
        monotone_constraints=None,
        feature_weights=None,
        first_feature_use_penalties=None,
        per_object_feature_penalties=None,
        penalties_coefficient=1.0,
        model_shrink_rate=None,
        model_shrink_mode="Constant",
        langevin=None,
        diffusion_temperature=None,
        posterior_sampling=None,
        loss_function=None,
        eval_metric=None,
        custom_metric=None,
        eval_fraction=None,
        ignored_features=None,
        early_stopping_rounds=None,
        od_type=None,
        od_wait=None,
        od_pval=None,
        use_best_model=None,
        best_model_min_trees=None,
        class_names=None,
        class_weights=None,
        auto_class_weights=None,
        scale_pos_weight=None,
        random_seed=None,
        thread_count=None,
        verbose=None,
        metric_period=None,
        save_snapshot=None,
        snapshot_file=None,
        snapshot_interval=600,
        parity=None,
        **kwargs,
    ):
        self._set_constructor_params(locals())

    def fit(
        self,
        X,
        y,
        sample_weight=None,
        *,
        cat_features=None,
        eval_set=None,
        use_best_model=None,
        early_stopping_rounds=None,
        verbose=None,
        baseline=None,
        eval_baseline=None,
        init_model=None,
        callbacks=None,
        eval_sample_weight=None,
    ):
        """Train the model.

        Parameters
        ----------
        X : array-like, frame or sparse matrix (n_rows, n_features), NaN where missing
            Read as float32. Absent entries of a sparse matrix are 0.
        y : array-like (n_rows,)
            Labels of any kind, or numbers.
        sample_weight : array-like (n_rows,), optional
        cat_features : sequence of int or str, optional
            Categorical columns, by position or name; replaces the parameter of this name.
        eval_set : (X, y) or list of (X, y), optional
            Evaluation sets; the last one decides the best iteration.
        use_best_model, early_stopping_rounds, verbose : optional
            Replace the parameters of these names.
        baseline : array-like (n_rows,) or (n_rows, n_scores), optional
            Raw scores from which training starts instead of the initial score. They are not part
            of the model: add them to the raw scores of prediction.
        eval_baseline : array-like as ``baseline``, or a list with one for each set, optional
            Baselines of the evaluation sets; needed with ``baseline`` and ``eval_set``.
        init_model : fitted estimator, TreeEnsemble or path of a model file, optional
            Model of the same columns whose trees become the first trees of this one. Training
            continues from its scores. ``best_iteration_`` and ``n_iter_`` count the new trees. With
            categorical columns it is not a TreeEnsemble, which lacks their target statistics.
        callbacks : list of objects, optional
            ``after_iteration(info)`` of each is called after each iteration and returns whether to
            continue; see `symmetric/iteration_history.py`.
        eval_sample_weight : list of array-like (n_rows,) or None, optional
            Weights of the rows of each evaluation set, for the metrics.

        Returns
        -------
        The estimator.

        Raises
        ------
        ValueError, TypeError
            If parameters, X, y or weights are invalid.
        """
        given = {
            "cat_features": cat_features,
            "use_best_model": use_best_model,
            "early_stopping_rounds": early_stopping_rounds,
            "verbose": verbose,
        }
        initial = InitialScores(init_model, baseline, eval_baseline, type(self))
        rows = X, y, sample_weight
        return self._fit(rows, eval_set, given, None, initial, callbacks, eval_sample_weight)

    def _fit(
        self,
        rows,
        eval_set,
        given,
        queries=None,
        initial=None,
        callbacks=None,
        eval_weights=None,
    ):
        """Train a copy with resolved parameter names, and take its fitted attributes.

        Parameters
        ----------
        rows : (X, y, sample_weight)
        eval_set : as in `fit`
        given : dict, parameters that replace those of the constructor unless they are None
        queries : TrainingQueries of a ranking, or None
        initial : InitialScores, or None
        callbacks : list of objects, or None
        eval_weights : list with the weights of each evaluation set, or None
        """
        core = self._resolved()
        for name, value in given.items():
            if value is not None:
                setattr(core, name, value)
        tables = read_tables(eval_set, may_be_one=True)
        tables = [(as_rows(one), as_vector(labels)) for one, labels in tables]
        X, y, weight = rows
        rows = as_rows(X), as_vector(y), None if weight is None else as_vector(weight)
        core._queries = queries  # noqa: SLF001 - a copy of this one
        core._initial = initial or InitialScores()  # noqa: SLF001 - as above
        core._callbacks = read_callbacks(callbacks)  # noqa: SLF001 - as above
        core._eval_weights = eval_weights and read_weights(eval_weights, len(tables))  # noqa: SLF001
        if core.eval_fraction:
            core._refuse_eval_fraction(tables)  # noqa: SLF001 - as above
            rows, tables, core._eval_weights = hold_out_rows(core, *rows)  # noqa: SLF001 - as above
        core._train(*core._blank_ignored_columns(*rows, tables))  # noqa: SLF001 - as above
        del core._queries, core._initial, core._callbacks, core._eval_weights  # noqa: SLF001 - as above
        self._take_fitted(core)
        return self

    def _refuse_eval_fraction(self, tables):
        """Raise ValueError if rows cannot be held out."""
        name = "eval_fraction"
        if self._queries is not None:
            raise ValueError(f"{name} is not supported for rankings: give an eval_set")
        if tables:
            raise ValueError(f"{name} cannot be combined with eval_set: give one of them")
        if self._initial.baseline is not None:
            raise ValueError(
                f"{name} cannot be combined with baseline: give an eval_set and its eval_baseline"
            )

    def _blank_ignored_columns(self, X, y, weight, tables):
        """Return the rows and evaluation sets with zeros in the ``ignored_features``."""
        self._ignored = find_ignored(self.ignored_features, X)
        if self._ignored:
            self.cat_features = keep_cat_features(self.cat_features, X, self._ignored)
            X = blank_columns(X, self._ignored)
            tables = [(blank_columns(one, self._ignored), labels) for one, labels in tables]
        return X, y, weight, tables

    @fit_context(prefer_skip_nested_validation=True)
    def _train(self, X, y, sample_weight, tables):
        """Train with resolved parameter names."""
        warn_of_other_version(self.parity, stacklevel=4)
        self._initial.check_ignored(self._ignored)
        self._initial.predict(X, tables)
        categories, X, codes = fit_categories(X, self.cat_features)
        float64_ok = self.parity is None and categories is None  # then X is not copied
        X, y = read_rows(self, X, y=y, reset=True, float64_ok=float64_ok, **self._y_checks())
        X = np.ascontiguousarray(X.toarray()) if sparse.issparse(X) else X
        y = self._read_y(y)
        weight = self._weights(X, y, sample_weight)
        if len(weight) and self.parity is None:
            kept = np.flatnonzero(weight)
            self._initial.keep_rows(kept, len(y))
            codes = codes if codes is None else codes[:, kept]
            weight, X, y = drop_unweighted(weight, X, y)
            self._keep_rows(kept)
        self._objective = self._find_objective()
        self._check_y(y, weight)
        if self._is_catboost_drop_in and not tables:  # both are ignored there
            self.use_best_model = self.early_stopping_rounds = None
        categorical = () if categories is None else categories.columns
        self._initial.check(self, tables, categorical)
        uses_best = bool(tables) if self.use_best_model is None else self.use_best_model
        if uses_best and not tables:
            raise ValueError("use_best_model needs an eval_set")
        params = resolve(self, self._objective, X.shape, uses_best=uses_best)
        names = list(getattr(self, "feature_names_in_", []))
        given = names, self._objective, X.shape[1], categorical
        params.signs = read_monotone(params, *given)
        params.penalties = read_penalties(params, names, X.shape[1])
        if self._initial.is_given and self.model_shrink_rate is None:
            params.model_shrink_rate = 0.0
        check_shrink_rate(params, is_continued=self._initial.is_given)
        params.random_seed = self._draw_seed()
        y = y.astype(np.float32)
        if needs_shuffled_rows(params, has_categories=categories is not None):
            order = self._draw_order(params, len(y))
            X, y, weight = X[order], y[order], weight[order] if len(weight) else weight
            if categories is not None:
                categories, codes = number_levels_again(categories, codes[:, order])
        self._initial.read(X, self._objective.n_scores)
        with Workers(self._threads()) as workers:
            table = bin_rows(X, params, workers)
            if categories is not None:
                n_classes = self._objective.n_scores if self._objective.kind == SOFTMAX else 0
                classes = TargetClasses(y, n_classes, self.ctr_target_border_count)
                table = CategoricalTable(params, table, X, (categories, codes), classes)
            del X  # training reads only the bins
            stopping = self._boost(params, table, y, weight, tables, workers)
        self._keep(stopping, params, uses_best=uses_best)
        return self

    def _draw_order(self, params, n_rows):
        """Return the order in which CatBoost stores the rows, uint32 (n_rows,)."""
        from algorithms.parity.catboost_generator import RandomNumbers

        return RandomNumbers(params.random_seed).shuffled(n_rows).astype(np.uint32)

    def _keep_rows(self, kept):
        """Keep the queries of some rows of the table; only a ranker has queries."""

    def _find_objective(self):
        """Return the objective of the parameters."""
        n_classes = getattr(self, "n_classes_", 0)
        if not isinstance(self.loss_function, str | None):
            return find_callable_objective(self.loss_function, n_classes)
        return find_objective(self, n_classes)

    def _find_metrics(self, *, is_used):
        """Return the metrics, list as of `metrics.find_metric`; the first one decides.

        If no metric is needed, a callable loss may have none.
        """
        objective = self._objective
        if not is_used and objective.kind == CALLABLE and self.eval_metric is None:
            return []
        has_loss = self._is_catboost_drop_in and objective.kind not in (CALLABLE, PAIRWISE)
        given = self.eval_metric, self.custom_metric
        return find_metrics(self._find_metric, *given, has_loss=has_loss)

    def _find_metric(self, wanted):
        """Return a metric, as `metrics.find_metric` does; None means that of the loss."""
        if self._objective.has_several_outputs:
            return find_output_metric(wanted, self._objective)
        is_classifier = hasattr(self, "classes_")
        return find_metric(wanted, self._objective, is_classifier=is_classifier)

    def _make_loss_function(self, rows, _raw):
        """Return a function that measures the loss of raw scores, for `loss_change.loss_changes`.

        Parameters
        ----------
        rows : LabeledRows
        raw : float64 (n_rows, n_scores), raw scores of the model
        """
        core = self._resolved()
        core.loss_function = core.loss_function or self.objective  # which a library's file sets
        core.eval_metric, core._objective = None, core._find_objective()  # noqa: SLF001 - a copy
        y, weight = core._encode_y(rows.y), rows.weights()  # noqa: SLF001 - as above
        assert_all_finite(y, input_name="the label")
        _, metric, _ = core._find_metric(None)  # noqa: SLF001 - as above
        return lambda score: metric(y, self.ensemble_.from_raw(score), weight)

    def _add_queries(self, eval_sets):
        """Add the queries to the labels of evaluation sets; only a ranker has queries."""

    def _weights(self, X, y, sample_weight):
        """Return the sample weights times those of the classes, float32; (0,) if all are 1."""
        weight = None
        if sample_weight is not None:
            weight = _check_sample_weight(
                sample_weight, X, dtype=np.float64, ensure_non_negative=True
            )
        weight = self._weigh_classes(y, weight)
        if weight is None:
            return ALL_EQUAL
        with np.errstate(over="ignore", under="ignore"):
            weight = weight.astype(np.float32)
        if not weight.any() or not np.isfinite(weight).all():
            what = "zero for all rows" if not weight.any() else "beyond the range of float32"
            raise ValueError(f"sample_weight is {what}")
        return ALL_EQUAL if (weight == 1.0).all() else weight

    def _boost(self, params, table, y, weight, tables, workers):
        """Grow the trees; return the `SymmetricEarlyStopping`."""
        objective, self._derived = self._objective, table.derived
        initial = self._initial
        tables, codes_of = self._read_eval_sets(tables)
        self._start = initial.start(objective.n_scores)
        if not initial.is_given:
            self._start = objective.first_scores(y, weight, from_average=params.boost_from_average)
        is_small = table.size * objective.n_scores < MIN_CELLS_FOR_THREADS
        seed = params.random_seed
        if table.derived is not None:
            self._permute(params, table, len(y))
        grower = self._make_grower(params, table, ALONE if is_small else workers)
        first = self._start if initial.scores is None else initial.scores
        booster = self._booster_class(params, table)(
            params, table, grower, objective, y, weight, first, seed
        )
        every = self.metric_period or 1 if self.verbose is True else self.verbose
        eval_sets = EvaluationSets(tables, self._eval_weights, initial.margins(len(tables)), every)
        history = self._start_history(bool(tables))
        stopping = SymmetricEarlyStopping(self, eval_sets, history.metrics, self._start)
        self._add_queries(stopping.eval_sets)
        initial.begin(stopping, self._join)
        path = find_path(params)
        parts = booster, stopping, history
        snapshot = None if path is None else Snapshot(path, self, params, *parts)
        is_over = snapshot is not None and snapshot.restore()
        if not (tables or history.is_used) and can_batch(booster):
            add_in_batches(booster, params.iterations, snapshot and snapshot.save_if_due)
        while len(booster.done) < params.iterations and not is_over:
            stopping.shrink(booster.shrink())
            tree = booster.boost()
            for one, codes in zip(stopping.eval_sets, codes_of, strict=False):
                one.X = self._derived.append(one.X, codes)
            is_over = bool(tables) and stopping.is_over(self._join([tree], first=False))
            is_over = history.record_iteration(booster, stopping) or is_over
            if snapshot is not None:
                snapshot.save_if_due()
        if snapshot is not None:
            snapshot.save(has_stopped_early=is_over)
        stopping.end()
        self._learning_history = history.training_metrics
        self._trees = booster.done
        if self._derived is not None:
            self._derived.finish()
        return stopping

    def _start_history(self, has_tables):
        """Return the `IterationHistory`."""
        records = self._is_catboost_drop_in and not self._objective.is_pairwise
        records = records and (self.eval_metric is not None or self._objective.kind != CALLABLE)
        is_used = has_tables or records or self.custom_metric is not None
        metrics = self._find_metrics(is_used=is_used)
        return IterationHistory(self, metrics, self._callbacks, records=records)

    def _permute(self, params, table, n_rows):
        """Draw the permutations of a `CategoricalTable`; with ``parity`` they are CatBoost's."""
        if self.parity is None:
            table.permute(params.random_seed)
        elif needs_permutations(params, table):
            from algorithms.parity.catboost_generator import RandomNumbers
            from algorithms.parity.catboost_random import draw_orders

            random = RandomNumbers(params.random_seed)
            table.orders = draw_orders(random, params, n_rows, PERMUTATIONS)

    def _draw_seed(self):
        """Return the seed of a fit; with ``parity`` it is CatBoost's."""
        if self.parity is None:
            return draw_seed(self.random_seed)
        from algorithms.parity.catboost_generator import seed_of_library

        return seed_of_library(self.random_seed)

    def _read_eval_sets(self, tables):
        """Return the evaluation sets with numeric X, and the category codes of each.

        X has zeros in the categorical columns. Codes are int32 (n_categorical, n_rows).
        """
        if self._derived is None:
            return tables, []
        pairs = [self._derived.categories.read(X) for X, _ in tables]
        numeric = [(X, y) for (X, _), (_, y) in zip(pairs, tables, strict=True)]
        return numeric, [codes for _, codes in pairs]

    def _make_grower(self, params, table, workers):
        """Return the grower of this mode."""
        if table.derived is not None:
            return self._make_category_grower(params, table, workers)
        is_ordered = params.boosting_type == "Ordered"
        if self.parity is not None:
            kind = self._parity_grower(params, is_ordered=is_ordered)
        elif params.grow_policy != "SymmetricTree":
            kind = LeafwiseGrower
        else:
            kind = OrderedGrower if is_ordered else SymmetricGrower
        return kind(params, table, self._objective.n_scores, workers)

    def _parity_grower(self, params, *, is_ordered):
        """Return the class of the grower of CatBoost's trees on numeric columns."""
        from algorithms.parity.catboost_grower import CatBoostGrower
        from algorithms.parity.catboost_leafwise import CatBoostLeafwiseGrower
        from algorithms.parity.catboost_leafwise_random import SampledCatBoostLeafwiseGrower
        from algorithms.parity.catboost_ordered import CatBoostOrderedGrower
        from algorithms.parity.catboost_ordered_random import SampledCatBoostOrderedGrower
        from algorithms.parity.catboost_random import SampledCatBoostGrower

        is_drawn = draws_random_numbers(params)
        if params.grow_policy != "SymmetricTree":
            return SampledCatBoostLeafwiseGrower if is_drawn else CatBoostLeafwiseGrower
        if is_drawn:
            return SampledCatBoostOrderedGrower if is_ordered else SampledCatBoostGrower
        return CatBoostOrderedGrower if is_ordered else CatBoostGrower

    def _booster_class(self, params, table):
        """Return the class of the booster: plain or ordered, with or without parity."""
        is_ordered = params.boosting_type == "Ordered"
        if self.parity is None:
            plain = MonotoneBooster if params.signs.any() else Booster
            plain = BOOSTER_OF_KIND.get(self._objective.kind, plain)
            return OrderedBooster if is_ordered else plain
        from algorithms.parity.catboost_category_random import SampledCatBoostCategoryBooster
        from algorithms.parity.catboost_leaves import CatBoostBooster
        from algorithms.parity.catboost_ordered import CatBoostOrderedBooster
        from algorithms.parity.catboost_ordered_random import SampledCatBoostOrderedBooster
        from algorithms.parity.catboost_random import SampledCatBoostBooster

        if needs_permutations(params, table):
            return SampledCatBoostCategoryBooster
        if draws_random_numbers(params):
            return SampledCatBoostOrderedBooster if is_ordered else SampledCatBoostBooster
        return CatBoostOrderedBooster if is_ordered else CatBoostBooster

    def _make_category_grower(self, params, table, workers):
        """Return the grower of this mode for a `CategoricalTable`."""
        given = params, table, self._objective.n_scores, workers
        is_ordered = params.boosting_type == "Ordered"
        is_leafwise = params.grow_policy != "SymmetricTree"
        if self.parity is None:
            usual = LeafwiseCategoryGrower if is_leafwise else CategoryGrower
            return (OrderedCategoryGrower if is_ordered else usual)(*given)
        if is_ordered or is_leafwise:
            name = "boosting_type" if is_ordered else "grow_policy"
            where = f"categorical columns and {name}={getattr(params, name)!r}"
            has_time = {"has_time": True} if is_ordered or table.counted else {}
            check_wanted(params, WITHOUT_RANDOM_NUMBERS | has_time, where)
        from algorithms.parity.catboost_categories import CatBoostCategoryGrower
        from algorithms.parity.catboost_category_random import SampledCatBoostCategoryGrower
        from algorithms.parity.catboost_leafwise_categories import CatBoostLeafwiseCategoryGrower
        from algorithms.parity.catboost_ordered import CatBoostOrderedCategoryGrower

        if is_leafwise:
            return CatBoostLeafwiseCategoryGrower(*given)
        if is_ordered:
            return CatBoostOrderedCategoryGrower(*given)
        is_drawn = draws_random_numbers(params) or needs_permutations(params, table)
        return (SampledCatBoostCategoryGrower if is_drawn else CatBoostCategoryGrower)(*given)

    def _keep(self, stopping, params, *, uses_best):
        """Set the fitted attributes."""
        self.n_iter_ = len(self._trees)
        self.learning_rate_ = params.learning_rate
        self.evals_result_ = self.__dict__.pop("_learning_history") | stopping.named_history()
        self.__dict__.pop("best_iteration_", None)
        if stopping.best is not None:
            self.best_iteration_ = stopping.best_round
            if uses_best:
                kept = max(stopping.best_round + 1, self.best_model_min_trees or 1)
                self._trees = self._trees[:kept]
        self._trees, self._start = shrink_trees(params, self._trees, self._start)
        self._trees, self._derived = self._initial.prepend(self._trees, self._derived)
        self._take_ensemble()


def needs_permutations(params, table):
    """Return whether CatBoost's target statistics and trees depend on several permutations."""
    return table.derived is not None and len(table.counted) > 0 and not params.has_time


def read_targets(y):
    """Return y as float64; raise ValueError if float32 cannot hold it."""
    y = y.astype(np.float64, copy=False)
    if np.abs(y).max() > np.finfo(np.float32).max:
        raise ValueError("y is beyond the range of float32: give it in another unit")
    return y
