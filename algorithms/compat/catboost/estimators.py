"""Estimators with CatBoost's names and methods."""

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from algorithms.compat.catboost.arguments import SNAPSHOTS, check_others, is_higher_better
from algorithms.compat.catboost.model_methods import ModelMethods, drop_single_score
from algorithms.compat.catboost.pool import (
    CatBoostError,
    Pool,
    eval_baselines,
    eval_tables,
    eval_weights,
    parts_of,
    rows_of,
)
from algorithms.compat.catboost.search import Searches
from algorithms.compat.parameters import constructor_defaults
from algorithms.symmetric_boosting import SymmetricBoostingClassifier, SymmetricBoostingRegressor


class CatBoostMethods(Searches, ModelMethods):
    """Mixin with the methods of CatBoost's estimators that ours lack.

    The methods take a `Pool` in place of X and y.
    """

    _is_catboost_drop_in = True

    def __init__(self, iterations=1000, learning_rate=None, depth=6, l2_leaf_reg=None, **kwargs):
        super().__init__(
            iterations=iterations,
            learning_rate=learning_rate,
            depth=depth,
            l2_leaf_reg=l2_leaf_reg,
            **kwargs,
        )

    def fit(
        self,
        X,
        y=None,
        cat_features=None,
        sample_weight=None,
        use_best_model=None,
        eval_set=None,
        verbose=None,
        early_stopping_rounds=None,
        baseline=None,
        init_model=None,
        callbacks=None,
        **others,
    ):
        """Train the model.

        Parameters
        ----------
        X : Pool, or array-like, frame or sparse matrix (n_rows, n_features)
        y : array-like (n_rows,), optional
            Must be None if X is a Pool.
        cat_features : list of int or str, optional
            Categorical columns, by position or name; by default those of the Pool.
        sample_weight : array-like (n_rows,), optional
        use_best_model, verbose, early_stopping_rounds : optional
            Replace the parameters of these names.
        eval_set : Pool or (X, y), or a list of these, optional
            Evaluation sets.
        baseline : array-like (n_rows,) or (n_rows, n_scores), optional
            Raw scores from which training starts; must be None if X is a Pool, which has its own.
            The evaluation sets are then Pools with baselines.
        init_model : fitted estimator, CatBoost, or path of a file in the JSON format, optional
            Model whose trees become the first trees of this one.
        callbacks : list of objects, optional
            ``after_iteration(info)`` of each returns whether to continue; see
            `symmetric/iteration_history.py`.
        **others
            CatBoost's other arguments; they must be None or have no effect.

        Returns
        -------
        The estimator.

        Raises
        ------
        CatBoostError, ValueError, TypeError
            If parameters or data are invalid.
        """
        self._begin_fit(X, cat_features, others)
        if isinstance(X, Pool):
            if baseline is not None:
                raise CatBoostError("X is a Pool: baseline must be None")
            baseline = X.baseline
        return super().fit(
            *parts_of(X, y, sample_weight),
            eval_set=eval_tables(eval_set),
            use_best_model=use_best_model,
            early_stopping_rounds=early_stopping_rounds,
            verbose=verbose,
            baseline=baseline,
            eval_baseline=eval_baselines(eval_set),
            init_model=getattr(init_model, "_model", init_model),
            callbacks=callbacks,
            eval_sample_weight=eval_weights(eval_set),
        )

    def _begin_fit(self, X, cat_features, others):
        """Check CatBoost's other arguments of ``fit`` and set the categorical columns.

        Parameters
        ----------
        X : Pool, or rows
        cat_features : list of int or str, or None: those of the Pool
        others : dict, argument → value
        """
        snapshots = {name: others.pop(name) for name in SNAPSHOTS if name in others}
        check_others(others)
        self.set_params(**{name: one for name, one in snapshots.items() if one is not None})
        if cat_features is None and isinstance(X, Pool):
            cat_features = X.cat_features
        if cat_features is not None and len(cat_features):
            self.set_params(cat_features=list(cat_features))

    def score(self, X, y=None):
        """Return the mean accuracy of a classifier, or R² of a regressor.

        Parameters
        ----------
        X : Pool, or as in `fit`
        y : array-like (n_rows,), optional
            Must be None if X is a Pool.

        Returns
        -------
        float, weighted by the weights of the Pool
        """
        X, y, weight = parts_of(X, y, None)
        return super().score(X, y, sample_weight=weight)

    def get_feature_importance(
        self,
        data=None,
        type="FeatureImportance",  # noqa: A002 - CatBoost's name
        prettified=False,
        **others,
    ):
        """Return importances of the columns, or their SHAP values.

        Parameters
        ----------
        data : Pool, optional
            Needed for "ShapValues", and with labels for "LossFunctionChange".
        type : {"FeatureImportance", "PredictionValuesChange", "LossFunctionChange", "ShapValues"}
            "FeatureImportance" is "LossFunctionChange" for rankers, as in CatBoost.
        prettified : bool
            Whether to return a frame, the most important column first.
        **others
            CatBoost's other arguments; they must be None or have no effect.

        Returns
        -------
        importances : float64 (n_features,), or with ``prettified`` a frame with the
            columns "Feature Id" and "Importances"
        SHAP values : float64 (n_rows, n_features + 1), whose last column is the base; with several
            scores per row, (n_rows, n_scores, n_features + 1)
        """
        check_others(others)
        name = getattr(type, "name", type)
        if name == "ShapValues":
            if data is None:
                raise CatBoostError("ShapValues need data")
            return self.predict_contributions(rows_of(data))
        try:
            values = super().get_feature_importance(data, name)
        except ValueError as error:
            raise CatBoostError(str(error)) from error
        if not prettified:
            return values
        order = np.argsort(-values, kind="stable")
        names = np.array(self.feature_names_, object)
        return pd.DataFrame({"Feature Id": names[order], "Importances": values[order]})

    def get_params(self, deep=True):
        """Return the parameters that differ from their defaults, dict."""
        defaults = constructor_defaults(type(self))
        given = super().get_params(deep)
        return {n: v for n, v in given.items() if n not in defaults or v is not defaults[n]}

    def is_fitted(self):
        """Return True if the model is trained."""
        return hasattr(self, "ensemble_")

    def get_param(self, key):
        """Return the value of a given parameter; None if it was not given."""
        return self.get_params().get(key)

    def get_tree_leaf_counts(self):
        """Return the number of leaves of each tree, uint32 (n_trees,)."""
        check_is_fitted(self, "ensemble_")
        return np.array([len(tree.values) for tree in self._trees], np.uint32)

    def get_best_score(self):
        """Return `best_score_`, a dict."""
        return self.best_score_

    @property
    def best_score_(self):
        """Best value of each metric: dict, evaluation set → metric → float."""
        return {
            name: {
                metric: (max if is_higher_better(metric, self) else min)(values)
                for metric, values in metrics.items()
            }
            for name, metrics in self.get_evals_result().items()
        }

    @property
    def feature_names_(self):
        """Names of the columns, list of str; their positions as text if they have no names."""
        check_is_fitted(self, "ensemble_")
        names = getattr(self, "feature_names_in_", range(self.n_features_in_))
        return [str(name) for name in names]

    def save_model(self, fname, format="cbm", export_parameters=None, pool=None):  # noqa: A002
        """Write the model to a file in CatBoost's JSON format.

        Parameters
        ----------
        fname : str or path
        format : {"json"}
            CatBoost's default "cbm" is not supported.
        export_parameters : None
        pool : Pool, optional
            Has no effect.
        """
        check_others({"export_parameters": export_parameters})
        del pool
        super().save_model(fname, format=format)

    def load_model(self, fname, format="json"):  # noqa: A002
        """Load a model from a file.

        Parameters
        ----------
        fname : str or path
        format : {"json"}

        Returns
        -------
        The estimator.
        """
        return super().load_model(fname, format=format)


