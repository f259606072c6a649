"""Train a histogram booster by the rules of a library, and refuse what it cannot follow."""

import numpy as np

from algorithms._common import lightgbm_boosting
from algorithms._common.hist_model import class_codes
from algorithms._common.hist_predict import FastPredictor
from algorithms._common.lightgbm_objectives import FOLLOWED
from algorithms._common.parity import warn_of_other_version

NEUTRAL = {  # what both modes cannot follow, and the values at which there is nothing to follow
    "data_sample_strategy": "bagging",
    "colsample_bytree": 1.0,
    "extra_trees": False,
    "monotone_constraints": None,
    "interaction_constraints": None,
    "early_stopping_round": None,
    "boosting_type": "gbdt",
}


def check_params(params, eval_set):
    """Raise ValueError where a parameter asks for what the parity mode does not follow."""
    for name, value in NEUTRAL.items():
        given = getattr(params, name)
        refuse(params, name, given, given is not None if value is None else given != value)
    if params.subsample < 1.0:
        refuse(params, "subsample", params.subsample, params.subsample_freq > 0)
    refuse(params, "eval_set", "given", eval_set is not None)
    known = not callable(params.objective) and params._objective.name in FOLLOWED  # noqa: SLF001 - its own part
    refuse(params, "objective", params.objective, not known)


def refuse(params, name, value, is_asked):
    """Raise ValueError for a parameter that the library's rules are not followed for."""
    if is_asked:
        raise ValueError(f"{name}={value!r} cannot be had with parity={params.parity!r}")


def train_like(params, X, y, weight, eval_set):
    """Train the estimator as the library named by ``parity`` would; write what fit leaves.

    Parameters
    ----------
    params : the estimator
    X : (n_rows, n_features) float32 or float64, NaN where missing
    y : (n_rows,) class codes or values
    weight : (n_rows,) float64 or None
    eval_set : as in ``fit``

    Raises
    ------
    ValueError
        Where a parameter asks for what is not followed.
    """
    from harness import TreeEnsemble

    warn_of_other_version(params.parity, stacklevel=3)
    check_params(params, eval_set)
    rounds = lightgbm_boosting.train(params, X, y, weight)
    params._base = np.zeros(params._n_scores)  # noqa: SLF001 - its own part
    params.n_iter_ = params.n_estimators_ = len(rounds)
    params.best_iteration_, params.best_score_, params.evals_result_ = 0, None, {}
    params.ensemble_ = TreeEnsemble.join(
        [tree for trees in rounds for tree in trees],
        n_features=X.shape[1],
        output=np.tile(np.arange(len(params._base)), len(rounds)),  # noqa: SLF001 - its own part
        base=params._base,  # noqa: SLF001 - its own part
        link=params._link,  # noqa: SLF001 - its own part
        classes=class_codes(getattr(params, "classes_", None)),
        cover_kind="rows",
        library="tree-harness",
    )
    params._walker = FastPredictor(params.ensemble_)  # noqa: SLF001 - its own part


def probabilities_like(score, link):
    """Return LightGBM's probabilities of raw scores, float64 (n_rows, n_classes)."""
    found = lightgbm_boosting.to_probabilities(score, link)
    return np.column_stack([1.0 - found, found]) if found.shape[1] == 1 else found
