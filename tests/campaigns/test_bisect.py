"""A bisection on real measurements: a slowdown is planted in one of several commits."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from scratch_project import FAULTS, commit, git, new_project

import harness

ROOT = Path(harness.__file__).resolve().parents[1]
SECONDS = 900
SHARE = "0.6"  # of the time of a fit, that the slowdown adds
COMMITS, FIRST_SLOW = 7, 5


@pytest.mark.slow
def test_planted_slowdown_is_traced_to_its_commit(tmp_path):
    folder = new_project(tmp_path / "project")
    plain = (folder / "ridge.py").read_text()
    before, after = FAULTS["slowdown"]
    slow = plain.replace(before, after.replace("0.15", SHARE))
    assert SHARE in slow
    for number in range(1, COMMITS + 1):
        text = slow if number >= FIRST_SLOW else plain
        (folder / "ridge.py").write_text(f"{text}# {number}\n")
        commit(folder, f"change {number}")
    command = [sys.executable, "-m", "harness", "bisect", f"HEAD~{COMMITS}", "HEAD", "-a", "ridge"]
    command += ["-d", "friedman1:rows=2000", "--plugin", "ridge.py", "--json"]
    command += ["--experiment", "short.toml"]
    results = str(tmp_path / "results")
    variables = {**os.environ, "HARNESS_RESULTS": results, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=SECONDS, env=variables,
        check=False,
    )  # fmt: skip
    print(done.stderr)  # noqa: T201 - the story of the campaign
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert [c["subject"] for c in document["candidates"]] == [f"change {FIRST_SLOW}"]
    assert 3 <= len(document["measured"]) <= 4
    assert git(folder, "worktree", "list").count("\n") == 0
