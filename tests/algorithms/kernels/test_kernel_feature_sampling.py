import numpy as np
import oracles
from columns import seeds
from hypothesis import given
from hypothesis import strategies as st
from kernels import callable_kernel, growth_of, rules_of, table_of

from algorithms.trees.kernels.feature_sampling import draw_features
from algorithms.trees.kernels.tree_arrays import RANDOM, VISITS, Rows

draw_features = callable_kernel(draw_features)
NONE = np.empty(0)


@given(
    seed=seeds,
    state=st.integers(0, 2**31 - 1),
    d=st.integers(1, 12),
    max_features=st.integers(1, 12),
)
def test_features_drawn_for_a_tree_equal_oracle(seed, state, d, max_features):
    """Nodes are rows start … 8 of a staircase: a feature is constant from its step on."""
    rng = np.random.default_rng(seed)
    steps = rng.integers(0, 8, d)
    X = np.minimum(np.arange(9)[:, None], steps[None, :]).astype(float)
    table = table_of(X)
    # no column is flagged, so values are looked up; rows stand in the order of all columns
    rows = Rows(
        np.tile(np.arange(9, dtype=np.uint32), (d, 1)), np.arange(d), np.arange(9, dtype=np.uint32),
        NONE.astype(np.int64), NONE, NONE,
    )  # fmt: skip
    rules = rules_of(max_features=min(max_features, d))
    growth, _ = growth_of(9, rules, d, state)
    by_hand = oracles.Draws(d, state)
    known = []
    for start in range(0, 8, int(rng.integers(1, 4))):
        n_constants = draw_features(table, rows, rules, growth, start, 9, len(known))
        searched, known = by_hand.node(known, lambda f, s=start: steps[f] <= s, rules.max_features)
        assert growth.visit[: growth.state[VISITS]].tolist() == searched
        assert growth.constants[:n_constants].tolist() == known
        assert growth.features.tolist() == by_hand.features
        assert growth.state[RANDOM] == by_hand.state


def test_random_stream_restarts_from_zero():
    assert oracles.xorshift(0) == oracles.xorshift(1)
