"""Gates on real measurements: planted faults are found, and an unchanged branch never fails.

``SOAK_GATES`` (1; 50 in full) gates of a branch in which only a comment changed, in a short form:
the project has one small plugin, and a launch of a duel forks a worker that has
imported the modules of a worker (see ``duel_kit``; one gate of ten starts real workers).
Everything else is done by the command. Each planted fault goes through the command, one of them
in a clone of this repository. Where ``SOAK_GATES_LOG`` names a file, each gate is appended to it
as a line of JSON.
"""

import json
import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from duel_kit import EVERY_REAL, fork_server, with_workers_of
from scratch_project import clone_with, git, new_project, plant

import harness
from harness.config.experiment import load_experiment
from harness.core.progress import Progress
from harness.gate.run import GateRequest, compare_with_revision
from harness.plugins.registry import load_registry

ROOT = Path(harness.__file__).resolve().parents[1]
GATES = int(os.environ.get("SOAK_GATES", "1"))
LOG = os.environ.get("SOAK_GATES_LOG")
SECONDS = 900  # of one gate, on a busy machine
DATA = ("harness.data.providers.generators",)
MODULES = (*DATA, "harness.executors.local", "harness.plugins.metrics")


def gate(folder, *more):
    """Run the gate command; return its exit code and its decisions."""
    command = [sys.executable, "-m", "harness", "gate", *more, "--json"]
    variables = {**os.environ, "HARNESS_RESULTS": str(folder.parent / "results")}
    if not (folder / "harness").is_dir():  # a plugin project is gated by this harness
        variables["PYTHONPATH"] = str(ROOT)
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=SECONDS, env=variables,
        check=False,
    )  # fmt: skip
    assert done.stdout, done.stderr
    result = json.loads(done.stdout)
    print(done.stderr)  # noqa: T201 - the story of the campaign
    return done.returncode, result["decisions"]


def gate_ridge(folder, experiment):
    return gate(folder, experiment, "--against", "main", "--plugin", "ridge.py", "-a", "ridge")


def failed(decisions):
    """Return the kinds and phases of failed decisions."""
    return {(d["gate"]["kind"], d["gate"]["phase"]) for d in decisions if d["state"] == "fail"}


@pytest.fixture
def project(tmp_path):
    return new_project(tmp_path / "project")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "experiment", "kinds"),
    [
        ("slowdown", "short.toml", {("speed", "train")}),
        ("accuracy", "untimed.toml", {("accuracy", "train")}),
        ("default", "untimed.toml", {("accuracy", "train")}),
        ("leak", "untimed.toml", {("memory", "train")}),
        ("hoard", "untimed.toml", {("memory", "predict")}),
        ("crash", "short.toml", {("speed", "train"), ("accuracy", "train")}),
    ],
)
def test_planted_fault_is_found(project, fault, experiment, kinds):
    plant(project, fault)
    code, decisions = gate_ridge(project, experiment)
    assert code == 1, decisions
    assert kinds <= failed(decisions)
    assert git(project, "worktree", "list").count("\n") == 0


@pytest.mark.slow
def test_plugin_that_no_longer_loads_is_an_error(project):
    plant(project, "import")
    done = subprocess.run(
        [sys.executable, "-m", "harness", "gate", "--against", "main", "--plugin", "ridge.py"],
        cwd=project, capture_output=True, text=True, timeout=SECONDS, check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 2
    assert "this was planted" in done.stderr


# ------------------------------------------------------------------ an unchanged branch


@pytest.mark.slow
def test_unchanged_branch_never_fails(project, tmp_path, monkeypatch):
    plant(project, "comment")
    monkeypatch.chdir(project)
    registry = load_registry([project / "ridge.py"], modules=MODULES)
    experiment = load_experiment(str(project / "short.toml"))
    states = Counter()
    with fork_server(*DATA) as fork:
        for n in range(GATES):
            real = n % EVERY_REAL == EVERY_REAL - 1
            monkeypatch.setattr(
                "harness.runs.execute.run_duel", with_workers_of(None if real else fork)
            )
            requested = GateRequest(
                "main",
                experiment=experiment,
                plugin_files=(str(project / "ridge.py"),),
                results=tmp_path / f"results-{n}",  # so that nothing is known
            )
            began = time.monotonic()
            answer = compare_with_revision(requested, registry, Progress())
            log_gate(answer, time.monotonic() - began, real=real)
            states[answer.state] += 1
            assert len(answer.decisions) == 5
            assert not [d for d in answer.decisions if d.state == "fail"]
    print(f"unchanged: {dict(states)} of {GATES}")  # noqa: T201 - the figure of the campaign


def log_gate(answer, seconds, *, real):
    """Log the result of one gate of the campaign."""
    if not LOG:
        return
    results = {f"{d.gate.kind} of {d.gate.phase}": [d.state, d.reason] for d in answer.decisions}
    line = {"state": answer.state, "seconds": round(seconds, 1), "real": real, "decisions": results}
    with Path(LOG).open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


# ------------------------------------------------------------------ this repository's own algorithm


@pytest.mark.slow
def test_slowdown_of_our_tree_is_found_in_a_clone(tmp_path):
    clone = clone_with(ROOT, tmp_path / "clone", "slow tree")
    code, decisions = gate(clone, "own.toml", "--against", "HEAD", "-a", "decision_tree")
    assert code == 1, decisions
    assert failed(decisions) == {("speed", "train")}
