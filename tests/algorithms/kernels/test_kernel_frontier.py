import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernels import callable_kernel, growth_of, rules_of

from algorithms.trees.kernels.best_first_heap import pop_split, push_split
from algorithms.trees.kernels.tree_arrays import HEAP, SPLIT

push_split, pop_split = callable_kernel(push_split), callable_kernel(pop_split)


@given(st.lists(st.one_of(st.integers(0, 5), st.none()), max_size=60))
def test_largest_improvement_is_popped(steps):
    """A number is pushed and None pops; at the end everything is popped."""
    growth, _ = growth_of(40, rules_of(max_leaf_nodes=40), 1)
    growth = growth._replace(splits=np.zeros(61, SPLIT), heap=np.empty(61, np.int64))
    inside, slot = [], 0
    for step in [*steps, *[None] * 61]:
        if step is not None:
            growth.splits["improvement"][slot] = step
            push_split(growth, slot)
            inside.append(slot)
            slot += 1
        elif inside:
            result = pop_split(growth)
            assert (
                growth.splits["improvement"][result] == growth.splits["improvement"][inside].max()
            )
            inside.remove(result)
        assert growth.state[HEAP] == len(inside)


@pytest.mark.parametrize(
    ("improvements", "popped"),
    [
        ([1] * 8, [0, 2, 6, 5, 7, 4, 1, 3]),
        ([3, 1, 3, 2, 3, 1, 2, 2, 3, 1, 1, 3], [0, 2, 11, 4, 8, 6, 3, 7, 10, 5, 9, 1]),
    ],
)
def test_equal_improvements_follow_the_cpp_heap_order(improvements, popped):
    """Expected values: std::push_heap and std::pop_heap of GNU's libstdc++ on the same numbers."""
    growth, _ = growth_of(40, rules_of(max_leaf_nodes=40), 1)
    for slot, improvement in enumerate(improvements):
        growth.splits["improvement"][slot] = improvement
        push_split(growth, slot)
    assert [pop_split(growth) for _ in improvements] == popped
