"""``harness compile``: which algorithms it compiles, with which params, and what it says."""

import pytest
from click.testing import CliRunner

from harness.cli.compile import command, jobs_to_compile
from harness.core.errors import ConfigError
from harness.execution.supervisor import KINDS, Compiled, Supervisor
from harness.plugins.registry import load_registry


@pytest.fixture
def warmed(monkeypatch):
    """Return what a supervisor is asked to compile; nothing is."""
    asked = []

    def warm(_, job, kinds):
        asked.append((job.algorithm, [dict(trial.params) for trial in job.trials], set(kinds)))
        return Compiled(job.algorithm, 1.5, ("no luck",) if job.algorithm == "bagging" else (), 7)

    monkeypatch.setattr(Supervisor, "warm", warm)
    return asked


def test_all_algorithms_of_our_own_are_compiled_for_all_kinds_of_tables(warmed):
    done = CliRunner().invoke(command, [], standalone_mode=False)
    registry = load_registry(())
    algorithms = registry.entries["algorithm"]
    scratch = {name: e.value for name, e in algorithms.items() if e.value.origin == "scratch"}
    assert {name for name, _, _ in warmed} == set(scratch)
    for name, params, kinds in warmed:
        assert params == [{}, *map(dict, scratch[name].variants)]
        assert kinds == KINDS | {"float32"}
    assert done.return_value == 3  # one of them could not be compiled
    assert "no luck" in done.output
    assert f"compiled {7 * len(scratch)} functions" in done.output


def test_a_part_of_them_is_chosen_by_name(warmed):
    done = CliRunner().invoke(command, ["-a", "*_boosting"], standalone_mode=False)
    assert {name for name, _, _ in warmed} == {
        "gradient_boosting",
        "histogram_boosting",
        "newton_boosting",
        "symmetric_boosting",
    }
    assert done.return_value == 0
    assert jobs_to_compile(load_registry(()), ("sklearn.*",), 1) == []
    with pytest.raises(ConfigError, match="random_forest"):
        CliRunner().invoke(
            command, ["-a", "random_forst"], standalone_mode=False, catch_exceptions=False
        )
