"""XGBoost's `Booster`: a model of gradient boosted trees, and its training."""

import copy
import json
import os
from pathlib import Path

import numpy as np
from sklearn.base import clone

from algorithms.compat.xgboost.column_types import Categories
from algorithms.compat.xgboost.config import describe, read_config
from algorithms.compat.xgboost.dmatrix import DMatrix
from algorithms.compat.xgboost.messages import XGBoostError, as_xgboost_errors
from algorithms.compat.xgboost.model import NativeModel, untrained
from algorithms.compat.xgboost.model_bytes import read_booster, write_booster
from algorithms.compat.xgboost.parameters import read_pairs, read_params
from algorithms.compat.xgboost.training import (
    Margins,
    Training,
    bounds_of,
    finish,
    in_level_order,
    weight_of,
)
from algorithms.compat.xgboost_callbacks import ModelAttributes
from algorithms.compat.xgboost_parameters import XGBOOST
from algorithms.newton.input_table import missing_of, read_rows
from algorithms.newton.params import filled
from algorithms.newton.ranking_metrics import default_metric, ranking_value, read_name
from algorithms.newton.ranking_objectives import KINDS, read_ranking_settings
from algorithms.newton.several_targets import find_metrics_of_targets
from algorithms.newton.xgboost_booster import NewtonBooster
from algorithms.prediction.predictor import FastPredictor
from algorithms.prediction.shap_values import contributions, interactions

# Parameters that training reads in each round; the others are read before the first round.
IN_EACH_ROUND = ("learning_rate", "subsample", "colsample_bytree", "colsample_bylevel")
IN_EACH_ROUND += ("colsample_bynode",)
# Parameters that do not change the training.
NO_TRAINING = ("eval_metric", "disable_default_eval_metric", "verbosity", "nthread", "n_jobs")
DEFAULT_METRIC = object()  # means the metric of the objective
NO_STOPPING = "`{}` is only defined when early stopping is used."


