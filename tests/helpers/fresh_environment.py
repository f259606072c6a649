"""New virtual environments, independent of the developer's environment."""

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
UNREACHABLE = ("connection", "temporary failure", "no matching distribution", "timed out")


def declared() -> dict:
    """Return the project table of pyproject.toml."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def build_wheel(folder: Path, *, kernels: bool = False) -> Path:
    """Build the project's wheel from a copy, which leaves no build folder in the checkout.

    ``kernels`` says whether it gets compiled kernels, which takes minutes.
    """
    copy = folder / "source"
    unwanted = shutil.ignore_patterns("__pycache__", "*.egg-info", "compiled")
    for name in ("harness", "algorithms", "reports", "datasets"):
        shutil.copytree(ROOT / name, copy / name, ignore=unwanted)
    for name in ("pyproject.toml", "README.md", "LICENSE", "MANIFEST.in", "build_backend.py"):
        shutil.copy(ROOT / name, copy)
    code = "import build_backend as b; b.build_wheel('dist')"
    variables = os.environ | {"HARNESS_PACKAGED_KERNELS": "1" if kernels else "0"}
    command = [sys.executable, "-c", code]
    subprocess.run(command, cwd=copy, env=variables, check=True, capture_output=True)
    (wheel,) = (copy / "dist").glob("*.whl")
    return wheel


class FreshEnvironment:
    """A virtual environment of an interpreter and a working folder outside the checkout."""

    def __init__(self, folder: Path, *requirements: str, python: str = sys.executable) -> None:
        self.home = folder / "elsewhere"
        self.home.mkdir()
        self.python = folder / "venv/bin/python"
        subprocess.run([python, "-m", "venv", str(folder / "venv")], check=True)
        self.pip(*requirements)

    def pip(self, *requirements: str) -> None:
        """Install requirements; skip the test if no package index can be reached."""
        command = ["-m", "pip", "install", "--quiet", "--prefer-binary", *requirements]
        done = self.run(*command)
        message = done.stderr.lower()
        if done.returncode and any(word in message for word in UNREACHABLE):
            pytest.skip(f"pip cannot install here: {done.stderr.strip().splitlines()[-1][:200]}")
        assert done.returncode == 0, done.stderr[-3000:]

    def run(
        self, *command: str, cwd: Path | None = None, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        """Run this environment's Python without the developer's ``PYTHON*`` settings."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "HARNESS_"))}
        for name in ("HARNESS_KERNEL_CACHE", "HARNESS_CACHE"):
            kept |= {name: os.environ[name]} if name in os.environ else {}
        return subprocess.run(
            [str(self.python), *command],
            cwd=cwd or self.home,
            env=kept | variables,
            capture_output=True,
            text=True,
            check=False,
        )

    def output_of(self, *command: str, cwd: Path | None = None, **variables: str) -> str:
        """Run a command that must succeed and return its stdout."""
        done = self.run(*command, cwd=cwd, **variables)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        return done.stdout
