"""Tests of serving times: rounds over fake workers, and estimates."""

import json
import math
from pathlib import Path

import pytest
from jobs import job

from harness.analysis.serving import ratio_of_times, serving_times, slowdown, speedup, times_of
from harness.cli.serving import _numbers
from harness.core.errors import ConfigError
from harness.core.model import Failure
from harness.execution.session import RefusedError
from harness.measurement.serving import Serving, ServingSettings

NAMES = ("quick", "slow")
SETTINGS = ServingSettings(batches=(1, 100), launches=3, rounds=2, calls=1000)


class FakeWorker:
    """A worker whose calls take fixed times; ``calls`` records who was asked for what."""

    def __init__(self, name, factor, calls, failing=""):
        self.facts = {"samples": [{"phase": "import", "wall": 0.5}]}
        self.name, self.factor, self.calls, self.failing = name, factor, calls, failing

    def hello(self, job, timeout):
        pass

    def close(self):
        self.calls.append((self.name, "close", None))

    def ask(self, do, timeout, **fields):
        self.calls.append((self.name, do, fields.get("rows")))
        if do == self.failing:
            raise RefusedError(Failure("ValueError", "no such file"))
        counts = {"train_rows": 4, "test_rows": 2, "columns": 1}
        replies = {
            "save_served": {"model_bytes": 10 * self.factor, **counts},
            "load_served": {"samples": [{"wall": 0.01 * self.factor}]},
            "serve_rows": {
                "nanoseconds": [1000 * self.factor] * (fields.get("calls", 1) - 1) + [10**6]
            },
            "serve_batch": {"nanoseconds": [1000 * self.factor * fields.get("rows", 1)] * 3},
        }
        return replies.get(do, {})


def measured(failing="", settings=SETTINGS):
    """Return the records and the recorded calls of a measurement with fake workers."""
    calls = []
    kept = {name: job({"name": name}) for name in NAMES}
    by_job = {id(one): name for name, one in kept.items()}

    def opened(one):
        name = by_job[id(one)]
        return FakeWorker(name, NAMES.index(name) + 1, calls, failing if name == "slow" else "")

    serving = Serving(list(kept.values()), opened, Path("unused"), settings, settle=0.0)
    return serving.measure(), calls


def test_processes_are_called_in_turn_and_in_opposite_order_in_the_next_round():
    _, calls = measured()
    batches = [name for name, do, rows in calls if do == "serve_batch" and rows == 100]
    launch = ["quick", "slow"]  # the first call of each process, then two rounds
    assert batches[:6] == [*launch, "quick", "slow", "slow", "quick"]
    assert batches[6:12] == ["slow", "quick", "slow", "quick", "quick", "slow"]


def test_estimates_are_those_of_the_workers():
    records, _ = measured()
    quick, slow = map(times_of, json.loads(json.dumps(records)))
    assert (quick.model_bytes, slow.model_bytes) == (10, 20)
    assert quick.calls == 3 * 2 * 1000
    assert slow.batches[100].value == pytest.approx(2e-4)
    assert slow.load_cold.value == pytest.approx(0.02)
    assert slow.quantiles[0.5].value == pytest.approx(2e-6)
    assert set(slow.quantiles) == {0.5, 0.9, 0.99, 0.999}
    assert ratio_of_times(slow, quick, 100).value == pytest.approx(2.0)
    assert slowdown(slow, (quick, slow), 100).low == pytest.approx(2.0)
    assert slowdown(quick, (quick, slow), 100).value == 1.0
    assert speedup(quick, (quick, slow), 100) is None, "there is one number of threads"


def test_a_quantile_needs_enough_calls():
    settings = ServingSettings(batches=(1,), launches=2, rounds=1, calls=999)
    records, _ = measured(settings=settings)
    assert set(times_of(records[0]).quantiles) == {0.5, 0.9, 0.99}


def test_one_launch_has_no_interval():
    records, _ = measured(settings=ServingSettings((1,), launches=1, rounds=1, calls=1))
    interval = times_of(records[0]).batches[1]
    assert (interval.low, interval.high) == (0.0, math.inf)


@pytest.mark.parametrize("failing", ["fit", "save_served", "load_served", "serve_batch"])
def test_a_failing_model_costs_no_other(failing):
    records, calls = measured(failing)
    quick, slow = map(times_of, records)
    assert (quick.failure, slow.failure) == ("", "no such file")
    assert quick.batches
    assert not slow.batches
    opened = [name for name, do, _ in calls if do == "close"]
    assert opened.count("quick") == 4, "each process is closed"
    assert sum((name, do) == ("slow", failing) for name, do, _ in calls) == 1, "it is not repeated"


def test_other_events_are_ignored():
    records, _ = measured()
    events = [{"kind": "compiled", "data": {}}, {"kind": "serving", "data": records[0]}]
    assert [one.algorithm for one in serving_times(events)] == ["misbehave"]


def test_lists_of_numbers_are_sorted_and_checked():
    assert _numbers("threads", "4,1,1") == (1, 4)
    with pytest.raises(ConfigError, match="--threads is a list of whole numbers"):
        _numbers("threads", "many")
