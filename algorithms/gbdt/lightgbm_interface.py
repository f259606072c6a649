"""The methods and attributes of LightGBM's estimators, for our histogram booster."""

import warnings

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
from algorithms.gbdt.lightgbm_booster import HistogramBooster
from algorithms.prediction.shap_values import contributions
from algorithms.runtime.threads import threads_of


class LightGBMInterface:
    """`fit` and `predict` with LightGBM's arguments, and what they leave."""

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
        """Train.

        Parameters
        ----------
        X : array-like, frame or sparse matrix (n_rows, n_features), NaN where missing
            Numbers; columns of a frame with a categorical dtype are categories. Absent entries
            of a sparse matrix are zeros; it never becomes dense, but where ``parity`` is asked.
        y : array-like (n_rows,)
            Labels of any kind, or numbers.
        sample_weight : array-like (n_rows,), optional
        init_score, eval_init_score : array-like (n_rows,) or (n_rows, n_scores), optional
            Raw scores that boosting begins from instead of a constant, and a list of those of
            the evaluation tables; predictions do not contain them.
        eval_set : list of (X, y), optional
            Tables that the metrics are taken of after each round. One that is X and y themselves
            is called "training" and never stops training.
        eval_names : list of str, optional
            Names of the tables; by default "valid_0" and so on.
        eval_sample_weight : list of arrays, optional
        eval_class_weight : list of dict or "balanced", optional
            Weights of the classes in each table.
        eval_metric : str, callable or list of them, optional
            Taken in addition to ``metric``, which by default is the objective's own. A callable
            (y, prediction), (y, prediction, weight) or (y, prediction, weight, None) returns a
            name, the value and whether higher is better, or a list of these.
        feature_name : list of str, optional
            Names of the columns of an array.
        categorical_feature : "auto", list of int or str, optional
            Columns of categories; by default the parameter of the same name.
        callbacks : list of callables, optional
            LightGBM's own, or any that take its ``CallbackEnv``.
        init_model : fitted estimator, TreeEnsemble, LightGBM Booster or path, optional
            Boosting goes on from its scores, and its trees stay in the model. Categories and
            labels keep the codes that it has for them; categories may be new, labels may not.
        eval_X, eval_y : array-like, or tuples of them, optional
            The evaluation tables, in place of ``eval_set``.

        Returns
        -------
        The estimator.

        Raises
        ------
        ValueError, TypeError
            Where parameters, X, y or weights are not right.
        """
        tables = read_eval_tables(eval_set, eval_X, eval_y)
        training = tuple(
            number
            for number, table in enumerate(tables if isinstance(tables, list) else ())
            if is_pair(table) and table[0] is X and table[1] is y
        )
        for name in self.__dict__.get("_extra_params", ()):
            if self._parameter_table.by_name[name].attribute == "objective":
                warnings.warn(
                    f"Found {name!r} in params. Will use it instead of 'objective' argument",
                    stacklevel=2,
                )
        core = self._resolved()
        read_lightgbm_values(core)
        if not (isinstance(categorical_feature, str) and categorical_feature == "auto"):
            core.categorical_feature = categorical_feature
        X, y = name_columns(as_rows(X), feature_name), as_vector(y)
        evaluation = Evaluation(
            tables=read_pairs(tables, feature_name),
            weights=weigh_tables(tables, eval_sample_weight, eval_class_weight),
            init_scores=eval_init_score,
            metrics=eval_metric,
            names=[eval_names] if isinstance(eval_names, str) else eval_names,
            training=training,
            callbacks=tuple(callbacks or ()),
        )
        init_model = None if init_model is None else read_init_model(init_model)
        sample_weight = None if sample_weight is None else as_vector(sample_weight)
        core._train(X, y, sample_weight, init_score, evaluation, init_model)  # noqa: SLF001
        if hasattr(core, "feature_names_in_"):
            core.feature_names_in_ = core.feature_names_in_.astype(str)
        self._take_fitted(core)
        return self

    def __getattr__(self, name):
        """Say why there are no names of features."""
        if name != "feature_names_in_":
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        if "ensemble_" not in self.__dict__:
            raise NotFittedError("No feature_names_in_ found. Need to call fit beforehand.")
        raise AttributeError("The training data did not have feature names")

    def _rounds_of(self, start_iteration, num_iteration):
        """Return the first of the rounds that predict, and the one behind the last."""
        check_is_fitted(self, "ensemble_")
        first = max(0, int(start_iteration or 0))
        if num_iteration is not None and not isinstance(num_iteration, (int, np.integer)):
            told = f"num_iteration must be a whole number or None, not {num_iteration!r}"
            raise TypeError(told)
        every = num_iteration is None or num_iteration <= 0
        last = self.n_estimators_ if every else min(first + num_iteration, self.n_estimators_)
        return min(first, self.n_estimators_), int(last)

    def _range_raw(self, X, start_iteration, num_iteration):
        """Return raw scores of some rounds, float64 (n_rows, n_scores)."""
        first, last = self._rounds_of(start_iteration, num_iteration)
        if first == 0:
            found = self._raw(X, None if last == self.n_estimators_ else last)
        else:
            found = self._raw(X, last) - self._raw_of_none(X) if last == 0 else self._raw(X, last)
            before = self._raw(X, first)
            found = found - before
        if self._averages and last - first < self.n_estimators_ and last > first:
            base = self._base if first == 0 else 0.0
            return base + (found - base) * (self.n_estimators_ / (last - first))
        return found

    @property
    def _averages(self):
        """Whether the score is a mean of trees."""
        return self._resolved().boosting_type in ("rf", "random_forest")

    def _shape_scores(self, score):
        """Return raw scores as LightGBM shapes them: (n_rows,) where there is one a row."""
        return score[:, 0] if score.shape[1] == 1 else score

    def _predict_leaves(self, X, start_iteration, num_iteration):
        """Return the number of the leaf of each row in each tree, int32 (n_rows, n_trees)."""
        first, last = self._rounds_of(start_iteration, num_iteration)
        trees = self.ensemble_
        rows = self._read_rows(X)
        is_leaf = trees.left < 0
        number = np.cumsum(is_leaf) - 1
        of_tree = number[trees.offsets[:-1]] + ~is_leaf[trees.offsets[:-1]]
        found = number[trees.leaves(rows)] - of_tree
        k = trees.n_outputs
        return found[:, first * k : last * k].astype(np.int32)

    def _predict_contrib(self, X, start_iteration, num_iteration):
        """Return contributions side by side, as LightGBM lays them out; sparse of sparse X."""
        first, last = self._rounds_of(start_iteration, num_iteration)
        rows = self._read_rows(X)
        trees = take_rounds(self.ensemble_, first, last)
        found = contributions(trees, rows, threads_of(self, rows.shape[0]))
        if sparse.issparse(X):
            kind = sparse.csc_matrix if X.format == "csc" else sparse.csr_matrix
            parts = [kind(found[:, k]) for k in range(found.shape[1])]
            return parts[0] if len(parts) == 1 else parts
        return found.reshape(len(found), -1)

    def _special_prediction(self, X, *, raw_score, pred_leaf, pred_contrib, rounds):
        """Return leaves, contributions or raw scores, where one of them is asked for, else None."""
        if pred_leaf:
            return self._predict_leaves(X, *rounds)
        if pred_contrib:
            return self._predict_contrib(X, *rounds)
        return self._shape_scores(self._range_raw(X, *rounds)) if raw_score else None

    def _read_for_prediction(self, X, validate_features, given):
        """Return X as it is read, after a check of names and of further arguments."""
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
        """The model under the names of LightGBM's Booster."""
        check_is_fitted(self, "ensemble_")
        found = HistogramBooster(self)
        found.__dict__.update(self.__dict__.get("_callback_attributes", {}))
        return found

    @property
    def n_features_(self):
        """How many features the model has."""
        check_is_fitted(self, "ensemble_")
        return self.n_features_in_

    @property
    def feature_name_(self):
        """The names of the features, list of str, "Column_0" and so on where they have none."""
        check_is_fitted(self, "ensemble_")
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            return [f"Column_{number}" for number in range(self.n_features_in_)]
        return [str(name).replace(" ", "_") for name in names]

    @property
    def objective_(self):
        """The objective that was trained, its name or the callable."""
        check_is_fitted(self, "ensemble_")
        found = self._objective
        return found if callable(found) else found.name or self.objective


