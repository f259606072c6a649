"""Further methods of CatBoost's fitted models: metrics, parts of the model, statistics."""

from copy import copy

import numpy as np
from scipy import sparse
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from algorithms.compat.catboost.arguments import REFUSED_METHODS, check_others, refused_method
from algorithms.compat.catboost.pool import CatBoostError, Pool, rows_of
from algorithms.symmetric.callable_loss import is_callable_metric, read_callable_metric
from algorithms.symmetric.ignored_columns import position_of
from algorithms.symmetric.metrics import find_metric, without_hints
from algorithms.symmetric.query_pairs import read_group_id
from algorithms.symmetric.ranking_metrics import QueryLabels, find_ranking_metric
from algorithms.symmetric.tree import SymmetricTree


class ModelMethods:
    """Mixin with further methods of a fitted model."""

    def _staged_scores(self, data, ntree_start, ntree_end, eval_period, first=None):
        """Yield raw scores after every ``eval_period`` trees, float64 (n_rows, n_scores).

        The first ones are those after ``first`` trees, the last ones those after all trees.
        """
        trees = self._slice(ntree_start, ntree_end)
        if eval_period < 1:
            raise CatBoostError(f"eval_period must be at least 1, not {eval_period}")
        X = self._read_rows(rows_of(data))
        threads, out = self._threads(X.shape[0]), np.zeros((X.shape[0], len(self._start)))
        done = trees.start
        ends = range(done + (first or eval_period), trees.stop, eval_period)
        for end in (*ends, trees.stop):
            self._walker.add(X, out, threads, slice(done, end))
            done = end
            yield out + self._start

    def staged_predict(
        self, data, prediction_type=None, ntree_start=0, ntree_end=0, eval_period=1, **others
    ):
        """Yield predictions after every ``eval_period`` trees.

        Parameters
        ----------
        data : Pool, or as in `fit`
        prediction_type : str, optional
            As in `predict`, with the same default.
        ntree_start, ntree_end : int
            Half-open range of trees to use; 0 as the end means all.
        eval_period : int
        **others
            CatBoost's other arguments; they must be None or have no effect.

        Yields
        ------
        Predictions of the shapes of `predict`.
        """
        check_others(others)
        for raw in self._staged_scores(data, ntree_start, ntree_end, eval_period):
            yield self._convert(raw, prediction_type)

    def eval_metrics(self, data, metrics, ntree_start=0, ntree_end=0, eval_period=1, **others):
        """Return metrics after every ``eval_period`` trees.

        Parameters
        ----------
        data : Pool with labels; its weights count
        metrics : str or object, or list of these
        ntree_start, ntree_end, eval_period, others : as in `staged_predict`
            The first values are those after one tree, as in CatBoost.

        Returns
        -------
        dict, metric → list of float
        """
        check_others(others)
        check_is_fitted(self, "ensemble_")
        if not isinstance(data, Pool) or data.label is None:
            raise CatBoostError("data must be a Pool with labels")
        listed = metrics if isinstance(metrics, list | tuple) else [metrics]
        found = [self._metric(one) for one in listed]
        labels = np.asarray(self._encode_y(data.label))
        weight = None if data.weight is None else np.asarray(data.weight, np.float64)
        if self._is_ranker:
            labels = QueryLabels(
                labels.astype(np.float64), read_group_id(data.group_id, len(labels))
            )
            weight = None
        values = {name: [] for name, _, _ in found}
        for raw in self._staged_scores(data, ntree_start, ntree_end, eval_period, first=1):
            prediction = self._predict_scores(raw)
            for name, metric, _ in found:
                given = raw if getattr(metric, "takes_scores", False) else prediction
                values[name].append(float(metric(labels, given, weight)))
        return values

    @property
    def _is_ranker(self):
        """Whether the model ranks."""
        return hasattr(self, "_add_queries") and "YetiRank" in self._objective_names

    def _metric(self, wanted):
        """Return a metric, as `metrics.find_metric` does."""
        if is_callable_metric(wanted):
            return read_callable_metric(wanted)
        wanted = without_hints(str(wanted))
        if self._is_ranker:
            return find_ranking_metric(wanted, None)
        is_classifier = isinstance(self, ClassifierMixin)
        return find_metric(wanted, self._objective, is_classifier=is_classifier)

    def shrink(self, ntree_end, ntree_start=0):
        """Keep the trees ntree_start … ntree_end − 1; without the first one the bias becomes 0."""
        check_is_fitted(self, "ensemble_")
        kept = self._slice(ntree_start, ntree_end)
        if ntree_end <= ntree_start:
            raise CatBoostError("ntree_end must be above ntree_start")
        self._trees = self._trees[kept]
        if ntree_start:
            self._start = np.zeros_like(self._start)
        self._take_ensemble()

    def copy(self):
        """Return a copy of the model."""
        return copy(self)

    def get_all_params(self):
        """Return all parameters with their values, dict."""
        return {name: getattr(self, name) for name in self._get_param_names()}

    def get_leaf_values(self):
        """Return the leaf values of all trees, float64 (n_leaves · n_scores,)."""
        check_is_fitted(self, "ensemble_")
        return np.concatenate([tree.values.ravel() for tree in self._trees])

    def get_leaf_weights(self):
        """Return the weights of the leaves of all trees, float64 (n_leaves,)."""
        check_is_fitted(self, "ensemble_")
        return np.concatenate([tree.weights for tree in self._trees])

    def get_scale_and_bias(self):
        """Return (1, the bias): a float, or a list with several scores."""
        check_is_fitted(self, "ensemble_")
        bias = self._start.tolist()
        return 1.0, bias[0] if len(bias) == 1 else bias

    def calc_leaf_indexes(self, data, ntree_start=0, ntree_end=0, **others):
        """Return the leaf of each row in each tree, int32 (n_rows, n_trees).

        Leaves are numbered as in `get_leaf_values`.
        """
        check_others(others)
        check_is_fitted(self, "ensemble_")
        trees = self._trees[self._slice(ntree_start, ntree_end)]
        if not all(isinstance(tree, SymmetricTree) for tree in trees):
            raise CatBoostError("calc_leaf_indexes needs symmetric trees: use apply")
        X = self._read_rows(rows_of(data))
        X = X.toarray() if sparse.issparse(X) else X
        return np.array([leaves_of(tree, X) for tree in trees], np.int32).reshape(-1, len(X)).T

    def get_borders(self):
        """Return the borders that the trees use: dict, column → list of float, ascending."""
        check_is_fitted(self, "ensemble_")
        return {column: self._borders_of(column).tolist() for column in range(self.n_features_in_)}

    def _borders_of(self, column):
        """Return the distinct borders of a column of X, float32, ascending."""
        own = [tree.borders[tree.features == column] for tree in self._trees]
        return np.unique(np.concatenate([np.empty(0, np.float32), *own]))

    def get_text_feature_indices(self):
        """Return the positions of text columns: there are none."""
        return []

    def get_embedding_feature_indices(self):
        """Return the positions of embeddings: there are none."""
        return []

    def drop_unused_features(self):
        """Do nothing: the model stores the borders that its trees use, and no others."""

    def set_feature_names(self, feature_names):
        """Set the names of the columns, list of str (n_features,)."""
        check_is_fitted(self, "ensemble_")
        if len(feature_names) != self.n_features_in_:
            raise CatBoostError(
                f"feature_names has {len(feature_names)} names for {self.n_features_in_} columns"
            )
        self.feature_names_in_ = np.array(list(feature_names), object)

    def calc_feature_statistics(
        self, data, target=None, feature=None, prediction_type=None, **others
    ):
        """Return means of target and prediction in the bins between the borders of a column.

        Parameters
        ----------
        data : Pool, or array or frame (n_rows, n_features)
        target : array-like (n_rows,), optional
            Must be None if data is a Pool.
        feature : int or str, or list of these, optional
            Numeric columns; by default all.
        prediction_type : {"Class", "Probability", "RawFormulaVal"}, optional
            By default the probability of the second class, or the raw score.
        **others
            CatBoost's other arguments; they must be None or have no effect. Nothing is drawn.

        Returns
        -------
        dict with "borders", "binarized_feature", "mean_target", "mean_prediction",
        "objects_per_bin" and "predictions_on_varying_feature" (the mean prediction if the column of
        all rows lies in the bin); for several columns a dict of these
        """
        check_others(others)
        check_is_fitted(self, "ensemble_")
        if isinstance(data, Pool) and target is not None:
            raise CatBoostError("data is a Pool: target must be None")
        rows = rows_of(data)
        target = data.label if isinstance(data, Pool) else target
        if target is None:
            raise CatBoostError("target is missing: give it, or a Pool with labels")
        target = np.asarray(self._encode_y(np.asarray(target)), np.float64)
        if not isinstance(feature, list | tuple) and feature is not None:
            return self._statistics_of(rows, target, feature, prediction_type)
        listed = range(self.n_features_in_) if feature is None else feature
        return {one: self._statistics_of(rows, target, one, prediction_type) for one in listed}

    def _statistics_of(self, rows, target, feature, prediction_type):
        """Return the statistics of one column, dict."""
        column = position_of(feature, rows, "feature")
        if column in self.get_cat_feature_indices():
            raise CatBoostError(f"feature {feature!r} is categorical: give a numeric column")
        borders = self._borders_of(column)
        is_frame = hasattr(rows, "iloc")
        values = np.asarray(rows.iloc[:, column] if is_frame else np.asarray(rows)[:, column])
        bins = np.searchsorted(borders, values.astype(np.float32), side="left")
        counts = np.bincount(bins, minlength=len(borders) + 1)
        prediction = self._one_value(rows, prediction_type)
        with np.errstate(invalid="ignore"):
            means = [
                np.where(counts > 0, np.bincount(bins, one, len(counts)) / counts, 0.0)
                for one in (target, prediction)
            ]
        last = borders[-1:].astype(np.float64)  # a border itself lies in the bin below it
        inside = [*borders.astype(np.float64), *(last + np.maximum(np.abs(last), 1.0))] or [0.0]
        varied = []
        for value in inside:
            changed = rows.copy() if is_frame else np.array(rows, np.float64)
            if is_frame:
                changed.isetitem(column, np.full(len(changed), value))
            else:
                changed[:, column] = value
            varied.append(self._one_value(changed, prediction_type).mean())
        return {
            "borders": borders,
            "binarized_feature": bins,
            "mean_target": means[0],
            "mean_prediction": means[1],
            "objects_per_bin": counts,
            "predictions_on_varying_feature": np.array(varied),
        }

    def _one_value(self, rows, prediction_type):
        """Return one prediction of each row, float64 (n_rows,)."""
        is_classifier = isinstance(self, ClassifierMixin)
        kind = prediction_type or ("Probability" if is_classifier else "RawFormulaVal")
        found = self._convert(self._raw(rows), kind)
        if kind == "Class":
            found = self._encode_y(np.asarray(found).ravel())
        if kind == "Probability" and found.shape[1] == 2:
            found = found[:, 1]
        found = np.asarray(found, np.float64)
        if found.ndim > 1:
            raise CatBoostError("calc_feature_statistics needs one prediction per row")
        return found


def drop_single_score(raw):
    """Return raw scores (n_rows, n_scores) as (n_rows,) if there is one score."""
    return raw[:, 0] if raw.shape[1] == 1 else raw


def leaves_of(tree, X):
    """Return the leaf of each row in a `SymmetricTree`, int64 (n_rows,)."""
    values = X[:, tree.features]
    is_above = np.where(np.isnan(values), tree.nan_right, values > tree.borders)
    return is_above @ (1 << np.arange(len(tree.features)))


for _name in REFUSED_METHODS:
    setattr(ModelMethods, _name, refused_method(_name))
