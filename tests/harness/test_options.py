"""Tests of requests, as texts of a command line or as Python values."""

import inspect
from dataclasses import fields

import click
import pytest

import harness
from harness.cli import duel, parity, run
from harness.core.errors import ConfigError
from harness.plugins.registry import load_registry
from harness.runs.request import RunOptions, duel_experiment, params_of_sides


def test_params_are_toml_or_text_for_one_side_or_both():
    sides = (("max_depth=3",), ("criterion=entropy",))
    assert params_of_sides(sides, ("rate=0.5", "a.name=x", "B.flags=[1, true]")) == (
        {"max_depth": 3, "rate": 0.5, "name": "x"},
        {"criterion": "entropy", "rate": 0.5, "flags": [1, True]},
    )
    given = ({"max_depth": 3}, {})
    assert params_of_sides(given, {"b.rate": 0.5}) == ({"max_depth": 3}, {"rate": 0.5})
    assert given == ({"max_depth": 3}, {})
    with pytest.raises(ConfigError, match="KEY=VALUE"):
        params_of_sides((("max_depth",), ()), ())


def test_texts_and_values_request_the_same_run():
    registry = load_registry(strangers=False)
    texts = RunOptions(overrides=("splits.folds=4", "name=mine"), timeout="60s", memory="1GiB")
    values = RunOptions(
        overrides={"splits.folds": 4, "name": "mine"}, timeout=60, memory=2**30, datasets=()
    )
    one, other = (options.request(registry).experiment for options in (texts, values))
    assert one == other
    assert (one.splits.folds, one.run.timeout, one.run.memory) == (4, 60.0, 2**30)


def test_fewer_algorithms_keep_the_remaining_pairs():
    registry = load_registry(strangers=False)
    requested = RunOptions("diagnose", algorithms=("bagging",)).request(registry).experiment
    assert requested.diagnostics.pairs == [("bagging", "sklearn.bagging")]
    assert len(requested.diagnostics.names) == 10
    alone = RunOptions("diagnose", algorithms=("sklearn.bagging",)).request(registry).experiment
    assert alone.diagnostics.pairs == []


def test_experiment_may_be_a_mapping_with_reported_mistakes():
    registry = load_registry(strangers=False)
    experiment = {"datasets": ["iris"], "splits": {"folds": 2}}
    requested = RunOptions(experiment, seed=3).request(registry).experiment
    assert (requested.name, requested.splits.seed, requested.run.seeds) == ("experiment", 3, [3])
    assert experiment == {"datasets": ["iris"], "splits": {"folds": 2}}
    with pytest.raises(ConfigError, match=r"the experiment: 1 mistake\n.*did you mean 'folds'"):
        RunOptions({"datasets": ["iris"], "splits": {"fold": 2}}).request(registry)


def test_sides_of_a_duel_may_be_one_algorithm_with_two_params():
    made = duel_experiment(
        ("x", "x"), "iris", settings={}, params=({"c": 1}, ["c=2"]), both=["d=3", "b.e=true"]
    )
    assert [choice.params for choice in made.algorithms] == [
        {"c": 1, "d": 3},
        {"c": 2, "d": 3, "e": True},
    ]


def test_duel_has_launches_or_a_stop_rule():
    with pytest.raises(ConfigError, match="launches cannot be combined with precision"):
        duel_experiment(("a", "b"), "iris", settings={"launches": 8, "precision": "2%"})
    with pytest.raises(ConfigError, match=r"duels\.launches: .*greater than or equal to 1"):
        duel_experiment(("a", "b"), "iris", settings={"launches": 0, "claim": None})


OF_THE_COMMAND_LINE = {
    "again",
    "trial",  # of what is done again
    "as_json",
    "open_it",
    "dry_run",
    "no_report",
    "undecided",
    "no_wait",
    "require",
}


@pytest.mark.parametrize(
    ("function", "command", "more"),
    [
        (harness.run, run.command, {"wait", "progress"}),
        (harness.duel, duel.command, {"target", "task", "progress"}),
        (harness.parity, parity.command, {"data", "target", "task", "progress"}),
    ],
)
def test_python_has_the_options_of_the_command(function, command, more):
    params = inspect.signature(function).parameters
    named = {param.name for param in command.params if isinstance(param, click.Parameter)}
    assert set(params) == (named - OF_THE_COMMAND_LINE) | more
    for param in command.params:
        names = {"results", "plugins", "algorithms", "datasets"}
        if param.name in params and param.name not in names and not param.required:
            default = None if param.multiple else param.default
            message = params[param.name].default
            assert (message or None) == (default or None) or repr(default) == "Sentinel.UNSET"


def test_run_options_are_the_keywords_of_run():
    keywords = set(inspect.signature(harness.run).parameters) - {"progress"}
    assert {field.name for field in fields(RunOptions)} == keywords
