"""Tests that a wall clock that jumps has no effect."""

import itertools
import time

import pytest
from jobs import job

from harness.core.model import Status
from harness.execution.supervisor import Supervisor
from harness.store import Store


@pytest.fixture
def _jumping(monkeypatch):
    """Make the clock jump by a day at each call, forward and back."""
    real, jumps = time.time, itertools.cycle([86_400.0, -86_400.0])
    monkeypatch.setattr(time, "time", lambda: real() + next(jumps))


@pytest.mark.usefixtures("_jumping")
def test_limits_do_not_use_the_wall_clock(tmp_path):
    with Supervisor(tmp_path) as supervisor:
        outcomes = list(supervisor.supervise(job({}, {"fit": "sleep", "seconds": 9.0}, timeout=5)))
    assert [o.status for o in outcomes] == [Status.DONE, Status.TIMEOUT]


def test_runs_are_in_the_order_in_which_they_began(tmp_path, monkeypatch):
    with Store.open(tmp_path, write=True) as store:
        begun = []
        for stamp in ("2030-01-01T00:00:00.000+00:00", "1999-01-01T00:00:00.000+00:00"):
            monkeypatch.setattr("harness.store.write.utc_now", lambda stamp=stamp: stamp)
            begun.append(store.begin_run("x", {}, "0", {}))
        assert store.run()["id"] == begun[-1]
        assert [run["id"] for run in store.runs()] == begun[::-1]
