"""train and cv under LightGBM's names."""

import copy
import json
from collections import OrderedDict, defaultdict
from pathlib import Path

import numpy as np
from sklearn.model_selection import GroupKFold, StratifiedKFold

from algorithms.compat.lightgbm import callback as callbacks_module
from algorithms.compat.lightgbm.booster import Booster
from algorithms.compat.lightgbm.callback import CallbackEnv, MeanResult
from algorithms.compat.lightgbm.dataset import Dataset
from algorithms.compat.lightgbm.parameters import STOP, choose, take, take_rounds_count
from algorithms.gbdt.ranking_objectives import ALIASES as RANKING_ALIASES
from algorithms.gbdt.ranking_objectives import NAMES as RANKING


def train(
    params,
    train_set,
    num_boost_round=100,
    valid_sets=None,
    valid_names=None,
    feval=None,
    init_model=None,
    keep_training_booster=False,
    callbacks=None,
):
    """Train a model.

    Parameters
    ----------
    params : dict
        Parameters under any of LightGBM's names. ``objective`` may be a callable that takes raw
        scores and the Dataset, and returns g and h.
    train_set : Dataset
    num_boost_round : int, default=100
        Number of rounds, unless it is given in ``params``.
    valid_sets : list of Dataset, default=None
        Evaluation tables.
    valid_names : list of str, default=None
    feval : callable or list of callables, default=None
        Metrics: they take predictions and a Dataset, and return a name, the value and whether
        higher is better, or a list of these.
    init_model : Booster or path, default=None
        Model to continue from.
    keep_training_booster : bool, default=False
        Whether the Booster can be trained further and evaluated.
    callbacks : list of callables, default=None

    Returns
    -------
    Booster

    Raises
    ------
    TypeError, ValueError
        If an argument is invalid; `LightGBMError` if data or parameters are.
    """
    check_dataset("train", train_set)
    for number, one in enumerate(valid_sets if isinstance(valid_sets, list) else ()):
        if not isinstance(one, Dataset):
            raise TypeError(
                "Every item in valid_sets must be a Dataset object. "
                f"Item {number} has type '{type(one).__name__}'."
            )
    params, objective, n_rounds = read_training_params(params, num_boost_round)
    model = make_booster(params, train_set, objective, init_model)
    first = model.current_iteration()
    has_train = add_tables(model, train_set, valid_sets, valid_names)
    before, after = sort_callbacks(callbacks, params)
    model.best_iteration, results = 0, []
    for number in range(first, first + n_rounds):
        env = model, params, number, first, first + n_rounds
        call(before, *env, None)
        model.update(fobj=objective)
        results = model.eval_train(feval) if has_train else []
        results += model.eval_valid(feval)
        stop = call(after, *env, results)
        if stop is not None:
            model.best_iteration, results = stop.best_iteration + 1, stop.best_score
            break
    model.best_score = defaultdict(OrderedDict)
    for one in results:
        model.best_score[one.dataset_name][one.metric_name] = one.metric_value
    return model if keep_training_booster else model.finish()


def make_booster(params, train_set, objective, init_model):
    """Return a Booster before its first round."""
    model = Booster({**params, "objective": "none"}, train_set)  # it is not begun yet
    model.params = {**train_set.get_params(), **copy.deepcopy(params)}
    return model.begin(objective, init_model)


def check_dataset(function, train_set):
    """Raise TypeError if the training set is no Dataset."""
    if not isinstance(train_set, Dataset):
        kind = type(train_set).__name__
        raise TypeError(f"{function}() only accepts Dataset object, train_set has type '{kind}'.")


def read_training_params(params, num_boost_round):
    """Return a copy of the parameters, the user's objective or None, and the number of rounds."""
    params = copy.deepcopy(params)
    objective = take(params, "objective", None)
    if objective is not None:
        params["objective"] = "none" if callable(objective) else objective
    n_rounds = take_rounds_count(params, num_boost_round)
    stop = take(params, STOP, None)
    if stop is not None:
        params[STOP] = stop
    return params, objective if callable(objective) else None, n_rounds


