"""Conversion of a Booster's model to and from bytes: XGBoost's JSON or UBJSON."""

import json

import numpy as np
import pandas as pd

from algorithms.compat.xgboost.messages import XGBoostError
from algorithms.compat.xgboost.model import NativeModel
from algorithms.compat.xgboost.parameters import as_number
from algorithms.compat.xgboost.training import finish
from algorithms.model_io import ubjson, xgboost_reader, xgboost_writer
from algorithms.model_io.model_files import ATTRIBUTE, MALFORMED, UBJSON
from algorithms.newton.model import rounds_from
from algorithms.newton.params import EXTRA_DEFAULTS, filled
from harness import HarnessError

AFT = "aft_loss_param"
QUANTILES = "reg:quantileerror"  # its outputs are quantiles of one target


def write_booster(booster, kind):
    """Return the model of a Booster as the contents of a file, bytes.

    Parameters
    ----------
    booster : Booster
    kind : {"json", "ubj"}
    """
    model = booster.estimator
    text = xgboost_writer.write(
        model.ensemble_,
        objective=model.objective_name,
        names=booster.feature_names,
        attributes=booster.attributes(),
        categories=model.categories_ or {},
        n_parallel=model._n_parallel,  # noqa: SLF001 - its own part
    )
    document = json.loads(text)
    if booster.feature_types:
        document["learner"]["feature_types"] = booster.feature_types
    document["learner"]["objective"].update(objective_parameters(model))
    if kind == "ubj":
        return ubjson.encode(document)
    return json.dumps(document, separators=(",", ":")).encode()


def read_booster(booster, data):
    """Set the model of a Booster from the contents of a file.

    Parameters
    ----------
    booster : Booster, changed
    data : bytes

    Raises
    ------
    XGBoostError
        If ``data`` is not a model in XGBoost's format.
    """
    try:
        document = ubjson.decode(data) if data.startswith(UBJSON) else json.loads(data)
        ensemble, names = xgboost_reader.read(document)
        learner = document["learner"]
        model = NativeModel(objective=xgboost_reader.objective_of(document))
        model.n_native_classes = int(learner["learner_model_param"]["num_class"])
        if model.objective == QUANTILES:
            model.quantile_alpha = levels_of(learner["objective"], ensemble.n_outputs)
        for name, value in learner["objective"].get(AFT, {}).items():
            setattr(model, name, as_number(name, value))
        trees = xgboost_reader.trees_of(learner["gradient_booster"])[0]
        n_parallel = max(1, int(trees["gbtree_model_param"]["num_parallel_tree"]))
        kept = xgboost_reader.categories_of(document, ensemble.n_features)
        rounds = rounds_from(ensemble, n_parallel)
        model._n_targets = targets_of(model, ensemble.n_outputs)  # noqa: SLF001 - its own part
        model.set_objective()
        attributes = {str(k): str(v) for k, v in learner.get("attributes", {}).items()}
    except (*MALFORMED, HarnessError) as error:
        raise XGBoostError(f"the model cannot be read: {error}") from error
    has_sets = len(ensemble.set_codes) > 0
    model.n_features_in_ = ensemble.n_features
    model.categories_ = {at: pd.Index(one) for at, one in kept.items()}
    if has_sets and not kept:
        model.categories_ = None
    model._base = ensemble.base.astype(np.float32)  # noqa: SLF001 - its own part
    booster._estimator = finish(model, rounds)  # noqa: SLF001 - its own part
    booster._n_columns = ensemble.n_features  # noqa: SLF001
    attributes.pop(ATTRIBUTE, None)
    booster.set_attr(**attributes)
    booster.feature_names, booster.feature_types = names, learner.get("feature_types") or None
    booster._params = given_params(model, booster._params, n_parallel)  # noqa: SLF001


def objective_parameters(model):
    """Return the parameters of a model's objective in the form of XGBoost's files, dict."""
    if model.objective_name == QUANTILES:
        levels = np.atleast_1d(model.quantile_alpha if model.quantile_alpha is not None else 0.5)
        return {"quantile_loss_param": {"quantile_alpha": json.dumps(levels.tolist())}}
    if model.objective_name == "survival:aft":
        full = filled(model)
        return {AFT: {name: str(getattr(full, name)) for name in EXTRA_DEFAULTS}}
    return {}


def targets_of(model, n_outputs):
    """Return the number of targets of a model with the given number of outputs."""
    return 1 if model.n_native_classes or model.objective == QUANTILES else n_outputs


def given_params(model, params, n_parallel):
    """Return the given parameters, and those that follow from the model: dict, name → value."""
    fixed = {"objective": model.objective}
    if model.n_native_classes:
        fixed["num_class"] = model.n_native_classes
    if n_parallel > 1:
        fixed["num_parallel_tree"] = n_parallel
    if model.objective == QUANTILES and np.size(model.quantile_alpha) > 1:
        fixed["quantile_alpha"] = model.quantile_alpha
    if model.objective == "survival:aft":
        fixed |= {name: getattr(model, name, value) for name, value in EXTRA_DEFAULTS.items()}
    return {**fixed, **params}


def levels_of(objective, n_outputs):
    """Return the quantile levels of an objective, float or list.

    If the file does not store a level for each output, they are spaced evenly.
    """
    stored = json.loads(objective.get("quantile_loss_param", {}).get("quantile_alpha", "[0.5]"))
    stored = np.atleast_1d(stored).tolist()
    if len(stored) == n_outputs:
        return stored[0] if n_outputs == 1 else stored
    return ((np.arange(n_outputs) + 1.0) / (n_outputs + 1.0)).tolist()
