"""Callbacks of training under XGBoost's names, for `train`, `cv` and the estimators."""

import os
import pickle
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from algorithms.compat.xgboost.messages import XGBoostError, allow_positional

__all__ = [
    "EarlyStopping",
    "EvaluationMonitor",
    "LearningRateScheduler",
    "TrainingCallback",
    "TrainingCheckPoint",
]
HIGHER = ("auc", "aucpr", "pre", "map", "ndcg")  # first letters of metrics to maximize
LOWER = ("mape",)


class TrainingCallback:
    """Base class of callbacks.

    Arguments of the methods: ``model`` is a Booster, in `cv` the `Folds`; ``epoch`` is the number
    of the round, from 0; ``evals_log`` is a dict, table → metric → list of values, in which a
    value of `cv` is a tuple (mean, standard deviation).
    """

    EvalsLog: ClassVar = dict

    def before_training(self, model):
        """Return the model; called before the first round."""
        return model

    def after_training(self, model):
        """Return the model; called after the last round."""
        return model

    def before_iteration(self, model, epoch, evals_log):  # noqa: ARG002 - for subclasses
        """Return True to end the training; called before each round."""
        return False

    def after_iteration(self, model, epoch, evals_log):  # noqa: ARG002 - for subclasses
        """Return True to end the training; called after each round."""
        return False


class LearningRateScheduler(TrainingCallback):
    """Callback that sets the learning rate after each round.

    Parameters
    ----------
    learning_rates : callable or sequence
        The rate after each round, or a function of the round's number.
    """

    def __init__(self, learning_rates):
        if not callable(learning_rates) and not isinstance(learning_rates, Sequence):
            kind = type(learning_rates)
            raise TypeError(f"Invalid learning rates, expecting callable or sequence, got: {kind}")
        is_function = callable(learning_rates)
        self.learning_rates = learning_rates if is_function else learning_rates.__getitem__

    def after_iteration(self, model, epoch, evals_log):  # noqa: ARG002 - XGBoost's signature
        """Set the learning rate; return False."""
        model.set_param("learning_rate", self.learning_rates(epoch))
        return False


class EarlyStopping(TrainingCallback):
    """Callback that ends the training if a metric stops improving.

    Parameters
    ----------
    rounds : int
        Number of rounds without improvement after which the training ends.
    metric_name, data_name : str, default=None
        Metric and table; by default the last metric of the last table.
    maximize : bool, default=None
        Whether higher is better; by default it depends on the metric's name.
    save_best : bool, default=False
        Whether the rounds after the best one are removed from the model.
    min_delta : float, default=0.0
        Smallest change of the metric that counts as an improvement.
    """

    @allow_positional
    def __init__(
        self,
        *,
        rounds,
        metric_name=None,
        data_name=None,
        maximize=None,
        save_best=False,
        min_delta=0.0,
    ):
        if min_delta < 0:
            raise ValueError("min_delta must be greater or equal to 0.")
        self.rounds, self.metric_name, self.data = rounds, metric_name, data_name
        self.maximize, self.save_best, self.min_delta = maximize, save_best, min_delta
        self.stopping_history = {}
        self.current_rounds = self.starting_round = 0
        self.best = None

    def before_training(self, model):
        """Store the number of rounds so far; return the model."""
        self.starting_round = model.num_boosted_rounds()
        if self.save_best and hasattr(model, "cvfolds"):
            raise ValueError(
                "`save_best` is not applicable to the `cv` function as it doesn't return a model."
            )
        return model

    def after_iteration(self, model, epoch, evals_log):
        """Record the metric; return True if the training ends."""
        if not evals_log:
            raise ValueError("Must have at least 1 validation dataset for early stopping.")
        table = self.data or list(evals_log)[-1]
        if table not in evals_log:
            raise ValueError(f"No dataset named: {table}")
        metric = self.metric_name or list(evals_log[table])[-1]
        if metric not in evals_log[table]:
            raise ValueError(f"No metric named: {metric}")
        score = evals_log[table][metric][-1]
        self.stopping_history.setdefault(table, {}).setdefault(metric, []).append(score)
        score = score[0] if isinstance(score, tuple) else score
        if self.maximize is None:
            self.maximize = metric.startswith(HIGHER) and metric not in LOWER
        if self.best is None or self._improves(score):
            self.best, self.current_rounds = score, 0
            model.set_attr(best_score=str(score), best_iteration=str(epoch + self.starting_round))
        else:
            self.current_rounds += 1
        return self.current_rounds >= self.rounds

    def _improves(self, score):
        """Return True if a score is better than the best one by more than ``min_delta``."""
        if self.maximize:
            return score - self.min_delta > self.best
        return score < self.best - self.min_delta

    def after_training(self, model):
        """Return the model, without the rounds after the best one if ``save_best``."""
        if not self.save_best:
            return model
        best_iteration, best_score = model.best_iteration, model.best_score
        try:
            model = model[: best_iteration + 1]
        except XGBoostError as error:
            raise XGBoostError("`save_best` is not applicable to the current booster") from error
        model.best_iteration, model.best_score = best_iteration, best_score
        return model


