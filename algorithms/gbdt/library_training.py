"""Parity mode: train with the exact rules of a library, and reject unsupported parameters."""

import numpy as np
from scipy import sparse

from algorithms.compat.parameters import constructor_defaults, is_same
from algorithms.estimator.library_versions import warn_of_other_version
from algorithms.gbdt.model import OURS, class_codes
from algorithms.gbdt.objectives import ALIASES
from algorithms.prediction.predictor import FastPredictor

NO_MATTER = {  # parameters that do not change the trees of a supported loss
    *("n_jobs", "importance_type", "parity", "objective"),
    # column layout: at conflict rate 0 it changes no tree
    *("enable_bundle", "bundle_order", "is_enable_sparse"),
    *("alpha", "poisson_max_delta_step", "tweedie_variance_power", "fair_c", "huber_slope"),
}

LATER_PARAMETERS = {  # no arguments of the constructor, and not followed
    "use_missing": True,
    "zero_as_missing": False,
    "max_bin_by_feature": None,
    "forcedbins_filename": "",
    "bagging_by_query": False,
    "feature_fraction_bynode": 1.0,
}
NOT_OF_SCIKIT_LEARN = {
    "forcedsplits_filename": "",
    "feature_contri": None,
    "monotone_penalty": 0.0,
}


def load_engine(library):
    """Import and return the module that trains with the rules of a library."""
    if library == "lightgbm":
        from algorithms.parity import lightgbm_boosting as engine
    else:
        from algorithms.parity import hgb_boosting as engine
    return engine


def check_params(params, options):
    """Raise ValueError if a parameter is not supported by the parity mode.

    Unsupported parameters must have their default values. `subsample` may have any value if
    bagging is disabled.
    """
    engine = load_engine(params.parity)
    followed = NO_MATTER | set(engine.FOLLOWED_PARAMS)
    if params.parity == "lightgbm" and params.subsample_freq == 0:
        followed |= {"subsample"}
    for name, default in constructor_defaults(type(params)).items():
        value_given = getattr(params, name)
        is_default = value_given is None if default is None else np.all(value_given == default)
        refuse(params, name, value_given, name not in followed and not is_default)
    for name, default in LATER_PARAMETERS.items():
        value_given = getattr(params, name, default)
        refuse(params, name, value_given, not is_same(value_given, default))
    few = params.parity == "scikit-learn" and params.min_child_samples < 1
    refuse(params, "min_child_samples", params.min_child_samples, few)
    for name, default in NOT_OF_SCIKIT_LEARN.items():
        given = getattr(params, name)
        is_given = params.parity == "scikit-learn" and not is_same(given, default)
        refuse(params, name, given, is_given)
    for name, value in options.items():
        refuse(params, name, "given", value is not None)
    refuse(params, "objective", params.objective, not is_followed(params, engine.FOLLOWED))


def is_followed(params, names):
    """Return whether an estimator's objective, and the name that the user gave, are supported.

    With two classes "multiclassova" is trained as "binary", but a library may not support it.
    """
    if callable(params.objective):
        return False
    name = params._objective.name  # noqa: SLF001 - its own part
    return {name, ALIASES.get(params.objective, params.objective) or name} <= set(names)


def refuse(params, name, value, is_asked):
    """Raise ValueError for an unsupported parameter if ``is_asked``."""
    if is_asked:
        raise ValueError(f"{name}={value!r} is not supported with parity={params.parity!r}")


def train_like(params, X, y, weight, *, is_weighted, **options):
    """Train the estimator as the library named by ``parity``, and set the fitted attributes.

    Parameters
    ----------
    params : the estimator
    X : (n_rows, n_features) float32 or float64, NaN where missing
    y : (n_rows,) class codes or values
    weight : (n_rows,) float64, or None if all are 1
    is_weighted : whether weights were given, even if all are 1
    options : other arguments of ``fit``, which must be None

    Raises
    ------
    ValueError
        If a parameter is not supported.
    """
    from harness import TreeEnsemble

    warn_of_other_version(params.parity, stacklevel=3)
    check_params(params, options)
    if sparse.issparse(X):
        X = X.toarray(order="C")  # parity mode supports only dense rows
    if params.parity == "scikit-learn" and weight is None and is_weighted:
        weight = np.ones(len(y))
    rounds, base = load_engine(params.parity).train(params, X, y, weight)
    params._base = base  # noqa: SLF001 - its own part
    params.parity_ = params.parity
    params.n_iter_ = params.n_estimators_ = len(rounds)
    params.best_iteration_, params.best_score_, params.evals_result_ = 0, {}, {}
    params.ensemble_ = TreeEnsemble.join(
        [tree for trees in rounds for tree in trees],
        n_features=X.shape[1],
        output=np.tile(np.arange(len(base)), len(rounds)),
        base=base,
        link=params._link,  # noqa: SLF001 - its own part
        classes=class_codes(getattr(params, "classes_", None)),
        cover_kind="rows",
        library=OURS,
    )
    params._walker = FastPredictor(params.ensemble_)  # noqa: SLF001 - its own part


def probabilities_like(library, score, link):
    """Return the probabilities of raw scores as a library computes them, (n_rows, n_classes)."""
    proba = load_engine(library).to_probabilities(score, link)
    return np.column_stack([1.0 - proba, proba]) if proba.shape[1] == 1 else proba
