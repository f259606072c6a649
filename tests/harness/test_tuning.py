"""Tests of the configurations of the tuned track: declared, reproducible, equally many."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.config.experiment import Tuning
from harness.config.search_space import TUNE, draw, one_of_each, tuned_params
from harness.core.errors import PluginError
from harness.core.model import ALL_TASKS, Algorithm

SPACE = {
    "depth": {"low": 2, "high": 8},
    "rate": {"low": 0.01, "high": 1.0, "log": True},
    "kind": ["a", "b", None],
}


def algorithm(**fields):
    declared = {"params": {"n": 7}, "space": SPACE, **fields}
    return Algorithm("ours", lambda spec: None, ALL_TASKS, **declared)


def tuning(configurations=10, inner_folds=3, seed=0):
    return Tuning(configurations=configurations, inner_folds=inner_folds, seed=seed)


def test_first_configuration_is_the_default_and_all_are_complete():
    params = tuned_params(algorithm(), {}, tuning())
    assert set(params) == {TUNE}
    configurations = params[TUNE]["configurations"]
    assert configurations[0] == {"n": 7}
    assert len(configurations) == 10
    assert all(set(c) == {"n", "depth", "rate", "kind"} for c in configurations[1:])
    assert params[TUNE]["inner_folds"] == 3


def test_params_fixed_by_the_experiment_are_not_searched():
    params = tuned_params(algorithm(), {"depth": 99, "extra": 1}, tuning())
    assert {c["depth"] for c in params[TUNE]["configurations"]} == {99}
    assert {c["extra"] for c in params[TUNE]["configurations"]} == {1}


def test_method_and_ensemble_are_part_of_the_params():
    usual = tuned_params(algorithm(), {}, tuning())[TUNE]
    assert set(usual) == {"configurations", "inner_folds"}  # ids of stored results stay
    halving = Tuning(method="halving", reduction=4)
    result = tuned_params(algorithm(), {}, halving, ensembled=True)[TUNE]
    assert (result["halving"], result["ensemble"]) == (4, 25)
    assert result["configurations"] == usual["configurations"]


def test_algorithm_without_a_search_space_is_not_tuned():
    assert tuned_params(algorithm(space={}), {}, tuning()) is None


@given(st.integers(0, 2**32 - 1))
def test_values_stay_in_their_space(seed):
    for values in draw(SPACE, 5, seed):
        assert 2 <= values["depth"] <= 8
        assert isinstance(values["depth"], int)
        assert 0.01 <= values["rate"] <= 1.0
        assert values["kind"] in {"a", "b", None}


def test_logarithmic_scale_is_logarithmic():
    rates = [v["rate"] for v in draw({"rate": SPACE["rate"]}, 400, 0)]
    assert 0.4 < sum(rate < 0.1 for rate in rates) / len(rates) < 0.6


def test_draws_are_reproducible_and_equal_for_equal_spaces():
    assert draw(SPACE, 9, 3) == draw(dict(SPACE), 9, 3) != draw(SPACE, 9, 4)
    assert draw(SPACE, 4, 3) == draw(SPACE, 9, 3)[:4]


def test_small_space_gives_all_configurations_without_repetition():
    assert sorted(v["k"] for v in draw({"k": [1, 2, 3]}, 9, 0)) == [1, 2, 3]
    assert draw({}, 9, 0) == draw(SPACE, 0, 0) == []


@pytest.mark.parametrize(
    "choices",
    [[], "abc", 3, {"low": 1}, {"low": 2, "high": 1}, {"low": 0, "high": 1, "log": True},
     {"low": 1, "high": 2, "step": 1}],
)  # fmt: skip
def test_invalid_space_is_reported_with_its_location(choices):
    with pytest.raises(PluginError, match="space of ours: depth"):
        tuned_params(algorithm(space={"depth": choices}), {}, tuning())


def test_compiling_needs_one_configuration_of_each_kind():
    configurations = [{"n": 1, "k": "a"}, {"n": 2, "k": "a"}, {"n": 1, "k": "b"}, {"n": 1.5}]
    params = {TUNE: {"configurations": configurations, "inner_folds": 3}}
    assert one_of_each(params) == [configurations[0], configurations[2], configurations[3]]
    assert one_of_each({"n": 1}) == [{"n": 1}]
