"""Compiled kernels of the package are run where they fit, and kernels are compiled elsewhere."""

import json
import os
import platform
import shutil
import subprocess
import sys

import llvmlite
import numba
import numpy as np
import pytest
from numba import config

from algorithms.runtime import jit, packaged_kernels
from algorithms.runtime.jit import kernel
from algorithms.runtime.package_writer import write_package
from algorithms.runtime.packaged_kernels import (
    BUILD,
    MANIFEST,
    checksum_digits,
    open_package,
)
from algorithms.runtime.value_checks import INFINITE, find_nonfinite
from harness.execution import kernel_package

pytestmark = pytest.mark.skipif(bool(config.DISABLE_JIT), reason="nothing is compiled")
DIGEST = jit.KERNEL_DIGEST
VALUES = np.array([1.0, np.inf])


@pytest.fixture
def parent(tmp_path, monkeypatch):
    """Return the folder of a package with one compiled kernel; nothing else stores kernels."""
    parent = tmp_path / "compiled"
    monkeypatch.setattr(jit, "CACHE_FOLDER", None)
    monkeypatch.setenv(BUILD, str(tmp_path / "build"))
    monkeypatch.setattr(jit, "PACKAGED", open_package(parent, DIGEST))
    assert kernel(find_nonfinite.py_func)(VALUES) == INFINITE
    write_package(jit.PACKAGED.folder, parent, DIGEST)
    monkeypatch.delenv(BUILD)
    monkeypatch.setattr(jit, "PACKAGED", open_package(parent, DIGEST))
    return parent


def is_loaded(parent, monkeypatch):
    """Return whether the kernel is loaded from the package, and not compiled."""
    monkeypatch.setattr(jit, "PACKAGED", open_package(parent, DIGEST))
    loaded = kernel(find_nonfinite.py_func)
    assert loaded(VALUES) == INFINITE
    hits, misses = sum(loaded.stats.cache_hits.values()), sum(loaded.stats.cache_misses.values())
    assert hits + misses == 1
    return hits == 1


def rewrite(parent, **changes):
    """Change facts of the manifest; name the folder by its new checksum."""
    (folder,) = parent.iterdir()
    manifest = json.loads((folder / MANIFEST).read_text())
    contents = json.dumps(manifest | changes).encode()
    (folder / MANIFEST).write_bytes(contents)
    folder.rename(parent / f"{folder.name.rpartition('-')[0]}-{checksum_digits(contents)}")


def test_a_kernel_of_the_package_is_loaded_although_no_folder_can_be_written_to(
    parent, monkeypatch
):
    (folder,) = parent.iterdir()
    for path in (*folder.iterdir(), folder, parent):
        path.chmod(0o500 if path.is_dir() else 0o400)
    try:
        assert is_loaded(parent, monkeypatch)
        assert jit.PACKAGED.problem == ""
    finally:
        parent.chmod(0o700)
        folder.chmod(0o700)


def test_the_name_of_the_folder_says_what_it_was_compiled_for(parent):
    (folder,) = parent.iterdir()
    digest, rest = folder.name.split("-", 1)
    assert digest == DIGEST
    versions = f"{sys.implementation.cache_tag}-numba{numba.__version__}"
    assert rest.startswith(f"{versions}-llvmlite{llvmlite.__version__}-")
    manifest = json.loads((folder / MANIFEST).read_text())
    assert set(manifest["features"]) == packaged_kernels.processor_features()
    assert set(manifest["files"]) == {path.name for path in folder.glob("*.bin")}


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"sources": "0" * 16}, "of other sources"),
        ({"python": "cpython-310"}, "compiled for Python cpython-310"),
        ({"numba": "0.1"}, "compiled for numba 0.1"),
        ({"llvmlite": "0.1"}, "compiled for llvmlite 0.1"),
        ({"platform": "arm64-apple-darwin"}, "compiled for arm64-apple-darwin"),
        ({"features": ["avx1024", "sse2"]}, "this processor lacks avx1024"),
    ],
)
def test_a_package_for_something_else_is_not_used_and_the_reason_is_given(
    parent, changes, problem, monkeypatch
):
    rewrite(parent, **changes)
    assert not is_loaded(parent, monkeypatch)
    assert problem in jit.PACKAGED.problem


def test_code_for_fewer_processor_features_is_used(parent, monkeypatch):
    rewrite(parent, features=[], cpu="x86-64-v3")
    assert is_loaded(parent, monkeypatch)


def test_of_two_packages_the_one_for_more_processor_features_is_used(parent, tmp_path, monkeypatch):
    (more,) = parent.iterdir()
    shutil.copytree(parent, tmp_path / "lesser")
    rewrite(tmp_path / "lesser", features=[])
    (lesser,) = (tmp_path / "lesser").iterdir()
    lesser.rename(parent / lesser.name)
    assert is_loaded(parent, monkeypatch)
    assert jit.PACKAGED.folder == more


@pytest.mark.parametrize("place", [0.0, 0.3, 0.7, 1.0])
def test_one_flipped_bit_in_a_file_is_detected_and_the_kernel_compiled(parent, place, monkeypatch):
    (path,) = parent.glob("*/*.bin")
    contents = bytearray(path.read_bytes())
    contents[round(place * (len(contents) - 1))] ^= 4
    path.write_bytes(contents)
    assert not is_loaded(parent, monkeypatch)
    assert jit.PACKAGED.problem == f"{path.name} is damaged"


def test_a_file_that_is_missing_is_detected(parent, monkeypatch):
    (path,) = parent.glob("*/*.bin")
    path.unlink()
    assert not is_loaded(parent, monkeypatch)
    assert "is damaged" in jit.PACKAGED.problem


