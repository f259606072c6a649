"""Booster: a model of trees, with or without its training."""

import copy
import json
import tempfile
from pathlib import Path

import numpy as np

from algorithms.compat.inputs import as_rows
from algorithms.compat.lightgbm.dataset import Dataset, name_as_in_training
from algorithms.compat.lightgbm.messages import LightGBMError, as_lightgbm_errors, warn
from algorithms.compat.lightgbm.model import NONE, NativeModel
from algorithms.compat.lightgbm.model_parameters import (
    DEFAULTS,
    parse_parameters,
    with_parameters,
)
from algorithms.compat.lightgbm.parameters import (
    check_numbers,
    choose,
    limit_bins,
    read_params,
)
from algorithms.compat.lightgbm.refit import refit_leaves, replace_values
from algorithms.compat.lightgbm.split_values import split_value_histogram
from algorithms.compat.lightgbm.text_files import read_text_table
from algorithms.compat.lightgbm.training import Training, find_metrics
from algorithms.compat.tree_ranges import take_rounds
from algorithms.gbdt.early_stopping import EvalResult
from algorithms.gbdt.lightgbm_booster import HistogramBooster
from algorithms.gbdt.objectives import ALIASES
from algorithms.model_io.lightgbm_reader import read


class Booster(HistogramBooster):
    """Model of gradient boosted trees.

    Parameters
    ----------
    params : dict, default=None
    train_set : Dataset, default=None
        Rows to train on with `update`.
    model_file : path, default=None
        File of a model to load.
    model_str : str, default=None
        Text of a model to load.
    """

    def __init__(self, params=None, train_set=None, model_file=None, model_str=None):
        self._set_up(params)
        if train_set is not None:
            if not isinstance(train_set, Dataset):
                kind = type(train_set).__name__
                raise TypeError(f"Training data should be Dataset instance, met {kind}")
            self.train_set = train_set
            self.params = {**train_set.get_params(), **self.params}
            objective = choose(self.params, "objective", None)
            if objective not in NONE:
                self.begin()
        elif model_file is not None or model_str is not None:
            if params:
                kind = "file" if model_file is not None else "string"
                warn(f"Ignoring params argument, using parameters from model {kind}.")
            if model_file is not None:
                model_str = Path(model_file).read_text(encoding="utf-8")
            self.model_from_string(model_str)
        else:
            raise TypeError(
                "Need at least one training dataset or model file or model string to create "
                "Booster instance"
            )

    def _set_up(self, params):
        """Set all attributes of a Booster without a model."""
        self._estimator = self._training = self.train_set = None
        self._is_stale, self._metrics, self._waiting = False, [], []
        self.train_data_name = "training"  # name of the training rows in results
        self.best_iteration, self.best_score = -1, {}
        self.params = copy.deepcopy(params or {})

    @classmethod
    def of_estimator(cls, estimator):
        """Return the `Booster` with the model of a fitted estimator."""
        made = cls.__new__(cls)
        made._set_up(estimator.get_params(deep=False))  # noqa: SLF001 - its own part
        model = NativeModel()
        vars(model).update(vars(estimator))
        model.n_native_classes = estimator.ensemble_.n_outputs
        objective = estimator._objective  # noqa: SLF001 - its own part
        is_named = getattr(objective, "name", "")
        model.objective = objective if callable(objective) else is_named or estimator.objective
        model.forget_functions()
        made._estimator = model  # noqa: SLF001 - its own part
        del made.train_set
        made.best_iteration = estimator.best_iteration_ or -1
        made.best_score = estimator.best_score_
        vars(made).update(vars(estimator).get("_callback_attributes", {}))
        return made

    # ------------------------------------------------------------------ training

    def begin(self, objective=None, init_model=None):
        """Prepare training; return the Booster.

        Parameters
        ----------
        objective : callable, default=None
            The user's objective. None uses the one of the parameters.
        init_model : Booster or path, default=None
            Model to continue from.
        """
        given = choose(self.params, "objective", None)
        if objective is not None:
            given = self._as_gradients(objective)
        with as_lightgbm_errors():
            model = make_model(self.params, self.train_set, given)
            self.train_set.construct()
            self._training = Training(model, self.train_set, init_model)
            self._metrics = find_metrics(self._training.core)
        self._is_stale = True
        waiting, self._waiting = self._waiting, []
        for data, name in waiting:
            self.add_valid(data, name)
        return self

    def _as_gradients(self, objective):
        """Return an objective of scores and a Dataset as one of y, scores and weights."""

        def gradients(_y, score, _weight):
            g, h = objective(score, self.train_set)
            return in_shape(g, score.shape), in_shape(h, score.shape)

        return gradients

    def update(self, train_set=None, fobj=None):
        """Add a round; return whether no split was found.

        Parameters
        ----------
        train_set : None
            Another training set is not supported.
        fobj : callable, default=None
            The user's objective.
        """
        if train_set is not None and train_set is not getattr(self, "train_set", None):
            raise LightGBMError("update with another training set is not supported")
        if self._training is None:
            if fobj is None:
                raise LightGBMError("Booster has no training set or no objective to go on with")
            self.begin(fobj)
        with as_lightgbm_errors():
            is_over = self._training.update()
        self._is_stale = True
        return is_over

    def rollback_one_iter(self):
        """Drop the last round; return the Booster."""
        self._training.roll_back()
        self._is_stale = True
        return self

    def reset_parameter(self, params):
        """Change parameters of the following rounds; return the Booster."""
        if self._training is not None:
            changed = {k: v for k, v in params.items() if self.params.get(k) != v}
            with as_lightgbm_errors():
                self._training.view.reset_parameter(changed)
        self.params.update(params)
        return self

    def add_valid(self, data, name):
        """Add evaluation rows; return the Booster."""
        if not isinstance(data, Dataset):
            kind = type(data).__name__
            raise TypeError(f"Validation data should be Dataset instance, met {kind}")
        if self._training is None:
            self._waiting.append((data, name))
            return self
        with as_lightgbm_errors():
            self._training.add_table(data, name)
        return self

    def set_train_data_name(self, name):
        """Set the name of the training rows in results; return the Booster."""
        self.train_data_name = name
        return self

    def eval_train(self, feval=None):
        """Return the results on the training rows, list of (table, metric, value, higher)."""
        return self._evaluate(self._training.evaluate_train(self.train_data_name), feval)

    def eval_valid(self, feval=None):
        """Return the results on all evaluation tables."""
        return [one for table in self._training.tables for one in self._evaluate(table, feval)]

    def eval(self, data, name, feval=None):
        """Return the results on a table; a new table is added."""
        if not isinstance(data, Dataset):
            raise TypeError("Can only eval for Dataset instance")
        if data is self.train_set:
            self.set_train_data_name(name)
            return self.eval_train(feval)
        known = [table for table in self._training.tables if table.data is data]
        table = known[0] if known else self._training.add_table(data, name)
        return self._evaluate(table, feval)

    def _evaluate(self, table, feval):
        """Return the results of the metrics and of the user's metrics."""
        rounds = self._training.booster.rounds
        with as_lightgbm_errors():
            results = table.results(rounds, self._metrics)
            functions = [] if feval is None else feval if isinstance(feval, list) else [feval]
            if not functions:
                return results
            score = table.scores(rounds)
            core = self._training.core
            prediction = core._predict_scores(score)  # noqa: SLF001 - its own part
            if prediction.ndim == 2 and core.n_native_classes == 1:
                prediction = prediction[:, 1]
        for function in functions:
            returned = function(prediction, table.data)
            returned = returned if isinstance(returned, list) else [returned]
            results += [EvalResult(table.name, name, value, up) for name, value, up in returned]
        return results

    def finish(self):
        """Drop the rounds after the best one, and the training rows; return the Booster."""
        if 0 < self.best_iteration < self._training.n_rounds:
            self._estimator = self._training.fit_model(self.best_iteration)
            self._is_stale = False
        return self.free_dataset()

    def free_dataset(self):
        """Release the training rows and the state of training; return the Booster."""
        self._sync()
        self._training = None
        self.__dict__.pop("train_set", None)  # as in LightGBM
        return self

    # ------------------------------------------------------------------ model

    def _sync(self):
        """Bring the estimator to the present rounds."""
        if self._is_stale and self._training is not None:
            if not self._training.n_rounds:
                raise LightGBMError("the model has no rounds yet")
            self._estimator = self._training.fit_model()
            self._is_stale = False

    @property
    def estimator(self):
        """The fitted `NativeModel`."""
        self._sync()
        return self._estimator

    def __copy__(self):
        return self.__deepcopy__(None)

    def __deepcopy__(self, _memo):
        made = type(self).__new__(type(self))
        made.__setstate__(self.__getstate__())
        return made

    def __getstate__(self):
        names = "best_iteration", "best_score", "train_data_name"
        state = {name: getattr(self, name) for name in names}
        params = {k: v for k, v in self.params.items() if not callable(v)}
        return {**state, "params": params, "_estimator": self.estimator}

    def __setstate__(self, state):
        self._set_up(None)
        self.__dict__.update(state)

    best_iteration = best_score = params = None  # attributes here, properties in views

    def num_trees(self):
        """Return the number of trees."""
        return self.current_iteration() * self.num_model_per_iteration()

    def num_model_per_iteration(self):
        """Return the number of trees of a round."""
        if self._training is not None:
            return len(self._training.booster.score)
        return super().num_model_per_iteration()

    def current_iteration(self):
        """Return the number of rounds."""
        if self._training is not None:
            return self._training.n_rounds
        return self.estimator.ensemble_.n_trees // self.estimator.ensemble_.n_outputs

    def feature_name(self):
        """Return the names of the features."""
        return self.train_set.get_feature_name() if self._is_stale else super().feature_name()

    def num_feature(self):
        """Return the number of features."""
        return self.train_set.num_feature() if self._is_stale else super().num_feature()

    def _range(self, start_iteration, num_iteration):
        """Return the range of rounds: first, last + 1."""
        if num_iteration is None:
            num_iteration = self.best_iteration if start_iteration <= 0 else -1
        first, total = max(0, start_iteration), self.current_iteration()
        last = total if num_iteration <= 0 else min(first + num_iteration, total)
        return first, last

    def _part(self, start_iteration, num_iteration):
        """Return an estimator with a range of the rounds."""
        first, last = self._range(start_iteration, num_iteration)
        part = copy.copy(self.estimator)
        part.ensemble_ = take_rounds(part.ensemble_, first, last)
        part.n_estimators_ = last - first
        return part

    def predict(
        self,
        data,
        start_iteration=0,
        num_iteration=None,
        raw_score=False,
        pred_leaf=False,
        pred_contrib=False,
        data_has_header=False,  # noqa: ARG002 - it has no effect
        validate_features=False,
        **kwargs,
    ):
        """Return predictions: values, probabilities, raw scores, leaves or contributions.

        Parameters
        ----------
        data : as in `Dataset`, or the path of a text file
        start_iteration : int, default=0
        num_iteration : int, default=None
            None uses the rounds up to the best one, if there is one and ``start_iteration`` is 0.
        raw_score, pred_leaf, pred_contrib : bool, default=False
        data_has_header : bool
            It has no effect.
        validate_features : bool, default=False
            Whether the column names of a frame must be those of training.
        **kwargs
            Other prediction parameters. They have no effect.
        """
        if isinstance(data, Dataset):
            raise TypeError(
                "Cannot use Dataset instance for prediction, please use raw data instead"
            )
        if isinstance(data, str | Path):
            data, _ = read_text_table(data)
        data = self._named_as_in_training(data, validate_features)
        first, last = self._range(start_iteration, num_iteration)
        options = {"raw_score": raw_score, "pred_leaf": pred_leaf, "pred_contrib": pred_contrib}
        rounds = {"start_iteration": first, "num_iteration": last - first}
        with as_lightgbm_errors():
            found = self.estimator.predict(data, **options, **rounds, **kwargs)
        return found if any(options.values()) else self._in_shape(found)

    def _in_shape(self, found):
        """Return probabilities of the second class where the objective is "binary"."""
        is_binary = found.ndim == 2 and self.estimator.n_native_classes == 1
        return found[:, 1] if is_binary else found

    def _named_as_in_training(self, data, validate):
        """Return rows; columns of a frame are read by position, unless names are validated."""
        rows = as_rows(data)
        names = getattr(self.estimator, "feature_names_in_", None)
        if validate and names is not None and hasattr(rows, "columns"):
            for at, (wanted, name) in enumerate(zip(names, rows.columns, strict=False)):
                if wanted.replace(" ", "_") != str(name).replace(" ", "_"):
                    message = f"Expected '{wanted}' at position {at} but found '{name}'"
                    raise LightGBMError(message)
        return name_as_in_training(rows, names)

    def model_to_string(self, num_iteration=None, start_iteration=0, importance_type="split"):
        """Return the model in LightGBM's text format; its importances are numbers of splits."""
        if importance_type not in ("split", "gain"):
            raise LightGBMError(f"importance_type is 'split' or 'gain', not {importance_type!r}")
        part = self._part(start_iteration, num_iteration)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.txt"
            part.save_model(path, format="lightgbm")
            text = path.read_text(encoding="utf-8")
        marked = getattr(part, "_is_categorical", None)
        given = self.params.get("categorical_feature")
        columns = given if marked is None else np.flatnonzero(marked).tolist()
        return with_parameters(text, self.params, columns if isinstance(columns, list) else ())

    def save_model(self, filename, num_iteration=None, start_iteration=0, importance_type="split"):
        """Write the model in LightGBM's text format; return the Booster."""
        text = self.model_to_string(num_iteration, start_iteration, importance_type)
        Path(filename).write_text(text, encoding="utf-8")
        return self

    def model_from_string(self, model_str):
        """Load a model from text; return the Booster."""
        with tempfile.TemporaryDirectory() as folder, as_lightgbm_errors():
            path = Path(folder) / "model.txt"
            path.write_text(model_str, encoding="utf-8")
            self._estimator = NativeModel().load_model(path)
        self._training, self._is_stale = None, False
        self.params = parse_parameters(model_str)
        return self

    def _get_loaded_param(self):
        """Return all parameters of LightGBM with this model's values: dict, name → value."""
        return parse_parameters(self.model_to_string(num_iteration=1))

    def _as_written(self, start_iteration=0, num_iteration=-1):
        """Return a view of the model as in LightGBM's text, where leaves include the base score."""
        text = self.model_to_string(num_iteration, start_iteration)
        part = copy.copy(self.estimator)
        part.ensemble_ = read(text)[0]
        part.n_estimators_ = part.ensemble_.n_trees // part.ensemble_.n_outputs
        return HistogramBooster(part)

    def dump_model(
        self, num_iteration=None, start_iteration=0, importance_type="split", object_hook=None
    ):
        """Return the model as a dict.

        Parameters
        ----------
        num_iteration, start_iteration : int
        importance_type : {"split", "gain"}
        object_hook : callable, default=None
            It is applied to each dict, as in `json.loads`.
        """
        first, last = self._range(start_iteration, num_iteration)
        dumped = self._as_written(first, last - first).dump_model()
        dumped["objective"] = str(self.estimator.objective_)
        if importance_type == "gain":
            gains = self.feature_importance("gain", last)
            named = zip(self.feature_name(), gains.tolist(), strict=True)
            dumped["feature_importances"] = {name: gain for name, gain in named if gain}
        return json.loads(json.dumps(dumped), object_hook=object_hook)

    def trees_to_dataframe(self):
        """Return a frame with one row per node."""
        if not self.num_trees():
            raise LightGBMError("There are no trees in this Booster and thus nothing to parse")
        frame = self._as_written().trees_to_dataframe()
        if (frame["node_index"].str.contains("S")).any():
            return frame
        unknown = frame.columns.difference(["tree_index", "node_depth", "node_index", "value"])
        return frame.astype(dict.fromkeys(unknown, object)).assign(**dict.fromkeys(unknown))

    @property
    def pandas_categorical(self):
        """Categories of the categorical columns of a frame: list of lists, or None."""
        known = getattr(self.estimator, "categories_", None) or {}
        lists = known if isinstance(known, list) else list(known.values())
        return [list(np.asarray(one).tolist()) for one in lists] or None

    def get_split_value_histogram(self, feature, bins=None, xgboost_style=False):
        """Return the histogram of a feature's thresholds, as `numpy.histogram` does.

        Parameters
        ----------
        feature : int or str
        bins : int, str or sequence, default=None
            As in `numpy.histogram`; None is the number of distinct thresholds.
        xgboost_style : bool, default=False
            Whether to return a frame of the non-empty bins, with the columns SplitValue and Count.
        """
        names = self.feature_name()
        number = names.index(feature) if isinstance(feature, str) else int(feature)
        trees = self.estimator.ensemble_
        own = (trees.left >= 0) & (trees.feature == number)
        if (trees.categories[own] >= 0).any():
            raise LightGBMError("Cannot compute split value histogram for the categorical feature")
        return split_value_histogram(trees.threshold[own], bins, xgboost_style=xgboost_style)

    def get_leaf_output(self, tree_id, leaf_id):
        """Return the value of a leaf."""
        return self._as_written().get_leaf_output(tree_id, leaf_id)

    def feature_importance(self, importance_type="split", iteration=None):
        """Return the number of splits or the sum of gains of each feature."""
        if iteration is None:
            iteration = self.best_iteration
        return super().feature_importance(importance_type, iteration)

    def set_leaf_output(self, tree_id, leaf_id, value):
        """Set the value of a leaf; return the Booster."""
        part = self._as_written().estimator
        trees = part.ensemble_
        first, last = trees.offsets[tree_id], trees.offsets[tree_id + 1]
        in_tree = np.flatnonzero(trees.left[first:last] < 0)
        values = trees.value.copy()
        values[first + in_tree[leaf_id], 0] = value
        replace_values(part, value=values)
        self._estimator, self._training, self._is_stale = part, None, False
        return self

    def refit(
        self,
        data,
        label,
        decay_rate=0.9,
        reference=None,
        weight=None,
        group=None,
        init_score=None,
        feature_name="auto",
        categorical_feature="auto",
        dataset_params=None,
        free_raw_data=True,
        validate_features=False,
        **kwargs,  # noqa: ARG002 - prediction parameters
    ):
        """Return a Booster with the same splits and leaf values of new rows.

        A leaf's value is ``decay_rate`` times the old one plus 1 − ``decay_rate`` times the one of
        the new rows; so are the constants and slopes of linear leaves.

        Parameters
        ----------
        data, label, weight, group, init_score, feature_name, categorical_feature : as in `Dataset`
        decay_rate : float, default=0.9
        reference, free_raw_data : as in `Dataset`
        dataset_params : dict, parameters of the new Dataset
        validate_features : as in `predict`
        **kwargs
            They have no effect.
        """
        rows = self._named_as_in_training(data, validate_features)
        train_set = Dataset(
            rows,
            label,
            weight=weight,
            group=group,
            init_score=init_score,
            feature_name=feature_name,
            categorical_feature=categorical_feature,
            reference=reference,
            params=dataset_params,
            free_raw_data=free_raw_data,
        )
        objective = self.estimator._saved_objective()  # noqa: SLF001 - its own part
        if self.estimator.objective in NONE:
            raise LightGBMError("Cannot refit due to null objective function.")
        part = self._as_written().estimator
        fixed = {"objective": objective, "linear_tree": part.ensemble_.linear is not None}
        made = type(self)({**self.params, **fixed}, train_set)
        return made.take_refitted(part, decay_rate)

    def take_refitted(self, part, decay_rate):
        """Replace the model by another one with leaf values of the training rows; return self."""
        with as_lightgbm_errors():
            refit_leaves(part, self._training, decay_rate)
        self._estimator, self._training, self._is_stale = part, None, False
        return self