class Booster(ModelAttributes, NewtonBooster):
    """Model of gradient boosted trees.

    Parameters
    ----------
    params : dict or list of pairs, default=None
        Parameters under any of XGBoost's names.
    cache : list of DMatrix, default=None
        The first one defines the columns of a model that is not trained yet.
    model_file : path, bytes or Booster, default=None
        Model to load.
    """

    def __init__(self, params=None, cache=None, model_file=None):
        self._params = read_pairs(params)
        self._attributes, self._column_names, self._column_types = {}, None, None
        self._estimator = self._training = None
        self._is_stale, self._margins, self._n_columns = False, {}, 0
        for data in cache or ():
            if not isinstance(data, DMatrix):
                raise TypeError(f"invalid cache item: {type(data).__name__}")
        if cache:
            self._take_columns(cache[0])
        if isinstance(model_file, Booster):
            self.__setstate__({**copy.deepcopy(model_file).__getstate__(), "_params": self._params})
        elif model_file is not None:
            self.load_model(model_file)

    def _take_columns(self, data):
        """Store the number, names and types of the columns of a DMatrix."""
        self._n_columns = data.num_col()
        self._column_names, self._column_types = data.feature_names, data.feature_types

    # ------------------------------------------------------------------ parameters

    def set_param(self, params, value=None):
        """Change parameters for the following rounds.

        Parameters
        ----------
        params : dict, list of pairs, or a parameter's name
        value : object, default=None
            The value if ``params`` is a name.
        """
        given = {params: value} if isinstance(params, str) else read_pairs(params)
        self._params.update(given)
        if self._training is None:
            return
        names = [one for one in given if one not in NO_TRAINING]
        with as_xgboost_errors():
            found = read_params({name: given[name] for name in names}, self._column_names)
        if set(found) <= {*IN_EACH_ROUND}:
            for name, one in found.items():
                setattr(self._training.boosting.params, name, one)
        else:
            self._sync()
            self._training = None

    def _model(self):
        """Return an unfitted estimator with the parameters."""
        with as_xgboost_errors():
            model = NativeModel(**read_params(self._params, self._column_names))
            model.ranking = read_ranking_settings(self._params)
        model.n_native_classes = int(self._params.get("num_class") or 0)
        return model

    # ------------------------------------------------------------------ training

    def update(self, dtrain, iteration=0, fobj=None):
        """Add a round of boosting.

        Parameters
        ----------
        dtrain : DMatrix
            Training rows.
        iteration : int
            It has no effect.
        fobj : callable, default=None
            The user's objective. It takes raw scores, float32 (n_rows,) or (n_rows, n_scores), and
            the DMatrix, and returns g and h of the same shape.
        """
        del iteration
        if not isinstance(dtrain, DMatrix):
            raise TypeError(f"invalid training matrix: {type(dtrain).__name__}")
        self._check_columns(dtrain)
        training = self._training
        has_function = training is not None and not training.function_is_named
        if training is None or training.data is not dtrain or has_function != bool(fobj):
            earlier = self._fitted() if self.num_boosted_rounds() else None
            model = self._model()
            self._training = Training(model, dtrain, earlier, with_objective=fobj is not None)
        with as_xgboost_errors():
            self._training.update(fobj)
        self._is_stale = True

    def boost(self, dtrain, iteration=0, grad=None, hess=None):
        """Add a round of boosting with given derivatives.

        Parameters
        ----------
        dtrain : DMatrix
            Training rows.
        iteration : int
            It has no effect.
        grad, hess : array (n_rows,) or (n_rows, n_scores)
            First and second derivatives of the loss by the raw scores.
        """
        self.update(dtrain, iteration, lambda _score, _data: (grad, hess))

    def _check_columns(self, data):
        """Raise ValueError if the columns of a DMatrix are not those of the model."""
        if not self._n_columns:
            self._take_columns(data)
            return
        if data.num_col() != self._n_columns:
            raise ValueError(
                f"Feature shape mismatch, expected: {self._n_columns}, got {data.num_col()}"
            )
        names = data.feature_names
        if self._column_names is None and names is not None:
            self._column_names, self._column_types = names, data.feature_types
        self._validate_names(names)

    def _validate_names(self, names):
        """Raise ValueError if names of columns are not those of the model."""
        if self._column_names is None or self._column_names == names:
            return
        if names is None:
            raise ValueError(
                "data did not contain feature names, but the following fields are expected: "
                + ", ".join(self._column_names)
            )
        message = f"feature_names mismatch: {self._column_names} {names}"
        missing, new = set(self._column_names) - set(names), set(names) - set(self._column_names)
        if missing:
            message += f"\nexpected {', '.join(sorted(missing))} in input data"
        if new:
            message += "\ntraining data did not have the following fields: "
            message += ", ".join(sorted(new))
        raise ValueError(message)

    # ------------------------------------------------------------------ evaluation

    def eval_set(self, evals, iteration=0, feval=None, output_margin=True):
        """Return the metrics of evaluation tables as one line of text, str.

        Parameters
        ----------
        evals : list of (DMatrix, name)
        iteration : int
            Number of the round, printed at the start of the line.
        feval : callable, default=None
            The user's metric. It takes predictions and the DMatrix, and returns the pair of its
            name and value, or a list of such pairs.
        output_margin : bool, default=True
            Whether the user's metric takes raw scores.
        """
        found = self.evaluate(evals, feval, output_margin=output_margin)
        cells = [f"\t{table}-{metric}:{value!r}" for table, metric, value in found]
        return f"[{iteration}]{''.join(cells)}"

    def eval(self, data, name="eval", iteration=0):
        """Return the metrics of a DMatrix as one line of text, str."""
        return self.eval_set([(data, name)], iteration)

    def evaluate(self, evals, feval=None, *, output_margin=False):
        """Return the metrics of tables: list of (table, metric, value); see `eval_set`."""
        found = []
        for data, name in evals:
            if not isinstance(data, DMatrix):
                raise TypeError(f"expected DMatrix, got {type(data).__name__}")
            if not isinstance(name, str):
                raise TypeError(f"expected string, got {type(name).__name__}")
            found += self._evaluate_one(data, name, feval, output_margin=output_margin)
        return found

    def _evaluate_one(self, data, name, feval, *, output_margin):
        """Return the metrics of one table: list of (table, metric, value)."""
        core, raw = self._scores_of(data)
        with as_xgboost_errors():
            found = [(name, m, value) for m, value in self._values(core, raw, data)]
        if feval is not None:
            shown = raw.astype(np.float32) if output_margin else core.predict_link(raw)
            shown = shown[:, 0] if shown.ndim == 2 and shown.shape[1] == 1 else shown
            returned = feval(shown, data)
            returned = returned if isinstance(returned, list) else [returned]
            found += [(name, metric, float(value)) for metric, value in returned]
        return found

    def _values(self, core, raw, data):
        """Return the values of the metrics in the parameters: list of (metric, value).

        Parameters
        ----------
        core : NativeModel
        raw : float64 (n_rows, n_scores), raw scores
        data : DMatrix of the same rows
        """
        names = self._metric_names(core)
        if not names:
            return []
        y = core.read_targets(data)
        prediction, weight = core.link_scores(raw), row_weights(data)
        name = core.objective_name
        name = "multi:softprob" if name == "multi:softmax" else name
        found, options = [], {"exponential": core.ranking.exponential}
        for one in names:
            if isinstance(one, str) and read_name(one) is not None:
                given = raw[:, 0], weight_of(data), bounds_of(data)
                found.append((one, ranking_value(one, y, *given, **options)))
            else:
                wanted = None if one == DEFAULT_METRIC else one
                given = filled(core), core.n_classes_, core._n_targets  # noqa: SLF001
                (metric,) = find_metrics_of_targets(wanted, name, *given)
                found.append((metric[0], float(metric[1](y, prediction, weight))))
        return found

    def _metric_names(self, core):
        """Return the names of the metrics; `DEFAULT_METRIC` means that of the objective."""
        wanted = self._params.get("eval_metric")
        if wanted is not None:
            return list(wanted) if isinstance(wanted, list | tuple | set) else [wanted]
        if self._params.get("disable_default_eval_metric") in (1, True, "1"):
            return []
        if core.objective_name in KINDS:
            return [default_metric(core.objective_name, core.ranking)]
        return [DEFAULT_METRIC]

    def metrics_with(self, metric):
        """Return the names of the metrics with one or more added, list of str."""
        found = [*self._metric_names(self._fitted())]
        more = metric if isinstance(metric, list) else [metric]
        return [*found, *(one for one in more if one not in found)]

    def _scores_of(self, data):
        """Return the estimator and the raw scores of a DMatrix, float64 (n_rows, n_scores)."""
        self._check_columns(data)
        training = self._training
        if training is None:
            core = self._fitted()
            rounds = core._rounds  # noqa: SLF001 - its own part
        else:
            core, rounds = training.core, training.rounds
            if training.data is data and training.scores() is not None:
                return core, training.scores()
        if id(data) not in self._margins:
            self._margins[id(data)] = Margins(data)
        with as_xgboost_errors():
            return core, self._margins[id(data)].add(core, rounds)

    # ------------------------------------------------------------------ model

    def _sync(self):
        """Update the estimator with the rounds that were added since the last update."""
        if self._is_stale:
            self._estimator = self._training.fit_model()
            self._is_stale = False

    def _fitted(self):
        """Return the fitted `NativeModel`; it has no rounds if the Booster is untrained."""
        self._sync()
        if self._estimator is None:
            if not self._n_columns:
                raise XGBoostError("The model is not trained, and its columns are unknown")
            with as_xgboost_errors():
                model = self._model()
                model.set_objective()
            model.n_features_in_, model.categories_ = self._n_columns, {}
            link, n_scores = model._objective.link, model._objective.n_scores  # noqa: SLF001
            given = self._params.get("base_score")
            start = np.array(0.5 if given is None else given, np.float64)
            model._base = untrained(link, n_scores).margin(start)  # noqa: SLF001
            return finish(model, [])
        return self._estimator

    @property
    def estimator(self):
        """The fitted `NativeModel`."""
        return self._fitted()

    def reset(self):
        """Release the training rows; return the Booster."""
        self._sync()
        self._training, self._margins = None, {}
        return self

    def copy(self):
        """Return a copy of the model without the state of its training."""
        return copy.copy(self)

    def __copy__(self):
        return self.__deepcopy__(None)

    def __deepcopy__(self, _memo):
        made = type(self)()
        made.__setstate__(copy.deepcopy(self.__getstate__()))
        return made

    def __getstate__(self):
        self._sync()
        names = ("_attributes", "_column_names", "_column_types", "_estimator", "_n_columns")
        params = {name: one for name, one in self._params.items() if not callable(one)}
        return {**{name: getattr(self, name) for name in names}, "_params": params}

    def __setstate__(self, state):
        Booster.__init__(self)
        self.__dict__.update(state)

    def __getitem__(self, rounds):
        """Return a Booster with some of the rounds.

        Parameters
        ----------
        rounds : slice or int
            Rounds, counted from 0.
        """
        if isinstance(rounds, int):
            rounds = slice(rounds, rounds + 1)
        if not isinstance(rounds, slice):
            raise TypeError(f"a Booster is sliced by rounds, not by {type(rounds).__name__}")
        total = self.num_boosted_rounds()
        first, step = rounds.start or 0, rounds.step or 1
        last = rounds.stop or total
        if not 0 <= first < last <= total or step < 1:
            raise IndexError("Layer index out of range")
        made = copy.copy(self)
        part = copy.copy(self._fitted())
        made._estimator = finish(part, part._rounds[first:last:step])  # noqa: SLF001
        return made

    def __iter__(self):
        """Yield a Booster with one round, for each round."""
        for number in range(self.num_boosted_rounds()):
            yield self[number]

    def num_boosted_rounds(self):
        """Return the number of rounds."""
        if self._is_stale:
            return len(self._training.rounds)
        return 0 if self._estimator is None else self._estimator.n_iter_

    def num_features(self):
        """Return the number of columns."""
        return self._n_columns

    @property
    def feature_names(self):
        """Names of the columns, list of str or None."""
        return self._column_names

    @feature_names.setter
    def feature_names(self, names):
        self._column_names = None if names is None else [str(one) for one in names]

    @property
    def feature_types(self):
        """Types of the columns, list of str or None."""
        return self._column_types

    @feature_types.setter
    def feature_types(self, types):
        self._column_types = None if types is None else list(types)

    def get_categories(self, export_to_arrow=False):  # noqa: ARG002 - both kinds are exported
        """Return the `Categories` of the model's columns.

        Parameters
        ----------
        export_to_arrow : bool
            It has no effect.
        """
        return Categories(self._names(), dict(self._fitted().categories_ or {}))

    @property
    def best_iteration(self):
        """Best round of early stopping, int, counted from 0.

        Raises
        ------
        AttributeError
            If there was no early stopping.
        """
        if "best_iteration" not in self._attributes:
            raise AttributeError(NO_STOPPING.format("best_iteration"))
        return int(self._attributes["best_iteration"])

    @best_iteration.setter
    def best_iteration(self, value):
        self.set_attr(best_iteration=value)

    @property
    def best_score(self):
        """Metric of the best round of early stopping, float."""
        if "best_score" not in self._attributes:
            raise AttributeError(NO_STOPPING.format("best_score"))
        return float(self._attributes["best_score"])

    @best_score.setter
    def best_score(self, value):
        self.set_attr(best_score=value)

    # ------------------------------------------------------------------ prediction

    def predict(
        self,
        data,
        *,
        output_margin=False,
        pred_leaf=False,
        pred_contribs=False,
        approx_contribs=False,
        pred_interactions=False,
        validate_features=True,
        training=False,  # noqa: ARG002 - it is for dart
        iteration_range=(0, 0),
        strict_shape=False,
    ):
        """Return predictions, float32.

        Parameters
        ----------
        data : DMatrix
        output_margin : bool, default=False
            Whether to return raw scores.
        pred_leaf : bool, default=False
            Whether to return the leaf of each tree.
        pred_contribs : bool, default=False
            Whether to return the SHAP values of the columns.
        approx_contribs : bool, default=False
            True is not supported.
        pred_interactions : bool, default=False
            Whether to return the SHAP interaction values of pairs of columns.
        validate_features : bool, default=True
            Whether to raise an error if the columns are not those of training.
        training : bool
            It has no effect.
        iteration_range : (int, int), default=(0, 0)
            Half-open range of rounds; 0 as the end means all rounds.
        strict_shape : bool, default=False
            Whether the number of dimensions is the same for any number of scores.

        Returns
        -------
        values, probabilities or raw scores : (n_rows,) with one score per row, otherwise
            (n_rows, n_scores); (n_rows, 1) with ``strict_shape``. "multi:softmax" gives the codes
            of the classes, (n_rows,).
        leaves : numbers within each tree, (n_rows, n_trees), or (n_rows,) with one tree; with
            ``strict_shape`` (n_rows, n_rounds, n_scores, n_parallel)
        SHAP values : (n_rows, n_features + 1), whose last column is the base; with several scores
            per row or ``strict_shape`` (n_rows, n_scores, n_features + 1)
        interactions : as SHAP values, with (n_features + 1, n_features + 1) in place of
            n_features + 1; each matrix is symmetric, and its rows sum to the SHAP values

        Raises
        ------
        TypeError
            If ``data`` is not a DMatrix.
        ValueError
            If the columns differ, the rounds do not exist, or several kinds of predictions are
            requested.
        """
        if not isinstance(data, DMatrix):
            raise TypeError(("Expecting data to be a DMatrix object, got: ", type(data)))
        if approx_contribs:
            raise XGBoostError("approx_contribs is not supported")
        if sum(map(bool, (output_margin, pred_leaf, pred_contribs, pred_interactions))) > 1:
            raise ValueError("One type of prediction at a time.")
        if validate_features:
            self._check_columns(data)
        model = self._in_range(iteration_range)
        with as_xgboost_errors():
            X = read_rows(model, data.rows(), reset=False)
            if pred_leaf:
                return self._leaves(model, X, strict_shape)
            if pred_contribs or pred_interactions:
                explain = interactions if pred_interactions else contributions
                found = explain(model.ensemble_, X, model._threads())  # noqa: SLF001
                found = shift_base(found, data, model).astype(np.float32)
                return found if strict_shape or found.shape[1] > 1 else found[:, 0]
            raw = raw_scores(model, X, data)
        found = raw if output_margin else model.predict_link(raw)
        if strict_shape:
            return found.reshape(len(found), -1)
        return found[:, 0] if found.ndim == 2 and found.shape[1] == 1 else found

    def inplace_predict(
        self,
        data,
        *,
        iteration_range=(0, 0),
        predict_type="value",
        missing=np.nan,
        validate_features=True,
        base_margin=None,
        strict_shape=False,
    ):
        """Return predictions for rows that are not a DMatrix; shapes and dtype as in `predict`.

        Parameters
        ----------
        data : as in `DMatrix`
        predict_type : {"value", "margin"}, default="value"
        missing, base_margin : as in `DMatrix`
        iteration_range, validate_features, strict_shape : as in `predict`
        """
        types = self._column_types if not hasattr(data, "columns") else None
        options = {"missing": missing, "base_margin": base_margin, "feature_types": types}
        rows = DMatrix(data, enable_categorical=True, **options)
        if not hasattr(data, "columns") and rows.num_col() == self._n_columns:
            rows.feature_names = self._column_names
        return self.predict(
            rows,
            output_margin=predict_type == "margin",
            validate_features=validate_features,
            iteration_range=iteration_range,
            strict_shape=strict_shape,
        )

    def _in_range(self, iteration_range):
        """Return the fitted `NativeModel` with a range of its rounds."""
        model = self._fitted()
        first, last = (int(one) for one in iteration_range)
        total = model.n_iter_
        last = last or total
        if (first, last) == (0, total):
            return model
        if not 0 <= first <= last <= total:
            raise ValueError(f"Invalid iteration range: {first}, {last}; there are {total} rounds")
        return finish(copy.copy(model), model._rounds[first:last])  # noqa: SLF001

    @staticmethod
    def _leaves(model, X, strict_shape):
        """Return the leaf of each row in each tree, float32; see `predict`."""
        trees = model.ensemble_
        found = trees.leaves(X) - trees.offsets[:-1].astype(np.int32)
        found = found.astype(np.float32)
        if strict_shape:
            n_parallel = model._n_parallel  # noqa: SLF001 - its own part
            n_groups = model._trees_a_round // n_parallel  # noqa: SLF001
            return found.reshape(len(found), model.n_iter_, n_groups, n_parallel)
        return found[:, 0] if found.shape[1] == 1 else found

    # ------------------------------------------------------------------ files

    def save_model(self, fname):
        """Write the model to a file: UBJSON for ".ubj", otherwise JSON."""
        path = Path(os.fspath(fname))
        kind = "json" if path.suffix == ".json" else "ubj"
        path.write_bytes(self.save_raw(kind))

    def save_raw(self, raw_format="ubj"):
        """Return the contents of a model file in XGBoost's format, bytearray.

        Parameters
        ----------
        raw_format : {"json", "ubj"}, default="ubj"
        """
        if raw_format not in ("json", "ubj"):
            raise ValueError(f"raw_format must be 'json' or 'ubj', not {raw_format!r}")
        return bytearray(write_booster(self, raw_format))

    def load_model(self, fname):
        """Load a model from a path, or from the contents of a file as bytes."""
        if isinstance(fname, bytes | bytearray | memoryview):
            data = bytes(fname)
        else:
            try:
                data = Path(os.fspath(fname)).read_bytes()
            except OSError as error:
                raise XGBoostError(f"Failed to open {fname}: {error.strerror}") from error
        with as_xgboost_errors():
            self._training, self._margins, self._is_stale = None, {}, False
            read_booster(self, data)

    def save_config(self):
        """Return the parameters as JSON text, str."""
        return json.dumps(describe(self))

    def load_config(self, config):
        """Set the parameters from the JSON text that `save_config` returned."""
        self.set_param(read_config(config))

    def dump_model(self, fout, fmap="", with_stats=False, dump_format="text"):
        """Write the trees to a file as text, or as JSON."""
        trees = self.get_dump(fmap, with_stats, dump_format)
        if dump_format == "json":
            text = "[\n" + ",\n".join(trees) + "\n]"
        else:
            text = "".join(f"booster[{number}]:\n{tree}" for number, tree in enumerate(trees))
        Path(os.fspath(fout)).write_text(text, encoding="utf-8")

    @classmethod
    def from_estimator(cls, estimator):
        """Return the Booster of a fitted `NewtonBoosting` estimator.

        Parameters
        ----------
        estimator : NewtonBoostingClassifier, NewtonBoostingRegressor or NewtonBoostingRanker
        """
        given = clone(estimator).get_params()
        types = given.pop("feature_types", None)
        made = cls({name: value for name, value in given.items() if name in XGBOOST})
        made._column_names = [
            str(one) for one in getattr(estimator, "feature_names_in_", ())
        ] or None
        made._n_columns = estimator.n_features_in_
        made._estimator = as_native(estimator)
        if estimator._n_parallel > 1:  # noqa: SLF001 - its own part
            made._params["num_parallel_tree"] = estimator._n_parallel  # noqa: SLF001
        kept = made._estimator.categories_ or {}
        if made._column_names is not None:
            places = range(made._n_columns)
            made._column_types = ["c" if at in kept else "q" for at in places]
        if types is not None:
            made._column_types = list(types)
        if estimator._stopped:  # noqa: SLF001 - its own part
            made.best_iteration, made.best_score = estimator.best_iteration, estimator.best_score
        return made


