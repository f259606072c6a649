"""Environment of all tests, and the folder of shared datasets."""

import gc
import os
import signal
import sys
import tempfile
from pathlib import Path

import hypothesis
import pytest

# Machines differ and are busy, so examples have no deadline. CI draws the same examples every time.
# `make test ARGS=--hypothesis-profile=thorough` draws more of them.
hypothesis.settings.register_profile("local", deadline=None, max_examples=50)
hypothesis.settings.register_profile("ci", deadline=None, max_examples=50, derandomize=True)
hypothesis.settings.register_profile("thorough", deadline=None, max_examples=500)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "local")


KEPT = {"HARNESS_MIRROR", "HARNESS_KERNEL_CACHE", "HARNESS_CHECKED_KERNELS"}


def pytest_configure(config: pytest.Config) -> None:
    """Isolate the tests from the developer's settings, caches and results, and vice versa.

    Compiled kernels stay in the usual folder, named by their digest: xdist's workers share them,
    and the next session reuses them. The workers inherit the settings made here.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in background jobs of a shell
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if sys.version_info >= (3, 12):  # its lock file has a later XGBoost than parity follows
        config.addinivalue_line("filterwarnings", "ignore:parity='xgboost' follows the rules")
    if hasattr(config, "workerinput"):
        return
    for name in [n for n in os.environ if n.startswith("HARNESS_") and n not in KEPT]:
        del os.environ[name]
    os.environ["HARNESS_COMPILE_NOTICE"] = "0"  # tests read what is written to stderr
    folder = tempfile.TemporaryDirectory(prefix="harness-tests-", ignore_cleanup_errors=True)
    config.add_cleanup(folder.cleanup)
    for name in ("cache", "datasets", "results"):
        os.environ[f"HARNESS_{name.upper()}"] = str(Path(folder.name, name))


def pytest_collection_finish() -> None:
    """Exempt imported modules and collected tests from garbage collections.

    Each collection would visit them again, which takes a second; timed phases collect twice.
    """
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def mirror() -> Path:
    """Return the folder of shared datasets, or skip."""
    named = os.environ.get("HARNESS_MIRROR")
    if not named:
        pytest.skip("HARNESS_MIRROR is not set: it names a folder of datasets with a MANIFEST.json")
    return Path(named)
