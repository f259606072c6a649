"""Tests of the contract for everything registered; a new plugin is covered automatically.

``CONFORMANCE_SLOW`` (``decision_tree``) names the algorithms that are put through all of
scikit-learn's checks, and whose claims are tried, here as well; ``all`` is minutes each.
"""

import os
from dataclasses import replace

import pytest

from harness.conformance.claims import CHECK
from harness.plugins.registry import Registry, load_registry
from harness.testing import conformance

REGISTRY = load_registry(strangers=False)
N_TREES = 5  # of each member of voting and stacking, whose default has 50
# Minutes of scikit-learn's own checks, and workers that grow the trees of both sides.
LONG = frozenset({"scikit-learn's check_estimator finds nothing", CHECK})
ASKED = os.environ.get("CONFORMANCE_SLOW", "decision_tree").split()
# Downloads and clusters are checked only if they are available.
MADE = load_registry(modules=["harness.data.providers.generators", "harness.executors.local"])


def some(names):
    """Return a registry of some algorithms, or of all."""
    result = Registry()
    for name, entry in REGISTRY.entries["algorithm"].items():
        if name in names or names == ["all"]:
            result.entries["algorithm"][name] = entry
    return result


def with_small_members():
    """Return the registry's algorithms; the members of voting and stacking have few trees."""
    result = some(["all"])
    entries = result.entries["algorithm"]
    for name in ("voting", "stacking"):
        params = entries[name].value.params
        members = [{**one, "params": {"n_estimators": N_TREES}} for one in params["members"]]
        small = replace(entries[name].value, params={**params, "members": members})
        entries[name] = replace(entries[name], value=small)
    return result


test_a_promise_is_kept = conformance(with_small_members(), leave_out=LONG, kinds=("algorithm",))
test_what_we_make_ourselves = conformance(MADE)
test_numbers_and_sections = conformance(REGISTRY, kinds=("metric", "section"))
test_what_takes_longer = pytest.mark.slow(conformance(some(ASKED), only=LONG, kinds=("algorithm",)))


@pytest.mark.parametrize("name", REGISTRY.names("algorithm"))
def test_shipped_content_names_its_source(name):
    algorithm = REGISTRY.algorithm(name)
    assert algorithm.paper
    if algorithm.reference is not None:
        assert REGISTRY.algorithm(algorithm.reference).origin == "reference"
