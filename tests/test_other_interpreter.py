"""A part of the tests on another interpreter than this one, with the libraries of its lock."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from fresh_environment import ROOT, FreshEnvironment

pytestmark = pytest.mark.slow
VERSIONS = ("3.13", "3.12", "3.14", "3.11")
# Quick tests of all layers, and of what depends on the version of Python or of XGBoost.
CHOSEN = (
    "tests/harness/checks",
    "tests/harness/store",
    "tests/harness/test_doctor.py",
    "tests/harness/test_estimators.py",
    "tests/harness/test_plan.py",
    "tests/harness/test_plugins.py",
    "tests/harness/worker/test_search.py",
    "tests/reports/test_sections.py",
    "tests/algorithms/test_exported_trees.py",
    "tests/algorithms/test_reference_exports.py",
)


def other_python() -> tuple[str, str] | None:
    """Return the version and the path of another interpreter that can make environments."""
    this = f"{sys.version_info.major}.{sys.version_info.minor}"
    for version in VERSIONS:
        name = f"python{version}"
        of_pyenv = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/{name}"))
        for path in filter(None, (shutil.which(name), *of_pyenv)):
            code = "import ensurepip, sys, venv; print(sys.executable)"
            done = subprocess.run([path, "-c", code], capture_output=True, text=True, check=False)
            if done.returncode == 0 and version != this:
                return version, done.stdout.strip()
    return None


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> FreshEnvironment:
    """Return an environment of another interpreter with its lock, which imports the checkout."""
    found = other_python()
    if found is None:
        pytest.skip("this machine has no other interpreter of Python 3.11 to 3.14 with venv")
    version, python = found
    lock = ROOT / ("requirements.lock" if version == "3.11" else f"requirements-{version}.lock")
    folder = tmp_path_factory.mktemp("other")
    made = FreshEnvironment(folder, "--require-hashes", "--requirement", str(lock), python=python)
    packages = made.output_of("-c", "import sysconfig; print(sysconfig.get_path('purelib'))")
    Path(packages.strip(), "checkout.pth").write_text(f"{ROOT}\n")
    return made


def test_chosen_tests_pass(other: FreshEnvironment) -> None:
    versions = other.output_of("-c", "import sys, xgboost; print(sys.version, xgboost.__version__)")
    done = other.run(
        *("-m", "pytest", "-q", "-p", "no:cacheprovider", *CHOSEN),
        cwd=ROOT,
        HARNESS_KERNEL_CACHE=str(other.home / "kernels"),
        HARNESS_PACKAGED_KERNELS="0",
    )
    assert done.returncode == 0, versions + done.stdout[-5000:] + done.stderr[-2000:]
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed is not None
    assert int(passed[1]) > 300, done.stdout[-500:]
