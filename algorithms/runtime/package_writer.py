"""Make a package of compiled kernels.

    HARNESS_BUILD_KERNELS=COMPILED python -m algorithms.runtime.package_writer [PARENT]

copies the kernels that were compiled into the folder ``COMPILED`` to the package, with a manifest.
"""

import hashlib
import json
import os
import shutil
import sys
from pathlib import Path

import llvmlite.binding
from numba import config

from algorithms.runtime.jit import KERNEL_DIGEST
from algorithms.runtime.packaged_kernels import (
    FOLDER,
    MANIFEST,
    build_folder,
    checksum_digits,
    facts,
    processor_features,
)


def write_package(compiled, parent, sources):
    """Write the manifest of a folder of compiled kernels; move it into ``parent``; return its path.

    Folders that were in ``parent`` before are removed, except those of the same sources that were
    compiled for another Python: each environment of a checkout has its own.
    """
    files = sorted(path for path in compiled.iterdir() if path.suffix == ".bin")
    if not files:
        raise FileNotFoundError(f"{compiled} has no compiled kernels")
    about = facts(sources)
    cpu = config.CPU_NAME or llvmlite.binding.get_host_cpu_name()
    checksums = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
    described = about | {"cpu": cpu, "features": sorted(processor_features()), "files": checksums}
    contents = json.dumps(described, indent=1).encode()
    parts = [sources, about["python"], f"numba{about['numba']}", f"llvmlite{about['llvmlite']}"]
    folder = parent / "-".join([*parts, cpu, checksum_digits(contents)])
    unfinished = parent / f".{os.getpid()}"
    shutil.copytree(compiled, unfinished)
    (unfinished / MANIFEST).write_bytes(contents)
    for old in parent.glob("[!.]*"):
        is_current = old.name.startswith(f"{sources}-")
        if not is_current or old.name.startswith(f"{sources}-{about['python']}-"):
            shutil.rmtree(old)
    unfinished.rename(folder)
    return folder


def main():
    """Package the folder that the environment names; print the path of the package."""
    parent = Path(sys.argv[1]) if sys.argv[1:] else FOLDER
    folder = write_package(build_folder(KERNEL_DIGEST), parent, KERNEL_DIGEST)
    sys.stdout.write(f"{folder}\n")


if __name__ == "__main__":
    main()