@pytest.mark.parametrize("how", ["flipped", "missing"])
def test_a_damaged_manifest_is_detected(parent, how, monkeypatch):
    (path,) = parent.glob(f"*/{MANIFEST}")
    contents = bytearray(path.read_bytes())
    contents[len(contents) // 2] ^= 1
    path.unlink() if how == "missing" else path.write_bytes(contents)
    assert not is_loaded(parent, monkeypatch)
    assert "manifest" in jit.PACKAGED.problem


def test_other_types_than_those_of_the_package_are_compiled(parent):
    compiled = kernel(find_nonfinite.py_func)
    assert compiled(VALUES.astype(np.float32)) == INFINITE
    assert not compiled.stats.cache_hits
    assert jit.PACKAGED.problem == ""


def test_a_kernel_that_is_compiled_calls_one_that_is_loaded(parent):
    loaded = kernel(find_nonfinite.py_func)

    def find_twice(a, b):
        return loaded(a), loaded(b)

    assert kernel(find_twice)(VALUES, VALUES[:1]) == (INFINITE, 0)
    assert sum(loaded.stats.cache_hits.values()) == 1


def test_kernels_of_the_package_can_be_switched_off(parent, monkeypatch):
    monkeypatch.setenv("HARNESS_PACKAGED_KERNELS", "0")
    assert not is_loaded(parent, monkeypatch)
    assert jit.PACKAGED.problem == ""


def test_kernels_with_index_checks_are_not_taken_from_the_package(parent, monkeypatch):
    monkeypatch.setattr(config, "BOUNDSCHECK", 1)
    assert not is_loaded(parent, monkeypatch)
    assert jit.PACKAGED.problem == ""


def test_kernels_of_other_packages_are_not_of_this_one(parent):
    def thrice(number):
        return 3 * number

    compiled = kernel(thrice)
    assert compiled(2) == 6
    assert not compiled.stats.cache_hits


def test_a_new_package_replaces_the_old_one(parent, tmp_path, monkeypatch):
    (before,) = parent.iterdir()
    monkeypatch.setenv(BUILD, str(tmp_path / "second"))
    monkeypatch.setattr(jit, "PACKAGED", open_package(parent, DIGEST))
    kernel(find_nonfinite.py_func)(VALUES)
    kernel(find_nonfinite.py_func)(VALUES.astype(np.float32))
    after = write_package(jit.PACKAGED.folder, parent, DIGEST)
    assert list(parent.iterdir()) == [after]
    assert after != before
    assert len(list(after.glob("*.bin"))) == 2


def test_a_package_without_kernels_is_refused(parent, tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match="no compiled kernels"):
        write_package(tmp_path / "empty", parent, DIGEST)


LINE = """
import sys
from pathlib import Path
from algorithms.runtime import packaged_kernels
packaged_kernels.FOLDER = Path(sys.argv[1])
import numpy as np
import algorithms.runtime.threads
from algorithms.runtime.value_checks import find_nonfinite
print(find_nonfinite(np.array([np.inf])))
"""


def lines_about(parent, tmp_path, **variables):
    """Return the lines on stderr about a package, of a process that calls one of its kernels."""
    environment = {n: v for n, v in os.environ.items() if n != "HARNESS_COMPILE_NOTICE"}
    environment |= {"HARNESS_KERNEL_CACHE": str(tmp_path / "cache")} | variables
    done = subprocess.run(
        [sys.executable, "-c", LINE, str(parent)],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == f"{INFINITE}\n"
    return [line for line in done.stderr.splitlines() if "of the package" in line]


@pytest.mark.slow
def test_one_line_says_why_kernels_of_the_package_are_not_used(parent, tmp_path):
    assert lines_about(parent, tmp_path) == []
    rewrite(parent, sources="0" * 16)
    (line,) = lines_about(parent, tmp_path / "other")
    assert "of other sources" in line
    assert "python -m harness compile --into-package" in line
    assert lines_about(parent, tmp_path / "other") == []  # nothing is compiled any more
    assert lines_about(parent, tmp_path / "third", HARNESS_COMPILE_NOTICE="0") == []


@pytest.mark.skipif(
    platform.machine() != "x86_64" or "avx2" not in packaged_kernels.processor_features(),
    reason="this processor cannot run code for x86-64-v3",
)
def test_code_for_x86_64_v3_is_run_by_a_process_that_compiles_for_its_own_processor(
    tmp_path, monkeypatch
):
    built, parent = tmp_path / "build", tmp_path / "compiled"
    target = {BUILD: str(built), **kernel_package.TARGETS["x86-64-v3"]}
    command = [sys.executable, "-c", LINE, str(tmp_path)]
    subprocess.run(command, env=os.environ | target, check=True)
    command = [sys.executable, "-m", "algorithms.runtime.package_writer", str(parent)]
    subprocess.run(command, env=os.environ | target, check=True)
    (folder,) = parent.iterdir()
    assert "-x86-64-v3-" in folder.name
    manifest = json.loads((folder / MANIFEST).read_text())
    assert set(manifest["features"]) < packaged_kernels.processor_features()
    assert is_loaded(parent, monkeypatch)


def test_writing_a_package_keeps_that_of_another_python(tmp_path):
    compiled, parent = tmp_path / "build", tmp_path / "compiled"
    compiled.mkdir()
    (compiled / "kernel.bin").write_bytes(b"code")
    tag = sys.implementation.cache_tag
    other, same, old = (
        parent / name
        for name in (f"{DIGEST}-cpython-300-x", f"{DIGEST}-{tag}-x", "0000-cpython-300-x")
    )
    for folder in (other, same, old):
        folder.mkdir(parents=True)
    written = write_package(compiled, parent, DIGEST)
    assert set(parent.iterdir()) == {written, other}
