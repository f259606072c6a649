"""Environment variables of a worker."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from harness.core.model import Environment

THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "POLARS_MAX_THREADS",
    "LOKY_MAX_CPU_COUNT",
)
# Only these variables of the parent are passed to a worker, so that others cannot affect results.
PASSED = frozenset(
    {
        "PATH",
        "HOME",
        "USER",
        "LOGNAME",
        "LANG",
        "TZ",
        "TMPDIR",
        "LD_LIBRARY_PATH",
        "DYLD_LIBRARY_PATH",
        "VIRTUAL_ENV",
        "SSL_CERT_FILE",
        "SSL_CERT_DIR",
        "REQUESTS_CA_BUNDLE",
        "http_proxy",
        "https_proxy",
        "no_proxy",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "NO_PROXY",
        "OMP_WAIT_POLICY",
    }
)
PASSED_PREFIXES = ("HARNESS_", "LC_", "XDG_", "NUMBA_", "GOMP_", "KMP_", "MALLOC_")


def worker_environment(
    parent: Mapping[str, str], environment: Environment, threads: int
) -> dict[str, str]:
    """Return the environment variables of a worker, from those of its parent."""
    passed = {k: v for k, v in parent.items() if k in PASSED or k.startswith(PASSED_PREFIXES)}
    own_root = "" if environment.python else str(Path(__file__).resolve().parents[2])
    roots = [environment.root or own_root]
    if not environment.python:
        roots.append(parent.get("PYTHONPATH", ""))
    return {
        **passed,
        **dict.fromkeys(THREAD_VARIABLES, str(threads)),
        "PYTHONPATH": os.pathsep.join(filter(None, roots)),
        "PYTHONHASHSEED": "0",
        "PYTHONSAFEPATH": "1",
        "PYTHONUNBUFFERED": "1",
        "HARNESS_COMPILE_NOTICE": "0",  # the run itself shows the progress of compilation
    }
