"""Kernel, parity and prediction tests with numba's bounds check of every index.

An index out of bounds raises IndexError instead of reading or writing any memory. The kernels are
cached in a separate folder, which ``HARNESS_CHECKED_KERNELS`` names, so that another run does not
compile them again.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from numba import config

ROOT = Path(__file__).parents[2]
KERNELS = ROOT / "tests/algorithms/kernels"
SELECTIONS = {
    "prediction": [
        "tests/algorithms/test_leaf_masks.py",
        "tests/algorithms/test_sparse_predict.py",
        str(KERNELS / "test_kernel_predict.py"),
    ],
    "exact trees": [
        str(KERNELS / "test_kernel_grow.py"),
        str(KERNELS / "test_kernel_partition.py"),
        str(KERNELS / "test_kernel_presort.py"),
    ],
    "parity with scikit-learn": [str(KERNELS / "test_kernel_sklearn.py")],
    "parity with LightGBM": [str(KERNELS / "test_kernel_lightgbm.py")],
    "histograms": [str(KERNELS / "test_kernel_hist_narrow.py")],
}
NEEDS_FOLDER = pytest.mark.skipif(
    not os.environ.get("HARNESS_CHECKED_KERNELS"),
    reason="compiles every kernel with checks, an hour on 2 cores: name a folder for the kernels "
    "in HARNESS_CHECKED_KERNELS",
)
BEYOND = """
import numpy as np
from algorithms.runtime.jit import kernel
@kernel
def read(values, i):
    return values[i]
read(np.zeros(3), 3)
"""


def run_checked(folder, *command):
    """Run Python in a child process whose kernels check indices."""
    environment = {**os.environ, "NUMBA_BOUNDSCHECK": "1", "HARNESS_KERNEL_CACHE": str(folder)}
    return subprocess.run(
        [sys.executable, *command],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return os.environ.get("HARNESS_CHECKED_KERNELS") or tmp_path_factory.mktemp("kernels")


@pytest.mark.skipif(bool(config.DISABLE_JIT), reason="nothing is compiled")
def test_out_of_bounds_index_is_an_error_in_checked_kernels(folder, tmp_path):
    script = tmp_path / "beyond.py"
    script.write_text(BEYOND)
    done = run_checked(folder, str(script))
    assert done.returncode == 1
    assert "IndexError" in done.stderr


@NEEDS_FOLDER
@pytest.mark.slow
@pytest.mark.parametrize("tests", SELECTIONS.values(), ids=SELECTIONS)
def test_no_kernel_reads_or_writes_out_of_bounds(tests, folder):
    done = run_checked(folder, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests)
    assert done.returncode == 0, done.stdout[-4000:]


@NEEDS_FOLDER
@pytest.mark.slow
def test_models_of_all_estimators_are_trained_and_used_within_bounds(folder):
    done = run_checked(folder, "-m", "costs.model_hashes")
    assert done.returncode == 0, done.stderr[-4000:]
    assert len(done.stdout.splitlines()) > 400  # configurations
