"""Tests of ``harness compile``: compiled algorithms, params, and messages."""

import os

import pytest
from click.testing import CliRunner

from harness.cli.compile import command, jobs_to_compile
from harness.core.errors import ConfigError, HarnessError
from harness.execution import kernel_package
from harness.execution.supervisor import KINDS, Compiled, Supervisor
from harness.plugins.registry import load_registry


@pytest.fixture
def warmed(monkeypatch):
    """Return the list of requested compilations; nothing is compiled."""
    requested = []

    def warm(_, job, kinds):
        requested.append((job.algorithm, [dict(trial.params) for trial in job.trials], set(kinds)))
        return Compiled(job.algorithm, 1.5, ("no luck",) if job.algorithm == "bagging" else (), 7)

    monkeypatch.setattr(Supervisor, "warm", warm)
    return requested


def test_all_own_algorithms_are_compiled_for_all_kinds_of_tables(warmed):
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


def test_algorithms_to_compile_are_selected_by_name(warmed):
    done = CliRunner().invoke(command, ["-a", "*_boosting"], standalone_mode=False)
    assert {name for name, _, _ in warmed} == {
        "cross_fitted_boosting",
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


@pytest.fixture
def written(monkeypatch):
    """Return the folders that a package would be written to, with the variables of that moment."""
    found = []

    def write(parent):
        found.append((parent, dict(os.environ)))
        return "/the/package"

    monkeypatch.setattr(kernel_package, "_write", write)
    return found


def test_a_package_is_written_after_one_and_two_threads_have_compiled_into_a_folder(
    warmed, written, tmp_path
):
    before = dict(os.environ)
    given = ["-a", "*_boosting", "--into-package", "--package-folder", str(tmp_path)]
    done = CliRunner().invoke(command, [*given, "--target", "x86-64-v3"], standalone_mode=False)
    assert done.return_value == 0
    assert "kernels for x86-64-v3 processors: /the/package" in done.output
    assert len(warmed) == 2 * 5
    assert sum(params == [{}] for _, params, _ in warmed) >= 5  # those of two threads
    [(parent, variables)] = written
    assert parent == tmp_path
    assert variables["NUMBA_CPU_NAME"] == "x86-64-v3"
    assert "+avx2" in variables["NUMBA_CPU_FEATURES"]
    assert "harness-kernels-" in variables["HARNESS_BUILD_KERNELS"]
    assert dict(os.environ) == before


def test_kernels_for_this_processor_are_compiled_without_a_name_of_a_processor(warmed, written):
    done = CliRunner().invoke(command, ["-a", "bagging", "--into-package"], standalone_mode=False)
    assert done.return_value == 0
    assert "not trained: " in done.output  # the other kernels are packaged
    [(parent, variables)] = written
    assert parent is None
    assert "NUMBA_CPU_NAME" not in variables


def test_a_package_that_cannot_be_written_is_an_error(tmp_path):
    with (
        pytest.raises(HarnessError, match="no compiled kernels"),
        kernel_package.compile_package("native", tmp_path / "compiled"),
    ):
        pass  # nothing is compiled
    assert not (tmp_path / "compiled").exists()
