"""What every registered algorithm must do, whoever wrote it; a new plugin is covered by itself."""

import pytest

from harness.plugins import load_registry
from harness.testing import conformance

REGISTRY = load_registry(strangers=False)
# scikit-learn's checks are in the tests of each estimator.
ELSEWHERE = frozenset({"scikit-learn's check_estimator finds nothing"})


test_a_promise_is_kept = conformance(REGISTRY, leave_out=ELSEWHERE)


@pytest.mark.parametrize("name", REGISTRY.names("algorithm"))
def test_what_this_project_ships_names_its_source(name):
    algorithm = REGISTRY.algorithm(name)
    assert algorithm.paper
    if algorithm.reference is not None:
        assert REGISTRY.algorithm(algorithm.reference).origin == "reference"
