"""Tests of the command line with a cluster of its own, where only the executor is named."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from jobs import PLUGIN

from harness.core.model import Status
from harness.executors.dask_cluster.hosts import PREFIX
from harness.store import Store

pytest.importorskip("distributed", reason="the extra 'dask' is not installed")

EXPERIMENT = """
name = "own-cluster"
datasets = ["counted"]
[[algorithms]]
name = "misbehave"
grid = { number = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9] }
"""


@pytest.mark.slow
def test_cluster_is_started_for_a_run_without_a_scheduler_and_closed_after_it(tmp_path):
    table = Path(shutil.copy(PLUGIN.with_name("counted.py"), tmp_path))
    experiment, results = tmp_path / "experiment.toml", tmp_path / "results"
    experiment.write_text(EXPERIMENT)
    command = [sys.executable, "-m", "harness", "run", str(experiment), "--no-report"]
    command += ["--plugin", str(PLUGIN), "--plugin", str(table), "--results", str(results)]
    command += ["--executor", "dask", "--jobs", "2"]
    own = tmp_path / "own"
    own.mkdir()
    surroundings = {**os.environ, "TMPDIR": str(own)}
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=240, env=surroundings, check=False
    )
    assert done.returncode == 0, done.stderr
    with Store.open(results) as store:
        result = [outcome for outcome, _ in store.outcomes()]
    assert [outcome.status for outcome in result] == [Status.DONE] * 10
    workers = {outcome.facts["dask"]["worker"] for outcome in result}
    assert len(workers) in (1, 2)  # on a busy machine one worker may run all trials
    assert all(address.startswith("tcp://127.0.0.1:") for address in workers)
    assert not any(outcome.facts["alone"] for outcome in result)
    # The client compiles nothing and reads no table: each worker reads it once.
    assert len(table.with_suffix(".reads").read_text().split()) == len(workers)
    assert not list(own.glob(f"{PREFIX}*"))
    assert "Traceback" not in done.stderr
