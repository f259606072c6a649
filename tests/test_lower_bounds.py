"""Tests that the project works with the lowest declared version of each dependency."""

import re

import pytest
from fresh_environment import ROOT, FreshEnvironment, build_wheel, declared

BOUND = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[^\]]*\])?>=([0-9.]+)")
TESTED = (
    *("tests/harness/store", "tests/harness/data/test_files.py"),
    *("tests/harness/test_config.py", "tests/harness/test_plugins.py"),
)


def lowest(requirements: list[str]) -> list[str]:
    """Return each requirement at its lower bound."""
    return [f"{name}=={bound}" for name, bound in (BOUND.match(r).groups() for r in requirements)]


def test_every_dependency_has_a_lower_bound() -> None:
    assert len(lowest(declared()["dependencies"])) == len(declared()["dependencies"])


@pytest.mark.slow
def test_lowest_versions_run_an_experiment_and_some_tests(tmp_path) -> None:
    project = declared()
    tools = [
        r for r in project["optional-dependencies"]["dev"] if r.startswith(("pytest>", "hypo"))
    ]
    pins = lowest([*project["dependencies"], *tools])
    fresh = FreshEnvironment(tmp_path, str(build_wheel(tmp_path)), *pins)
    chosen = ("-a", "decision_tree", "-a", "newton_boosting", "-a", "histogram_boosting")
    small = ("--set", "splits.folds=2", "--set", "capacity.trees=3", "--set", "duels.pairs=[]")
    fresh.output_of("-m", "harness", "run", *chosen, "-a", "catboost*", "-d", "iris", *small)
    (report,) = (fresh.home / "results").glob("report-*.html")
    assert "catboost" in report.read_text(encoding="utf-8")
    tests = fresh.output_of("-m", "pytest", "-q", "-p", "no:cacheprovider", *TESTED, cwd=ROOT)
    assert " passed" in tests
