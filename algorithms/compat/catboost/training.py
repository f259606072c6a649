"""CatBoost's class `CatBoost` and its functions `train` and `cv`."""

from copy import copy

from algorithms.compat.catboost.arguments import check_others
from algorithms.compat.catboost.estimators import CatBoostClassifier, CatBoostRegressor
from algorithms.compat.catboost.folds import make_folds, split_pool, summarize, train_folds
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

    def fit(self, X, y=None, cat_features=None, **others):
        """Train the model; return this object.

        The arguments are those of `CatBoostClassifier.fit`.
        """
        self._model.fit(X, y, cat_features=cat_features, **others)
        return self

    def set_params(self, **params):
        """Set parameters; return this object."""
        self._model.set_params(**params)
        return self

    def copy(self):
        """Return a copy of the model."""
        return copy(self)

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
    loss = names[0] if names else "RMSE"
    if not isinstance(loss, str):
        kind = CatBoostClassifier if hasattr(loss, "calc_ders_multi") else CatBoostRegressor
        return kind(**params)
    loss = loss.partition(":")[0]
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
    callbacks=None,
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
    callbacks : list of objects, optional
        As in `CatBoostClassifier.fit`.
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
        callbacks=callbacks,
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

    Raises
    ------
    CatBoostError, ValueError, TypeError
        If arguments, parameters or data are invalid.
    """
    check_others(others)
    params, whole = with_rounds(params, iterations, num_boost_round), find_pool(pool, dtrain)
    if whole.label is None:
        raise CatBoostError("the Pool has no label")
    if not any(name in params for name in RATE_NAMES):
        params["learning_rate"] = DEFAULT_RATE
    state = (partition_random_seed if seed is None else seed) if shuffle else None
    if folds is None:
        estimator, count = make_estimator(params), nfold or fold_count
        folds = make_folds(estimator, whole, count, stratified, shuffle, state)
    models, curves = train_folds(
        lambda: CatBoost({**params, "use_best_model": False}), whole, split_pool(folds, whole)
    )
    table = summarize(curves, models[0], early_stopping_rounds)
    table = table if as_pandas else {name: table[name].tolist() for name in table}
    return (table, models) if return_models else table
