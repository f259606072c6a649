"""No estimator compiles a kernel at its first fit: the package has all that defaults need."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from algorithms.runtime import jit

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.skipif(
    jit.PACKAGED.folder is None, reason="the package has no compiled kernels of these sources"
)


@pytest.mark.slow
def test_first_fits_at_defaults_compile_nothing(tmp_path):
    """Dense, categorical and sparse tables; compilations are counted, with an empty cache."""
    done = subprocess.run(
        [sys.executable, "-m", "costs.first_fits", "float64", "categorical", "csr"],
        cwd=ROOT,
        env=os.environ | {"HARNESS_KERNEL_CACHE": str(tmp_path), "PYTHONWARNINGS": "error"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout)
    assert found["compiled"] == {}
    assert len(found["hashes"]) > 80