def read_eval_tables(eval_set, eval_X, eval_y):
    """Return the list of evaluation tables, or None.

    Raises
    ------
    ValueError
        Where both forms are given, or one of a pair is missing.
    """
    if eval_X is None and eval_y is None:
        return as_list_of_pairs(eval_set)
    if eval_set is not None:
        raise ValueError("Specify either 'eval_set' or 'eval_X' and 'eval_y', not both")
    if eval_X is None or eval_y is None:
        raise ValueError("You must specify eval_X and eval_y, not just one of them.")
    several = isinstance(eval_X, tuple), isinstance(eval_y, tuple)
    if any(several) and (not all(several) or len(eval_X) != len(eval_y)):
        told = "If eval_X is a tuple, y_val must be a tuple of same length, and vice versa."
        raise ValueError(told)
    return list(zip(eval_X, eval_y, strict=True)) if all(several) else [(eval_X, eval_y)]


def as_list_of_pairs(eval_set):
    """Return an ``eval_set`` that is one pair as a list of it, and a tuple of pairs as a list."""
    if not isinstance(eval_set, list | tuple):
        return eval_set  # None, or refused by the reader of tables
    is_one = isinstance(eval_set, tuple) and is_pair(eval_set)
    return [eval_set] if is_one and not isinstance(eval_set[0], tuple) else list(eval_set)


