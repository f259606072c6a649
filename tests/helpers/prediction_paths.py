"""Comparison of every code path of the fast predictor with `TreeEnsemble.raw`."""

import numpy as np
import pytest

from algorithms import serve
from algorithms.prediction import categorical_splits, leaf_masks
from algorithms.prediction import predictor as hist_predict
from harness import Tree, TreeEnsemble


def assert_paths_agree(trees, X):
    """Assert that all code paths give bitwise equal raw scores."""
    with np.errstate(over="ignore", invalid="ignore"):
        expected, server = trees.raw(X), serve(trees)
        scores = [server.raw(X)]
        with pytest.MonkeyPatch.context() as patch:  # leaf masks, and both kinds of tree walk
            patch.setattr(leaf_masks, "ENTRIES_A_WALK", 1 << 40)
            patch.setattr(hist_predict, "FEW_ROWS", 1)
            patch.setattr(hist_predict, "FEW_STEPS", 0)
            patch.setattr(hist_predict, "ROWS_TO_PACK", 1)
            patch.setattr(hist_predict, "SPLITS_PER_STEP", 1 << 40)
            scores += [serve(trees).raw(X), serve(trees, n_jobs=2).raw(X)]
        for few_rows, answers in ((1, 1 << 30), (1, 0)):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(hist_predict, "FEW_ROWS", 1 << 60)
                patch.setattr(categorical_splits, "FEW_ROWS", few_rows)
                patch.setattr(categorical_splits, "EVALUATIONS_PER_STEP", answers)
                scores.append(server.raw(X))
        with pytest.MonkeyPatch.context() as patch:  # one block at a time, and two threads
            patch.setattr(hist_predict, "WIDENED", 1)
            patch.setattr(hist_predict, "FEW_STEPS", 0)
            scores += [server.raw(X), serve(trees, n_jobs=2).raw(X)]
    for raw in scores:
        assert raw.dtype == expected.dtype == trees.sum_dtype
        assert np.array_equal(raw, expected)


def categorical_stumps(n_sets, codes, shared=()):
    """Return an ensemble of trees with one categorical split each, on two columns in turn."""
    rng = np.random.default_rng(6)
    trees = [
        Tree(
            feature=np.array([i % 2, -1, -1]),
            threshold=np.zeros(3),
            left=np.array([1, -1, -1]),
            right=np.array([2, -1, -1]),
            value=rng.normal(size=(3, 1)),
            sets={0: ([*rng.choice(codes, 20, replace=False), *shared], bool(i % 3))},
            missing=np.full(3, i % 4),
        )
        for i in range(n_sets)
    ]
    return TreeEnsemble.join(trees, n_features=2)
