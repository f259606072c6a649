"""XGBoost's `XGBRanker`: ranking of the rows of each query."""

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from algorithms.compat.parameters import LibraryParameters
from algorithms.compat.xgboost.dmatrix import DMatrix
from algorithms.compat.xgboost.engine import train
from algorithms.compat.xgboost.estimators import N_TREES, LibraryEstimator, XGBModel
from algorithms.compat.xgboost.messages import allow_positional
from algorithms.compat.xgboost_parameters import XGBOOST
from algorithms.newton.xgboost_interface import (
    OF_THE_ESTIMATOR,
    XGBoostInterface,
    choose_feature_weights,
)


class RankerParameters(LibraryParameters, BaseEstimator):
    """Base class that stores parameters which are not arguments of the constructor."""

    _parameter_table = XGBOOST

    def __init__(self, **kwargs):
        self._set_constructor_params(locals())


class XGBRanker(LibraryEstimator, XGBoostInterface, RankerParameters):
    """Ranker with XGBoost's names and defaults; a higher score is a higher rank in the query.

    Parameters
    ----------
    objective : {"rank:ndcg", "rank:pairwise", "rank:map"}, default="rank:ndcg"
    **kwargs
        The parameters of `LibraryEstimator`, and "lambdarank_num_pair_per_sample",
        "lambdarank_normalization", "lambdarank_score_normalization" and "ndcg_exp_gain".
    """

    @allow_positional
    def __init__(self, *, objective="rank:ndcg", **kwargs):
        super().__init__(objective=objective, **kwargs)

    @allow_positional
    def fit(
        self,
        X,
        y,
        *,
        group=None,
        qid=None,
        sample_weight=None,
        base_margin=None,
        eval_set=None,
        eval_group=None,
        eval_qid=None,
        verbose=False,
        xgb_model=None,
        sample_weight_eval_set=None,
        base_margin_eval_set=None,
        feature_weights=None,
    ):
        """Train the model.

        Parameters
        ----------
        X : array-like, frame or sparse matrix (n_rows, n_features)
            The rows of a query are consecutive.
        y : array-like (n_rows,), labels; a larger label is more relevant
        group : array-like of int (n_queries,), number of rows of each query
        qid : array-like (n_rows,), query of each row
            Without ``group`` and ``qid`` it is the column "qid" of a frame.
        sample_weight : array-like (n_queries,), weights of the queries
        base_margin : array-like (n_rows,), raw scores to start from
        eval_set : list of (X, y), the evaluation tables
        eval_group, eval_qid, sample_weight_eval_set, base_margin_eval_set : list
            One entry for each evaluation table, as the arguments above.
        verbose : bool or int, default=False
            Whether metrics are printed; a number n prints every n-th round.
        xgb_model : Booster or path, model to continue from
        feature_weights : array-like (n_features,), weights with which columns are drawn

        Returns
        -------
        The estimator.

        Raises
        ------
        ValueError
            If there are no queries, or parameters or data are invalid.
        """
        data = self._matrix(X, y, group, qid, sample_weight, base_margin)
        weights = choose_feature_weights(self.feature_weights, feature_weights)
        data.set_info(feature_weights=weights)
        tables = list(eval_set or ())
        lists = (eval_group, eval_qid, sample_weight_eval_set, base_margin_eval_set)
        lists = [one or [None] * len(tables) for one in lists]
        evals = [
            (self._matrix(*table, *others), f"validation_{number}")
            for number, (table, *others) in enumerate(zip(tables, *lists, strict=True))
        ]
        self._history = {}
        self._model = train(
            {**self.get_xgb_params(), "eval_metric": None if callable(self.eval_metric)
             else self.eval_metric},
            data,
            self.get_num_boosting_rounds(),
            evals=evals,
            evals_result=self._history,
            verbose_eval=verbose,
            early_stopping_rounds=self.early_stopping_rounds,
            callbacks=self.callbacks,
            xgb_model=xgb_model,
            custom_metric=as_metric(self.eval_metric),
        )  # fmt: skip
        self.n_features_in_ = data.num_col()
        return self

    def _matrix(self, X, y, group, qid, weight, margin):
        """Return a `DMatrix` of rows with their queries."""
        if qid is None and group is None:
            if "qid" not in getattr(X, "columns", ()):
                raise ValueError("Either `group` or `qid` is required for ranking task")
            X, qid = split_queries(X)
        options = {"missing": self.missing, "enable_categorical": self.enable_categorical}
        types = {"feature_types": self.feature_types}
        queries = {"group": group, "qid": qid}
        return DMatrix(X, y, weight=weight, base_margin=margin, **queries, **options, **types)

    def predict(
        self,
        X,
        *,
        output_margin=False,
        validate_features=True,
        base_margin=None,
        iteration_range=None,
    ):
        """Return the scores of rows, float32 (n_rows,).

        Parameters
        ----------
        X : as in ``fit``
        output_margin, validate_features, iteration_range : as in `Booster.predict`
        base_margin : array-like (n_rows,), raw scores to start from
        """
        return self._predict(
            X, base_margin, iteration_range, output_margin=output_margin,
            validate_features=validate_features,
        )  # fmt: skip

    def apply(self, X, iteration_range=None):
        """Return the leaf of each row in each tree, float32 (n_rows, n_trees)."""
        found = self._predict(X, None, iteration_range, pred_leaf=True)
        return found.reshape(len(found), -1)

    def _predict(self, X, base_margin, iteration_range, **options):
        """Return the result of `Booster.predict`, by default with the rounds up to the best one."""
        booster = self.get_booster()
        if "qid" in getattr(X, "columns", ()) and "qid" not in (booster.feature_names or ()):
            X, _ = split_queries(X)
        best = booster.attr("best_iteration")
        last = 0 if best is None else booster.best_iteration + 1
        rounds = (0, last) if iteration_range in (None, (0, 0)) else iteration_range
        types = {"feature_types": self.feature_types, "enable_categorical": self.enable_categorical}
        rows = DMatrix(X, base_margin=base_margin, missing=self.missing, **types)
        return booster.predict(rows, iteration_range=rounds, **options)

    def score(self, X, y):
        """Return the last ``eval_metric``, float, by default NDCG; X has a column "qid"."""
        wanted = self.eval_metric
        wanted = wanted[-1] if isinstance(wanted, list) else wanted
        if callable(wanted):
            return wanted(y, self.predict(X))
        booster = self.get_booster().copy()
        booster.set_param({"eval_metric": wanted or "ndcg"})
        ((_, _, value),) = booster.evaluate([(self._matrix(X, y, None, None, None, None), "rows")])
        return value

    def set_params(self, **params):
        """Set parameters by any of their names, also those of the `Booster` of a fitted model.

        As in XGBoost, a metric is added to those that the `Booster` has.
        """
        super().set_params(**params)
        if "_model" in vars(self):
            of_the_booster = {*XGBOOST.by_name} - OF_THE_ESTIMATOR
            given = {k: v for k, v in params.items() if k in of_the_booster}
            metric = params.get("eval_metric")
            if metric is not None and not callable(metric):
                given["eval_metric"] = self._model.metrics_with(metric)
            self._model.set_param(given)
        return self

    def get_booster(self):
        """Return the model as a `Booster`."""
        check_is_fitted(self, "_model")
        return self._model

    def __sklearn_is_fitted__(self):
        return "_model" in vars(self)

    @property
    def _Booster(self):  # noqa: N802 - XGBoost's name
        """The `Booster`, or None before ``fit``."""
        return vars(self).get("_model")

    def evals_result(self):
        """Return the metrics of the evaluation tables: dict, table → metric → list of float."""
        check_is_fitted(self, "_model")
        return self._history

    @property
    def best_iteration(self):
        """Best round of early stopping, int, counted from 0."""
        return self.get_booster().best_iteration

    @property
    def best_score(self):
        """Metric of the best round of early stopping, float."""
        return self.get_booster().best_score

    @property
    def feature_importances_(self):
        """Importance of each feature, float64 (n_features,) that sum to 1."""
        found = self.get_booster().get_score(importance_type=self.importance_type or "gain")
        names = self.get_booster().feature_names or [f"f{k}" for k in range(self.n_features_in_)]
        values = np.array([found.get(name, 0.0) for name in names])
        return values / values.sum() if values.any() else values

    def get_num_boosting_rounds(self):
        """Return the number of boosting rounds."""
        return self.n_estimators or N_TREES

    def save_model(self, path):
        """Write the model in XGBoost's format."""
        self.get_booster().save_model(path)

    def load_model(self, path):
        """Load a model from a file in XGBoost's format; return the estimator."""
        from algorithms.compat.xgboost.booster import Booster

        self._model, self._history = Booster(model_file=path), {}
        self.n_features_in_ = self._model.num_features()
        return self

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.estimator_type = "ranker"
        tags.input_tags.allow_nan = tags.input_tags.sparse = True
        return tags


XGBModel.register(XGBRanker)


def split_queries(X):
    """Return a frame without its column "qid", and that column."""
    if hasattr(X, "drop") and hasattr(X, "iloc"):
        return X.drop(columns="qid"), X["qid"]
    return X.drop("qid"), X["qid"]


def as_metric(metric):
    """Return a metric with scikit-learn's signature in the form that `train` takes.

    The result is None if ``metric`` is not a callable.
    """
    if not callable(metric):
        return None

    def evaluate(prediction, data):
        return metric.__name__, metric(data.get_label(), prediction)

    return evaluate
