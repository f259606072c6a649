"""Tests of the pytest plugin, which collects the contract as tests if a setting requests it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import harness
from harness.conformance.claims import CHECK
from harness.plugins.registry import load_registry
from harness.testing import every_case

ROOT = Path(harness.__file__).resolve().parents[1]
PLUGIN = """
from harness import Metric, Task, hookimpl

def score(p):
    return {score}

@hookimpl
def register_metrics(register):
    register(Metric("mean-off", frozenset({{Task.REGRESSION}}), score, summary="for a test"))
"""
DEAF = "float(abs(p.output - p.y).mean())"


@pytest.fixture
def project(tmp_path):
    (tmp_path / "deaf.py").write_text(PLUGIN.format(score=DEAF))
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_one.py").write_text("def test_one():\n    pass\n")
    settings = "[pytest]\nharness_plugins = deaf.py\nfilterwarnings = error\n"
    (tmp_path / "pytest.ini").write_text(settings)
    return tmp_path


def collect(project, *arguments):
    command = [sys.executable, "-m", "pytest", "-q", "-p", "harness.pytest_plugin"]
    command += ["-p", "no:cacheprovider", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.run(
        command, cwd=project, env=environment, capture_output=True, text=True, check=False
    )


def test_setting_makes_a_test_of_each_rule_and_names_the_broken_one(project):
    done = collect(project)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "1 failed, 8 passed" in done.stdout
    assert "weights count rows: 2 is the row twice" in done.stdout
    assert "of weights 0, 1 and 2 it returns" in done.stdout
    chosen = collect(project, "-k", "returns_a_float")
    assert "1 passed, 8 deselected" in chosen.stdout


def test_only_paths_on_the_command_line_run(project):
    assert "1 passed in" in collect(project, "tests").stdout
    requested = collect(project, "tests", "--harness-plugin", "deaf.py")
    assert "1 failed, 8 passed" in requested.stdout


def test_installed_plugin_adds_no_cost(project):
    code = "import sys, harness.pytest_plugin; print(sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = done.stdout
    for heavy in ("'numpy'", "'pandas'", "'sklearn'", "'harness.plugins.registry'"):
        assert heavy not in loaded
    (project / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\n")
    assert "1 passed in" in collect(project).stdout


def test_each_claim_is_its_own_case():
    registry = load_registry(modules=["algorithms.decision_tree", "harness.executors.local"])
    results = list(every_case(registry))
    claims = [case.name for case in results if case.promise == CHECK]
    assert [name.split("-it_")[0] for name in claims] == [
        "decision_tree-default",
        "decision_tree-scikit-learn",
    ]
    (skipped,) = [case for case in results if case.name == claims[0]]
    with pytest.raises(pytest.skip.Exception, match="is checked by `harness run` only"):
        skipped.run()
    assert {case.name.split("-")[0] for case in results} == {"decision_tree", "local"}


LIAR = """
from sklearn.tree import DecisionTreeRegressor
from harness import Algorithm, Task, estimator_adapter, hookimpl

def build(spec):
    return DecisionTreeRegressor(max_depth=2, random_state=0)

@hookimpl
def register_algorithms(register):
    register(Algorithm("boaster", estimator_adapter(build), frozenset({Task.REGRESSION}),
        reference="sklearn.decision_tree", parity_levels={"default": "L3"}, summary="for a test"))
"""


@pytest.mark.slow
def test_false_claim_fails_in_the_tests_of_its_package(tmp_path):
    (tmp_path / "boaster.py").write_text(LIAR)
    (case,) = [c for c in every_case(str(tmp_path / "boaster.py")) if c.promise == CHECK]
    with pytest.raises(AssertionError, match="it claims L3"):
        case.run()
