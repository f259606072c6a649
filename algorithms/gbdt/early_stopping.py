"""Evaluation tables, training callbacks and early stopping.

As in LightGBM, each metric of each evaluation table except the training set can stop training.
With `first_metric_only` only the first metric can.
"""

import warnings
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import _check_sample_weight, check_consistent_length, column_or_1d

from algorithms.estimator.eval_sets import count_arguments, kind_of, read_tables, read_weights
from algorithms.estimator.verbose import say
from algorithms.gbdt.boosting import Booster
from algorithms.gbdt.input_table import read_table
from algorithms.gbdt.model import join_trees
from algorithms.gbdt.query_groups import read_group
from algorithms.gbdt.round_batches import RoundBatches, can_batch
from algorithms.prediction.predictor import FastPredictor


@dataclass(frozen=True)
class Evaluation:
    """Arguments of ``fit`` about evaluation tables, metrics and callbacks."""

    tables: Any = None  # list of (X, y), or one such pair
    weights: Any = None  # list of arrays or None, one per table
    init_scores: Any = None  # list of arrays, one per table
    metrics: Any = None  # a name, a callable, or a list of them
    names: Any = None  # list of str, one per table
    training: tuple = ()  # numbers of the tables that are the training set
    callbacks: tuple = ()
    groups: Any = None  # for ranking: list with the number of rows of each query, one per table

    @property
    def n_tables(self):
        """Number of tables."""
        return len(read_tables(self.tables, may_be_one=True))

    def name_tables(self):
        """Return the name of each table: the given name, "training", or "valid_" and a number."""
        names = list(self.names or ())
        usual = [
            "training" if number in self.training else f"valid_{number}"
            for number in range(self.n_tables)
        ]
        return [*names, *usual[len(names) :]][: len(usual)]


class EvalResult(NamedTuple):
    """Value of a metric on one table after one round."""

    dataset_name: str
    metric_name: str
    metric_value: float
    maximize: bool

    metric_std_dev = None  # LightGBM sets it in cross-validation

    def is_cv_result(self):
        """Return False: the value is not a mean over folds."""
        return False


@dataclass
class CallbackEnv:
    """Argument of callbacks, with the fields of LightGBM's ``CallbackEnv``."""

    model: Any
    params: dict
    iteration: int
    begin_iteration: int
    end_iteration: int
    evaluation_result_list: list | None


class StopTraining(Exception):  # noqa: N818 - not an error
    """Exception by which a callback ends training; ``best_iteration`` counts from 0."""

    def __init__(self, best_iteration, best_score):
        super().__init__()
        self.best_iteration, self.best_score = best_iteration, best_score


class TrainingModel:
    """View of the model in training, which callbacks receive.

    ``boosters`` contains this object, because LightGBM's `reset_parameter` callback changes the
    parameters of all boosters in that list.
    """

    def __init__(self, params, booster, first):
        self._params, self._booster, self._first = params, booster, first
        self.boosters = [self]
        self.best_iteration = 0

    def attributes(self):
        """Return the attributes that callbacks have set."""
        internal = "_params", "_booster", "_first", "boosters", "best_iteration"
        return {name: value for name, value in vars(self).items() if name not in internal}

    def current_iteration(self):
        """Return the number of rounds so far."""
        return self._first + len(self._booster.rounds)

    def num_trees(self):
        """Return the number of trees so far."""
        return self.current_iteration() * len(self._booster.score)

    def reset_parameter(self, params):
        """Change parameters for the following rounds.

        Raises
        ------
        ValueError
            If a parameter cannot be changed during training.
        """
        table = self._params._parameter_table  # noqa: SLF001 - its own part
        for name, value in params.items():
            row = table.by_name.get(name)
            if row is None or row.attribute not in CHANGEABLE:
                raise ValueError(f"{name} cannot be changed while training goes on")
            setattr(self._params, row.attribute, value)
        self._booster.reset_rules()


CHANGEABLE = {
    *("learning_rate", "subsample", "subsample_freq", "colsample_bytree", "top_rate", "other_rate"),
    *("max_depth", "min_split_gain", "min_child_weight", "min_child_samples", "path_smooth"),
    *("reg_alpha", "reg_lambda", "max_delta_step", "cat_smooth", "cat_l2", "max_cat_threshold"),
    *("max_cat_to_onehot", "min_data_per_group", "drop_rate", "max_drop", "skip_drop"),
    *("n_jobs", "verbosity", "feature_fraction_bynode", "monotone_penalty"),
}


