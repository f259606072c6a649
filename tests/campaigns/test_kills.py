"""Real runs of the command line, killed at random moments, again and again.

``SOAK_KILLS`` (100) kills drawn from ``SOAK_SEED`` (1). What must hold at the end of each run is
the promise of a store that one can trust: exactly the planned outcomes, nothing run again that
was stored, nothing half-written, no process and no file left over.
"""

import contextlib
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from contextlib import closing
from pathlib import Path

import psutil
import pytest
from jobs import running, wait_until

from harness.model import Status
from harness.store import DATABASE, Store

PLUGIN = Path(__file__).resolve().parents[1] / "plugins" / "ledger.py"
TRAIN_ROWS = {"few": 40, "many": 80}  # how the ledger tells the datasets apart
SIDE_BY_SIDE = 2
NUMBERS = 250  # trials of each dataset that only work
EXPERIMENT = """
name = "campaign"
datasets = ["few", "many"]
algorithms = [
    {{ name = "ledger", params = {{ deed = "crash" }} }},
    {{ name = "ledger", grid = {{ number = {numbers} }} }},
    {{ name = "ledger", params = {{ deed = "hang" }} }},
    {{ name = "sklearn.decision_tree", grid = {{ max_depth = [1, 2, 3] }} }},
]
[run]
jobs = {jobs}
timeout = "5s"
"""
KINDS = ("SIGKILL", "SIGKILL", "worker", "worker", "both", "SIGTERM", "SIGINT")


@pytest.fixture(autouse=True)
def _ctrl_c_is_heard():
    """A shell starts what it puts into the background deaf to Ctrl-C, and children inherit it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


class Campaign:
    """One experiment in one folder, and what is known of it from outside."""

    def __init__(self, folder, numbers=NUMBERS):
        self.results, self.ledger = folder / "results", folder / "ledger"
        self.token = str(folder)
        self.experiment = folder / "campaign.toml"
        text = EXPERIMENT.format(numbers=list(range(1, numbers + 1)), jobs=SIDE_BY_SIDE)
        self.experiment.write_text(text)
        self.planned = 2 * (numbers + 2 + 3)
        self.noted = {}  # what was stored, and how often it had been run then
        self.kills = Counter()

    def start(self, *more):
        variables = {"HARNESS_LEDGER": str(self.ledger), "HARNESS_CAMPAIGN": self.token}
        command = [sys.executable, "-m", "harness", "run", str(self.experiment), "--no-report"]
        command += ["--plugin", str(PLUGIN), "--results", str(self.results), "--json", *more]
        return subprocess.Popen(
            command,
            env=os.environ | variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def executions(self):
        """Return how often each trial of the ledger was really run."""
        return Counter(self.ledger.read_text().splitlines() if self.ledger.exists() else [])

    def outcomes(self):
        """Return the outcomes that the latest run has now, fresh or reused."""
        if not Store.exists(self.results):
            return []
        with Store.open(self.results) as store:
            return [outcome for outcome, _ in store.outcomes()] if store.runs() else []

    def note(self):
        """Remember what is stored now: none of it may ever be run again."""
        executions = self.executions()
        for outcome in self.outcomes():
            if is_ours(outcome):
                key = key_of(outcome)
                self.noted.setdefault(key, executions[key])

    def processes(self):
        """Return what runs on behalf of this campaign."""
        found = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                if process.environ().get("HARNESS_CAMPAIGN") == self.token:
                    found.append(process.pid)
        return [pid for pid in found if running(pid)]


def is_ours(outcome):
    """Say whether the ledger knows of an outcome, not only the store."""
    return outcome.trial.algorithm == "ledger"


def key_of(outcome):
    """Return the ledger's line of an outcome."""
    params = outcome.trial.params
    return f"{params['deed']} {params['number']} {TRAIN_ROWS[outcome.trial.dataset]}"


