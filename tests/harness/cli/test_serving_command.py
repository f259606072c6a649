"""Tests of ``harness serving`` with real workers."""

import json

import pytest
from command_line import run_command

from harness.store import Store

SMALL = ("--launches", "2", "--rounds", "1", "--calls", "20", "--batches", "1,700")


@pytest.mark.slow
def test_serving_times_are_measured_stored_and_reported(tmp_path):
    """A tree of scikit-learn on diabetes, whose 89 test rows are repeated in a batch of 700."""
    names = ("-a", "sklearn.decision_tree")
    end = run_command(tmp_path, "serving", *names, "-d", "diabetes", *SMALL, "--json")
    assert end.returncode == 0, end.stderr
    document = json.loads(end.stdout)
    (one,) = document["serving"]
    assert one["failure"] == ""
    assert one["model_bytes"] > 500
    assert 2 <= one["calls"] <= 40, "fewer if they take longer than a second"
    assert list(one["batches"]) == ["1", "700"]
    assert 0 < one["first_call"]["low"] <= one["first_call"]["value"]
    assert set(one["quantiles"]) <= {"0.5", "0.9"}, "p99 needs 100 calls in a launch"
    with Store.open(tmp_path / "results") as store:
        assert store.run("latest")["config"]["serving"]["batches"] == [1, 700]
    path = tmp_path / run_command(tmp_path, "report").stdout.strip()
    page = path.read_text()
    assert "Serving times" in page
    assert "This section failed" not in page
    assert "This run measured serving times only" in page
    again = "serving -a sklearn.decision_tree -d diabetes --batches 1,700"
    assert again in page


def test_wrong_names_and_sizes_are_refused(tmp_path):
    end = run_command(tmp_path, "serving", "-a", "sklearn.*", "-d", "nothing_like_it")
    assert end.returncode == 2
    assert "unknown dataset" in end.stderr
    end = run_command(tmp_path, "serving", "-a", "x", "-d", "diabetes", "--batches", "0,1")
    assert (end.returncode, "batches must be 1 or more" in end.stderr) == (2, True)
    end = run_command(tmp_path, "serving", "-a", "x")
    assert (end.returncode, "name either a dataset" in end.stderr) == (2, True)
