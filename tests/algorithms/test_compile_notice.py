"""Tests of the notice on stderr during a long compilation of kernels."""

import os
import subprocess
import sys

import pytest

CODE = """
import time
from types import SimpleNamespace
from numba.core import event
import algorithms.runtime.threads
from algorithms.runtime import compile_notice

compile_notice.IDLE, compile_notice.EVERY = 0.4, 0.5
def kernel():
    pass
kernel.__module__ = {module!r}
data = {{"dispatcher": SimpleNamespace(py_func=kernel)}}
for _ in range(2):
    for _ in range(3):
        with event.trigger_event("numba:compile", data):
            time.sleep({seconds})
    time.sleep(1.2)
"""


def notice_of(seconds, module="algorithms.gbdt.kernels.x", **variables):
    env = {name: value for name, value in os.environ.items() if name != "HARNESS_COMPILE_NOTICE"}
    env["HARNESS_PACKAGED_KERNELS"] = "0"  # else a line may say that they are not used
    code = CODE.format(seconds=seconds, module=module)
    command = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(command, env=env | variables, capture_output=True, text=True, check=True)
    assert done.stdout == ""
    return done.stderr.splitlines()


def test_long_compilation_is_announced_once_with_progress_and_command():
    first, *progress, last = notice_of(0.6)
    assert "`python -m harness compile`" in first
    assert progress
    assert all("kernels compiled" in line for line in progress)
    assert last.startswith("algorithms: done, 3 kernels compiled in ")


@pytest.mark.slow
@pytest.mark.parametrize(
    "how",
    [
        {"seconds": 0.05},
        {"seconds": 0.6, "HARNESS_COMPILE_NOTICE": "0"},
        {"seconds": 0.6, "module": "somebody_else"},
    ],
)
def test_short_compilations_and_other_code_are_not_announced(how):
    assert notice_of(**how) == []
