"""Tests of the project on another version of Python, with the lock of that version."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from fresh_environment import ROOT, FreshEnvironment

RUNNING = f"3.{sys.version_info[1]}"
TESTED = (
    "tests/algorithms/test_model_files.py",
    "tests/algorithms/test_lightgbm_drop_in.py",
    "tests/harness/store",
    "tests/harness/cli/test_run.py",
    "tests/reports/test_build.py",
)


def interpreters(version: str) -> list[str]:
    """Return the commands that may start a version: on the path, and those that pyenv installed."""
    installed = Path.home().glob(f".pyenv/versions/{version}.*/bin/python")
    return [f"python{version}", *map(str, sorted(installed))]


def works(command: str) -> bool:
    """Return whether an interpreter starts; pyenv's wrappers exist also where it does not."""
    if shutil.which(command) is None:
        return False
    return subprocess.run([command, "-c", ""], capture_output=True, check=False).returncode == 0


def other_python() -> tuple[str, Path] | None:
    """Return an interpreter of another version that has a lock, and the lock; None without one."""
    for lock in sorted(ROOT.glob("requirements-3.*.lock")):
        (version,) = re.findall(r"-(3\.\d+)\.lock", lock.name)
        usable = [one for one in interpreters(version) if works(one)]
        if version != RUNNING and usable:
            return usable[0], lock
    return None


@pytest.mark.slow
def test_chosen_tests_pass_on_another_python(tmp_path: Path) -> None:
    found = other_python()
    if found is None:
        pytest.skip(f"no other Python than {RUNNING} that has a lock file works here")
    interpreter, lock = found
    fresh = FreshEnvironment(
        tmp_path, "--require-hashes", "--requirement", str(lock), interpreter=interpreter
    )
    tests = fresh.output_of("-m", "pytest", "-q", "-p", "no:cacheprovider", *TESTED, cwd=ROOT)
    assert re.search(r"\d{2,} passed", tests)
