"""Base class of the second-order boosters: training and prediction."""

from typing import ClassVar

import numpy as np
from sklearn.utils.validation import _check_sample_weight

from algorithms.compat.parameters import LibraryParameters, constructor_defaults
from algorithms.compat.xgboost_callbacks import Callbacks
from algorithms.compat.xgboost_parameters import XGBOOST
from algorithms.estimator.constraints import read_signs
from algorithms.estimator.eval_sets import read_tables
from algorithms.estimator.fit_context import fit_context
from algorithms.estimator.library_versions import warn_of_other_version
from algorithms.estimator.sample_weight import drop_unweighted, split_unit_of_params
from algorithms.estimator.seeds import draw_seed
from algorithms.gbdt.input_table import find_categorical
from algorithms.gbdt.params import refuse_directions, renewed_refusal
from algorithms.newton.base_margin import check_in_range, read_margin
from algorithms.newton.dart import DartRounds, is_dart
from algorithms.newton.early_stopping import EarlyStopping, EvaluationSets
from algorithms.newton.fitted_model import NewtonModel
from algorithms.newton.grower_choice import make_grower
from algorithms.newton.init_model import load_initial_rounds
from algorithms.newton.input_table import as_dense, read_rows
from algorithms.newton.linear_model import LinearModel, LinearRounds
from algorithms.newton.min_gain import least_gain
from algorithms.newton.objectives import Custom, find_objective
from algorithms.newton.params import CONSTRAINTS, filled, is_linear
from algorithms.newton.round_batches import add_in_batches
from algorithms.newton.rounds import Rounds
from algorithms.newton.several_targets import (
    count_targets,
    find_metrics_of_targets,
    make_objective_of_targets,
)
from algorithms.newton.tree import have_vectors
from algorithms.newton.vector_rounds import VectorRounds, check_vector_leaves, grows_vectors
from algorithms.prediction.predictor import FastPredictor
from algorithms.runtime.threads import Workers


