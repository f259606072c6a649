import numpy as np
import oracles
import pytest
from columns import seeds, table
from hypothesis import given
from hypothesis import strategies as st

from algorithms import DecisionTreeRegressor
from algorithms.trees.kernels.prune import LEAF
from algorithms.trees.pruning import cut, prune


@given(seed=seeds, n=st.integers(2, 40), at=st.floats(0, 1))
def test_weakest_branches_are_pruned(seed, n, at):
    rng = np.random.default_rng(seed)
    X, y = table(rng, n, 2), rng.normal(size=n)
    tree = DecisionTreeRegressor(random_state=0).fit(X, y).tree_
    _, alphas, risks = cut(tree, np.inf)
    assert (np.diff(alphas) > -1e-12).all()
    assert (np.diff(risks) > -1e-12).all()
    k = int(at * (len(alphas) - 1))
    alpha = (alphas[k] + alphas[min(k + 1, len(alphas) - 1)]) / 2  # not where rounding decides
    status, _, _ = cut(tree, alpha)
    kept = np.flatnonzero(status == LEAF)
    risk = tree.weighted_n_node_samples * tree.impurity / tree.weighted_n_node_samples[0]
    expected = oracles.prune(tree, alpha)
    cost = risk[kept].sum() + alpha * len(kept)
    assert cost == pytest.approx(risk[expected].sum() + alpha * len(expected), abs=1e-9)
    if np.abs(alphas - alpha).min() > 1e-9:
        assert kept.tolist() == expected
    pruned = prune(tree, alpha)
    assert pruned.n_leaves == len(kept)
    assert pruned.max_depth == pruned.compute_node_depths().max() - 1