def add_tables(model, train_set, valid_sets, valid_names):
    """Add the evaluation tables to a Booster; return whether the training set is one of them."""
    if isinstance(valid_sets, Dataset):
        valid_sets = [valid_sets]
    names = [valid_names] if isinstance(valid_names, str) else list(valid_names or ())
    has_train = False
    for number, one in enumerate(valid_sets or ()):
        name = names[number] if number < len(names) else None
        if one is train_set:
            has_train = True
            model.set_train_data_name(name or "training")
        else:
            if one.reference is None:
                one.set_reference(train_set)
            model.add_valid(one, name or f"valid_{number}")
    return has_train


def sort_callbacks(callbacks, params):
    """Return the callbacks that run before a round and those after it, in their order."""
    callbacks = list(callbacks or ())
    numbered = [
        (getattr(one, "order", number - len(callbacks)), one)
        for number, one in enumerate(dict.fromkeys(callbacks))
    ]
    stop = params.get(STOP, 0)
    if callbacks_module.is_enabled(stop):
        early = callbacks_module.early_stopping(
            stop,
            first_metric_only=bool(choose(params, "first_metric_only", False)),
            verbose=choose(params, "verbosity", 1) > 0,
            min_delta=choose(params, "early_stopping_min_delta", 0.0),
        )
        numbered.append((early.order, early))
    ordered = [one for _, one in sorted(numbered, key=lambda pair: pair[0])]
    before = [one for one in ordered if getattr(one, "before_iteration", False)]
    return before, [one for one in ordered if one not in before]


def call(callbacks, *env):
    """Call callbacks; return the exception that ends training, or None."""
    for one in callbacks:
        try:
            one(CallbackEnv(*env))
        except Exception as error:
            if not hasattr(error, "best_iteration"):
                raise
            return error
    return None


class CVBooster:
    """The models of all folds of `cv`; a method calls that of each model and returns a list.

    Parameters
    ----------
    model_file : path, default=None
        File that `save_model` wrote.
    """

    def __init__(self, model_file=None):
        self.boosters = []
        self.best_iteration = -1
        if model_file is not None:
            self.model_from_string(Path(model_file).read_text(encoding="utf-8"))

    def __getattr__(self, name):
        """Return a function that calls a method of each model."""
        if name.startswith("__"):
            raise AttributeError(name)

        def call_each(*given, **options):
            return [getattr(one, name)(*given, **options) for one in self.boosters]

        return call_each

    def __getstate__(self):
        return vars(self)

    def __setstate__(self, state):
        vars(self).update(state)

    def model_from_string(self, model_str):
        """Load the models from text; return self."""
        found = json.loads(model_str)
        self.best_iteration = found["best_iteration"]
        self.boosters = [Booster(model_str=text) for text in found["boosters"]]
        for one in self.boosters:
            one.best_iteration = self.best_iteration
        return self

    def model_to_string(self, num_iteration=None, start_iteration=0, importance_type="split"):
        """Return the models as JSON text."""
        options = num_iteration, start_iteration, importance_type
        texts = [one.model_to_string(*options) for one in self.boosters]
        return json.dumps({"boosters": texts, "best_iteration": self.best_iteration})

    def save_model(self, filename, num_iteration=None, start_iteration=0, importance_type="split"):
        """Write the models as JSON text; return self."""
        text = self.model_to_string(num_iteration, start_iteration, importance_type)
        Path(filename).write_text(text, encoding="utf-8")
        return self