class BaseNewtonBoosting(LibraryParameters, NewtonModel):
    """Base class of the second-order classifier and regressor."""

    _parameter_constraints: ClassVar = CONSTRAINTS
    _parameter_table: ClassVar = XGBOOST
    _float32_scores = False  # whether training rounds scores after each round, as XGBoost does

    def __init__(
        self,
        *,
        n_estimators=100,
        learning_rate=0.3,
        max_depth=6,
        max_leaves=0,
        max_bin=256,
        grow_policy="depthwise",
        tree_method="hist",
        proposal="global",
        sketch_eps=None,
        objective=None,
        gamma=0.0,
        prune=None,
        min_child_weight=1.0,
        max_delta_step=None,
        subsample=1.0,
        colsample_bytree=1.0,
        colsample_bylevel=1.0,
        colsample_bynode=1.0,
        reg_alpha=0.0,
        reg_lambda=1.0,
        scale_pos_weight=1.0,
        base_score=None,
        random_state=None,
        missing=np.nan,
        monotone_constraints=None,
        interaction_constraints=None,
        importance_type="gain",
        max_cat_to_onehot=4,
        max_cat_threshold=64,
        eval_metric=None,
        early_stopping_rounds=None,
        warm_start=False,
        huber_slope=1.0,
        quantile_alpha=0.5,
        tweedie_variance_power=1.5,
        rearrange_quantiles=False,
        expectile_alpha=None,
        parity=None,
        n_jobs=None,
        booster=None,
        callbacks=None,
        device=None,
        enable_categorical=True,
        feature_types=None,
        feature_weights=None,
        multi_strategy=None,
        num_parallel_tree=None,
        sampling_method=None,
        validate_parameters=None,
        verbosity=None,
        **kwargs,
    ):
        self._set_constructor_params(locals())

    @staticmethod
    def _default_values():
        """Return the values that None means, name → value."""
        return constructor_defaults(BaseNewtonBoosting)

    @fit_context(prefer_skip_nested_validation=True)
    def _train(
        self,
        X,
        y,
        sample_weight=None,
        *,
        eval_set=None,
        sample_weight_eval_set=None,
        base_margin=None,
        base_margin_eval_set=None,
        verbose=False,
        xgb_model=None,
        cuts=None,
    ):
        """Train with resolved parameter names; the arguments are those of ``fit``."""
        warn_of_other_version(self.parity, stacklevel=4)
        if cuts is not None and self.parity is None:
            raise ValueError("cuts needs parity='xgboost'; the default chooses its own bins")
        params = filled(self)
        init = load_initial_rounds(params, xgb_model)
        known, labels = init.codes
        float64_ok = can_stay_float64(params) and not init.rounds
        checks = {"multi_output": True} if count_targets(y) > 1 else {}
        checks |= {"known": known, "float64_ok": float64_ok, **self._y_checks()}
        X, y = read_rows(self, X, y=y, reset=True, **checks)
        y = self._read_y(y, labels)
        self._take_n_targets(y)
        weight = self._read_weight(sample_weight, X, y)
        self._objective = self._find_objective(params, y)
        eval_sets = self._read_eval_sets(
            read_tables(eval_set), sample_weight_eval_set, base_margin_eval_set, verbose
        )
        margin = None
        if base_margin is not None:
            margin = read_margin(base_margin, len(y), self._objective.n_scores)
        if is_linear(self):
            self._check_linear(init)
        if self.parity is None:
            self._check_leaves()
            self._boost(params, X, y, weight, margin, init, eval_sets)
        else:
            self._boost_as_library(X, y, weight, margin, init, eval_sets, cuts)
        self._finish()
        return self

    def _read_weight(self, sample_weight, X, y):
        """Return the weights of the rows, float64 (n_rows,), or None."""
        if sample_weight is None:
            return None
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        self._check_weights(y, weight)
        return weight

    def _find_objective(self, params, _y):
        """Return the objective of the parameters, for all targets."""
        found = find_objective(params, getattr(self, "n_classes_", 0))
        several = self._n_targets > 1
        return make_objective_of_targets(found, self._n_targets) if several else found

    def _read_eval_sets(self, tables, weights, margins, verbose):
        """Return the `EvaluationSets` of the arguments of ``fit``."""
        return EvaluationSets(tables, weights, margins, verbose)

    def _find_metrics(self):
        """Return the metrics of the evaluation sets; see `newton.metrics.find_metrics`."""
        given = self._objective.name, filled(self), getattr(self, "n_classes_", 0), self._n_targets
        return find_metrics_of_targets(self.eval_metric, *given)

    def _take_n_targets(self, y):
        """Store the number of targets; raise ValueError if ``parity`` does not support several."""
        self.__dict__.pop("_n_targets", None)
        if y.ndim == 2:
            self._n_targets = y.shape[1]
            if self.parity is not None:
                raise ValueError("parity='xgboost' does not support several targets")

    def _check_linear(self, init):
        """Raise ValueError if a parameter or the data do not suit a linear model."""
        if self.parity is not None or init.model is not None:
            reason = "parity" if self.parity is not None else "an initial model"
            raise ValueError(f"booster='gblinear' does not support {reason}")
        if self.categories_:
            raise ValueError("booster='gblinear' does not support categorical columns")

    def _check_leaves(self):
        """Raise ValueError if monotone constraints cannot be applied to the leaf values."""
        names = list(getattr(self, "feature_names_in_", []))
        signs = read_signs(self.monotone_constraints, self.n_features_in_, names)
        refuse_directions(signs, find_categorical(self, "auto"), names)
        if self._objective.renewed is not None and signs.any():
            raise ValueError(renewed_refusal(self._objective.name))

    def _begin(self, params, X, y, weight, margin, init, workers):
        """Return the `Rounds` or `LinearRounds` of a training before its first new round.

        Parameters
        ----------
        params : this estimator, with None replaced by defaults
        X : from `read_rows`
        y, weight : (n_rows,) float64; the weights are positive, or None
        margin : (n_rows, n_scores) float64 that replaces the base score, or None
        init : InitModel
        workers : Workers
        """
        given, unit = split_unit_of_params(params, weight)[1], 1.0
        if not isinstance(self._objective, Custom):  # a callable gets the original weights
            weight = self._objective.weigh(y, weight)
            params, weight, unit = split_unit_of_params(params, weight)
        weight = None if weight is None or (weight == 1.0).all() else weight
        self._base = init.base
        if self._base is None:
            self._base = self._objective.first_scores(y, weight, self.base_score, workers)
        init.check(self)
        if grows_vectors(params, len(self._base)):
            check_vector_leaves(self, params, init.rounds)
        elif have_vectors(init.rounds):
            raise ValueError(
                "the leaves of the model to continue from have several values: set "
                "multi_strategy='multi_output_tree'"
            )
        score = self._score_rows(X, init.rounds, margin)
        if is_linear(self):
            options = score, self._join([]), unit
            return LinearRounds(params, X, self._objective, y, weight, *options)
        seed = draw_seed(self.random_state)
        least = least_gain(self._objective, y, weight, self._base, margin)
        n_outputs = len(self._base) if grows_vectors(params, len(self._base)) else 1
        grower = make_grower(self, params, X, given, least, workers, n_outputs)
        options = X.shape[1], seed, workers, init.rounds, unit
        given = params, grower, self._objective, y, weight, score, *options
        if n_outputs > 1:
            return VectorRounds(*given)
        return DartRounds(*given, X=X, join=self._join_trees) if is_dart(self) else Rounds(*given)

    def _join_trees(self, trees, outputs):
        """Return trees of the given scores as a `harness.TreeEnsemble` with base scores of 0."""
        return self._join([trees], first=False, outputs=outputs)

    def _step_of(self, boosting, trees):
        """Return the trees of the last round, in the form that `EarlyStopping` expects."""
        if is_linear(self):
            return trees
        return boosting.change() if is_dart(self) else self._join([trees], first=False)

    def _boost(self, params, X, y, weight, margin, init, eval_sets):
        """Train with our own growers."""
        check_in_range(y, "y")
        if weight is not None:
            check_in_range(weight, "sample_weight")
            weight, X, y, margin = drop_unweighted(weight, X, y, margin)
        with Workers(self._threads()) as workers:
            trained = len(init.rounds)
            boosting = self._begin(params, X, y, weight, margin, init, workers)
            stopping = self._watch(eval_sets, init.rounds)
            with Callbacks(
                self.callbacks, boosting.params, boosting.done, stopping.history
            ) as callbacks:
                is_observed = self.callbacks or stopping.eval_sets
                if is_observed or not add_in_batches(boosting, init.more):
                    self._add_rounds(boosting, init.more, stopping, callbacks)
                kept = callbacks.end()
        self._rounds = boosting.done[:kept]
        if init.more:  # otherwise the model is unchanged, whether or not it stopped early
            self._take_history(stopping, trained)
            self._take_attributes(callbacks.model)

    def _add_rounds(self, boosting, count, stopping, callbacks):
        """Add rounds one by one until all are added, or training stops early."""
        for _ in range(count):
            if callbacks.before():
                return
            trees = boosting.boost()
            over = stopping.eval_sets and stopping.is_over(self._step_of(boosting, trees))
            if callbacks.after() or over:
                return

    def _boost_as_library(self, X, y, weight, margin, init, eval_sets, cuts):
        """Train with XGBoost's arithmetic."""
        if self.callbacks:
            raise ValueError("callbacks are not supported with parity='xgboost'")
        if init.rounds:
            raise ValueError("parity='xgboost' cannot continue from rounds trained before")
        if self.categories_:
            raise ValueError(
                "parity='xgboost' does not support categorical splits: encode the categories"
            )
        from algorithms.parity.xgboost_boosting import boost_by_xgboost_rules
        from algorithms.parity.xgboost_objectives import Objective as LibraryObjective
        from algorithms.parity.xgboost_parameters import read_settings

        settings = read_settings(self, X.shape[1])
        self._base = LibraryObjective(settings, y, weight).base()
        stopping = self._watch(eval_sets, [])
        stop = None
        if stopping.eval_sets:

            def stop(trees):
                return stopping.is_over(self._join([trees], first=False))

        self._rounds, self._base = boost_by_xgboost_rules(
            self, as_dense(X), y, weight, cuts=cuts, stop=stop, margin=margin
        )
        self._take_history(stopping, 0)

    def _watch(self, eval_sets, rounds):
        """Return the `EarlyStopping` of evaluation sets, after the given earlier rounds."""
        stopping = EarlyStopping(self, eval_sets, self._find_metrics(), self._base, self._arrange)
        if rounds:
            stopping.begin(self._join(rounds, first=False))
        return stopping

    def _score_rows(self, X, rounds, margin):
        """Return the training rows' scores after the given rounds, float64 (n_scores, n_rows)."""
        score = np.empty((X.shape[0], len(self._base)))
        score[:] = self._base if margin is None else margin
        if rounds:
            FastPredictor(self._join(rounds)).add(X, score, self._threads())
        return np.ascontiguousarray(score.T)

    def _take_history(self, stopping, trained):
        """Store the metric history and the best round."""
        stopping.end()
        self._history = stopping.history
        self._stopped = stopping.patience is not None and stopping.best is not None
        if self._stopped:
            self.best_iteration = trained + stopping.best_round
            self.best_score = stopping.best
        else:
            for name in ("best_iteration", "best_score"):
                self.__dict__.pop(name, None)

    def _take_attributes(self, booster):
        """Take over the best round if a callback has set it."""
        if booster.attr("best_iteration") is not None:
            self._stopped = True
            self.best_iteration, self.best_score = booster.best_iteration, booster.best_score

    def _finish(self):
        """Set the fitted attributes used for prediction and by users."""
        self.__dict__.pop("_linear", None)
        if is_linear(self):
            steps, self._rounds = self._rounds, []
            weights = sum(step.weights for step in steps)
            self.ensemble_, self.n_iter_ = self._join([]), len(steps)
            self._linear = LinearModel(weights, self.ensemble_)
            self._walker = FastPredictor(self.ensemble_)
            return
        used = self._rounds[: self.best_iteration + 1] if self._stopped else self._rounds
        self.__dict__.pop("_n_parallel", None)
        n_groups = 1 if have_vectors(self._rounds) else len(self._base)
        n_parallel = len(self._rounds[0]) // n_groups if self._rounds else 1
        if n_parallel > 1:
            self._n_parallel = n_parallel
        self.n_iter_ = len(self._rounds)
        self.ensemble_ = self._join(used)
        self._walker = FastPredictor(self.ensemble_)


def can_stay_float64(params):
    """Return whether X may stay float64, as only its bins or its order are used."""
    reads = params.tree_method in ("hist", "exact") and params.booster in (None, "gbtree")
    return reads and params.parity is None and np.isnan(params.missing)