def read_pairs(tables, names):
    """Return evaluation tables as training reads them; what is no list stays as it is."""
    return [read_pair(one, names) for one in tables] if isinstance(tables, list) else tables


def read_pair(table, names):
    """Return an evaluation table with its rows and labels as training reads them."""
    if not is_pair(table):
        return table  # what is wrong with it, the reader of tables says
    return name_columns(as_rows(table[0]), names), as_vector(table[1])


def name_columns(X, names):
    """Return X as a frame with these names, where names are given for a dense array."""
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
    """Return the weights of evaluation tables, those of their classes multiplied in."""
    if class_weights is None or tables is None:
        return fill_by_number(weights, tables, "eval_sample_weight")
    weights = fill_by_number(weights, tables, "eval_sample_weight") or [None] * len(tables)
    by_class = fill_by_number(class_weights, tables, "eval_class_weight")
    return [
        multiply(weight, None if one is None else weigh_classes(one, as_vector(table[1])))
        for table, weight, one in zip(tables, weights, by_class, strict=True)
    ]


def multiply(one, other):
    """Return the product of two arrays of weights, of which None is none."""
    if one is None or other is None:
        return other if one is None else one
    return np.asarray(one) * other


def weigh_classes(weights, y):
    """Return the weight of each row by its class; classes that a dict leaves out weigh 1."""
    if not isinstance(weights, dict):
        return compute_sample_weight(weights, y)
    y = np.asarray(y).ravel()
    found = np.ones(len(y))
    for label, weight in weights.items():
        found[y == label] = weight
    return found


def fill_by_number(given, tables, name):
    """Return a list with an entry a table, of a list or a dict by the number of the table."""
    if isinstance(given, dict):
        return [given.get(number) for number in range(len(tables or ()))]
    if given is not None and not isinstance(given, list | tuple):
        told = f"{name} must be a list, with an entry for each of eval_set"
        raise TypeError(f"{told}; it is {kind_of(given)}")
    return given
