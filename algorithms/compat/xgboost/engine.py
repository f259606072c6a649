"""XGBoost's functions `train` and `cv`."""

import numpy as np
import pandas as pd
from sklearn.model_selection import StratifiedKFold

from algorithms.compat.xgboost.booster import Booster
from algorithms.compat.xgboost.callback import EarlyStopping, EvaluationMonitor
from algorithms.compat.xgboost.dmatrix import DMatrix
from algorithms.compat.xgboost.messages import allow_positional
from algorithms.compat.xgboost.parameters import read_pairs


@allow_positional
def train(
    params,
    dtrain,
    num_boost_round=10,
    *,
    evals=None,
    obj=None,
    maximize=None,
    early_stopping_rounds=None,
    evals_result=None,
    verbose_eval=True,
    xgb_model=None,
    callbacks=None,
    custom_metric=None,
):
    """Train a model.

    Parameters
    ----------
    params : dict or list of pairs
        Parameters under any of XGBoost's names.
    dtrain : DMatrix
        Training rows.
    num_boost_round : int, default=10
    evals : list of (DMatrix, name), default=None
        Tables that are evaluated after each round.
    obj : callable, default=None
        The user's objective. It takes raw scores and the DMatrix, and returns g and h.
    maximize : bool, default=None
        Whether early stopping maximizes the metric.
    early_stopping_rounds : int, default=None
        Number of rounds without improvement after which the training ends.
    evals_result : dict, default=None
        It receives the metrics: table → metric → list of values.
    verbose_eval : bool or int, default=True
        Whether metrics are printed; a number n prints every n-th round.
    xgb_model : Booster, path or bytes, default=None
        Model to continue from.
    callbacks : list of TrainingCallback, default=None
    custom_metric : callable, default=None
        The user's metric. It takes predictions, or raw scores if ``obj`` is given, and the DMatrix,
        and returns the pair of its name and value.

    Returns
    -------
    Booster

    Raises
    ------
    TypeError, ValueError
        If an argument is invalid. Invalid data or parameters raise `XGBoostError`, a ValueError.
    """
    evals = list(evals or ())
    check_matrices(dtrain, evals)
    given = Booster(params, [dtrain], model_file=as_model(xgb_model))
    callbacks = add_callbacks(callbacks, verbose_eval, early_stopping_rounds, maximize)
    loop = Loop(given, callbacks, custom_metric, output_margin=callable(obj))
    for number in range(num_boost_round):
        if loop.before(number):
            break
        loop.model.update(dtrain, number, obj)
        if loop.after(number, evals):
            break
    model = loop.end()
    if evals_result is not None:
        evals_result.clear()
        evals_result.update(loop.history)
    return model.reset()


def as_model(given):
    """Return the model to continue from: the Booster of an estimator, otherwise the argument."""
    return given.get_booster() if hasattr(given, "get_booster") else given


def check_matrices(dtrain, evals):
    """Raise TypeError if the training rows or an evaluation table are not a DMatrix."""
    if not isinstance(dtrain, DMatrix):
        raise TypeError(f"dtrain must be a DMatrix, not a {type(dtrain).__name__}")
    if not all(isinstance(one, tuple | list) and isinstance(one[0], DMatrix) for one in evals):
        raise TypeError("Invalid type for the `evals`: give a list of (DMatrix, name).")


def add_callbacks(callbacks, verbose, rounds, maximize, *, show_stdv=False):
    """Return the callbacks, with those that print metrics and stop early appended."""
    found = list(callbacks or ())
    if verbose:
        period = 1 if verbose is True else verbose
        found.append(EvaluationMonitor(period=period, show_stdv=show_stdv))
    if rounds:
        found.append(EarlyStopping(rounds=rounds, maximize=maximize))
    return found


class Loop:
    """Calls of the callbacks, and history of the metrics, in one training.

    Parameters
    ----------
    model : Booster or Folds
    callbacks : list of TrainingCallback
    metric : callable, the user's metric; or None
    output_margin : bool
        Whether the user's metric takes raw scores.
    """

    def __init__(self, model, callbacks, metric, *, output_margin):
        self.callbacks, self.metric, self.output_margin = callbacks, metric, output_margin
        self.history, self.model = {}, model
        for one in callbacks:
            self.model = self._checked(one.before_training(self.model))

    @staticmethod
    def _checked(model):
        """Return the model that a callback returned; raise TypeError if it is None."""
        if model is None:
            raise TypeError("before_training and after_training should return the model")
        return model

    def before(self, number):
        """Call the callbacks before a round; return True if the training ends."""
        calls = [one.before_iteration(self.model, number, self.history) for one in self.callbacks]
        return any(calls)  # all are called

    def after(self, number, evals):
        """Evaluate a round and call the callbacks; return True if the training ends."""
        options = {"output_margin": self.output_margin}
        for table, metric, value in self.model.evaluate(evals, self.metric, **options):
            self.history.setdefault(table, {}).setdefault(metric, []).append(value)
        calls = [one.after_iteration(self.model, number, self.history) for one in self.callbacks]
        return any(calls)  # all are called

    def end(self):
        """Call the callbacks after the last round; return the model."""
        for one in self.callbacks:
            self.model = self._checked(one.after_training(self.model))
        return self.model


class Fold:
    """One fold of `cv`.

    Parameters
    ----------
    dtrain, dtest : DMatrix
    params : dict
    """

    def __init__(self, dtrain, dtest, params):
        self.dtrain, self.dtest = dtrain, dtest
        self.watchlist = [(dtrain, "train"), (dtest, "test")]
        self.bst = Booster(params, [dtrain])

    def __getattr__(self, name):
        """Return an attribute of the Booster."""
        if name.startswith("__") or name == "bst":
            raise AttributeError(name)
        return getattr(self.bst, name)


