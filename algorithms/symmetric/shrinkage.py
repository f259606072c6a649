"""Shrinkage of the model: before each tree but the first, all scores so far are multiplied by c.

    Constant      c_t = 1 − s η        s: model_shrink_rate, η: learning_rate
    Decreasing    c_t = 1 − s / t      t = 1, 2, …: the number of trees so far

The initial score F₀ is shrunk, too. So the final model is

    F = c_1 … c_T F₀ + Σ_t c_{t+1} … c_T η tree_t
"""

from dataclasses import replace

import numpy as np


def check_shrink_rate(params, *, is_continued):
    """Check ``model_shrink_rate``.

    Parameters
    ----------
    params : the estimator, with resolved parameters
    is_continued : whether training starts from the scores of a model or from given ones

    Raises
    ------
    ValueError
        If the training does not support the shrinkage, or a factor would not be positive.
    """
    if is_continued and params.posterior_sampling:
        raise ValueError("posterior_sampling is not supported with init_model or baseline")
    rate = params.model_shrink_rate
    if not rate:
        return
    if params.parity is not None:
        raise ValueError("model_shrink_rate is not supported with parity='catboost'")
    if is_continued:
        raise ValueError("model_shrink_rate is not supported with init_model or baseline")
    is_constant = params.model_shrink_mode == "Constant"
    if rate * (params.learning_rate if is_constant else 1.0) >= 1.0:
        limited = "model_shrink_rate * learning_rate" if is_constant else "model_shrink_rate"
        mode = params.model_shrink_mode
        raise ValueError(f"model_shrink_mode={mode!r} needs {limited} < 1")


def shrink_factor(params, n_trees):
    """Return the factor by which the scores are multiplied after ``n_trees`` trees."""
    if not params.model_shrink_rate or not n_trees:
        return 1.0
    rate = float(np.float32(params.model_shrink_rate))
    if params.model_shrink_mode == "Decreasing":
        return 1.0 - rate / n_trees
    return 1.0 - rate * float(np.float32(params.learning_rate))


def shrink_scores(score, factor, *, is_exp):
    """Multiply scores by a factor.

    Parameters
    ----------
    score : float64 (n_scores, n_rows), written
    factor : float
    is_exp : whether scores are stored as eᶠ
    """
    if is_exp:
        np.power(score, factor, out=score)
    else:
        score *= factor


def shrink_trees(params, trees, start):
    """Return the trees with their final values, and the final initial scores.

    Parameters
    ----------
    params : the estimator, with resolved parameters
    trees : list of SymmetricTree or NonSymmetricTree, as they were grown
    start : float64 (n_scores,), initial scores
    """
    if not params.model_shrink_rate:
        return trees, start
    factors = [shrink_factor(params, n_trees) for n_trees in range(1, len(trees))]
    remaining = np.cumprod([1.0, *factors[::-1]])[::-1]  # of each tree
    pairs = zip(trees, remaining.tolist(), strict=True)
    return [replace(tree, values=tree.values * c) for tree, c in pairs], start * remaining[0]
