"""Methods and attributes of LightGBM's estimators for the histogram booster."""

import warnings
from functools import partial

import numpy as np
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.utils import compute_sample_weight
from sklearn.utils.validation import check_is_fitted

from algorithms.compat.init_models import read_init_model
from algorithms.compat.inputs import as_rows, as_vector
from algorithms.compat.lightgbm_parameters import read_lightgbm_values
from algorithms.compat.tree_ranges import take_rounds
from algorithms.estimator.eval_sets import is_pair, kind_of
from algorithms.gbdt.early_stopping import Evaluation
from algorithms.gbdt.input_table import trim
from algorithms.gbdt.lightgbm_booster import HistogramBooster
from algorithms.gbdt.objectives import to_values
from algorithms.gbdt.phase_timer import timed_fit
from algorithms.gbdt.streamed_table import is_streamed, open_batches
from algorithms.prediction.shap_values import contributions
from algorithms.runtime.threads import threads_of

CONTRIBUTIONS_AT_ONCE = 1 << 23  # of sparse rows, which are computed dense


class ValuePredictions:
    """Mixin of estimators that predict a value, not a class."""

    def _weigh(self, _y, weight):
        """Return the weights, or None if all are 1."""
        return trim(weight)

    def _predict_scores(self, score):
        """Return the predictions of raw scores, float64 (n_rows,)."""
        return to_values(score, self._link)

    def predict(
        self,
        X,
        raw_score=False,
        start_iteration=0,
        num_iteration=None,
        pred_leaf=False,
        pred_contrib=False,
        validate_features=False,
        **kwargs,
    ):
        """Return the predicted values, float64 (n_rows,).

        Parameters are as in `HistogramBoostingClassifier.predict_proba`.
        """
        X = self._read_for_prediction(X, validate_features, kwargs)
        rounds = start_iteration, num_iteration, self._margin_rule(kwargs)
        kind = {"raw_score": raw_score, "pred_leaf": pred_leaf, "pred_contrib": pred_contrib}
        special = self._special_prediction(X, **kind, rounds=rounds)
        return self._answer(self._range_raw(X, *rounds)) if special is None else special

    def staged_predict(self, X):
        """Yield `predict` after each round."""
        for score in self._staged_raw(X):
            yield self._answer(score)


