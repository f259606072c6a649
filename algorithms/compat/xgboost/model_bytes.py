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
from algorithms.newton.ranking_objectives import KINDS, read_ranking_settings
from harness import HarnessError

AFT = "aft_loss_param"
LAMBDARANK = "lambdarank_param"
N_PAIRS, NOT_SET = "lambdarank_num_pair_per_sample", str(2**32 - 1)
LEVELS = {  # objectives whose outputs are levels of one target → names in files
    "reg:quantileerror": ("quantile_loss_param", "quantile_alpha"),
    "reg:expectileerror": ("expectile_loss_param", "expectile_alpha"),
}


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
        if model.objective in LEVELS:
            levels = levels_of(learner["objective"], ensemble.n_outputs)
            setattr(model, LEVELS[model.objective][1], levels)
        for name, value in learner["objective"].get(AFT, {}).items():
            setattr(model, name, as_number(name, value))
        trees = xgboost_reader.trees_of(learner["gradient_booster"])[0]
        n_parallel = max(1, int(trees["gbtree_model_param"]["num_parallel_tree"]))
        kept = xgboost_reader.categories_of(document, ensemble.n_features)
        rounds = rounds_from(ensemble, n_parallel)
        ranking = learner["objective"].get(LAMBDARANK, {})
        is_set = ranking.get(N_PAIRS) not in (None, NOT_SET)
        model.ranking = read_ranking_settings(
            {name: value for name, value in ranking.items() if name != N_PAIRS or is_set}
        )
        model.set_objective(n_targets=targets_of(model, ensemble.n_outputs))
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
    if model.objective_name in LEVELS:
        group, name = LEVELS[model.objective_name]
        levels = np.atleast_1d(getattr(filled(model), name))
        return {group: {name: json.dumps(levels.tolist())}}
    if model.objective_name == "survival:aft":
        full = filled(model)
        return {AFT: {name: str(getattr(full, name)) for name in EXTRA_DEFAULTS}}
    return {LAMBDARANK: ranking_parameters(model.ranking)} if model.objective_name in KINDS else {}


def ranking_parameters(settings):
    """Return the parameters of a `RankingSettings` in the form of XGBoost's files, dict.

    XGBoost stores the biases of all positions beside `lambdarank_unbiased`; this file has neither.
    """
    flags = {
        "lambdarank_normalization": settings.normalized,
        "lambdarank_score_normalization": settings.by_difference,
        "ndcg_exp_gain": settings.exponential,
    }
    return {
        "lambdarank_pair_method": "mean" if settings.is_random else "topk",
        N_PAIRS: str(settings.level),
        **{name: str(int(value)) for name, value in flags.items()},
    }


def targets_of(model, n_outputs):
    """Return the number of targets of a model with the given number of outputs."""
    return 1 if model.n_native_classes or model.objective in LEVELS else n_outputs


def given_params(model, params, n_parallel):
    """Return the given parameters, and those that follow from the model: dict, name → value."""
    fixed = {"objective": model.objective}
    if model.n_native_classes:
        fixed["num_class"] = model.n_native_classes
    if n_parallel > 1:
        fixed["num_parallel_tree"] = n_parallel
    _, levels = LEVELS.get(model.objective, (None, None))
    if levels is not None and np.size(getattr(model, levels)) > 1:
        fixed[levels] = getattr(model, levels)
    if model.objective == "survival:aft":
        fixed |= {name: getattr(model, name, value) for name, value in EXTRA_DEFAULTS.items()}
    return {**fixed, **params}


def levels_of(objective, n_outputs):
    """Return the levels of an objective of `LEVELS`, float or list.

    If the file does not store a level for each output, they are spaced evenly.
    """
    group, name = LEVELS[objective["name"]]
    stored = json.loads(objective.get(group, {}).get(name, "[0.5]"))
    stored = np.atleast_1d(stored).tolist()
    if len(stored) == n_outputs:
        return stored[0] if n_outputs == 1 else stored
    return ((np.arange(n_outputs) + 1.0) / (n_outputs + 1.0)).tolist()