def workers_of(process):
    """Return the workers of a run, their templates among them."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return psutil.Process(process.pid).children(recursive=True)
    return []


def wait_for_a_moment(process, campaign, chance, kills):
    """Let a random time pass, mostly counted from the next trial on: starting may take longer."""
    before = campaign.executions().total()
    if chance.random() < 0.75:
        while process.poll() is None and campaign.executions().total() == before:
            time.sleep(0.01)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(chance.uniform(0.0, 2.5) if kills > 0 else 600)


def strike(process, kind, chance):
    """Kill; return whether somebody was hit."""
    if kind in ("worker", "both"):
        workers = workers_of(process)
        if not workers:
            return False
        with contextlib.suppress(psutil.NoSuchProcess):
            chance.choice(workers).kill()
    if kind != "worker":
        process.send_signal(signal.SIGKILL if kind == "both" else signal.Signals[kind])
    return True


def ended(process, kind):
    """Wait for the end of a run that was told to end, and hold what it says against its promise."""
    _, err = process.communicate(timeout=60)
    if kind in ("SIGKILL", "both"):
        assert process.returncode in (-signal.SIGKILL, 3)
    elif process.returncode != 3:  # 3: it had just ended by itself
        if process.returncode == 130:
            assert "harness: interrupted" in err
            assert "Traceback" not in err, err
        else:  # it came while Python itself was starting
            assert process.returncode in (1, -signal.Signals[kind]), (process.returncode, err)
            assert "in started" not in err, err


def run_under_fire(campaign, chance, kills):
    """Run until the end, killing on the way; return what the run that came through printed."""
    while True:
        process = campaign.start()
        while True:
            wait_for_a_moment(process, campaign, chance, kills)
            if process.poll() is not None:
                break
            kind = chance.choice(KINDS)
            if not strike(process, kind, chance):
                continue
            kills -= 1
            campaign.kills[kind] += 1
            print(kind, campaign.executions().total(), end="; ", flush=True)  # noqa: T201
            if kind != "worker":
                ended(process, kind)
                break
        campaign.note()
        if not process.stdout.closed:  # nobody killed it
            out, err = process.communicate()
            assert process.returncode == 3, err
            return json.loads(out)


def check_whole(campaign):
    """Check that the store is intact, and that nothing else is in the results folder."""
    with Store.open(campaign.results) as store:
        named = {sha for o, _ in store.outcomes() for sha in o.arrays.values()}
        for sha256 in named:
            store.artifact(sha256)
        files = {store.artifacts.hash_of(path) for path in store.artifacts.files()}
        assert files == named
    with closing(sqlite3.connect(campaign.results / DATABASE)) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert database.execute("PRAGMA foreign_key_check").fetchall() == []
    left = {path.name for path in campaign.results.iterdir()}
    assert left - {f"{DATABASE}.lock"} == {DATABASE, "artifacts"}
    wait_until(lambda: not campaign.processes())


def check_outcomes(campaign):
    """Check that each planned trial has one outcome; return those that a kill of ours ended."""
    outcomes = campaign.outcomes()
    assert len(outcomes) == len({o.trial.id for o in outcomes}) == campaign.planned
    killed = [o for o in outcomes if o.failure and o.failure.kind == "SIGKILL"]
    expected = {"work": Status.DONE, "crash": Status.CRASHED, "hang": Status.TIMEOUT}
    for outcome in outcomes:
        if outcome not in killed:
            assert outcome.status is expected[outcome.trial.params.get("deed", "work")], outcome
    return killed


def besiege(folder, chance, kills):
    """Take one experiment through its kills to its end, and check all of it."""
    campaign = Campaign(folder)
    told = run_under_fire(campaign, chance, kills)
    killed = check_outcomes(campaign)
    assert sum(told["outcomes"].values()) == campaign.planned
    assert len(killed) <= campaign.kills["worker"] + campaign.kills["both"]
    executions = campaign.executions()
    assert {key: executions[key] for key in campaign.noted} == campaign.noted, "run twice"
    never = {key_of(o) for o in campaign.outcomes() if is_ours(o)} - set(executions)
    assert never <= {key_of(o) for o in killed if is_ours(o)}, "stored, though never run"
    extra = executions.total() - len(executions)
    assert extra <= SIDE_BY_SIDE * (campaign.kills.total() - campaign.kills["worker"])
    with Store.open(campaign.results) as store:
        assert store.counts()["outcomes"] == campaign.planned
    check_whole(campaign)

    process = campaign.start("--retry-failed")
    process.communicate(timeout=600)
    assert process.returncode == 3
    assert check_outcomes(campaign) == []
    assert campaign.executions().total() <= executions.total() + len(killed) + 4
    check_whole(campaign)
    return campaign, executions.total(), extra, len(killed)


@pytest.mark.slow
def test_a_run_killed_at_random_moments_ends_as_planned(tmp_path):
    chance = random.Random(int(os.environ.get("SOAK_SEED", "1")))
    wanted = int(os.environ.get("SOAK_KILLS", "100"))
    began, kills, number = time.monotonic(), Counter(), 0
    while kills.total() < wanted:
        folder = tmp_path / str(number := number + 1)
        folder.mkdir()
        campaign, executions, extra, killed = besiege(folder, chance, wanted - kills.total())
        kills += campaign.kills
        print(  # noqa: T201 - the figures of the campaign
            f"\nrun {number}: {campaign.planned} trials, {dict(campaign.kills)}; {executions} "
            f"executions, {extra} of them for trials in flight; {killed} trials ended by a kill"
        )
    print(f"{kills.total()} kills in {time.monotonic() - began:.0f} s: {dict(kills)}")  # noqa: T201


@pytest.mark.slow
def test_two_runs_at_once_share_the_work(tmp_path):
    campaign = Campaign(tmp_path, numbers=40)
    both = [campaign.start(), campaign.start()]
    told = []
    for process in both:
        out, err = process.communicate(timeout=300)
        assert process.returncode == 3, err
        told.append(json.loads(out))
    assert sorted(t["reused"] for t in told) == [0, campaign.planned]
    assert check_outcomes(campaign) == []
    assert set(campaign.executions().values()) == {1}
    check_whole(campaign)


@pytest.mark.slow
def test_a_waiting_run_takes_over_from_one_that_is_killed(tmp_path):
    campaign = Campaign(tmp_path, numbers=40)
    first = campaign.start()
    wait_until(lambda: campaign.executions().total() > 5, 60)
    second = campaign.start()
    assert "waiting" in second.stderr.readline()
    campaign.note()
    first.kill()
    first.communicate()
    out, err = second.communicate(timeout=300)
    assert second.returncode == 3, err
    assert json.loads(out)["reused"] >= len(campaign.noted) > 0
    assert check_outcomes(campaign) == []
    executions = campaign.executions()
    assert {key: executions[key] for key in campaign.noted} == campaign.noted
    assert executions.total() <= len(executions) + SIDE_BY_SIDE
    check_whole(campaign)
