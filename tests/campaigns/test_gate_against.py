"""Gates on real measurements: what is planted is caught, and an unchanged branch never fails.

``SOAK_GATES`` (1; 50 in full) gates of a branch in which only a comment changed, and one of each
planted fault. The project is a stranger's with one small plugin; ``GATE_OWN`` names algorithms of
this repository (``decision_tree``, say) to be gated unchanged against its own ``HEAD`` as well.
"""

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from scratch_project import git, new_project, plant

import harness

ROOT = Path(harness.__file__).resolve().parents[1]
GATES = int(os.environ.get("SOAK_GATES", "1"))
OWN = os.environ.get("GATE_OWN", "").split()
SECONDS = 900  # of one gate, on a busy machine


def gate(folder, *more):
    """Run a gate as a person does; return its exit code and its decisions."""
    command = [sys.executable, "-m", "harness", "gate", *more, "--json"]
    results = folder / "results"
    variables = {**os.environ, "PYTHONPATH": str(ROOT), "HARNESS_RESULTS": str(results)}
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=SECONDS, env=variables,
        check=False,
    )  # fmt: skip
    assert done.stdout, done.stderr
    told = json.loads(done.stdout)
    print(done.stderr)  # noqa: T201 - the story of the campaign
    return done.returncode, {(d["gate"]["kind"], d["gate"]["phase"]): d for d in told["decisions"]}


def gate_ridge(folder, experiment):
    return gate(folder, experiment, "--against", "main", "--plugin", "ridge.py", "-a", "ridge")


@pytest.fixture
def project(tmp_path):
    folder = new_project(tmp_path / "project")
    (folder / ".git" / "info" / "exclude").write_text("results/\n")
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "experiment", "kinds"),
    [
        ("slowdown", "short.toml", {("speed", "train")}),
        ("accuracy", "untimed.toml", {("accuracy", "train")}),
        ("default", "untimed.toml", {("accuracy", "train")}),
        ("leak", "untimed.toml", {("memory", "train")}),
        ("crash", "short.toml", {("speed", "train"), ("accuracy", "train")}),
    ],
)
def test_a_planted_fault_is_caught(project, fault, experiment, kinds):
    plant(project, fault)
    code, decisions = gate_ridge(project, experiment)
    states = {key: decision["state"] for key, decision in decisions.items()}
    assert code == 1, states
    assert kinds <= {key for key, state in states.items() if state == "fail"}
    assert git(project, "worktree", "list").count("\n") == 0


@pytest.mark.slow
def test_a_plugin_that_no_longer_loads_is_an_error(project):
    plant(project, "import")
    done = subprocess.run(
        [sys.executable, "-m", "harness", "gate", "--against", "main", "--plugin", "ridge.py"],
        cwd=project, capture_output=True, text=True, timeout=SECONDS, check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 2
    assert "this was planted" in done.stderr


@pytest.mark.slow
def test_an_unchanged_branch_is_never_failed(project):
    plant(project, "comment")
    codes = Counter()
    for n in range(GATES):
        results = project / "results"
        if results.is_dir():
            results.rename(project.parent / f"results-{n}")  # so that nothing is known
        code, decisions = gate_ridge(project, "short.toml")
        codes[code] += 1
        failed = {key: d["reason"] for key, d in decisions.items() if d["state"] == "fail"}
        assert not failed
    print(f"unchanged: {codes[0]} passed, {codes[6]} undecided, of {GATES}")  # noqa: T201
    assert set(codes) <= {0, 6}


@pytest.mark.slow
@pytest.mark.skipif(not OWN, reason="GATE_OWN names no algorithm of this repository")
def test_our_own_tree_against_its_commit_is_never_failed(tmp_path):
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "--quiet", "--local", str(ROOT), str(clone))
    names = [part for name in OWN for part in ("-a", name)]
    command = [sys.executable, "-m", "harness", "gate", "--against", "HEAD", "--all", *names]
    done = subprocess.run(
        command, cwd=clone, capture_output=True, text=True, timeout=4 * SECONDS, check=False,
        env={**os.environ, "HARNESS_RESULTS": str(tmp_path / "results")},
    )  # fmt: skip
    print(done.stdout, done.stderr)  # noqa: T201 - the story of the campaign
    assert done.returncode in (0, 6)