def make_model(params, train_set, objective):
    """Return the unfitted `NativeModel` of a training.

    Parameters
    ----------
    params : dict
    train_set : Dataset
    objective : str, callable or None
    """
    given = read_params(params)
    check_numbers(given, DEFAULTS)
    limit_bins(given)
    n_classes = int(choose(given, "num_class", 1) or 1)
    columns = train_set.categorical_feature
    if not (isinstance(columns, str) and columns == "auto") and columns is not None:
        names = train_set.get_feature_name()
        given["categorical_feature"] = [
            names.index(one.replace(" ", "_")) if isinstance(one, str) else one for one in columns
        ]
    given.pop("objective", None)
    model = NativeModel(**given)
    if objective is not None:
        model.objective = objective
    check_class_count(objective, n_classes)
    model.n_native_classes = n_classes
    return model


def check_class_count(objective, n_classes):
    """Raise LightGBMError if the number of classes does not fit the objective."""
    if callable(objective):
        return
    is_multi = ALIASES.get(objective, objective) in ("multiclass", "multiclassova")
    if is_multi and n_classes < 2:
        raise LightGBMError(
            "Number of classes should be specified and greater than 1 for multiclass training"
        )
    if not is_multi and n_classes != 1:
        raise LightGBMError("Number of classes must be 1 for non-multiclass training")


def in_shape(values, shape):
    """Return derivatives in the shape of the scores; flat ones are read class by class."""
    values = np.asarray(values, np.float64)
    if values.shape != shape and values.size == np.prod(shape) and len(shape) == 2:
        return values.reshape(shape[::-1]).T
    return values
