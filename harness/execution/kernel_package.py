"""Compile kernels into a folder that comes with the package of the algorithms."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from harness.core.errors import HarnessError

BUILD = "HARNESS_BUILD_KERNELS"  # folder that workers compile kernels into
MODULE = "algorithms.runtime.package_writer"  # it writes the package's folder
V3_FEATURES = (  # of x86-64-v3 processors: Intel since 2013, AMD since 2015
    "64bit cmov cx8 cx16 fxsr mmx sahf sse sse2 sse3 ssse3 sse4.1 sse4.2 popcnt "
    "avx avx2 bmi bmi2 f16c fma lzcnt movbe xsave crc32"
)
TARGETS = {
    "native": {},
    "x86-64-v3": {
        "NUMBA_CPU_NAME": "x86-64-v3",
        "NUMBA_CPU_FEATURES": ",".join(f"+{name}" for name in V3_FEATURES.split()),
    },
}


@dataclass
class KernelPackage:
    """Folder of compiled kernels beside the sources."""

    path: str = ""  # empty until it is complete


@contextmanager
def compile_package(target: str, parent: Path | None) -> Iterator[KernelPackage]:
    """Let workers that start in the body compile for a package; write it after the body.

    Parameters
    ----------
    target
        One of `TARGETS`.
    parent
        The folder that gets the package; None: beside the sources of the algorithms.

    Raises
    ------
    HarnessError
        If the package cannot be written.
    """
    package = KernelPackage()
    with tempfile.TemporaryDirectory(prefix="harness-kernels-") as folder:
        before = dict(os.environ)
        os.environ.update({BUILD: folder, "NUMBA_DISABLE_INTEL_SVML": "1", **TARGETS[target]})
        try:
            yield package
            package.path = _write(parent)
        finally:
            os.environ.clear()
            os.environ.update(before)


def _write(parent: Path | None) -> str:
    root = str(Path(__file__).resolve().parents[2])
    command = [sys.executable, "-P", "-m", MODULE, *([str(parent.resolve())] if parent else [])]
    done = subprocess.run(  # noqa: S603 - our own module
        command,
        env=os.environ | {"PYTHONPATH": root},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise HarnessError(f"the kernels cannot be packaged: {done.stderr.strip()[-500:]}")
    return done.stdout.strip()
