"""Time of planning; ``pytest -s -m slow tests/harness/test_planning_time.py`` prints it.

``PLANNED_TRIALS`` (100 000) is the least number of trials that are planned.
"""

import os
import time
from itertools import count

import pytest

from harness.config.experiment import parse_experiment
from harness.planning.plan import make_plan
from harness.plugins.registry import load_registry
from harness.runs.run import surroundings


def planned(seeds):
    """Return the ids of all trials of a plan, and the seconds of planning."""
    experiment = {
        "name": "large",
        "datasets": ["breast_cancer", "wine", "digits", "iris", "diabetes", "friedman1"],
        "splits": {"folds": 10, "repeats": 10},
        "run": {"seeds": list(range(seeds))},
    }
    requested, registry = parse_experiment(experiment, "here"), load_registry()
    began = time.perf_counter(), time.process_time()
    plan = make_plan(requested, registry, surroundings())
    seconds = time.perf_counter() - began[0], time.process_time() - began[1]
    return [trial.id for trial in plan.trials()], seconds


@pytest.mark.slow
def test_many_trials_are_planned_with_unique_ids():
    expected = int(os.environ.get("PLANNED_TRIALS", "100000"))
    one, _ = planned(1)
    seeds = next(n for n in count(1) if n * len(one) >= expected)
    ids, (wall, cpu) = planned(seeds)
    assert len(ids) == len(set(ids)) == seeds * len(one)
    assert set(one) <= set(ids)
    print(f"\n{len(ids)} trials planned in {wall:.2f} s, {cpu:.2f} s of them CPU time")  # noqa: T201
