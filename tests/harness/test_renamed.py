"""Tests of old names of arguments and fields."""

import dataclasses

import pytest

from harness import Algorithm, Dataset, Executor, Task
from harness.analysis.run_view import Parity
from harness.core.renamed import renamed
from reports import Key

LEVELS = {"default": "L2"}


def test_declaration_with_the_old_name():
    with pytest.deprecated_call(match=r"'rungs' is now called 'parity_levels'") as warned:
        old = Algorithm("mine", len, frozenset({Task.BINARY}), rungs=LEVELS)
    assert warned[0].filename == __file__
    assert old == Algorithm("mine", len, frozenset({Task.BINARY}), parity_levels=LEVELS)
    with pytest.deprecated_call() as warned:
        assert old.rungs == LEVELS
    assert warned[0].filename == __file__


def test_executor_with_the_old_name():
    with pytest.deprecated_call(match="run_duels"):
        assert Executor("mine", len, fight=map).run_duels is map


def test_dataset_and_key_with_the_old_name():
    with pytest.deprecated_call(match=r"'licence' is now called 'license'"):
        assert Dataset("mine", Task.BINARY, len, "", 4, 2, licence="CC0").license == "CC0"
    with pytest.deprecated_call(match=r"'colour' is now called 'color'"):
        assert Key("dot", colour="blue", text="ours") == Key("dot", "blue", "ours")


def test_new_names_and_copies_do_not_warn():
    one = Algorithm("mine", len, frozenset({Task.BINARY}), parity_levels=LEVELS)
    assert dataclasses.replace(one, name="other").parity_levels == LEVELS
    assert "rungs" not in {field.name for field in dataclasses.fields(one)}


def test_copy_with_the_old_name():
    data = Dataset("mine", Task.BINARY, len, "", 4, 2, license="CC0")
    with pytest.deprecated_call(match=r"'licence' is now called 'license'"):
        copy = dataclasses.replace(data, name="other", licence="MIT")
    assert (copy.name, copy.license, data.license) == ("other", "MIT", "CC0")


def test_both_names_are_an_error():
    with pytest.deprecated_call(), pytest.raises(TypeError, match="got both 'parity_levels'"):
        Algorithm("mine", len, frozenset(), rungs=LEVELS, parity_levels=LEVELS)


def test_attribute_of_a_result_with_the_old_name():
    one = Parity("a", "b", "iris", ({}, {}), "native", "raw", "L3", "", {}, None)
    with pytest.deprecated_call():
        assert one.rung == "L3"


def test_argument_of_a_function_with_the_old_name():
    @renamed(rung="parity_level")
    def reaches(parity_level):
        """Return the level."""
        return parity_level

    with pytest.deprecated_call():
        assert reaches(rung="L2") == "L2"
    assert reaches("L1") == reaches(parity_level="L1") == "L1"
    assert reaches.__doc__ == "Return the level."
