"""The kernels' folder is named by all their sources; threads stay within numba's limit."""

import ast
import subprocess
import sys
from pathlib import Path

import numba
import pytest
from numba import config

from algorithms._kernels import jit
from algorithms._kernels.grow import grow

FOLDER = Path(jit.__file__).parent


def copy_sources(to):
    for path in FOLDER.glob("*.py"):
        (to / path.name).write_bytes(path.read_bytes())


def test_digest_names_the_sources_and_nothing_else(tmp_path):
    copy_sources(tmp_path)
    assert jit.digest_sources(tmp_path) == jit.KERNEL_DIGEST
    (tmp_path / "notes.txt").write_text("not a kernel")
    assert jit.digest_sources(tmp_path) == jit.KERNEL_DIGEST


@pytest.mark.parametrize("change", ["edit", "add", "remove", "rename"])
def test_digest_changes_with_any_file(tmp_path, change):
    copy_sources(tmp_path)
    file = tmp_path / "arrays.py"
    match change:
        case "edit":
            file.write_text(file.read_text() + "\n# another comment\n")
        case "add":
            (tmp_path / "new.py").write_text("")
        case "remove":
            file.unlink()
        case "rename":
            file.rename(tmp_path / "vectors.py")
    assert jit.digest_sources(tmp_path) != jit.KERNEL_DIGEST


def test_folder_follows_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "numba"))
    monkeypatch.delenv("HARNESS_KERNEL_CACHE", raising=False)
    assert jit.cache_folder() == tmp_path / "numba" / jit.KERNEL_DIGEST
    monkeypatch.setenv("HARNESS_KERNEL_CACHE", str(tmp_path / "ours"))
    assert jit.cache_folder() == tmp_path / "ours" / jit.KERNEL_DIGEST


def test_a_folder_that_cannot_be_written_to_is_replaced(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("HARNESS_KERNEL_CACHE", str(tmp_path / "file"))
    folder = jit.cache_folder()
    assert folder.is_dir()
    assert not folder.is_relative_to(tmp_path)
    folder.rmdir()


@pytest.mark.skipif(bool(config.DISABLE_JIT), reason="nothing is compiled")
def test_kernels_are_kept_in_that_folder_and_numbas_setting_is_left_alone():
    assert grow._cache.cache_path.startswith(str(jit.CACHE_FOLDER))
    assert str(jit.CACHE_FOLDER) not in str(config.CACHE_DIR)


def test_every_kernel_file_decorates_by_our_names():
    for path in FOLDER.glob("*.py"):
        if path.name in {"jit.py", "linking.py", "intrinsics.py"}:  # these hold no kernels
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef):
                names = [ast.unparse(d) for d in node.decorator_list]
                assert names in (["kernel"], ["inner_kernel"], ["parallel_kernel"]), node.name


def test_threads_are_clamped():
    assert jit.clamp_threads(0) == 1
    assert jit.clamp_threads(10**6) == config.NUMBA_NUM_THREADS


PARALLEL = """
import sys, threading
import numpy as np
from numba import prange
sys.modules["__main__"].__file__ = __file__
from algorithms._kernels.jit import parallel, parallel_kernel

@parallel_kernel
def double(x):
    for i in prange(len(x)):
        x[i] *= 2.0

def work():
    for _ in range(50):
        x = np.ones(1000)
        with parallel(2):
            double(x)
        assert (x == 2.0).all()

threads = [threading.Thread(target=work) for _ in range(4)]
for t in threads: t.start()
for t in threads: t.join()
import numba
print(numba.threading_layer())
"""


@pytest.mark.parametrize("layer", ["workqueue", "omp"])
def test_many_callers_of_parallel_kernels_do_no_harm(tmp_path, layer):
    """On the workqueue layer two callers at once would abort the process."""
    script = tmp_path / "parallel.py"
    script.write_text(PARALLEL)
    done = subprocess.run(
        [sys.executable, str(script)],
        env={
            "NUMBA_THREADING_LAYER": layer,
            "HARNESS_KERNEL_CACHE": str(tmp_path),
            "PYTHONPATH": str(FOLDER.parent.parent),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    if layer == "omp" and "omp" not in done.stdout and done.returncode:
        pytest.skip(f"no {layer} layer here: {done.stderr[-200:]}")
    assert (done.returncode, done.stdout.strip()) == (0, layer), done.stderr


def test_parallel_gives_back_the_number_of_threads():
    before = numba.get_num_threads()
    with jit.parallel(1) as count:
        assert count == numba.get_num_threads() == 1
    assert numba.get_num_threads() == before
