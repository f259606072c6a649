"""Parameters of a Booster in the form of XGBoost's `save_config`."""

import json

import numpy as np
from scipy.special import expit

from algorithms.compat.xgboost_parameters import ALIASES
from algorithms.newton.params import filled

OF_TREES = (
    *("learning_rate", "gamma", "max_depth", "max_leaves", "max_bin", "grow_policy", "subsample"),
    *("min_child_weight", "max_delta_step", "colsample_bytree", "colsample_bylevel"),
    *("colsample_bynode", "reg_alpha", "reg_lambda", "max_cat_to_onehot", "max_cat_threshold"),
    *("monotone_constraints", "interaction_constraints"),
)


def describe(booster):
    """Return the parameters of a Booster as a nested dict of str, list and int."""
    fitted = booster.estimator
    model = filled(booster._model())  # noqa: SLF001 - its own part
    train = {name: as_text(getattr(model, name)) for name in OF_TREES}
    train |= {alias: train[name] for name, alias in ALIASES.items() if name in train}
    threads = as_text(model.n_jobs or 0)
    link = fitted._objective.link  # noqa: SLF001 - its own part
    convert = {"sigmoid": expit, "exp": np.exp}.get(link, np.asarray)
    scores = convert(fitted._base).astype(np.float64).tolist()  # noqa: SLF001 - its own part
    trees = {
        "num_parallel_tree": as_text(model.num_parallel_tree or 1),
        "num_trees": as_text(fitted.ensemble_.n_trees),
    }
    learner = {
        "generic_param": {
            "device": "cpu",
            **dict.fromkeys(("n_jobs", "nthread"), threads),
            **dict.fromkeys(("random_state", "seed"), as_text(model.random_state or 0)),
        },
        "gradient_booster": {
            "gbtree_model_param": trees,
            "gbtree_train_param": {"tree_method": booster._params.get("tree_method") or "auto"},  # noqa: SLF001
            "name": "gbtree",
            "tree_train_param": train,
        },
        "learner_model_param": {
            "base_score": json.dumps(scores),
            "num_class": as_text(model.n_native_classes),
            "num_feature": as_text(booster.num_features()),
            "num_target": as_text(fitted._n_targets),  # noqa: SLF001 - its own part
        },
        "learner_train_param": {"booster": "gbtree", "objective": fitted.objective_name},
        "objective": {"name": fitted.objective_name},
    }
    return {"learner": learner, "version": [3, 2, 0]}


def as_text(value):
    """Return a parameter as text; None gives an empty text."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, default=str)


def read_config(config):
    """Return the parameters in the JSON text of `save_config`: dict, name → value."""
    learner = json.loads(config)["learner"]
    booster = learner["gradient_booster"]
    given = {name: value for name, value in booster["tree_train_param"].items() if value}
    given["tree_method"] = booster["gbtree_train_param"]["tree_method"]
    given["num_parallel_tree"] = booster["gbtree_model_param"]["num_parallel_tree"]
    given["objective"] = learner["objective"]["name"]
    given["num_class"] = int(learner["learner_model_param"]["num_class"])
    return given
