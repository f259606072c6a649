"""One experiment that is run repeatedly while its processes are killed.

It has trials that succeed, crash and hang, an algorithm whose kernels are compiled, tree
comparisons, duels and a report, so that a kill can happen in each of these stages.
"""

import contextlib
import os
import sqlite3
import subprocess
import sys
from collections import Counter
from contextlib import closing
from pathlib import Path

import psutil
from jobs import running

from harness.config.experiment import load_experiment
from harness.plugins.registry import load_registry
from harness.runs.run import Request, plan_request, planned_matches
from harness.store import DATABASE, Store

PLUGIN = Path(__file__).resolve().parents[1] / "plugins" / "ledger.py"
TRAIN_ROWS = {"few": 40, "many": 80}  # the ledger identifies a dataset by its training rows
SIDE_BY_SIDE = 2
NUMBERS = 150  # successful trials of each dataset
STAGES = ("start", "compile", "trials", "parity", "duels", "report")  # their names on stderr
EXPERIMENT = """
name = "campaign"
datasets = ["few", "many"]
algorithms = [
    {{ name = "ledger", params = {{ deed = "crash" }} }},
    {{ name = "ledger", grid = {{ number = {numbers} }} }},
    {{ name = "ledger", params = {{ deed = "hang" }} }},
    {{ name = "sklearn.decision_tree", grid = {{ max_depth = [1, 2, 3] }} }},
    {{ name = "decision_tree", grid = {{ max_depth = [1, 2, 3] }} }},
]
[duels]
pairs = [["decision_tree", "sklearn.decision_tree"]]
datasets = ["few", "many"]
launches = 1
blocks = 1
[parity]
pairs = [["decision_tree", "sklearn.decision_tree"]]
datasets = ["*"]
[run]
jobs = {jobs}
timeout = "5s"
"""
REPEATED_TIMEOUTS = """
SELECT count(*) FROM outcome
WHERE json_extract(facts, '$.machine_load.loaded') AND EXISTS (
    SELECT 1 FROM outcome AS later WHERE later.trial = outcome.trial AND later.key > outcome.key)
"""


class Campaign:
    """One experiment in one folder, and what the test observes of it."""

    def __init__(self, folder, numbers=NUMBERS, kernels=None):
        self.kernels = kernels or folder / "kernels"
        self.results, self.ledger = folder / "results", folder / "ledger"
        self.folder, self.token = folder, str(folder)
        self.experiment = folder / "campaign.toml"
        text = EXPERIMENT.format(numbers=list(range(1, numbers + 1)), jobs=SIDE_BY_SIDE)
        self.experiment.write_text(text)
        self.planned, self.duels, self.comparisons = self._planned()
        self.noted = {}  # stored trial → number of its executions when it was first seen
        self.kills, self.hit = Counter(), Counter()  # by kind, and by stage
        self.starts = 0

    def _planned(self):
        registry = load_registry([PLUGIN], strangers=False)
        request = Request(load_experiment(str(self.experiment)), plugin_files=(str(PLUGIN),))
        plan = plan_request(request, registry)
        ids = {trial.id for trial in plan.trials()}
        matches = planned_matches(request, registry, plan)
        return ids, {d.id for d in plan.duels}, {match.what["id"] for match in matches}

    def start(self, *more):
        """Start the command line; its stderr goes to a new file."""
        variables = {
            "HARNESS_LEDGER": str(self.ledger),
            "HARNESS_CAMPAIGN": self.token,
            "HARNESS_KERNEL_CACHE": str(self.kernels),
            "HARNESS_PACKAGED_KERNELS": "0",  # so that the stage of compiling takes its time
        }
        command = [sys.executable, "-m", "harness", "run", str(self.experiment)]
        command += ["--plugin", str(PLUGIN), "--results", str(self.results), "--json", *more]
        self.starts += 1
        log = self.folder / f"stderr-{self.starts}.txt"
        with log.open("w") as file:
            process = subprocess.Popen(
                command,
                env=os.environ | variables,
                stdout=subprocess.PIPE,
                stderr=file,
                text=True,
            )
        process.log = log
        return process

    def executions(self):
        """Return the number of executions of each trial, from the ledger."""
        return Counter(self.ledger.read_text().splitlines() if self.ledger.exists() else [])

    def outcomes(self):
        """Return the current outcomes of the latest run, new or reused."""
        if not Store.exists(self.results):
            return []
        with Store.open(self.results) as store:
            return [outcome for outcome, _ in store.outcomes()] if store.runs() else []

    def note(self):
        """Record the stored outcomes: none of them may be run again."""
        executions = self.executions()
        for outcome in self.outcomes():
            if is_in_ledger(outcome) and not outcome.facts.get("machine_load", {}).get("loaded"):
                key = key_of(outcome)
                self.noted.setdefault(key, executions[key])

    def repeated_timeouts(self):
        """Return the number of time-outs on a loaded machine whose trial has a later outcome."""
        with closing(sqlite3.connect(self.results / DATABASE)) as database:
            return database.execute(REPEATED_TIMEOUTS).fetchone()[0]

    def processes(self):
        """Return the ids of the running processes of this campaign."""
        pids = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                if process.environ().get("HARNESS_CAMPAIGN") == self.token:
                    pids.append(process.pid)
        return [pid for pid in pids if running(pid)]


def stage_of(process):
    """Return the index of the stage that a run has reached."""
    names = [line.partition(":")[0] for line in process.log.read_text().splitlines()]
    return max((STAGES.index(name) for name in names if name in STAGES), default=0)


def is_in_ledger(outcome):
    """Return True if the trial of an outcome writes into the ledger."""
    return outcome.trial.algorithm == "ledger"


def key_of(outcome):
    """Return the line that an outcome's trial writes into the ledger."""
    params = outcome.trial.params
    return f"{params['deed']} {params['number']} {TRAIN_ROWS[outcome.trial.dataset]}"


def workers_of(process):
    """Return the worker processes of a run, including the templates they are forked from."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return psutil.Process(process.pid).children(recursive=True)
    return []
