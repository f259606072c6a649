"""Tests that commit subjects are short, as CONTRIBUTING.md requires."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FIRST = "32316e4"  # the last commit before the rule
LONGEST = 70  # characters of a subject


def git(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = ["git", "-C", str(ROOT), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_subjects_are_short() -> None:
    if git("cat-file", "-e", f"{FIRST}^{{commit}}").returncode:
        pytest.skip("no git history here (a source archive or a shallow clone)")
    subjects = git("log", "--no-merges", "--format=%s", f"{FIRST}..HEAD").stdout.splitlines()
    assert [subject for subject in subjects if len(subject) > LONGEST] == []
