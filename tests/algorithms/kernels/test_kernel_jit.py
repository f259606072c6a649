"""Tests of the kernel cache: its folder depends on all sources, and damaged files are rebuilt."""

import ast
import errno
import os
import pickle
import stat
import tempfile
import time

import numba
import pytest
from numba import config
from numba.core.caching import IndexDataCacheFile

from algorithms.runtime import jit
from algorithms.runtime.kernel_cache import KEPT_FOLDERS, add_checksum
from algorithms.trees.kernels.grow import grow

FOLDER = jit.FOLDER


def copy_sources(to):
    for path in jit.kernel_sources():
        copy = to / path.relative_to(FOLDER)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(path.read_bytes())


def digest(folder):
    return jit.digest_sources(folder, jit.kernel_sources(folder))


def test_digest_depends_on_the_sources_only(tmp_path):
    copy_sources(tmp_path)
    assert digest(tmp_path) == jit.KERNEL_DIGEST
    (tmp_path / "notes.txt").write_text("not a kernel")
    assert digest(tmp_path) == jit.KERNEL_DIGEST


@pytest.mark.parametrize("change", ["edit", "add", "remove", "rename"])
def test_digest_changes_with_any_file(tmp_path, change):
    copy_sources(tmp_path)
    file = tmp_path / "runtime" / "array_moves.py"
    match change:
        case "edit":
            file.write_text(file.read_text() + "\n# another comment\n")
        case "add":
            (tmp_path / "trees" / "kernels" / "new.py").write_text("")
        case "remove":
            file.unlink()
        case "rename":
            file.rename(tmp_path / "vectors.py")
    assert digest(tmp_path) != jit.KERNEL_DIGEST


def test_cache_folder_depends_on_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "numba"))
    monkeypatch.delenv("HARNESS_KERNEL_CACHE", raising=False)
    assert jit.cache_folder() == tmp_path / "numba" / jit.KERNEL_DIGEST
    monkeypatch.setenv("HARNESS_KERNEL_CACHE", str(tmp_path / "ours"))
    assert jit.cache_folder() == tmp_path / "ours" / jit.KERNEL_DIGEST


@pytest.fixture
def no_cache_folder(tmp_path, monkeypatch):
    """Make the usual cache folder unusable; return the temporary directory."""
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("HARNESS_KERNEL_CACHE", str(tmp_path / "file"))
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    return temporary


def test_unwritable_folder_is_replaced_by_a_folder_per_user(no_cache_folder):
    folder = jit.cache_folder()
    assert folder == no_cache_folder / f"tree-harness-kernels-{os.getuid()}" / jit.KERNEL_DIGEST
    assert stat.S_IMODE(folder.parent.stat().st_mode) == 0o700
    assert jit.cache_folder() == folder
    assert len(list(no_cache_folder.iterdir())) == 1


@pytest.mark.parametrize("how", ["link", "open to others", "file", "of another user"])
def test_temporary_folder_writable_by_others_is_not_used(
    no_cache_folder, tmp_path, monkeypatch, how
):
    folder = no_cache_folder / f"tree-harness-kernels-{os.getuid()}"
    match how:
        case "link":
            (tmp_path / "elsewhere").mkdir(mode=0o700)
            folder.symlink_to(tmp_path / "elsewhere")
        case "open to others":
            folder.mkdir()
            folder.chmod(0o770)
        case "file":
            folder.touch()
        case "of another user":
            folder.mkdir(mode=0o700)
            user = os.getuid()
            folder.rename(folder.with_name(f"tree-harness-kernels-{user + 1}"))
            monkeypatch.setattr(os, "getuid", lambda: user + 1)
    assert jit.cache_folder() is None


