"""Holds the fast predictor, in each of its ways, against what an ensemble says."""

import numpy as np
import pytest

from algorithms import serve
from algorithms.prediction import categorical_splits, leaf_masks
from algorithms.prediction import predictor as hist_predict
from harness import Tree, TreeEnsemble


def agree(trees, X):
    """Assert that all ways give the same raw scores, to the bit."""
    with np.errstate(over="ignore", invalid="ignore"):
        expected, server = trees.raw(X), serve(trees)
        every = [server.raw(X)]
        with pytest.MonkeyPatch.context() as patch:  # by masks, and both ways to walk
            patch.setattr(leaf_masks, "ENTRIES_A_WALK", 1 << 40)
            patch.setattr(hist_predict, "FEW_ROWS", 1)
            patch.setattr(hist_predict, "FEW_STEPS", 0)
            patch.setattr(hist_predict, "ROWS_TO_PACK", 1)
            patch.setattr(hist_predict, "SPLITS_PER_STEP", 1 << 40)
            every += [serve(trees).raw(X), serve(trees, n_jobs=2).raw(X)]
        for few_rows, answers in ((1, 1 << 30), (1, 0)):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(hist_predict, "FEW_ROWS", 1 << 60)
                patch.setattr(categorical_splits, "FEW_ROWS", few_rows)
                patch.setattr(categorical_splits, "EVALUATIONS_PER_STEP", answers)
                every.append(server.raw(X))
        with pytest.MonkeyPatch.context() as patch:  # a block at a time, and two threads
            patch.setattr(hist_predict, "WIDENED", 1)
            patch.setattr(hist_predict, "FEW_STEPS", 0)
            every += [server.raw(X), serve(trees, n_jobs=2).raw(X)]
    for found in every:
        assert found.dtype == expected.dtype == trees.sum_dtype
        assert np.array_equal(found, expected)


def far_reaching(n_sets, codes, shared=()):
    """Return an ensemble whose trees ask one set each, of two columns in turn."""
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