class EarlyStopping:
    """Callback of ``early_stopping_round``.

    Parameters
    ----------
    rounds : int
        Number of rounds without improvement after which training stops.
    min_delta : float, default=0.0
        An improvement counts only if it is larger than this.
    first_metric_only : bool, default=False
        Whether only the first metric can stop training.
    """

    order = 30
    before_iteration = False

    def __init__(self, rounds, min_delta=0.0, *, first_metric_only=False):
        self.rounds, self.min_delta = rounds, min_delta
        self.first_metric_only = first_metric_only
        self.best = []  # for each result: best value, its round from 0, all results of that round

    def __call__(self, env):
        """Record the results of a round; raise `StopTraining` if training must end."""
        results = env.evaluation_result_list
        if not self.best:
            self.best = [(None, env.begin_iteration - 1, None)] * len(results)
        ends = env.iteration == env.end_iteration - 1
        for at, result in enumerate(results):
            value, best = result.metric_value, self.best[at][0]
            if improves(value, best, result.maximize, self.min_delta):
                self.best[at] = value, env.iteration, results
            if self.first_metric_only and result.metric_name != results[0].metric_name:
                continue
            value, at_best, then = self.best[at]
            if env.iteration - at_best >= self.rounds or ends:
                if value is None:
                    self.warn(result, env)
                raise StopTraining(at_best, then or results)

    def warn(self, result, env):
        """Warn that a metric was NaN in all rounds."""
        done = env.iteration - env.begin_iteration + 1
        warnings.warn(
            f"the metric {result.metric_name!r} of {result.dataset_name!r} was NaN in all of "
            f"{done} rounds, so training stops, and the best round is unknown",
            stacklevel=10,  # the caller of `fit`
        )


