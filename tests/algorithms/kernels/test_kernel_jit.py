"""The kernels' folder is named by all their sources, and damage to it costs no more than time."""

import ast
import errno
import pickle

import numba
import pytest
from numba import config
from numba.core.caching import IndexDataCacheFile

from algorithms.runtime import jit
from algorithms.trees.kernels.grow import grow

FOLDER = jit.FOLDER


def copy_sources(to):
    for path in jit.kernel_sources():
        copy = to / path.relative_to(FOLDER)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(path.read_bytes())


def digest(folder):
    return jit.digest_sources(folder, jit.kernel_sources(folder))


def test_digest_names_the_sources_and_nothing_else(tmp_path):
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
            (tmp_path / "new.py").write_text("")
        case "remove":
            file.unlink()
        case "rename":
            file.rename(tmp_path / "vectors.py")
    assert digest(tmp_path) != jit.KERNEL_DIGEST


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


def twice(number):
    return 2 * number


def damage(folder, how):
    """Spoil what is kept: all of it, or an index of types that cannot be imported here."""
    version = pickle.dumps(numba.__version__)
    contents = {
        "empty": b"",
        "garbage": b"\x80\x05 no pickle",
        "foreign": version + b"cno_such_module\nMarked\n.",
        "obsolete": version + pickle.dumps("another shape"),
    }
    pattern = "*.nb[ic]" if how in ("empty", "garbage") else "*.nbi"
    found = list(folder.rglob(pattern))
    assert found
    for path in found:
        path.write_bytes(contents[how])


@pytest.mark.skipif(bool(config.DISABLE_JIT), reason="nothing is compiled")
@pytest.mark.parametrize("how", ["empty", "garbage", "foreign", "obsolete"])
def test_what_cannot_be_read_is_compiled_anew_and_kept(how, tmp_path, monkeypatch):
    monkeypatch.setattr(jit, "CACHE_FOLDER", tmp_path)
    assert jit.kernel(twice)(21) == 42
    damage(tmp_path, how)
    again = jit.kernel(twice)
    assert again(21) == 42
    assert not again.stats.cache_hits
    mended = jit.kernel(twice)
    assert mended(21) == 42
    assert mended.stats.cache_hits


@pytest.mark.skipif(bool(config.DISABLE_JIT), reason="nothing is compiled")
def test_a_full_disk_keeps_nothing_and_loses_nothing(tmp_path, monkeypatch):
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
    """Yield the file and the name of each kernel that a module imports, or asks a file for."""
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


def test_every_kernel_file_decorates_by_our_names():
    for _, function, names in decorated_functions():
        assert names in (["kernel"], ["inner_kernel"], ["linked_kernel"]), function


def test_what_only_kernels_call_is_not_compiled_on_its_own():
    root = FOLDER.parent
    called = set()
    for path in (*root.glob("algorithms/**/*.py"), *root.glob("costs/*.py")):
        if path not in KERNEL_FILES:
            called |= set(kernels_of(ast.parse(path.read_text())))
    every = {(file, name) for file, name, by in decorated_functions() if by == ["kernel"]}
    assert every - called == set()  # else make them linked kernels