class EvaluationMonitor(TrainingCallback):
    """Callback that prints the metrics.

    Parameters
    ----------
    rank : int
        It has no effect.
    period : int, default=1
        Number of rounds between two lines.
    show_stdv : bool, default=False
        Whether standard deviations of `cv` are printed.
    logger : callable, default=None
        Function that takes a line of text that ends with a newline; by default it is printed.
    """

    def __init__(self, rank=0, period=1, show_stdv=False, logger=None):
        if period <= 0:
            raise ValueError(f"period must be above 0, not {period}")
        self.rank, self.period, self.show_stdv = rank, period, show_stdv
        self.logger = print_line if logger is None else logger
        self.latest = None

    def after_iteration(self, model, epoch, evals_log):  # noqa: ARG002 - XGBoost's signature
        """Print the metrics of every ``period``-th round; return False."""
        if not evals_log:
            return False
        cells = [
            self._format(f"{table}-{metric}", values[-1])
            for table, by_metric in evals_log.items()
            for metric, values in by_metric.items()
        ]
        line = f"[{epoch}]{''.join(cells)}\n"
        self.latest = line
        if epoch % self.period == 0:
            self.logger(line)
            self.latest = None
        return False

    def _format(self, name, value):
        """Return a metric as text."""
        if not isinstance(value, tuple):
            return f"\t{name}:{value:.5f}"
        spread = f"+{value[1]:.5f}" if self.show_stdv else ""
        return f"\t{name}:{value[0]:.5f}{spread}"

    def after_training(self, model):
        """Print the last line if it was not printed yet; return the model."""
        if self.latest is not None:
            self.logger(self.latest)
        return model


class TrainingCheckPoint(TrainingCallback):
    """Callback that saves the model during training.

    Parameters
    ----------
    directory : path
    name : str, default="model"
        Files are named ``name_0.ubj``, ``name_1.ubj`` and so on.
    as_pickle : bool, default=False
        Whether the Booster is pickled.
    interval : int, default=100
        Number of rounds between two files.
    """

    default_format = "ubj"

    def __init__(self, directory, name="model", as_pickle=False, interval=100):
        self.directory, self.name = Path(os.fspath(directory)), name
        self.as_pickle, self.interval = as_pickle, interval
        self.waited, self.start = 0, 0

    def before_training(self, model):
        """Store the number of rounds so far; return the model."""
        self.start = model.num_boosted_rounds()
        return model

    def after_iteration(self, model, epoch, evals_log):  # noqa: ARG002 - XGBoost's signature
        """Save the model every ``interval`` rounds; return False."""
        if self.waited == self.interval:
            suffix = "pkl" if self.as_pickle else self.default_format
            path = self.directory / f"{self.name}_{epoch + self.start}.{suffix}"
            self.waited = 0
            if self.as_pickle:
                path.write_bytes(pickle.dumps(model))
            else:
                model.save_model(path)
        self.waited += 1
        return False


def print_line(line):
    """Write a line, which ends with a newline, to stdout."""
    sys.stdout.write(line)
