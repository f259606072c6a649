"""CatBoost's searches: of parameters in a grid or at random, and of columns."""

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid, ParameterSampler, train_test_split

from algorithms.compat.catboost.arguments import check_others, is_higher_better
from algorithms.compat.catboost.folds import make_folds, split_pool, summarize, train_folds
from algorithms.compat.catboost.pool import CatBoostError, Pool
from algorithms.symmetric.ignored_columns import position_of

BY_SHAP, BY_CHANGE = "RecursiveByShapValues", "RecursiveByPredictionValuesChange"


class Searches:
    """Mixin with the searches of CatBoost's estimators."""

    def grid_search(self, param_grid, X, y=None, **options):
        """Train a model for each combination of parameters, and keep the best parameters.

        Parameters
        ----------
        param_grid : dict of lists, or list of such dicts
            Parameter → values.
        X : Pool, or array-like or frame (n_rows, n_features)
        y : array-like (n_rows,), optional
            Must be None if X is a Pool.
        **options
            Those of `randomized_search`, except ``n_iter``.

        Returns
        -------
        dict with the best "params", and with the "cv_results" of these, as in `cv`
        """
        return self._search(ParameterGrid(param_grid), X, y, **options)

    def randomized_search(self, param_distributions, X, y=None, cv=3, n_iter=10, **options):
        """Train a model for random combinations of parameters, and keep the best parameters.

        Parameters
        ----------
        param_distributions : dict
            Parameter → list of values, or distribution of scipy.stats.
        X, y : as in `grid_search`
        cv : int, splitter of scikit-learn, or list of (training rows, test rows)
        n_iter : int
            Number of combinations.
        **options
            ``partition_random_seed`` (0), ``calc_cv_statistics`` (True), ``refit`` (True): whether
            to train this estimator with the best parameters; ``shuffle`` (True), ``stratified``,
            ``train_size`` (0.8). With ``search_by_train_test_split`` (True) models are compared on
            one part of the rows, otherwise on the folds of ``cv``.

        Returns
        -------
        dict, as of `grid_search`
        """
        seed = options.get("partition_random_seed", 0)
        drawn = ParameterSampler(param_distributions, n_iter, random_state=seed)
        return self._search(drawn, X, y, cv=cv, **options)

    def _search(
        self,
        candidates,
        X,
        y,
        *,
        cv=3,
        partition_random_seed=0,
        calc_cv_statistics=True,
        search_by_train_test_split=True,
        refit=True,
        shuffle=True,
        stratified=None,
        train_size=0.8,
        **others,
    ):
        """Return the best of some parameters; see `randomized_search`.

        Raises
        ------
        CatBoostError, ValueError, TypeError
            If the model is fitted, or arguments, parameters or data are invalid.
        """
        check_others(others)
        self._refuse_fitted(refit, "refit=False")
        pool = as_pool(X, y)
        state = partition_random_seed if shuffle else None
        folds = cv
        if cv is None or isinstance(cv, int):
            folds = make_folds(self, pool, cv or 3, stratified, shuffle, state)
        folds = split_pool(folds, pool)
        if not search_by_train_test_split:
            parts = folds
        elif pool.group_id is not None:  # a query stays in one part
            parts = folds[:1]
        else:
            rows = np.arange(pool.num_row())
            parts = [
                train_test_split(rows, train_size=train_size, shuffle=shuffle, random_state=state)
            ]
        best, best_value = None, np.inf
        for params in candidates:
            value = self._test_value(params, pool, parts)
            if best is None or value < best_value:
                best, best_value = params, value
        found = {"params": best}
        if calc_cv_statistics or not search_by_train_test_split:
            models, curves = train_folds(lambda: self._with(best), pool, folds)
            table = summarize(curves, models[0], None)
            found["cv_results"] = {name: table[name].tolist() for name in table}
        if refit:
            self.set_params(**best).fit(pool)
        return found

    def _refuse_fitted(self, is_trained, remedy):
        """Raise CatBoostError if a search would train a model that is trained already."""
        if is_trained and self.is_fitted():
            raise CatBoostError(f"the model is fitted: use a new one, or {remedy}")

    def _with(self, params):
        """Return an unfitted copy with other parameters that keeps all its trees."""
        return clone(self).set_params(**params, use_best_model=False)

    def _test_value(self, params, pool, parts):
        """Return the best mean of the deciding metric on the test rows, lower is better."""
        models, curves = train_folds(lambda: self._with(params), pool, parts)
        metric = next(iter(curves[0][1]))
        values = np.mean([fold[1][metric] for fold in curves], axis=0)
        return float((-values if is_higher_better(metric, models[0]) else values).min())

    def select_features(
        self,
        X,
        y=None,
        eval_set=None,
        features_for_select=None,
        num_features_to_select=None,
        algorithm=None,
        steps=None,
        train_final_model=True,
        **others,
    ):
        """Leave out the least important columns, in several steps.

        Parameters
        ----------
        X, y : as in `grid_search`
        eval_set : Pool or (X, y), or a list of these, optional
        features_for_select : list of positions and names, or text such as "0,2-4"
            Columns that may be left out.
        num_features_to_select : int
            Number of these columns that are kept.
        algorithm : {"RecursiveByShapValues", "RecursiveByPredictionValuesChange"}, optional
            Importances: mean absolute SHAP values (the default), or PredictionValuesChange.
        steps : int, optional
            Number of times that columns are left out; by default 1.
        train_final_model : bool
            Whether to train this estimator on the columns that are kept.
        **others
            CatBoost's other arguments; they must be None or have no effect.

        Returns
        -------
        dict with "selected_features", "eliminated_features" (in order), the "…_names" of both,
        and "loss_graph": the metric before each step and after the last one
        """
        if others.get("shap_calc_type") is not None:
            others = {**others, "shap_calc_type": None}  # all kinds of SHAP values are exact here
        check_others(others)
        self._refuse_fitted(train_final_model, "train_final_model=False")
        name = str(getattr(algorithm, "value", algorithm) or BY_SHAP)
        if name not in (BY_SHAP, BY_CHANGE):
            raise CatBoostError(f"algorithm {name!r} is not supported: use {BY_SHAP!r}")
        pool = as_pool(X, y)
        free = read_columns(features_for_select, pool)
        n_kept = num_features_to_select
        if n_kept is None or not 0 < n_kept <= len(free):
            raise CatBoostError(
                f"num_features_to_select must be from 1 to {len(free)}, the number of columns in "
                "features_for_select"
            )
        eliminated, losses, counts = [], [], []
        goals = np.linspace(len(free), n_kept, (steps or 1) + 1).round().astype(int)[1:]
        for goal in (*goals.tolist(), None):
            model = self._without(eliminated).fit(pool, eval_set=eval_set)
            losses.append(last_value(model))
            counts.append(len(eliminated))
            if goal is None:
                break
            importances = importances_of(model, pool, name)
            left = [column for column in free if column not in eliminated]
            worst_first = sorted(left, key=lambda column: importances[column])
            eliminated += worst_first[: len(left) - goal]
        if train_final_model:
            ignored = self._without(eliminated).ignored_features
            self.set_params(ignored_features=ignored).fit(pool, eval_set=eval_set)
        names = pool.get_feature_names()
        selected = [column for column in free if column not in eliminated]
        return {
            "selected_features": selected,
            "selected_features_names": [names[column] for column in selected],
            "eliminated_features": eliminated,
            "eliminated_features_names": [names[column] for column in eliminated],
            "loss_graph": {"removed_features_count": counts, "loss_values": losses},
        }

    def _without(self, columns):
        """Return an unfitted copy that ignores further columns."""
        ignored = [*(self.ignored_features or []), *columns]
        return clone(self).set_params(ignored_features=ignored)