class LightGBMInterface:
    """Mixin with LightGBM's `fit`, prediction options and fitted attributes."""

    def fit(
        self,
        X,
        y,
        sample_weight=None,
        init_score=None,
        eval_set=None,
        eval_names=None,
        eval_sample_weight=None,
        eval_class_weight=None,
        eval_init_score=None,
        eval_metric=None,
        feature_name="auto",
        categorical_feature="auto",
        callbacks=None,
        init_model=None,
        *,
        eval_X=None,
        eval_y=None,
    ):
        """Train the model.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n_rows, n_features)
            Numeric features; NaN is a missing value. Columns of a frame with a categorical dtype
            are categorical features. Absent entries of a sparse matrix are zeros. A sparse matrix
            is made dense only with ``parity``. Tables larger than memory are read in batches: the
            path of a Parquet file, or `algorithms.Batches`, numeric columns only. The model is that
            of the whole table.
        y : array-like of shape (n_rows,)
            Class labels of any type, or target values. With the path of a Parquet file, the name of
            its column; with `algorithms.Batches` None.
        sample_weight : array-like of shape (n_rows,), default=None
            Non-negative weight of each row. None weighs all rows equally.
        init_score : array-like of shape (n_rows,) or (n_rows, n_scores), default=None
            Raw scores from which boosting starts. None starts from a constant. Predictions do not
            include them.
        eval_set : list of (X, y), default=None
            Evaluation tables. Metrics are computed on them after each round. A table that is the
            same objects X and y is named "training" and is ignored by early stopping.
        eval_names : list of str, default=None
            Names of the evaluation tables. None uses "valid_0" and so on.
        eval_sample_weight : list of array-like, default=None
            Sample weights of each evaluation table.
        eval_class_weight : list of dict or "balanced", default=None
            Class weights of each evaluation table.
        eval_init_score : list of array-like, default=None
            Raw scores from which each evaluation table starts.
        eval_metric : str, callable or list of them, default=None
            Metrics in addition to ``metric``, which defaults to the metric of the objective. A
            callable takes (y, prediction), (y, prediction, weight) or (y, prediction, weight,
            None), and returns a name, the value and whether higher is better, or a list of these.
        feature_name : list of str or "auto", default="auto"
            Names of the columns of an array.
        categorical_feature : list of int or str, or "auto", default="auto"
            Categorical columns. "auto" uses the constructor parameter of the same name.
        callbacks : list of callables, default=None
            LightGBM's callbacks, or other callables that take its ``CallbackEnv``.
        init_model : fitted estimator, TreeEnsemble, LightGBM Booster or path, default=None
            Model to continue from. Its trees become part of the new model. Its codes of
            categories and labels are kept. X may have new categories, but y no new labels.
        eval_X, eval_y : array-like or tuple of array-like, default=None
            Evaluation tables, as an alternative to ``eval_set``.

        Returns
        -------
        self : estimator
            The fitted estimator.

        Raises
        ------
        ValueError, TypeError
            If parameters, X, y or weights are invalid.
        """
        tables = {"eval_set": eval_set, "eval_X": eval_X, "eval_y": eval_y}
        names = {"feature_name": feature_name, "categorical_feature": categorical_feature}
        evaluation = {
            "names": eval_names,
            "weights": eval_sample_weight,
            "class_weights": eval_class_weight,
            "init_scores": eval_init_score,
            "metrics": eval_metric,
            "callbacks": callbacks,
        }
        start = {"init_score": init_score, "init_model": init_model}
        return self._fit((X, y, sample_weight), tables, evaluation, names, start)

    def _read_library_values(self):
        """Convert parameter values from the library's conventions to ours, in place."""
        read_lightgbm_values(self)

    @timed_fit
    def _fit(self, rows, tables, evaluation, names, start, ranking=None):
        """Train the model; the arguments are those of `fit` by their subject.

        Parameters
        ----------
        rows : X, y and sample weights
        tables : dict, arguments of `read_eval_tables`
        evaluation : dict, the other arguments about evaluation, without "eval_"
        names : dict, ``feature_name`` and ``categorical_feature``
        start : dict, ``init_score`` and ``init_model``
        ranking : dict, optional
            ``group``, ``eval_group`` and ``eval_at`` of a ranker.
        """
        X, y, sample_weight = rows
        tables = read_eval_tables(**tables)
        training = tuple(
            number
            for number, table in enumerate(tables if isinstance(tables, list) else ())
            if is_pair(table) and table[0] is X and table[1] is y
        )
        for name in self.__dict__.get("_extra_params", ()):
            row = self._parameter_table.by_name.get(name)
            if row is not None and row.attribute == "objective":
                warnings.warn(
                    f"Found {name!r} in params. Will use it instead of 'objective' argument",
                    stacklevel=3,
                )
        core = self._resolved()
        read_lightgbm_values(core)
        categorical, feature_name = names["categorical_feature"], names["feature_name"]
        if not (isinstance(categorical, str) and categorical == "auto"):
            core.categorical_feature = categorical
        if is_streamed(X):
            if ranking is not None:
                raise ValueError("rankings need the whole table in memory, not batches")
            batches = open_batches(X, y)
            X, y = batches.mapped(partial(name_columns, names=feature_name)), None
        else:
            X, y = name_columns(as_rows(X), feature_name), as_vector(y)
        weights, class_weights = evaluation["weights"], evaluation.pop("class_weights")
        table_names = evaluation["names"]
        evaluation |= {
            "tables": read_pairs(tables, feature_name),
            "weights": weigh_tables(tables, weights, class_weights),
            "names": [table_names] if isinstance(table_names, str) else table_names,
            "training": training,
            "callbacks": tuple(evaluation["callbacks"] or ()),
        }
        if ranking is not None:
            core._take_groups(ranking, y, evaluation)  # noqa: SLF001 - a copy of this estimator
        model = start["init_model"]
        model = None if model is None else read_init_model(model)
        sample_weight = None if sample_weight is None else as_vector(sample_weight)
        given = sample_weight, start["init_score"], Evaluation(**evaluation), model
        core._train(X, y, *given)  # noqa: SLF001
        if hasattr(core, "feature_names_in_"):
            core.feature_names_in_ = core.feature_names_in_.astype(str)
        core.__dict__.pop("_bounds", None)
        self._take_fitted(core)
        return self

    def __getattr__(self, name):
        """Raise an AttributeError that explains why an attribute is missing."""
        is_fitted_name = isinstance(getattr(type(self), name, None), property)
        is_fitted_name = is_fitted_name or name == "n_features_in_"
        if "ensemble_" not in self.__dict__ and is_fitted_name:
            raise NotFittedError(f"No {name} found. Need to call fit beforehand.")
        if name != "feature_names_in_":
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        if "ensemble_" not in self.__dict__:
            raise NotFittedError("No feature_names_in_ found. Need to call fit beforehand.")
        raise AttributeError("The training data did not have feature names")

    def _rounds_of(self, start_iteration, num_iteration):
        """Return the range of rounds used for prediction: first, and last + 1."""
        check_is_fitted(self, "ensemble_")
        first = max(0, int(start_iteration or 0))
        if num_iteration is not None and not isinstance(num_iteration, (int, np.integer)):
            message = f"num_iteration must be a whole number or None, not {num_iteration!r}"
            raise TypeError(message)
        every = num_iteration is None or num_iteration <= 0
        last = self.n_estimators_ if every else min(first + num_iteration, self.n_estimators_)
        return min(first, self.n_estimators_), int(last)

    def _margin_rule(self, given):
        """Return the interval in rounds and the margin of prediction that stops early, or None.

        Parameters
        ----------
        given : dict, arguments of `predict`, which precede those of the constructor
        """

        def value_of(name):  # these parameters have no aliases
            return given[name] if name in given else getattr(self, name)

        family = getattr(getattr(self, "_objective", None), "is_ranking", False)
        if not value_of("pred_early_stop") or not (family or self._link in ("sigmoid", "softmax")):
            return None
        return int(value_of("pred_early_stop_freq")), float(value_of("pred_early_stop_margin"))

    def _raw_to_margin(self, X, rounds, rule):
        """Return raw scores; a row gets no further rounds once its margin is large enough.

        The margin of classes is the difference of the two largest scores; otherwise it is twice
        the size of the score.

        Parameters
        ----------
        X : table
        rounds : first round, last + 1
        rule : from `_margin_rule`
        """
        X, (every, least) = self._read_rows(X), rule
        X = X.tocsr() if sparse.issparse(X) else X
        k, threads = len(self._base), threads_of(self, X.shape[0])
        out = self._walker.raw(X, 1, slice(0))
        if rounds[0] > 0:
            out = np.zeros_like(out)
        waiting = np.arange(X.shape[0])
        for first in range(*rounds, every):
            trees = slice(first * k, min(first + every, rounds[1]) * k)
            own = np.ascontiguousarray(out[waiting])
            self._walker.add(X[waiting], own, threads, trees)
            out[waiting] = own
            top = np.sort(own, axis=1)
            margin = 2.0 * np.abs(own[:, 0]) if k == 1 else top[:, -1] - top[:, -2]
            waiting = waiting[margin <= least]
            if not len(waiting):
                break
        return out

    def _range_raw(self, X, start_iteration, num_iteration, rule=None):
        """Return the raw scores of a range of rounds, float64 (n_rows, n_scores)."""
        first, last = self._rounds_of(start_iteration, num_iteration)
        if rule is not None and not self._averages:
            return self._raw_to_margin(X, (first, last), rule)
        if first == 0:
            raw = self._raw(X, None if last == self.n_estimators_ else last)
        else:
            raw = self._raw(X, last) - self._raw(X, first)
        if self._averages and last - first < self.n_estimators_ and last > first:
            base = self._base if first == 0 else 0.0
            return base + (raw - base) * (self.n_estimators_ / (last - first))
        return raw

    @property
    def _averages(self):
        """Whether the score is the mean of the trees (random forest mode)."""
        return self._resolved().boosting_type in ("rf", "random_forest")

    def _shape_scores(self, score):
        """Return raw scores in LightGBM's shape: (n_rows,) if there is one score per row."""
        return score[:, 0] if score.shape[1] == 1 else score

    def _predict_leaves(self, X, start_iteration, num_iteration, _rule=None):
        """Return the leaf number of each row in each tree, int32 (n_rows, n_trees)."""
        first, last = self._rounds_of(start_iteration, num_iteration)
        trees = self.ensemble_
        rows = self._read_rows(X)
        is_leaf = trees.left < 0
        number = np.cumsum(is_leaf) - 1
        of_tree = number[trees.offsets[:-1]] + ~is_leaf[trees.offsets[:-1]]
        leaves = number[trees.leaves(rows)] - of_tree
        k = trees.n_outputs
        return leaves[:, first * k : last * k].astype(np.int32)

    def _predict_contrib(self, X, start_iteration, num_iteration, _rule=None):
        """Return contributions side by side in LightGBM's layout; sparse matrices for sparse X."""
        first, last = self._rounds_of(start_iteration, num_iteration)
        rows = self._read_rows(X)
        if first >= last and not sparse.issparse(X):
            return np.zeros((rows.shape[0], len(self._base) * (rows.shape[1] + 1)))
        trees = take_rounds(self.ensemble_, first, last)
        if sparse.issparse(X):
            parts = self._sparse_contrib(trees, rows, X.format)
            return parts[0] if len(parts) == 1 else parts
        contrib = contributions(trees, rows, threads_of(self, rows.shape[0]))
        return contrib.reshape(len(contrib), -1)

    def _sparse_contrib(self, trees, rows, layout):
        """Return the contributions of sparse rows, a matrix for each score, part by part."""
        parts, n_rows = [[] for _ in range(trees.n_outputs)], rows.shape[0]
        rows = rows.tocsr()
        step = max(1, CONTRIBUTIONS_AT_ONCE // (trees.n_outputs * (rows.shape[1] + 1)))
        for first in range(0, n_rows, step):
            some = rows[first : first + step]
            contrib = contributions(trees, some, threads_of(self, some.shape[0]))
            for k, of_score in enumerate(parts):
                of_score.append(sparse.csr_matrix(contrib[:, k]))
        kind = "csc" if layout == "csc" else "csr"
        return [sparse.vstack(of_score, format=kind) for of_score in parts]

    def _special_prediction(self, X, *, raw_score, pred_leaf, pred_contrib, rounds):
        """Return leaves, contributions or raw scores if one of them is requested, else None."""
        if pred_leaf:
            return self._predict_leaves(X, *rounds)
        if pred_contrib:
            return self._predict_contrib(X, *rounds)
        return self._shape_scores(self._range_raw(X, *rounds)) if raw_score else None

    def _read_for_prediction(self, X, validate_features, given):
        """Return X in a supported type, after checking feature names and other arguments."""
        for name, value in given.items():
            row = self._parameter_table.by_name.get(name)
            if row is None:
                raise TypeError(f"predict of {type(self).__name__} has no argument {name!r}")
            row.check(type(self).__name__, name, value)
        check_is_fitted(self, "ensemble_")
        X = as_rows(X)
        names = getattr(X, "columns", None)
        known = getattr(self, "feature_names_in_", None)
        if validate_features and names is not None and known is not None:
            wrong = [one for one, own in zip(names, known, strict=False) if one != own]
            if wrong or len(names) != len(known):
                raise ValueError(
                    f"expected the columns {list(known)}, in this order; X has {list(names)}"
                )
        return X

    @property
    def booster_(self):
        """View of the model with the methods of LightGBM's Booster."""
        check_is_fitted(self, "ensemble_")
        booster = HistogramBooster(self)
        booster.__dict__.update(self.__dict__.get("_callback_attributes", {}))
        return booster

    @property
    def n_features_(self):
        """Number of features."""
        check_is_fitted(self, "ensemble_")
        return self.n_features_in_

    @property
    def feature_name_(self):
        """Feature names, list of str; "Column_0" and so on if there are none."""
        check_is_fitted(self, "ensemble_")
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            return [f"Column_{number}" for number in range(self.n_features_in_)]
        return [str(name).replace(" ", "_") for name in names]

    @property
    def objective_(self):
        """Objective used in training: its name, or the callable."""
        check_is_fitted(self, "ensemble_")
        objective = self._objective
        return objective if callable(objective) else objective.name or self.objective


def read_eval_tables(eval_set, eval_X, eval_y):
    """Return the list of evaluation tables, or None.

    Raises
    ------
    ValueError
        If both forms are given, or one of a pair is missing.
    """
    if eval_X is None and eval_y is None:
        return as_list_of_pairs(eval_set)
    if eval_set is not None:
        raise ValueError("Specify either 'eval_set' or 'eval_X' and 'eval_y', not both")
    if eval_X is None or eval_y is None:
        raise ValueError("You must specify eval_X and eval_y, not just one of them.")
    several = isinstance(eval_X, tuple), isinstance(eval_y, tuple)
    if any(several) and (not all(several) or len(eval_X) != len(eval_y)):
        message = "If eval_X is a tuple, y_val must be a tuple of same length, and vice versa."
        raise ValueError(message)
    return list(zip(eval_X, eval_y, strict=True)) if all(several) else [(eval_X, eval_y)]


def as_list_of_pairs(eval_set):
    """Return ``eval_set`` as a list; a single pair becomes a list of one."""
    if not isinstance(eval_set, list | tuple):
        return eval_set  # None, or refused by `read_tables`
    is_one = isinstance(eval_set, tuple) and is_pair(eval_set)
    return [eval_set] if is_one and not isinstance(eval_set[0], tuple) else list(eval_set)


def read_pairs(tables, names):
    """Return evaluation tables as training reads them; anything but a list is returned as it is."""
    return [read_pair(one, names) for one in tables] if isinstance(tables, list) else tables


def read_pair(table, names):
    """Return an evaluation table, its X and y converted to supported types."""
    if not is_pair(table):
        return table  # `read_tables` raises the error
    if is_streamed(table[0]):
        raise ValueError("eval_set needs tables in memory, not paths of files or batches")
    return name_columns(as_rows(table[0]), names), as_vector(table[1])


def name_columns(X, names):
    """Return X as a frame with the given column names; without names or if sparse, unchanged."""
    if isinstance(names, str) or names is None:
        return X
    import pandas as pd

    if isinstance(X, pd.DataFrame):
        return X.set_axis([str(one) for one in names], axis=1)
    if sparse.issparse(X):
        return X
    X = np.asarray(X)
    if X.ndim == 2 and X.shape[1] != len(names):
        raise ValueError(f"feature_name has {len(names)} names; X has {X.shape[1]} columns")
    return pd.DataFrame(X, columns=[str(one) for one in names])


def weigh_tables(tables, weights, class_weights):
    """Return the weights of evaluation tables: sample weights times class weights."""
    if class_weights is None or tables is None:
        return fill_by_number(weights, tables, "eval_sample_weight")
    weights = fill_by_number(weights, tables, "eval_sample_weight") or [None] * len(tables)
    by_class = fill_by_number(class_weights, tables, "eval_class_weight")
    return [
        multiply(weight, None if one is None else weigh_classes(one, as_vector(table[1])))
        for table, weight, one in zip(tables, weights, by_class, strict=True)
    ]


def multiply(one, other):
    """Return the product of two arrays of weights; None means weights of 1."""
    if one is None or other is None:
        return other if one is None else one
    return np.asarray(one) * other


def weigh_classes(weights, y):
    """Return each row's class weight; classes missing from a dict have weight 1."""
    if not isinstance(weights, dict):
        return compute_sample_weight(weights, y)
    y = np.asarray(y).ravel()
    by_row = np.ones(len(y))
    for label, weight in weights.items():
        by_row[y == label] = weight
    return by_row


def fill_by_number(given, tables, name):
    """Return a list with one entry per table, from a list or from a dict by table number."""
    if isinstance(given, dict):
        return [given.get(number) for number in range(len(tables or ()))]
    if given is not None and not isinstance(given, list | tuple):
        raise TypeError(
            f"{name} must be a list, with an entry for each of eval_set; it is {kind_of(given)}"
        )
    return given
