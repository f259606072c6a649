"""Compiled kernels that come with the package, in a folder beside its sources.

``harness compile --into-package`` makes the folder, for `make setup` and for wheels. Its name holds
the digest of the sources, the versions of Python, numba and llvmlite, the processor it was compiled
for, and the checksum of its manifest. The manifest holds the same facts, the processor features
that the machine code needs, and the checksum of each file. The code is run only if the facts are
those of this process, the processor has the features, and the checksums match. Otherwise kernels
are compiled as if there were no folder, and `compile_notice` writes the reason.
`package_writer` writes the manifest.
"""

import hashlib
import json
import os
import sys
from pathlib import Path

import llvmlite
import llvmlite.binding
import numba
from numba import config
from numba.core import codegen

FOLDER = Path(__file__).with_name("compiled")
SWITCH = "HARNESS_PACKAGED_KERNELS"  # 0: do not use the folder
BUILD = "HARNESS_BUILD_KERNELS"  # folder that all kernels are compiled into, for `write_package`
COMMAND = "python -m harness compile --into-package"
MANIFEST = "manifest.json"
CHECKSUM_DIGITS = 16  # of the manifest's checksum, at the end of a folder's name
LABELS = {
    "sources": "of other sources",
    "python": "compiled for Python {}",
    "numba": "compiled for numba {}",
    "llvmlite": "compiled for llvmlite {}",
    "platform": "compiled for {}",
}


class PackagedKernels:
    """The usable folder of compiled kernels, or the reason why there is none.

    Attributes
    ----------
    folder : Path or None
    checksums : dict, file name → SHA-256 of the file, hexadecimal
    problem : str, why compiled kernels of the package are not used; empty if all are, or if the
        package has none
    is_written : bool, whether the folder has no manifest yet, and kernels are compiled into it
    """

    def __init__(self, folder=None, checksums=None, problem="", *, is_written=False):
        self.folder, self.checksums, self.problem = folder, checksums or {}, problem
        self.is_written = is_written

    def read(self, name):
        """Return the contents of a file, None if there is none or it is damaged."""
        if not self.is_written and name not in self.checksums:
            return None
        try:
            contents = (self.folder / name).read_bytes()
        except OSError:
            contents = None
        if self.is_written:
            return contents
        if contents is not None and hashlib.sha256(contents).hexdigest() == self.checksums[name]:
            return contents
        self.problem = f"{name} is damaged"
        return None


def facts(sources):
    """Return the versions and the platform that a process needs to run the compiled kernels.

    Parameters
    ----------
    sources : str, the digest of the kernels' sources
    """
    return {
        "sources": sources,
        "python": sys.implementation.cache_tag,
        "numba": numba.__version__,
        "llvmlite": llvmlite.__version__,
        "platform": llvmlite.binding.get_process_triple(),
    }


def processor_features():
    """Return the features that compiled code may use in this process: set of str."""
    given = config.CPU_FEATURES
    listed = codegen.get_host_cpu_features() if given is None else given
    return {feature[1:] for feature in listed.split(",") if feature.startswith("+")}


def open_package(parent, sources):
    """Return the `PackagedKernels` that this process reads, or writes, as the environment says.

    Of several usable folders, the one that uses the most processor features is read.

    Parameters
    ----------
    parent : Path of the folder of such folders
    sources : str, the digest of the kernels' sources
    """
    if os.environ.get(BUILD):
        folder = build_folder(sources)
        folder.mkdir(parents=True, exist_ok=True)
        return PackagedKernels(folder, is_written=True)
    if os.environ.get(SWITCH) == "0" or config.BOUNDSCHECK or not parent.is_dir():
        return PackagedKernels()  # packaged kernels do not check indices
    usable, problems = [], []
    for folder in sorted(parent.glob("[!.]*")):
        manifest, problem = read_manifest(folder, facts(sources))
        if problem:
            problems.append(problem)
        else:
            usable.append((len(manifest["features"]), folder, manifest["files"]))
    if usable:
        _, folder, checksums = max(usable, key=lambda found: found[0])
        return PackagedKernels(folder, checksums)
    return PackagedKernels(problem="; ".join(dict.fromkeys(problems)))


def build_folder(sources):
    """Return the folder that kernels of these sources are compiled into."""
    return Path(os.environ[BUILD], sources)


def read_manifest(folder, wanted):
    """Return the manifest of a folder, and why it cannot be used, an empty string if it can.

    Parameters
    ----------
    wanted : dict, the `facts` of this process
    """
    try:
        contents = (folder / MANIFEST).read_bytes()
    except OSError:
        return {}, f"{folder.name} has no manifest"
    if not folder.name.endswith(f"-{checksum_digits(contents)}"):
        return {}, f"the manifest of {folder.name} is damaged"
    manifest = json.loads(contents)
    differing = [name for name, value in wanted.items() if manifest.get(name) != value]
    if differing:
        return manifest, ", ".join(LABELS[name].format(manifest.get(name)) for name in differing)
    missing = sorted(set(manifest["features"]) - processor_features())
    if missing:
        return manifest, f"this processor lacks {', '.join(missing)}"
    return manifest, ""


def checksum_digits(contents):
    """Return the first digits of a manifest's checksum."""
    return hashlib.sha256(contents).hexdigest()[:CHECKSUM_DIGITS]
