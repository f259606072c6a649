"""Tests of the processors of a process."""

import os
import subprocess
import sys

import pytest


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system pins nothing")
def test_every_thread_of_a_process_is_pinned_only_on_request():
    code = (
        "import os, threading; from harness.worker import affinity\n"
        "end = threading.Event(); other = threading.Thread(target=end.wait); other.start()\n"
        "before = affinity.affinity(); affinity.pin([]); assert affinity.affinity() == before\n"
        "affinity.pin(before[:1])\n"
        "found = [sorted(os.sched_getaffinity(t)) for t in (0, other.native_id)]\n"
        "print(found == [before[:1]] * 2); end.set()"
    )
    completed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert completed.stdout.strip() == "True"
