"""CatBoost's class `CatBoost` and its functions `train` and `cv`."""

import numpy as np
import pandas as pd
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold

from algorithms.compat.catboost.estimators import (
    CatBoostClassifier,
    CatBoostRegressor,
    check_others,
    is_higher_better,
)
from algorithms.compat.catboost.pool import CatBoostError, Pool
from algorithms.compat.catboost.ranker import CatBoostRanker

FOR_CLASSES = ("Logloss", "CrossEntropy", "MultiClass")
FOR_RANKING = ("YetiRank", "PairLogit")
RATE_NAMES = ("learning_rate", "eta")
DEFAULT_RATE = 0.03  # of `cv`; other trainings choose it by the number of rows
LOSS_NAMES = ("loss_function", "objective")
ROUND_NAMES = ("iterations", "num_boost_round", "n_estimators", "num_trees")


class CatBoost:
    """Model of any loss; predictions are raw scores by default.

    Parameters
    ----------
    params : dict, optional
        Parameters under any of CatBoost's names.
    """

    def __init__(self, params=None):
        self._model = make_estimator(dict(params or {}))

    def fit(self, X, y=None, **others):
        """Train the model; return this object.

        The arguments are those of `CatBoostClassifier.fit`.
        """
        self._model.fit(X, y, **others)
        return self

    def predict(self, data, prediction_type="RawFormulaVal", ntree_start=0, ntree_end=0, **others):
        """Return predictions, by default raw scores.

        Arguments and shapes are those of `CatBoostClassifier.predict` for losses of classes, and
        of `CatBoostRegressor.predict` for others. A ranker has raw scores only.
        """
        if isinstance(self._model, CatBoostRanker):
            if prediction_type != "RawFormulaVal":
                raise CatBoostError(f"prediction_type {prediction_type!r} is not supported")
            return self._model.predict(data, ntree_start, ntree_end, **others)
        return self._model.predict(data, prediction_type, ntree_start, ntree_end, **others)

    def load_model(self, fname, format="json"):  # noqa: A002 - CatBoost's name
        """Load a model from a file in CatBoost's JSON format; return this object."""
        try:
            self._model = CatBoostClassifier().load_model(fname, format)
        except ValueError:
            self._model = CatBoostRegressor().load_model(fname, format)
        return self

    def __getattr__(self, name):
        """Return an attribute of the estimator: `save_model`, `tree_count_` and others."""
        if name.startswith("__") or name == "_model":
            raise AttributeError(name)
        return getattr(self._model, name)


def make_estimator(params):
    """Return an unfitted classifier, regressor or ranker, as the loss in the parameters requires.

    The default loss is RMSE.
    """
    names = [params[name] for name in LOSS_NAMES if name in params]
    loss = (str(names[0]) if names else "RMSE").partition(":")[0]
    if loss in FOR_RANKING:
        return CatBoostRanker(**params)
    return (CatBoostClassifier if loss in FOR_CLASSES else CatBoostRegressor)(**params)


def with_rounds(params, iterations, num_boost_round):
    """Return the parameters; a number of iterations given as an argument replaces theirs."""
    params = dict(params or {})
    if iterations is not None and num_boost_round is not None:
        raise CatBoostError("give one of iterations and num_boost_round")
    given = iterations if num_boost_round is None else num_boost_round
    if given is None:
        return params
    kept = {name: value for name, value in params.items() if name not in ROUND_NAMES}
    return {**kept, "iterations": given}


def find_pool(pool, dtrain):
    """Return the argument that is not None as a Pool; raise if both or none are given."""
    if (pool is None) == (dtrain is None):
        raise CatBoostError("give one of pool and dtrain")
    given = dtrain if pool is None else pool
    return given if isinstance(given, Pool) else Pool(*given)


def train(
    pool=None,
    params=None,
    dtrain=None,
    iterations=None,
    num_boost_round=None,
    eval_set=None,
    evals=None,
    early_stopping_rounds=None,
    init_model=None,
    save_snapshot=None,
    snapshot_file=None,
    snapshot_interval=None,
    **others,
):
    """Train a model.

    Parameters
    ----------
    pool, dtrain : Pool
        One of them.
    params : dict, optional
    iterations, num_boost_round : int, optional
        Replace the parameter.
    eval_set, evals : Pool or (X, y), or a list of these, optional
        Evaluation sets; one of the arguments.
    early_stopping_rounds : int, optional
        Number of iterations without improvement after which training ends.
    init_model : CatBoost or fitted estimator, optional
        Model whose trees become the first trees of this one.
    save_snapshot, snapshot_file, snapshot_interval : optional
        Replace the parameters of these names.
    **others
        CatBoost's other arguments; they must be None or have no effect.

    Returns
    -------
    CatBoost, trained
    """
    check_others(others)
    if eval_set is not None and evals is not None:
        raise CatBoostError("give one of eval_set and evals")
    model = CatBoost(with_rounds(params, iterations, num_boost_round))
    tables = evals if eval_set is None else eval_set
    return model.fit(
        find_pool(pool, dtrain),
        eval_set=tables,
        early_stopping_rounds=early_stopping_rounds,
        init_model=init_model,
        save_snapshot=save_snapshot,
        snapshot_file=snapshot_file,
        snapshot_interval=snapshot_interval,
    )