def as_native(estimator):
    """Return the `NativeModel` with the trees of a fitted `NewtonBoosting` estimator."""
    n_classes = getattr(estimator, "n_classes_", 0)
    objective = estimator.objective
    if callable(objective) or n_classes:
        usual = "multi:softprob" if n_classes > 2 else "binary:logistic" if n_classes else None
        is_kept = objective == ("multi:softmax" if n_classes > 2 else "binary:hinge")
        objective = objective if is_kept else usual
    unused = {"objective", *estimator._unknown_parameters()}  # noqa: SLF001 - its own part
    given = {k: v for k, v in clone(estimator).get_params().items() if k not in unused}
    model = NativeModel(objective=objective, **given)
    model.ranking = read_ranking_settings(given)
    model.n_native_classes = n_classes if n_classes > 2 else 0
    model.set_objective(n_targets=estimator._n_targets)  # noqa: SLF001 - its own part
    names = list(getattr(estimator, "feature_names_in_", []))
    kept = estimator.categories_
    if isinstance(kept, dict):
        kept = {names.index(k) if isinstance(k, str) else k: one for k, one in kept.items()}
    model.categories_, model.n_features_in_ = kept, estimator.n_features_in_
    model._base, model._missing = estimator._base, missing_of(estimator)  # noqa: SLF001
    rounds = [[in_level_order(tree) for tree in trees] for trees in estimator._rounds]  # noqa: SLF001
    return finish(model, rounds)


