"""What every registered algorithm must do, whoever wrote it; a new plugin is covered by itself."""

import pytest

from harness.conformance.checks import cases
from harness.plugins import load_registry
from harness.testing import run_check

REGISTRY = load_registry(strangers=False)
ELSEWHERE = {"scikit-learn's check_estimator finds nothing"}  # in the tests of each estimator


def every_case():
    for name in REGISTRY.names("algorithm"):
        for check, subject in cases(REGISTRY, name):
            if check.name not in ELSEWHERE:
                task = f"-{subject.task.value}" if check.per_task else ""
                yield pytest.param(check, subject, id=f"{name}{task}-{check.name}")


@pytest.mark.parametrize(("check", "subject"), list(every_case()))
def test_a_promise_is_kept(check, subject):
    run_check(check, subject)


@pytest.mark.parametrize("name", REGISTRY.names("algorithm"))
def test_what_this_project_ships_names_its_source(name):
    algorithm = REGISTRY.algorithm(name)
    assert algorithm.paper
    if algorithm.reference is not None:
        assert REGISTRY.algorithm(algorithm.reference).origin == "reference"
