"""One experiment that is run again and again while its processes are killed.

It has trials that work, crash and hang, a from-scratch algorithm whose kernels are compiled,
comparisons of trees, duels and a report, so that a kill may land in each of them.
"""

import contextlib
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import psutil
from jobs import running

from harness.config.experiment import load_experiment
from harness.plugins.registry import load_registry
from harness.runs.run import Request, plan_request, planned_matches
from harness.store import Store

PLUGIN = Path(__file__).resolve().parents[1] / "plugins" / "ledger.py"
TRAIN_ROWS = {"few": 40, "many": 80}  # how the ledger tells the datasets apart
SIDE_BY_SIDE = 2
NUMBERS = 150  # trials of each dataset that only work
STAGES = ("start", "compile", "trials", "parity", "duels", "report")  # as they are told on stderr
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


class Campaign:
    """One experiment in one folder, and what is known of it from outside."""

    def __init__(self, folder, numbers=NUMBERS, kernels=None):
        self.kernels = kernels or folder / "kernels"
        self.results, self.ledger = folder / "results", folder / "ledger"
        self.folder, self.token = folder, str(folder)
        self.experiment = folder / "campaign.toml"
        text = EXPERIMENT.format(numbers=list(range(1, numbers + 1)), jobs=SIDE_BY_SIDE)
        self.experiment.write_text(text)
        self.planned, self.duels, self.comparisons = self._planned()
        self.noted = {}  # what was stored, and how often it had been run then
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
        """Start the command line; what it tells on stderr goes to a file of its own."""
        variables = {
            "HARNESS_LEDGER": str(self.ledger),
            "HARNESS_CAMPAIGN": self.token,
            "HARNESS_KERNEL_CACHE": str(self.kernels),
            "HARNESS_PACKAGED_KERNELS": "0",  # so that the stage of compiling takes its time
        }
        command = [sys.executable, "-m", "harness", "run", str(self.experiment)]
        command += ["--plugin", str(PLUGIN), "--results", str(self.results), "--json", *more]
        self.starts += 1
        told = self.folder / f"told-{self.starts}.txt"
        with told.open("w") as file:
            process = subprocess.Popen(
                command,
                env=os.environ | variables,
                stdout=subprocess.PIPE,
                stderr=file,
                text=True,
            )
        process.told = told
        return process

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


def stage_of(process):
    """Return the stage that a run has come to."""
    told = [line.partition(":")[0] for line in process.told.read_text().splitlines()]
    return max((STAGES.index(name) for name in told if name in STAGES), default=0)


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