class CatBoostClassifier(CatBoostMethods, SymmetricBoostingClassifier):
    """`SymmetricBoostingClassifier` under CatBoost's name."""

    def predict(self, data, prediction_type="Class", ntree_start=0, ntree_end=0, **others):
        """Return labels, probabilities or raw scores.

        Parameters
        ----------
        data : Pool, or as in `fit`
        prediction_type : {"Class", "Probability", "LogProbability", "RawFormulaVal"}
        ntree_start, ntree_end : int
            Half-open range of trees to use; 0 as the end means all.
        **others
            CatBoost's other arguments; they must be None or have no effect.

        Returns
        -------
        labels : (n_rows,), with the dtype of y; (n_rows, 1) with more than two classes
        probabilities or their logarithms : float64 (n_rows, n_classes)
        raw scores : float64 (n_rows,) for two classes, otherwise (n_rows, n_classes)
        """
        check_others(others)
        return self._convert(self._raw(rows_of(data), ntree_start, ntree_end), prediction_type)

    def _convert(self, raw, prediction_type):
        """Return predictions of a type from raw scores, float64 (n_rows, n_scores)."""
        if prediction_type == "RawFormulaVal":
            return drop_single_score(raw)
        if prediction_type not in (None, "Class", "Probability", "LogProbability"):
            raise CatBoostError(f"prediction_type {prediction_type!r} is not supported")
        proba = self._predict_scores(raw)
        if prediction_type == "LogProbability":
            return np.log(proba)
        if prediction_type == "Probability":
            return proba
        labels = self.classes_.take(proba.argmax(axis=1))
        return labels[:, None] if len(self._start) > 1 else labels

    def staged_predict_proba(self, data, ntree_start=0, ntree_end=0, eval_period=1, **others):
        """Yield probabilities; the arguments are those of `staged_predict`."""
        trees = ntree_start, ntree_end, eval_period
        yield from self.staged_predict(data, "Probability", *trees, **others)

    def staged_predict_log_proba(self, data, ntree_start=0, ntree_end=0, eval_period=1, **others):
        """Yield logarithms of probabilities; the arguments are those of `staged_predict`."""
        trees = ntree_start, ntree_end, eval_period
        yield from self.staged_predict(data, "LogProbability", *trees, **others)

    def predict_proba(self, X, ntree_start=0, ntree_end=0, **others):
        """Return the probabilities of the classes, float64 (n_rows, n_classes).

        The arguments are those of `predict`.
        """
        check_others(others)
        return super().predict_proba(rows_of(X), ntree_start, ntree_end)

    def predict_log_proba(self, data, ntree_start=0, ntree_end=0, **others):
        """Return the logarithms of the probabilities, float64 (n_rows, n_classes).

        The arguments are those of `predict`.
        """
        return self.predict(data, "LogProbability", ntree_start, ntree_end, **others)


class CatBoostRegressor(CatBoostMethods, SymmetricBoostingRegressor):
    """`SymmetricBoostingRegressor` under CatBoost's name."""

    def predict(self, data, prediction_type=None, ntree_start=0, ntree_end=0, **others):
        """Return predicted values or raw scores.

        Parameters
        ----------
        data : Pool, or as in `fit`
        prediction_type : {"RawFormulaVal", "Exponent"}, optional
            By default values on the scale of y.
        ntree_start, ntree_end : int
            Half-open range of trees to use; 0 as the end means all.
        **others
            CatBoost's other arguments; they must be None or have no effect.

        Returns
        -------
        float64 (n_rows,)
        """
        check_others(others)
        return self._convert(self._raw(rows_of(data), ntree_start, ntree_end), prediction_type)

    def _convert(self, raw, prediction_type):
        """Return predictions of a type from raw scores, float64 (n_rows, n_scores)."""
        if prediction_type is None:
            return self._predict_scores(raw)
        if prediction_type not in ("RawFormulaVal", "Exponent"):
            raise CatBoostError(f"prediction_type {prediction_type!r} is not supported")
        raw = drop_single_score(raw)
        return np.exp(raw) if prediction_type == "Exponent" else raw