class EvaluationLoop:
    """Boosting loop that evaluates metrics after each round and calls callbacks.

    Parameters
    ----------
    params : the estimator
    start : Start
    evaluation : Evaluation

    Raises
    ------
    TypeError
        If tables are not a list of pairs, or weights not a list.
    ValueError
        If early stopping is enabled without an evaluation table.
    """

    def __init__(self, params, start, evaluation):
        self.params, self.first = params, start.n_rounds
        tables = read_tables(evaluation.tables, may_be_one=True)
        weights = read_weights(evaluation.weights, len(tables))
        names = evaluation.name_tables()
        groups = evaluation.groups or [None] * len(tables)
        self.tables = [
            EvaluationTable(params, start, number, *table, weight, names[number], group)
            for number, (table, weight, group) in enumerate(
                zip(tables, weights, groups, strict=True)
            )
        ]
        is_training = [number in evaluation.training for number in range(len(tables))]
        self.tables.sort(key=lambda table: not is_training[table.number])  # the training set first
        self.training = {names[number] for number in evaluation.training}
        self.metrics = list_metrics(params, evaluation.metrics) if tables else []
        self.before, self.after = self._sort_callbacks(evaluation.callbacks)
        self.history, self.best_score = {}, {}
        self.best_round = 0
        self.model = None

    def _sort_callbacks(self, given):
        """Return the callbacks that run before a round and those after it, in their order."""
        p = self.params
        callbacks = list(given)
        if p.early_stopping_round is not None:
            if not self.tables:
                raise ValueError("early_stopping_round needs an eval_set to watch")
            first_only = bool(p.first_metric_only)
            min_delta = p.early_stopping_min_delta
            callbacks.append(
                EarlyStopping(p.early_stopping_round, min_delta, first_metric_only=first_only)
            )
        numbered = [(getattr(one, "order", k - len(given)), one) for k, one in enumerate(callbacks)]
        ordered = [one for _, one in sorted(numbered, key=lambda pair: pair[0])]
        before = [one for one in ordered if getattr(one, "before_iteration", False)]
        after = [one for one in ordered if one not in before]
        return before, [one for one in after if self._is_wanted(one)]

    def _is_wanted(self, callback):
        """Return whether a callback runs; early stopping needs a table other than training."""
        if not is_early_stopping(callback):
            return True
        if self.params.boosting_type == "dart":
            say("Early stopping is not available in dart mode")
            return False
        if self.tables and {table.name for table in self.tables} == self.training:
            say("Only training set found, disabling early stopping.")
            return False
        return True

    def boost(self, grower, booster):
        """Add rounds with a trainer until all are done or training stops early; return them."""
        rounds = booster.rounds
        self.model = TrainingModel(self.params, booster, self.first)
        for number in range(self.params.n_estimators):
            self._call(self.before, number, None)
            grower.boost()
            if self.is_over(rounds):
                break
            if number == 0 and self._is_unobserved(grower, booster) and can_batch(booster):
                batches = RoundBatches(booster)
                while len(rounds) < self.params.n_estimators:
                    if not batches.add(self.params.n_estimators - len(rounds)):
                        break
                break
        return rounds

    def _is_unobserved(self, trainer, booster):
        """Return whether plain rounds are added, and nothing happens between two of them."""
        is_plain = trainer is booster and type(booster) is Booster
        return is_plain and not (self.before or self.after or self.tables)

    def _call(self, callbacks, number, results):
        """Call callbacks; return the exception that ends training, or None."""
        if not callbacks:
            return None
        shared = self.model, self.params.get_params(), self.first + number, self.first
        last = self.first + self.params.n_estimators
        for callback in callbacks:
            seen = results
            if results and is_early_stopping(callback):
                seen = [one for one in results if one.dataset_name not in self.training]
            try:
                callback(CallbackEnv(*shared, last, seen))
            except Exception as error:
                if not hasattr(error, "best_iteration"):
                    raise
                return error
        return None

    def is_over(self, rounds):
        """Evaluate the last round; return whether training ends."""
        results = [one for table in self.tables for one in table.evaluate(rounds, self.metrics)]
        for one in results:
            of_table = self.history.setdefault(one.dataset_name, {})
            of_table.setdefault(one.metric_name, []).append(one.metric_value)
        stop = self._call(self.after, len(rounds) - 1, results)
        if stop is not None:
            self.best_round = stop.best_iteration - self.first + 1
            results = self._results_at(self.best_round) if self.best_round else results
        self.best_score = {}
        for one in results:
            self.best_score.setdefault(one.dataset_name, {})[one.metric_name] = one.metric_value
        return stop is not None or (not self.tables and self._is_settled(rounds[-1]))

    def _results_at(self, number):
        """Return the results of a round; rounds count from 1."""
        return [
            EvalResult(table, name, values[number - 1], False)
            for table, of_table in self.history.items()
            for name, values in of_table.items()
        ]

    def _is_settled(self, trees):
        """Return whether all further rounds would be like this one, which changes no score.

        That holds if its trees have no split and training draws no random samples.
        """
        p = self.params
        drawn = p.data_sample_strategy == "goss" or p.boosting_type != "gbdt" or p.extra_trees
        shares = p.subsample, p.colsample_bytree, p.feature_fraction_bynode
        drawn = drawn or min(shares) < 1.0 or bool(self.before)
        return not drawn and all(tree.is_zero() for tree in trees)


def is_early_stopping(callback):
    """Return whether a callback is early stopping, ours or LightGBM's."""
    return isinstance(callback, EarlyStopping) or hasattr(callback, "stopping_rounds")


def improves(value, best, higher, least=0.0):
    """Return whether a metric's value improves on the best so far by more than ``least``.

    ``best`` is None before the first value. NaN never improves.
    """
    if best is None:
        return not np.isnan(value)
    return value > best + least if higher else value < best - least


def list_metrics(params, given):
    """Return the metrics of a training: functions of an `EvaluationTable` and its raw scores.

    As in LightGBM, the named metrics of ``fit`` come first, then those of the parameter ``metric``
    (by default the objective's metric), then callables.

    Parameters
    ----------
    params : the estimator
    given : the ``eval_metric`` of fit: a name, a callable, or a list of them

    Raises
    ------
    TypeError
        If one is neither a name nor a callable.
    """
    requested = [one for one in as_list(given) if one is not None]
    wrong = [one for one in requested if not isinstance(one, str) and not callable(one)]
    if wrong:
        raise TypeError(f"eval_metric holds names and callables; {wrong[0]!r} is neither")
    is_empty = params.metric is None or (params.metric != "" and not len(as_list(params.metric)))
    default = "" if is_empty else params.metric
    named = [one for one in requested if isinstance(one, str)]
    names = [*(one for one in named if one not in as_list(default)), *as_list(default)]
    names = [part.strip() for one in names for part in one.split(",")]
    metrics = {}
    for name in names:
        if name not in NO_METRIC:
            metric = params._metric(name)  # noqa: SLF001 - its own part
            if metric is None:  # the name is ignored
                continue
            metrics.setdefault(metric.__name__, partial(apply_named_metric, params, metric))
    callables = [partial(apply_user_metric, params, one) for one in requested if callable(one)]
    return [*metrics.values(), *callables]


