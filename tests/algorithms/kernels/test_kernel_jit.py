"""The kernels' folder is named by all their sources; threads stay within numba's limit."""

import ast
from pathlib import Path

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


WITHOUT_KERNELS = {"jit.py", "linking.py", "lookups.py", "intrinsics.py"}


def test_every_kernel_file_decorates_by_our_names():
    for path in FOLDER.glob("*.py"):
        if path.name in WITHOUT_KERNELS:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef):
                names = [ast.unparse(d) for d in node.decorator_list]
                assert names in (["kernel"], ["inner_kernel"]), node.name
