"""Tests that trials compile nothing after the kernels of an algorithm are compiled beforehand."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness.core.model import ALL_TASKS
from harness.plugins.registry import load_registry

SCRIPT = Path(__file__).resolve().parents[2] / "helpers" / "kernel_calls.py"
SCRATCH = sorted(
    name
    for name, entry in load_registry(()).entries["algorithm"].items()
    if entry.value.origin == "scratch" and entry.value.tasks >= ALL_TASKS
)
GENERATED = [
    "wine",
    "diabetes",
    "categorical_high:rows=900",
    "categorical_high:rows=9000",
    "multiclass_like:rows=6000",
    "skewed_weights:rows=7000",
    "onehot_sparse:rows=6000",
    "higgs_like:rows=7000",
]
REAL = ["titanic", "nursery", "agaricus_libsvm", "medical_insurance", "horse_colic"]


def missed(algorithm, datasets):
    """Return the kernels that trials needed and that were not compiled before."""
    done = subprocess.run(
        [sys.executable, str(SCRIPT), algorithm, *datasets],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONHASHSEED": "0"},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", SCRATCH)
def test_trials_on_generated_tables_compile_nothing(algorithm):
    assert missed(algorithm, GENERATED) == {}


@pytest.mark.usefixtures("mirror")
@pytest.mark.parametrize("algorithm", SCRATCH)
def test_trials_on_real_tables_compile_nothing(algorithm):
    assert missed(algorithm, REAL) == {}
