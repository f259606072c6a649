"""Tests that setup runs once, and that obstacles are reported in one line."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
MAKEFILE = (ROOT / "Makefile").read_text()


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """Return a folder with all inputs of the setup, and an interpreter that is too old."""
    for name in ("Makefile", "requirements.lock", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    old = tmp_path / "old-python"
    old.write_text("#!/bin/sh\nexit 1\n")
    old.chmod(0o755)
    return tmp_path


def make(clone: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    # A make that runs these tests must not pass its own flags on.
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS"))}
    return subprocess.run(
        ["make", *arguments],
        cwd=clone,
        env=clean | environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_help_is_the_default_and_lists_every_command(clone: Path) -> None:
    (phony,) = re.findall(r"^\.PHONY: (.*)$", MAKEFILE, re.MULTILINE)
    listed = re.findall(r"^make ([a-z-]+) ", make(clone).stdout, re.MULTILINE)
    assert sorted(listed) == sorted(phony.split())


def test_old_python_is_reported_in_one_line(clone: Path) -> None:
    done = make(clone, "run", f"PYTHON={clone / 'old-python'}")
    assert done.returncode != 0
    first, *_ = done.stderr.splitlines()
    assert "is not Python 3.11 or newer; name one: make run PYTHON=" in first
    assert not (clone / ".venv").exists()


def test_missing_python_is_reported_in_one_line(clone: Path) -> None:
    done = make(clone, "test", "PYTHON=")
    assert done.returncode != 0
    assert "no Python 3.11 or newer found" in done.stderr.splitlines()[0]


def test_setup_runs_once_and_again_when_the_lock_changes(clone: Path) -> None:
    stamp = clone / ".venv/.ready"
    assert "pip install --require-hashes" in make(clone, "-n", "test").stdout
    stamp.parent.mkdir()
    stamp.touch()
    planned = make(clone, "-n", "test", "WORKERS=3").stdout
    assert "pip" not in planned
    assert "pytest -n 3" in planned
    later = stamp.stat().st_mtime + 10
    os.utime(clone / "requirements.lock", (later, later))
    assert "pip install --require-hashes" in make(clone, "-n", "test").stdout


@pytest.mark.parametrize(("version", "lock"), [("3.13", "-3.13"), ("3.15", "")])
def test_setup_installs_the_lock_of_the_interpreter(clone: Path, version: str, lock: str) -> None:
    (clone / "requirements-3.13.lock").touch()
    python = clone / "python"  # of the given version; it logs what it is asked to run
    major, minor = version.split(".")
    python.write_text(
        "#!/bin/sh\n"
        f"case $2 in *sys.version_info*:2*) echo requirements-{major}.{minor}.lock;;\n"
        '*) echo "$@" >> log; test "$2" != venv || install -D "$0" $4/bin/python;; esac\n'
    )
    python.chmod(0o755)
    done = make(
        clone, "setup", f"PYTHON={python}", "VENV=.venv-other", HARNESS_PACKAGED_KERNELS="0"
    )
    assert done.returncode == 0, done.stderr
    log = (clone / "log").read_text()
    assert f"-m pip install --require-hashes --requirement requirements{lock}.lock\n" in log
    assert (clone / ".venv-other/.ready").exists()
    assert not (clone / ".venv").exists()


def test_ci_runs_the_commands_of_the_readme() -> None:
    steps = re.findall(r"^step \d+ make ([a-z-]+)$", (ROOT / ".ci/run").read_text(), re.MULTILINE)
    assert {"lint", "types", "test", "soak", "bench-check"} <= set(steps)
    limits = re.findall(r"^step (\d+) make", (ROOT / ".ci/run").read_text(), re.MULTILINE)
    assert sum(map(int, limits)) < 90
    assert os.access(ROOT / ".ci/run", os.X_OK)
