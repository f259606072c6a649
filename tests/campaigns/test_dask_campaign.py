"""Run of many trials on a cluster whose workers are killed, through command line and store.

``DASK_TRIALS`` (500) trials of the command itself, ``harness run --executor dask``; five workers
are killed while they work, and the run itself once. At the end every trial is stored, done, and
none was run again that had been done.
"""

import os
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from contextlib import closing

import pytest
from dask_kit import LEAVES_SOCKETS, cluster_of
from jobs import PLUGIN, wait_until

from harness.core import machine
from harness.core.model import Status
from harness.store import DATABASE, Store

distributed = pytest.importorskip("distributed", reason="the extra 'dask' is not installed")

pytestmark = LEAVES_SOCKETS
KILLS = 5
WORKERS = 2
EXPERIMENT = """
name = "campaign"
datasets = ["tiny"]
[[algorithms]]
name = "misbehave"
grid = {{ number = {numbers} }}
"""
DUEL = """
name = "one-duel"
datasets = ["tiny"]
algorithms = ["misbehave", "sklearn.decision_tree"]
[duels]
pairs = [["misbehave", "sklearn.decision_tree"]]
datasets = ["tiny"]
launches = 1
blocks = 1
"""


class Campaign:
    """A run of the command line on a cluster."""

    def __init__(self, folder, address, text):
        self.results, self.address = folder / "results", address
        self.experiment = folder / "experiment.toml"
        self.experiment.write_text(text)

    def start(self):
        command = [sys.executable, "-m", "harness", "run", str(self.experiment), "--no-report"]
        command += ["--plugin", str(PLUGIN), "--results", str(self.results)]
        command += ["--executor", "dask", "--scheduler", self.address]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def finish(self, process):
        output = process.communicate(timeout=300)
        assert process.returncode == 0, output
        return self.outcomes()

    def done(self):
        """Return the start time of each trial that finished without losing its worker."""
        return {one.trial.id: one.started for one in self.outcomes() if one.status is Status.DONE}

    def outcomes(self):
        if not Store.exists(self.results):
            return []
        with Store.open(self.results) as store:
            return [outcome for outcome, _ in store.outcomes()] if store.runs() else []


def is_busy(dask_worker):
    return bool(dask_worker.state.executing), os.getpid()


def kill_one(cluster, client):
    """Kill a busy worker, and wait until another one has replaced it.

    Distributed's supervisor of a worker sometimes hangs while it restarts a killed one; another
    worker is then added.
    """
    address, pid = wait_until(lambda: busy_one(client), 60.0)
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: address not in client.nthreads(), 60.0)
    try:
        client.wait_for_workers(WORKERS, timeout=60)
    except TimeoutError:
        cluster.scale(len(cluster.workers) + 1)
        client.wait_for_workers(WORKERS, timeout=60)


def busy_one(client):
    """Return the address and the process of a busy worker, or None."""
    result = client.run(is_busy, on_error="ignore")
    return next(((address, pid) for address, (works, pid) in result.items() if works), None)


def stored_in(results):
    """Return the number of stored outcomes."""
    if not (results / DATABASE).exists():
        return 0
    with closing(sqlite3.connect(f"file:{results / DATABASE}?mode=ro", uri=True)) as rows:
        try:
            return rows.execute("SELECT count(*) FROM outcome").fetchone()[0]
        except sqlite3.OperationalError:  # it is being made
            return 0


@pytest.mark.slow
def test_long_run_survives_five_lost_workers_and_its_own_end(tmp_path):
    count = int(os.environ.get("DASK_TRIALS", "500"))
    text = EXPERIMENT.format(numbers=list(range(count)))
    known = {}
    with cluster_of(WORKERS) as cluster, distributed.Client(cluster) as client:
        campaign = Campaign(tmp_path, cluster.scheduler_address, text)
        process = campaign.start()
        for kill in range(KILLS):
            enough = count * (kill + 1) // (KILLS + 3)
            wait_until(lambda n=enough: stored_in(campaign.results) > n, 120)
            kill_one(cluster, client)
            if kill == KILLS // 2:
                process.kill()
                process.communicate()
                known = campaign.done()
                process = campaign.start()
        result = campaign.finish(process)
    assert len({outcome.trial.id for outcome in result}) == len(result) == count
    assert Counter(outcome.status for outcome in result) == {Status.DONE: count}
    assert known.items() <= campaign.done().items()
    assert len(known) > count * KILLS // 2 // (KILLS + 3)
    lost = [address for outcome in result for address in outcome.facts["dask"]["lost"]]
    assert 1 <= len(set(lost)) <= KILLS
    sys.stdout.write(f"{count} trials, {KILLS} workers killed, {len(lost)} trials done again\n")


@pytest.mark.slow
def test_run_and_duel_work_from_the_command_line(tmp_path):
    with cluster_of(1) as cluster:
        campaign = Campaign(tmp_path, cluster.scheduler_address, DUEL)
        result = campaign.finish(campaign.start())
    assert result
    with Store.open(campaign.results) as store:
        ((duel, _),) = store.duels()
    for facts in (result[0].facts, duel.facts):
        assert facts["dask"]["machine"] == machine.machine_id()
        assert facts["dask"]["worker"].startswith("tcp://")
