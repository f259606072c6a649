"""Folds of `cv` and of the searches for parameters, and the metrics of their models."""

import numpy as np
import pandas as pd
from sklearn.base import ClassifierMixin
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold

from algorithms.compat.catboost.arguments import is_higher_better
from algorithms.compat.catboost.pool import CatBoostError, Pool
from algorithms.symmetric_ranking import SymmetricBoostingRanker


def make_folds(estimator, pool, count, stratified, shuffle, state):
    """Return the splitter of `cv`; the rows of a query of a ranking stay together.

    Parameters
    ----------
    estimator : of the task
    pool : Pool
    count : int, number of folds
    stratified : bool, or None for the default of the loss
    shuffle : bool
    state : int or None, seed

    Raises
    ------
    CatBoostError
        If the rows of a ranking have no ids of queries.
    """
    if isinstance(estimator, SymmetricBoostingRanker):
        if pool.group_id is None:
            raise CatBoostError("the Pool has no group_id")
        return GroupKFold(count, shuffle=shuffle, random_state=state)
    by_class = isinstance(estimator, ClassifierMixin) if stratified is None else stratified
    kind = StratifiedKFold if by_class else KFold
    return kind(count, shuffle=shuffle, random_state=state)


def split_pool(folds, pool):
    """Return the training and test rows of each fold.

    Parameters
    ----------
    folds : splitter of scikit-learn, or list of (training rows, test rows)
    pool : Pool

    Returns
    -------
    list of (int (n_training_rows,), int (n_test_rows,)), positions of rows
    """
    if hasattr(folds, "split"):
        return list(folds.split(np.zeros((pool.num_row(), 1)), pool.label, pool.group_id))
    return list(folds)


def train_folds(make_model, pool, folds):
    """Train a model on each fold.

    Parameters
    ----------
    make_model : function without arguments that returns an unfitted model
    pool : Pool with labels
    folds : list of (training rows, test rows)

    Returns
    -------
    models : list
    curves : list of [metrics of the training rows, metrics of the test rows], one a fold
    """
    models, curves = [], []
    for train_rows, test_rows in folds:
        part, test = pool.slice(train_rows), pool.slice(test_rows)
        tables = [
            Pool(one.data, one.label, group_id=one.group_id, baseline=one.baseline)
            for one in (part, test)
        ]
        model = make_model().set_params(save_snapshot=False)  # folds would share its file
        models.append(model.fit(part, eval_set=tables))
        found = models[-1].get_evals_result()
        curves.append([values for name, values in found.items() if name != "learn"])
    return models, curves


def summarize(curves, model, patience):
    """Return the table of `cv` as a frame.

    Parameters
    ----------
    curves : list of [metrics of the training rows, metrics of the test rows], one a fold
    model : fitted model of a fold, for the directions of its metrics
    patience : int, number of iterations without improvement after which it ends; or None
    """
    columns, counts = {}, []
    for metric in curves[0][1]:
        for number, name in ((1, "test"), (0, "train")):
            values = np.array([fold[number][metric] for fold in curves])
            columns[f"{name}-{metric}-mean"] = values.mean(axis=0)
            spread = values.std(axis=0, ddof=1) if len(values) > 1 else np.zeros(values.shape[1])
            columns[f"{name}-{metric}-std"] = spread
        higher = is_higher_better(metric, model)
        counts.append(stop_at(columns[f"test-{metric}-mean"], higher, patience))
    table = pd.DataFrame(columns)
    table.insert(0, "iterations", np.arange(len(table)))
    return table.iloc[: counts[0]]


def stop_at(values, higher, patience):
    """Return the number of iterations up to the end of early stopping, or all of them.

    Parameters
    ----------
    values : float64 (n_iterations,), metric after each iteration
    higher : bool, whether larger values are better
    patience : int, or None for no early stopping
    """
    values = -values if higher else values
    best = 0
    for i in range(len(values)):
        best = i if values[i] < values[best] else best
        if patience is not None and i - best >= patience:
            return i + 1
    return len(values)
