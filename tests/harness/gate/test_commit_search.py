"""Tests of the search for the first changed commit, with a fake measurement."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.gate.commit_search import Remaining, find_first_changed


@given(st.data())
def test_first_changed_commit_is_found_with_few_measurements(data):
    n = data.draw(st.integers(1, 200))
    first = data.draw(st.integers(0, n - 1))
    tried = []

    def is_changed(index, remaining):
        assert remaining.good < index < remaining.changed
        tried.append(index)
        return index >= first

    result = find_first_changed(n, is_changed)
    assert (result.good, result.changed) == (first - 1, first)
    assert len(tried) == len(set(tried)) <= math.ceil(math.log2(n)) if n > 1 else not tried


@given(st.data())
def test_undecided_commits_remain_only_beside_the_first_changed_one(data):
    n = data.draw(st.integers(1, 40))
    first = data.draw(st.integers(0, n - 1))
    undecided = data.draw(st.sets(st.integers(0, max(0, n - 2))))
    tried = []

    def is_changed(index, _):
        tried.append(index)
        return None if index in undecided else index >= first

    result = find_first_changed(n, is_changed)
    assert result.good < first <= result.changed
    assert undecided.issuperset(range(result.good + 1, result.changed))
    assert result.good not in undecided
    assert len(tried) == len(set(tried))
    if not undecided:
        assert result.changed - result.good == 1


@pytest.mark.parametrize(("n", "steps"), [(1, 0), (2, 1), (8, 3), (9, 4)])
def test_number_of_needed_measurements(n, steps):
    assert Remaining(-1, n - 1).steps == steps
