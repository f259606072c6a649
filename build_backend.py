"""Build backend: setuptools', whose wheel gets compiled kernels where they can be compiled.

The kernels are compiled for x86-64-v3 processors, or on another architecture for the building
machine, by ``harness compile --into-package``. Such a wheel is tagged for one version of Python and
one platform. Compiling takes minutes. Where the kernels cannot be compiled, with
``--config-settings kernels=no`` or with ``HARNESS_PACKAGED_KERNELS=0``, the wheel is the same
without them, for every Python and platform. Editable installs have none: there
`make setup` compiles them.
"""

import base64
import hashlib
import os
import platform
import re
import subprocess
import sys
import sysconfig
import tempfile
import tomllib
import zipfile
from pathlib import Path
from typing import Any

from setuptools import build_meta
from setuptools.build_meta import (
    build_editable,
    build_sdist,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]
INSIDE = "algorithms/runtime/compiled"  # folder of the compiled kernels in the wheel
NOT_NEEDED = {"catboost", "lightgbm", "xgboost"}  # dependencies that no kernel is compiled with
X86 = {"x86_64", "amd64"}
Settings = dict[str, Any] | None


def has_kernels(config_settings: Settings) -> bool:
    """Return whether the wheel gets compiled kernels."""
    setting = str((config_settings or {}).get("kernels", "yes"))
    return setting != "no" and os.environ.get("HARNESS_PACKAGED_KERNELS") != "0"


def get_requires_for_build_wheel(config_settings: Settings = None) -> list[str]:
    """Return the build requirements; compiling kernels needs most dependencies of the project."""
    required = build_meta.get_requires_for_build_wheel(config_settings)
    if not has_kernels(config_settings):
        return required
    project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = ((re.split(r"[^\w-]", line)[0], line) for line in project["dependencies"])
    return required + [line for name, line in named if name not in NOT_NEEDED]


def build_wheel(
    wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None
) -> str:
    """Build a wheel; return its file name."""
    built = build_meta.build_wheel(wheel_directory, config_settings, metadata_directory)
    if not has_kernels(config_settings):
        return built
    pure = Path(wheel_directory, built)
    with tempfile.TemporaryDirectory() as folder:
        reason = compile_kernels(Path(folder))
        if reason:
            sys.stderr.write(f"{built} has no compiled kernels: {reason}\n")
            return built
        with_kernels = add_kernels(pure, Path(folder))
    pure.unlink()
    return with_kernels.name


def compile_kernels(folder: Path) -> str:
    """Compile the kernels into a folder; return why that failed, an empty string if it did not."""
    target = "x86-64-v3" if platform.machine().lower() in X86 else "native"
    command = [sys.executable, "-m", "harness", "compile", "--into-package", "--target", target]
    done = subprocess.run(  # noqa: S603 - our own command
        [*command, "--package-folder", str(folder)],
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    is_compiled = any(folder.iterdir())
    return "" if is_compiled else f"exit code {done.returncode}: {done.stderr[-1000:]}"


def add_kernels(pure: Path, folder: Path) -> Path:
    """Write a wheel with the files of another one and compiled kernels; return its path."""
    python = f"cp{sys.version_info[0]}{sys.version_info[1]}"
    tag = f"{python}-{python}-{re.sub(r'[-.]', '_', sysconfig.get_platform())}"
    path = pure.with_name(pure.name.replace("py3-none-any", tag))
    with zipfile.ZipFile(pure) as source, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        *infos, record = source.infolist()  # the record is the last file of a wheel
        for info in infos:
            contents = source.read(info)
            if info.filename.endswith(".dist-info/WHEEL"):
                contents = contents.replace(b"Tag: py3-none-any", f"Tag: {tag}".encode())
                contents = contents.replace(b"Root-Is-Purelib: true", b"Root-Is-Purelib: false")
            wheel.writestr(info, contents, zipfile.ZIP_DEFLATED)
        for file in sorted(path for path in folder.rglob("*") if path.is_file()):
            wheel.write(file, f"{INSIDE}/{file.relative_to(folder).as_posix()}")
        wheel.writestr(record, record_of(wheel, record.filename), zipfile.ZIP_DEFLATED)
    return path


def record_of(wheel: zipfile.ZipFile, name: str) -> str:
    """Return the list of a wheel's files with their checksums and sizes."""
    lines = []
    for written in wheel.namelist():
        contents = wheel.read(written)
        checksum = base64.urlsafe_b64encode(hashlib.sha256(contents).digest()).rstrip(b"=").decode()
        lines.append(f"{written},sha256={checksum},{len(contents)}")
    return "\n".join([*lines, f"{name},,", ""])
