"""Callbacks of training under LightGBM's names; they work with the estimators, too."""

from typing import NamedTuple

from algorithms.compat.lightgbm.messages import info, warn
from algorithms.gbdt.early_stopping import CallbackEnv, EvalResult

__all__ = [
    "CallbackEnv",
    "EarlyStopException",
    "EvalResult",
    "early_stopping",
    "log_evaluation",
    "record_evaluation",
    "reset_parameter",
]


class MeanResult(NamedTuple):
    """Mean and standard deviation of a metric over the folds of `cv`."""

    dataset_name: str
    metric_name: str
    metric_value: float
    maximize: bool
    metric_std_dev: float

    def is_cv_result(self):
        """Return True: the value is a mean over folds."""
        return True


def as_result(given):
    """Return a tuple of four or five entries as a result."""
    return MeanResult(*given) if len(given) == 5 else EvalResult(*given)


class EarlyStopException(Exception):  # noqa: N818 - LightGBM's name
    """Exception with which a callback ends training.

    Parameters
    ----------
    best_iteration : int
        The best round, counted from 0.
    best_score : list of tuples
        Results of that round: table, metric, value, whether higher is better, and in `cv` the
        standard deviation.
    """

    def __init__(self, best_iteration, best_score):
        super().__init__()
        self.best_iteration = best_iteration
        self.best_score = [as_result(one) for one in best_score]


def format_result(result, show_stdv):
    """Return a result as text."""
    text = f"{result.dataset_name}'s {result.metric_name}: {result.metric_value:g}"
    if show_stdv and result.metric_std_dev is not None:
        text += f" + {result.metric_std_dev:g}"
    return text


def format_results(results, *, show_stdv=True):
    """Return several results as text."""
    return "\t".join(format_result(one, show_stdv) for one in results)


class LogEvaluation:
    """Callback that prints the results of every ``period``-th round."""

    order = 10
    before_iteration = False

    def __init__(self, period=1, show_stdv=True):
        self.period, self.show_stdv = period, show_stdv

    def __call__(self, env):
        """Print the results of a round."""
        results = env.evaluation_result_list
        if self.period > 0 and results and (env.iteration + 1) % self.period == 0:
            info(f"[{env.iteration + 1}]\t{format_results(results, show_stdv=self.show_stdv)}")


class RecordEvaluation:
    """Callback that stores the results of all rounds in a dict."""

    order = 20
    before_iteration = False

    def __init__(self, eval_result):
        if not isinstance(eval_result, dict):
            raise TypeError("eval_result should be a dictionary")
        self.eval_result = eval_result

    def __call__(self, env):
        """Store the results of a round; the first one empties the dict."""
        if env.iteration == env.begin_iteration:
            self.eval_result.clear()
        for one in env.evaluation_result_list:
            table = self.eval_result.setdefault(one.dataset_name, {})
            if one.is_cv_result():
                table.setdefault(f"{one.metric_name}-mean", []).append(one.metric_value)
                table.setdefault(f"{one.metric_name}-stdv", []).append(one.metric_std_dev)
            else:
                table.setdefault(one.metric_name, []).append(one.metric_value)


class ResetParameter:
    """Callback that changes parameters before each round."""

    order = 10
    before_iteration = True

    def __init__(self, **values):
        self.kwargs = values

    def __call__(self, env):
        """Change the parameters whose values differ from those of the round before."""
        n_rounds, done = (
            env.end_iteration - env.begin_iteration,
            env.iteration - env.begin_iteration,
        )
        changed = {}
        for name, value in self.kwargs.items():
            if isinstance(value, list):
                if len(value) != n_rounds:
                    message = f"Length of list {name!r} has to be equal to 'num_boost_round'."
                    raise ValueError(message)
                new = value[done]
            elif callable(value):
                new = value(done)
            else:
                raise ValueError(  # noqa: TRY004 - LightGBM's type
                    "Only list and callable values are supported as a mapping from boosting round "
                    "index to new parameter value."
                )
            if new != env.params.get(name):
                changed[name] = new
        if changed:
            for booster in getattr(env.model, "boosters", [env.model]):
                booster.reset_parameter(changed)
            env.params.update(changed)