NO_METRIC = ("None", "none", "null", "custom", "na")


def as_list(given):
    """Return one or several metrics as a list."""
    if given is None:
        return []
    return list(given) if isinstance(given, list | tuple | set) else [given]


def apply_named_metric(params, metric, table, score):
    """Return the results of a named metric: list of (name, value, higher is better)."""
    takes_scores = getattr(metric, "takes_scores", False)
    prediction = score if takes_scores else params._predict_scores(score)  # noqa: SLF001 - its own part
    given = table.y, prediction, table.weight
    return metric(*given, table.bounds) if hasattr(metric, "by_query") else [metric(*given)]


def apply_user_metric(params, metric, table, score):
    """Return the results of a user's metric: list of (name, value, higher is better).

    The metric takes y, predictions and, with more arguments, weights and, in ranking, the number of
    rows of each query (otherwise None).
    Predictions are values, probabilities of the second of two classes, or probabilities of all
    classes. If the objective is a callable, they are raw scores.

    Raises
    ------
    TypeError
        If it has other arguments, or does not return a name, a value and a flag.
    """
    if callable(params._objective):  # noqa: SLF001 - its own part
        prediction = score[:, 0] if score.shape[1] == 1 else score
    else:
        prediction = params._predict_scores(score)  # noqa: SLF001 - its own part
        prediction = (
            prediction[:, 1] if prediction.ndim == 2 and score.shape[1] == 1 else prediction
        )
    n_arguments = count_arguments(metric)
    if not 2 <= n_arguments <= 4:
        raise TypeError(f"eval_metric takes 2, 3 or 4 arguments; it has {n_arguments}")
    group = None if table.bounds is None else np.diff(table.bounds)
    returned = metric(*(table.y, prediction, table.weight, group)[:n_arguments])
    results = (
        returned if isinstance(returned, list) and all(map(is_result, returned)) else [returned]
    )
    if not all(map(is_result, results)):
        raise TypeError(
            "eval_metric must return its name, the value, and whether higher is better; it "
            f"returned {kind_of(returned)}"
        )
    return [(name, float(value), bool(higher)) for name, value, higher in results]


def is_result(value):
    """Return whether a user's metric returned a name, a value and a flag."""
    return isinstance(value, list | tuple) and len(value) == 3 and not isinstance(value[0], tuple)


class EvaluationTable:
    """An evaluation table with its current raw scores."""

    def __init__(self, params, start, number, X, y, weight, name, group=None):
        self.params, self.number, self.name = params, number, name
        self.X = read_table(params, X, reset=False)
        self.y = params._encode_y(column_or_1d(y))  # noqa: SLF001 - its own part
        check_consistent_length(self.X, self.y)
        if weight is not None:
            weight = _check_sample_weight(weight, self.X, ensure_non_negative=True)
        self.weight = weight
        self.bounds = None if group is None else read_group(group, len(self.y), "eval_group")
        self.first = self.score = start.scores(self.X, number)

    def evaluate(self, rounds, metrics):
        """Add the last round of trees (with DART, all rounds); return the `EvalResult`s."""
        score = self._add(rounds)
        results = [one for metric in metrics for one in metric(self, score)]
        return [EvalResult(self.name, *one) for one in results]

    def _add(self, rounds):
        """Return the raw scores after the last round, float64 (n_rows, n_scores)."""
        p, new = self.params, rounds[-1:]
        if p.boosting_type == "dart":
            self.score, new = self.first, rounds
        base = p._base if self.score is None else np.zeros(len(p._base))  # noqa: SLF001 - its own part
        walker = FastPredictor(join_trees(new, p._binner, base))  # noqa: SLF001 - its own part
        raw = walker.raw(self.X)
        self.score = raw if self.score is None else self.score + raw
        if p.boosting_type != "rf":
            return self.score
        first = p._base if self.first is None else self.first  # noqa: SLF001 - its own part
        return first + (self.score - first) / len(rounds)