def test_without_a_folder_kernels_are_compiled_but_not_cached(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("HARNESS_KERNEL_CACHE", str(tmp_path / "file"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "file"))
    assert jit.cache_folder() is None
    monkeypatch.setattr(jit, "CACHE_FOLDER", None)
    compiled = jit.kernel(twice)
    assert compiled(21) == 42
    assert list(tmp_path.iterdir()) == [tmp_path / "file"]


def test_folders_of_other_versions_are_removed_except_the_newest(tmp_path, monkeypatch):
    monkeypatch.setenv("HARNESS_KERNEL_CACHE", str(tmp_path))
    day = 86_400
    old = [tmp_path / f"{i:016x}" for i in range(KEPT_FOLDERS + 3)]
    for age, folder in enumerate(old):
        folder.mkdir()
        (folder / "kernel.nbc").touch()
        os.utime(folder, (time.time() - (age + 2) * day,) * 2)
    other = tmp_path / "numba's own"
    other.mkdir()
    os.utime(other, (0, 0))
    current = jit.cache_folder()
    assert {*tmp_path.iterdir()} == {*old[:KEPT_FOLDERS], other, current}


def test_folders_in_use_are_not_removed(tmp_path, monkeypatch):
    monkeypatch.setenv("HARNESS_KERNEL_CACHE", str(tmp_path))
    for i in range(KEPT_FOLDERS + 3):
        (tmp_path / f"{i:016x}").mkdir()
    jit.cache_folder()
    assert len(list(tmp_path.iterdir())) == KEPT_FOLDERS + 4


@pytest.mark.skipif(bool(config.DISABLE_JIT), reason="nothing is compiled")
def test_kernels_are_cached_there_and_numba_setting_is_unchanged():
    assert grow._cache.cache_path.startswith(str(jit.CACHE_FOLDER))
    assert str(jit.CACHE_FOLDER) not in str(config.CACHE_DIR)


def twice(number):
    return 2 * number


def damage(folder, how):
    """Damage cached files: all bytes, or an index of types that cannot be imported here."""
    foreign = b"cno_such_module\nMarked\n."
    contents = {
        "empty": b"",
        "garbage": b"\x80\x05 no pickle",
        "foreign": add_checksum(pickle.dumps((numba.__version__, foreign))),
        "obsolete": add_checksum(pickle.dumps((numba.__version__, pickle.dumps("another shape")))),
        "of another numba": add_checksum(pickle.dumps(("0.1", foreign))),
    }
    pattern = "*.nb[ic]" if how in ("empty", "garbage") else "*.nbi"
    results = list(folder.rglob(pattern))
    assert results
    for path in results:
        path.write_bytes(contents[how])


def assert_is_compiled_again_and_kept():
    again = jit.kernel(twice)
    assert again(21) == 42
    assert not again.stats.cache_hits
    mended = jit.kernel(twice)
    assert mended(21) == 42
    assert mended.stats.cache_hits


@pytest.mark.skipif(bool(config.DISABLE_JIT), reason="nothing is compiled")
@pytest.mark.parametrize("how", ["empty", "garbage", "foreign", "obsolete", "of another numba"])
def test_unreadable_file_is_compiled_again_and_cached(how, tmp_path, monkeypatch):
    monkeypatch.setattr(jit, "CACHE_FOLDER", tmp_path)
    assert jit.kernel(twice)(21) == 42
    damage(tmp_path, how)
    assert_is_compiled_again_and_kept()


@pytest.mark.skipif(bool(config.DISABLE_JIT), reason="nothing is compiled")
@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
@pytest.mark.parametrize("place", [0.0, 0.02, 0.3, 0.5, 0.8, 1.0])
def test_flipped_bit_is_detected_and_kernel_compiled_again(suffix, place, tmp_path, monkeypatch):
    monkeypatch.setattr(jit, "CACHE_FOLDER", tmp_path)
    assert jit.kernel(twice)(21) == 42
    (path,) = tmp_path.rglob(f"*.{suffix}")
    contents = bytearray(path.read_bytes())
    contents[round(place * (len(contents) - 1))] ^= 4
    path.write_bytes(contents)
    assert_is_compiled_again_and_kept()


@pytest.mark.skipif(bool(config.DISABLE_JIT), reason="nothing is compiled")
def test_machine_code_of_another_signature_is_not_run(tmp_path, monkeypatch):
    """Two processes that write at the same time can leave an index that names the other's file."""
    monkeypatch.setattr(jit, "CACHE_FOLDER", tmp_path)
    compiled = jit.kernel(twice)
    assert (compiled(21), compiled(1.5)) == (42, 3.0)
    first, second = sorted(tmp_path.rglob("*.nbc"))
    first.write_bytes(second.read_bytes())
    again = jit.kernel(twice)
    assert (again(21), again(1.5)) == (42, 3.0)
    assert sum(again.stats.cache_misses.values()) == 1


@pytest.mark.skipif(bool(config.DISABLE_JIT), reason="nothing is compiled")
def test_full_disk_caches_nothing_and_raises_nothing(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(jit, "CACHE_FOLDER", tmp_path)
    monkeypatch.setattr(IndexDataCacheFile, "_save_data", full)
    assert jit.kernel(twice)(21) == 42


KERNEL_FILES = [  # of runtime/, those that hold kernels
    FOLDER / "runtime" / f"{name}.py"
    for name in (
        "array_moves",
        "exact_sum_kernels",
        "math_functions",
        "thread_team",
        "value_checks",
    )
] + sorted(FOLDER.glob("*/kernels/*.py"))


def decorated_functions():
    """Yield the file, the name and the decorators of every function in a file of kernels."""
    for path in KERNEL_FILES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef):
                file = ".".join(path.relative_to(FOLDER).with_suffix("").parts)
                yield file, node.name, [ast.unparse(d) for d in node.decorator_list]


def kernels_of(module):
    """Yield the file and name of each kernel that a module imports or accesses through a module."""
    package, files = "algorithms", {}
    for node in ast.walk(module):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(package):
            inside = node.module.removeprefix(package).removeprefix(".")
            for alias in node.names:
                yield inside, alias.name
                files[alias.asname or alias.name] = f"{inside}.{alias.name}".removeprefix(".")
    for node in ast.walk(module):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            yield files.get(node.value.id, ""), node.attr


def test_every_kernel_file_uses_our_decorators():
    for _, function, names in decorated_functions():
        assert names in (["kernel"], ["inner_kernel"], ["linked_kernel"]), function


def test_functions_called_only_by_kernels_are_not_compiled_alone():
    root = FOLDER.parent
    called = set()
    for path in (*root.glob("algorithms/**/*.py"), *root.glob("costs/*.py")):
        if path not in KERNEL_FILES:
            called |= set(kernels_of(ast.parse(path.read_text())))
    every = {(file, name) for file, name, by in decorated_functions() if by == ["kernel"]}
    assert every - called == set()  # otherwise make them linked kernels