class EarlyStopping:
    """Callback that ends training if a metric of a validation table stops improving."""

    order = 30
    before_iteration = False

    def __init__(self, stopping_rounds, first_metric_only=False, verbose=True, min_delta=0.0):
        self.enabled = is_enabled(stopping_rounds)
        self.stopping_rounds = stopping_rounds
        self.first_metric_only = first_metric_only
        self.verbose = verbose
        self.min_delta = min_delta
        self.best = []  # for each result: best value, its round, all results of that round

    def _say(self, message):
        if self.verbose:
            info(message)

    def _begin(self, env):
        """Prepare the first round; disable stopping where it is not available."""
        results = env.evaluation_result_list
        if not results:
            raise ValueError(
                "For early stopping, at least one dataset and eval metric is required for "
                "evaluation"
            )
        if "dart" in (env.params.get(name) for name in ("boosting", "boosting_type", "boost")):
            self.enabled = False
            warn("Early stopping is not available in dart mode")
            return
        if all(is_training(one, env) for one in results) and not results[0].is_cv_result():
            self.enabled = False
            warn("Only training set found, disabling early stopping.")
            return
        self._say(
            f"Training until validation scores don't improve for {self.stopping_rounds} rounds"
        )
        self.deltas = self._read_deltas(results)
        self.best = [(None, 0, None)] * len(results)

    def _read_deltas(self, results):
        """Return the least improvement of each result."""
        n_metrics = len({one.metric_name for one in results})
        n_tables = len(results) // n_metrics
        given = self.min_delta if isinstance(self.min_delta, list) else [self.min_delta]
        if any(one < 0 for one in given):
            raise ValueError("Early stopping min_delta must be non-negative.")
        if len(given) <= 1:
            return (given or [0.0]) * len(results)
        if len(given) != n_metrics:
            message = "Must provide a single value for min_delta or as many as metrics."
            raise ValueError(message)
        return given * n_tables

    def __call__(self, env):
        """Record the results of a round; raise `EarlyStopException` if training must end."""
        if env.iteration == env.begin_iteration:
            self.enabled = is_enabled(self.stopping_rounds)
            self._begin(env)
        if not self.enabled:
            return
        results = env.evaluation_result_list
        ends = env.iteration == env.end_iteration - 1
        for at, one in enumerate(results):
            value, best_round, _ = self.best[at]
            if value is None or self._improves(one, value, self.deltas[at]):
                self.best[at] = one.metric_value, env.iteration, results
            if self.first_metric_only and one.metric_name != results[0].metric_name:
                continue
            if is_training(one, env):
                continue
            _, best_round, then = self.best[at]
            stops = env.iteration - best_round >= self.stopping_rounds
            if stops or ends:
                kind = "Early stopping, best" if stops else "Did not meet early stopping. Best"
                self._say(f"{kind} iteration is:\n[{best_round + 1}]\t{format_results(then)}")
                if self.first_metric_only:
                    self._say(f"Evaluated only: {one.metric_name}")
                raise EarlyStopException(best_round, then)

    @staticmethod
    def _improves(one, best, delta):
        """Return whether a result is better than the best one by more than ``delta``."""
        value = one.metric_value
        return value > best + delta if one.maximize else value < best - delta


def is_training(one, env):
    """Return whether a result is of the training rows."""
    if one.is_cv_result():
        return one.dataset_name == "train"
    return one.dataset_name == getattr(env.model, "train_data_name", None)


def is_enabled(stopping_rounds):
    """Return whether a number of rounds enables early stopping.

    Raises
    ------
    TypeError
        If it is not an integer.
    """
    if not isinstance(stopping_rounds, int):
        kind = type(stopping_rounds).__name__
        raise TypeError(f"early_stopping_round should be an integer. Got '{kind}'")
    return stopping_rounds > 0


def early_stopping(stopping_rounds, first_metric_only=False, verbose=True, min_delta=0.0):
    """Return a callback that ends training if no metric improves for some rounds.

    Parameters
    ----------
    stopping_rounds : int
    first_metric_only : bool, default=False
        Whether only the first metric can end training.
    verbose : bool, default=True
        Whether messages are printed.
    min_delta : float or list of float, default=0.0
        Least improvement, of all metrics or of each one.
    """
    return EarlyStopping(stopping_rounds, first_metric_only, verbose, min_delta)


def log_evaluation(period=1, show_stdv=True):
    """Return a callback that prints the results of every ``period``-th round.

    Parameters
    ----------
    period : int, default=1
    show_stdv : bool, default=True
        Whether standard deviations of `cv` are printed.
    """
    return LogEvaluation(period, show_stdv)


def record_evaluation(eval_result):
    """Return a callback that stores the results of all rounds in a dict.

    Parameters
    ----------
    eval_result : dict
        It is emptied first, then filled: table → metric → list of values.
    """
    return RecordEvaluation(eval_result)


def reset_parameter(**kwargs):
    """Return a callback that changes parameters before each round.

    Parameters
    ----------
    **kwargs : list or callable
        For each parameter the values of all rounds, or a function of the round's number.
    """
    return ResetParameter(**kwargs)