class Folds:
    """The models of all folds of `cv`, as callbacks receive them.

    Parameters
    ----------
    cvfolds : list of Fold
    """

    def __init__(self, cvfolds):
        self.cvfolds = cvfolds

    def update(self, iteration, obj=None):
        """Add a round to each model."""
        for fold in self.cvfolds:
            fold.bst.update(fold.dtrain, iteration, obj)

    def evaluate(self, _evals, metric, *, output_margin):
        """Return the metrics over the folds: list of (table, metric, (mean, deviation))."""
        found = {}
        for fold in self.cvfolds:
            options = {"output_margin": output_margin}
            for table, name, value in fold.bst.evaluate(fold.watchlist, metric, **options):
                found.setdefault((table, name), []).append(value)
        return [(*key, (float(np.mean(all_)), float(np.std(all_)))) for key, all_ in found.items()]

    def set_attr(self, **values):
        """Set attributes of each model."""
        for fold in self.cvfolds:
            fold.bst.set_attr(**values)

    def attr(self, key):
        """Return an attribute of the first model."""
        return self.cvfolds[0].bst.attr(key)

    def set_param(self, params, value=None):
        """Change parameters of each model."""
        for fold in self.cvfolds:
            fold.bst.set_param(params, value)

    def num_boosted_rounds(self):
        """Return the number of rounds."""
        return self.cvfolds[0].bst.num_boosted_rounds()

    @property
    def best_iteration(self):
        """Best round of early stopping."""
        return self.cvfolds[0].bst.best_iteration

    @property
    def best_score(self):
        """Metric of the best round."""
        return self.cvfolds[0].bst.best_score


@allow_positional
def cv(
    params,
    dtrain,
    num_boost_round=10,
    *,
    nfold=3,
    stratified=False,
    folds=None,
    metrics=(),
    obj=None,
    maximize=None,
    early_stopping_rounds=None,
    fpreproc=None,
    as_pandas=True,
    verbose_eval=None,
    show_stdv=True,
    seed=0,
    callbacks=None,
    shuffle=True,
    custom_metric=None,
):
    """Cross-validate: train a model for each fold, and evaluate it on the fold.

    Parameters that are not listed here are as in `train`.

    Parameters
    ----------
    nfold : int, default=3
        Number of folds.
    stratified : bool, default=False
        Whether folds have the same shares of labels.
    folds : list of (train rows, test rows), or a splitter, default=None
    metrics : str or list of str, default=()
        Metrics that replace those in ``params``.
    fpreproc : callable, default=None
        Function that takes the training rows, test rows and parameters of a fold, and returns all
        three, changed or not.
    as_pandas : bool, default=True
        Whether to return a frame instead of a dict.
    show_stdv : bool, default=True
        Whether standard deviations are printed.
    seed : int, default=0
        Seed of the folds.
    shuffle : bool, default=True
        Whether rows are shuffled before they are divided into folds.

    Returns
    -------
    frame or dict : one value a round for "train-rmse-mean", "train-rmse-std", "test-rmse-mean" and
        so on
    """
    check_matrices(dtrain, [])
    params = read_pairs(params)
    if metrics:
        params["eval_metric"] = [metrics] if isinstance(metrics, str) else list(metrics)
    models = []
    for train_rows, test_rows in find_folds(dtrain, folds, nfold, seed, stratified, shuffle):
        options = {"allow_groups": True}
        pair = dtrain.slice(train_rows, **options), dtrain.slice(test_rows, **options)
        given = fpreproc(*pair, params.copy()) if fpreproc is not None else (*pair, params)
        models.append(Fold(*given))
    shown = {"show_stdv": show_stdv}
    callbacks = add_callbacks(callbacks, verbose_eval, early_stopping_rounds, maximize, **shown)
    loop = Loop(Folds(models), callbacks, custom_metric, output_margin=callable(obj))
    stops = False
    for number in range(num_boost_round):
        if loop.before(number):
            break
        loop.model.update(number, obj)
        stops = loop.after(number, None)
        if stops:
            break
    loop.end()
    results = as_columns(loop.history)
    if stops:
        last = loop.model.best_iteration + 1
        results = {name: values[:last] for name, values in results.items()}
    return pd.DataFrame(results) if as_pandas else results


def as_columns(history):
    """Return the results of `cv` as columns: dict, name → list of float."""
    found = {}
    for table, by_metric in history.items():
        for metric, values in by_metric.items():
            means, deviations = zip(*values, strict=True)
            found[f"{table}-{metric}-mean"] = list(means)
            found[f"{table}-{metric}-std"] = list(deviations)
    return found


def find_folds(data, folds, nfold, seed, stratified, shuffle):
    """Return the folds: list of (rows of training, rows of test)."""
    n_rows, bounds = data.num_row(), data.get_uint_info("group_ptr").astype(np.int64)
    if folds is not None:
        if hasattr(folds, "split"):
            return list(folds.split(np.empty((n_rows, 1)), data.get_label()))
        return list(folds)
    if stratified:
        splitter = StratifiedKFold(nfold, shuffle=True, random_state=seed)
        return list(splitter.split(np.empty((n_rows, 1)), data.get_label()))
    n_units = n_rows if len(bounds) < 2 else len(bounds) - 1
    units = np.random.RandomState(seed).permutation(n_units) if shuffle else np.arange(n_units)
    parts = np.array_split(units, nfold)
    if len(bounds) > 1:
        parts = [np.concatenate([np.arange(bounds[q], bounds[q + 1]) for q in part])
                 for part in parts]  # fmt: skip
    return [(np.concatenate([*parts[:k], *parts[k + 1 :]]), part) for k, part in enumerate(parts)]