def cv(
    pool=None,
    params=None,
    dtrain=None,
    iterations=None,
    num_boost_round=None,
    fold_count=3,
    nfold=None,
    partition_random_seed=0,
    seed=None,
    shuffle=True,
    stratified=None,
    as_pandas=True,
    early_stopping_rounds=None,
    folds=None,
    return_models=False,
    **others,
):
    """Cross-validate: for each fold, train on the other folds and evaluate on it.

    Parameters
    ----------
    pool, dtrain : Pool
        One of them.
    params : dict, optional
    iterations, num_boost_round : int, optional
        Replace the parameter.
    fold_count, nfold : int
        Number of folds.
    partition_random_seed, seed : int
        Seed of the folds.
    shuffle : bool
        Whether rows are shuffled before they are divided into folds.
    stratified : bool, optional
        Whether folds have the same shares of classes; by default for losses of classes.
    as_pandas : bool
        Whether to return a frame instead of a dict.
    early_stopping_rounds : int, optional
        Number of iterations without improvement of the mean metric after which the table ends.
    folds : list of (training rows, test rows), or a splitter of scikit-learn, optional
    return_models : bool
        Whether to return the models as well.
    **others
        CatBoost's other arguments; they must be None or have no effect.

    Returns
    -------
    table : frame or dict
        The columns "iterations", and for each metric "test-…-mean", "test-…-std", "train-…-mean"
        and "train-…-std".
    models : list of CatBoost, one a fold; only with ``return_models``
    """
    check_others(others)
    params, whole = with_rounds(params, iterations, num_boost_round), find_pool(pool, dtrain)
    if whole.label is None:
        raise CatBoostError("the Pool has no label")
    if not any(name in params for name in RATE_NAMES):
        params["learning_rate"] = DEFAULT_RATE
    state = (partition_random_seed if seed is None else seed) if shuffle else None
    if folds is None:
        folds = make_folds(params, whole, nfold or fold_count, stratified, shuffle, state)
    if hasattr(folds, "split"):
        folds = folds.split(np.zeros((whole.num_row(), 1)), whole.label, whole.group_id)
    models, curves = [], []
    for train_rows, test_rows in folds:
        part, test = whole.slice(train_rows), whole.slice(test_rows)
        tables = [
            Pool(one.data, one.label, group_id=one.group_id, baseline=one.baseline)
            for one in (part, test)
        ]
        model = CatBoost({**params, "use_best_model": False})
        models.append(model.fit(part, eval_set=tables))
        curves.append([*model.get_evals_result().values()])
    table = summarize(curves, early_stopping_rounds)
    table = table if as_pandas else {name: table[name].tolist() for name in table}
    return (table, models) if return_models else table


def make_folds(params, pool, count, stratified, shuffle, state):
    """Return the splitter of `cv`; the rows of a query of a ranking stay together.

    Parameters
    ----------
    params : dict
    pool : Pool
    count : int, number of folds
    stratified : bool, or None for the default of the loss
    shuffle : bool
    state : int or None, seed
    """
    estimator = make_estimator(params)
    if isinstance(estimator, CatBoostRanker):
        if pool.group_id is None:
            raise CatBoostError("the Pool has no group_id")
        return GroupKFold(count, shuffle=shuffle, random_state=state)
    by_class = isinstance(estimator, CatBoostClassifier) if stratified is None else stratified
    kind = StratifiedKFold if by_class else KFold
    return kind(count, shuffle=shuffle, random_state=state)


def summarize(curves, patience):
    """Return the table of `cv` as a frame.

    Parameters
    ----------
    curves : list of [metrics of the training rows, metrics of the test rows], one a fold
    patience : int, number of iterations without improvement after which it ends; or None
    """
    columns, count = {}, None
    for metric in curves[0][1]:
        for number, name in ((1, "test"), (0, "train")):
            values = np.array([fold[number][metric] for fold in curves])
            columns[f"{name}-{metric}-mean"] = values.mean(axis=0)
            spread = values.std(axis=0, ddof=1) if len(values) > 1 else np.zeros(values.shape[1])
            columns[f"{name}-{metric}-std"] = spread
        count = stop_at(columns[f"test-{metric}-mean"], is_higher_better(metric), patience)
    table = pd.DataFrame(columns)
    table.insert(0, "iterations", np.arange(len(table)))
    return table.iloc[:count]


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