def as_pool(X, y):
    """Return a Pool with labels."""
    if isinstance(X, Pool) and y is not None:
        raise CatBoostError("X is a Pool: y must be None")
    pool = X if isinstance(X, Pool) else Pool(X, y)
    if pool.label is None:
        raise CatBoostError("y is missing: give y, or a Pool with labels")
    return pool


def read_columns(wanted, pool):
    """Return positions of columns, list of int, from a list or from text such as "0,2-4".

    Raises
    ------
    CatBoostError
        If there are no columns to choose from, or one does not exist.
    """
    if wanted is None:
        raise CatBoostError("features_for_select is missing: give the columns to choose from")
    names, columns = pool.get_feature_names(), set()
    for one in wanted.split(",") if isinstance(wanted, str) else wanted:
        text = str(one).strip()
        first, _, last = text.partition("-")
        if text in names or not (first.isdigit() and last.isdigit()):
            first = last = text
        try:
            ends = [position_of(end, pool.data, "features_for_select") for end in (first, last)]
        except ValueError as error:
            raise CatBoostError(str(error)) from error
        columns.update(range(ends[0], ends[1] + 1))
    return sorted(columns)


def importances_of(model, pool, algorithm):
    """Return the importance of each column, float64 (n_features,)."""
    if algorithm == BY_CHANGE:
        return model.feature_importances_
    values = np.abs(model.predict_contributions(pool.data)[..., :-1])
    return values.reshape(-1, values.shape[-1]).mean(axis=0)


def last_value(model):
    """Return the deciding metric of the last set at the model's last iteration, float."""
    found = list(model.get_evals_result().values())
    values = next(iter(found[-1].values())) if found else [np.nan]
    return float(values[min(model.tree_count_, len(values)) - 1])