def row_weights(data):
    """Return the weight of each row of a DMatrix, float64 (n_rows,), or None.

    The weight of a query is that of each of its rows.
    """
    weight = data.get_weight().astype(np.float64)
    sizes = data.get_group()
    if len(sizes) and len(weight) == len(sizes):
        return np.repeat(weight, sizes)
    return weight if len(weight) else None


def raw_scores(model, X, data):
    """Return the raw scores of rows, float32 (n_rows, n_scores).

    The base margin of the rows, if there is one, replaces the base score.

    Parameters
    ----------
    model : NativeModel, fitted
    X : from `read_rows`
    data : DMatrix of the same rows
    """
    n_scores = len(model._base)  # noqa: SLF001 - its own part
    predictor, threads = FastPredictor(model.ensemble_), model._threads()  # noqa: SLF001
    margin = data.get_base_margin()
    if not margin.size:
        return predictor.raw(X, threads)
    scores = margin.reshape(X.shape[0], n_scores).astype(np.float64)
    predictor.add(X, scores, threads)
    return scores.astype(np.float32)


def shift_base(found, data, model):
    """Return SHAP values or interactions whose base includes the base margins of the rows.

    Parameters
    ----------
    found : float64 (n_rows, n_scores, n_features + 1) or (..., n_features + 1), written
    data : DMatrix of the same rows
    model : NativeModel
    """
    margin = data.get_base_margin()
    if margin.size:
        shift = margin.reshape(len(found), -1) - model._base  # noqa: SLF001 - its own part
        base = found[:, :, -1] if found.ndim == 3 else found[:, :, -1, -1]
        base += shift
    return found