def cv(
    params,
    train_set,
    num_boost_round=100,
    folds=None,
    nfold=5,
    stratified=True,
    shuffle=True,
    metrics=None,
    feval=None,
    init_model=None,
    fpreproc=None,
    seed=0,
    callbacks=None,
    eval_train_metric=False,
    return_cvbooster=False,
):
    """Train and evaluate a model in each fold of a cross-validation.

    Parameters not listed here are as in `train`.

    Parameters
    ----------
    folds : iterable of (train rows, test rows), or a splitter, default=None
    nfold : int, default=5
    stratified : bool, default=True
        Whether folds have the same shares of labels. Ranking keeps queries together instead.
    shuffle : bool, default=True
    metrics : str or list of str, default=None
        Metrics in place of those of ``params``.
    fpreproc : callable, default=None
        It takes training set, test set and parameters of a fold, and returns them.
    seed : int, default=0
        Seed of the folds.
    eval_train_metric : bool, default=False
        Whether metrics of the training rows are returned, too.
    return_cvbooster : bool, default=False
        Whether the models are returned, as "cvbooster".

    Returns
    -------
    dict : "valid l2-mean" and "valid l2-stdv" of each metric → list of values
    """
    check_dataset("cv", train_set)
    params, objective, n_rounds = read_training_params(params, num_boost_round)
    if metrics is not None:
        take(params, "metric", None)
        params["metric"] = metrics
    splits = find_folds(train_set, folds, nfold, params, seed, stratified, shuffle)
    boosters = CVBooster()
    for train_rows, test_rows in splits:
        fold = train_set.subset(train_rows), train_set.subset(test_rows)
        of_fold = params
        if fpreproc is not None:
            *fold, of_fold = fpreproc(*fold, params.copy())
        model = make_booster(of_fold, fold[0], objective, init_model)
        model.set_train_data_name("train")
        model.add_valid(fold[1], "valid")
        boosters.boosters.append(model)
    before, after = sort_callbacks(callbacks, params)
    history = defaultdict(list)
    for number in range(n_rounds):
        env = boosters, params, number, 0, n_rounds
        call(before, *env, None)
        boosters.update(fobj=objective)
        results = (
            boosters.eval_train(feval) if eval_train_metric else [[] for _ in boosters.boosters]
        )
        for of_fold, more in zip(results, boosters.eval_valid(feval), strict=True):
            of_fold.extend(more)
        means = average_results(results)
        for one in means:
            name = f"{one.dataset_name} {one.metric_name}"
            history[f"{name}-mean"].append(one.metric_value)
            history[f"{name}-stdv"].append(one.metric_std_dev)
        stop = call(after, *env, means)
        if stop is not None:
            boosters.best_iteration = stop.best_iteration + 1
            for one in boosters.boosters:
                one.best_iteration = boosters.best_iteration
            history = {k: values[: boosters.best_iteration] for k, values in history.items()}
            break
    found = dict(history)
    if return_cvbooster:
        found["cvbooster"] = boosters
    return found


def find_folds(data, folds, nfold, params, seed, stratified, shuffle):
    """Return the folds: pairs of the rows of training and of test."""
    n_rows, group = data.num_data(), data.get_group()
    query = None if group is None else np.repeat(np.arange(len(group)), group)
    rows = np.empty((n_rows, 1))
    if folds is not None:
        if not hasattr(folds, "__iter__") and not hasattr(folds, "split"):
            raise AttributeError(
                "folds should be a generator or iterator of (train_idx, test_idx) tuples or "
                "scikit-learn splitter object with split method"
            )
        is_splitter = hasattr(folds, "split")
        return folds.split(rows, data.get_label(), query) if is_splitter else folds
    objective = choose(params, "objective", None)
    if RANKING_ALIASES.get(objective, objective) in RANKING:
        return GroupKFold(nfold).split(rows, groups=query)
    if stratified:
        random_state = seed if shuffle else None
        splitter = StratifiedKFold(nfold, shuffle=shuffle, random_state=random_state)
        return splitter.split(rows, data.get_label())
    numbers = np.random.RandomState(seed).permutation(n_rows) if shuffle else np.arange(n_rows)
    parts = np.array_split(numbers, nfold)
    return [(np.concatenate([*parts[:k], *parts[k + 1 :]]), part) for k, part in enumerate(parts)]


def average_results(results):
    """Return the means and standard deviations of results over the folds."""
    values, higher = {}, {}
    for one in (one for of_fold in results for one in of_fold):
        key = one.dataset_name, one.metric_name
        values.setdefault(key, []).append(one.metric_value)
        higher[key] = one.maximize
    return [
        MeanResult(*key, float(np.mean(own)), higher[key], float(np.std(own)))
        for key, own in values.items()
    ]
