"""Tests of the cache of parsed tables: it returns the stored table or nothing."""

import json
import mmap
import multiprocessing
import os
import shutil
import time

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse

from harness.core.errors import DataError
from harness.core.model import Dataset, Table, Task
from harness.data import cache, resolve
from harness.data.frames import Categories, assemble, gather
from harness.data.loading import table_of
from harness.plugins.registry import load_registry

DIGEST = "ab" * 32


def a_table(rows=5):
    columns = {
        "n": np.where(np.arange(rows) == 1, np.nan, np.arange(rows) / 3),
        "t": Categories(np.resize(np.array([0, 1, -1], np.int32), rows), ["u", "<b>"]),
        "i": Categories(np.resize(np.array([1, 0], np.int32), rows), [2, 10]),
        "m": np.full(rows, -0.0),
    }
    return Table(
        X=assemble(gather(rows, columns)),
        y=np.arange(rows, dtype=np.int64) % 2,
        classes=("no", "yes"),
        weight=np.ones(rows),
        group=np.arange(rows, dtype=np.int64),
        test_rows=np.arange(rows) > 2,
        notes=("read", "so"),
    )


def assert_same(a, b):
    if isinstance(a.X, pd.DataFrame):
        pd.testing.assert_frame_equal(a.X, b.X, check_exact=True)
    else:
        assert (a.X != b.X).nnz == 0
        assert a.X.shape == b.X.shape
    for name in ("y", "weight", "group", "test_rows"):
        x, z = getattr(a, name), getattr(b, name)
        assert (x is None) == (z is None)
        if x is not None:
            np.testing.assert_array_equal(x, z)
            assert x.dtype == z.dtype
    assert (a.classes, a.notes) == (b.classes, b.notes)


def test_table_is_read_back_equal():
    table = a_table()
    assert cache.put(DIGEST, table) == ""
    assert_same(table, cache.get(DIGEST))


def test_sparse_table_stays_sparse():
    X = sparse.random_array((20, 7), density=0.2, rng=0, format="csr")
    table = Table(sparse.csr_matrix(X), np.arange(20.0))
    cache.put(DIGEST, table)
    assert_same(table, cache.get(DIGEST))
    empty = Table(sparse.csr_matrix((3, 4)), np.arange(3.0))
    cache.put(DIGEST, empty)
    assert_same(empty, cache.get(DIGEST))


def test_arrays_are_memory_mapped_copy_on_write():
    cache.put(DIGEST, Table(pd.DataFrame({"a": [1.0, 2.0]}), np.arange(2.0)))
    first = cache.get(DIGEST)
    base = first.y
    while base.base is not None and not isinstance(base, np.memmap):
        base = base.base
    assert not base.flags.owndata or "mmap" in type(base).__name__
    first.y[0] = 99.0
    assert cache.get(DIGEST).y[0] == 0.0


@given(st.data())
@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_damage_is_detected(data):
    table = a_table()
    cache.put(DIGEST, table)
    folder = cache.folder_of(DIGEST)
    path = data.draw(st.sampled_from(sorted(folder.iterdir())))
    content = bytearray(path.read_bytes())
    kind = data.draw(st.sampled_from(["flip", "cut", "grow", "remove", "empty"]))
    place = data.draw(st.integers(0, len(content) - 1))
    match kind:
        case "flip":
            content[place] ^= data.draw(st.integers(1, 255))
        case "cut":
            del content[place:]
        case "grow":
            content += b"x"
        case "empty":
            content.clear()
    path.unlink() if kind == "remove" else path.write_bytes(content)
    result = cache.get(DIGEST)
    if result is not None:  # a blank or a digit of the JSON that changes nothing
        assert path.name == "meta.json"
        assert_same(table, result)


def test_damaged_table_is_rebuilt():
    registry = load_registry(modules=["harness.data.providers.generators"])
    dataset = resolve("friedman1:rows=50", registry)
    expected = table_of(dataset).X.copy()
    path = cache.folder_of(dataset.digest) / "numbers.npy"
    content = bytearray(path.read_bytes())
    content[-3] ^= 1
    path.write_bytes(content)
    pd.testing.assert_frame_equal(table_of(dataset).X, expected, check_exact=True)
    assert cache.get(dataset.digest) is not None


def test_table_of_another_format_is_rebuilt(monkeypatch):
    cache.put(DIGEST, a_table())
    monkeypatch.setattr(cache, "FORMAT", cache.FORMAT + 1)
    assert cache.get(DIGEST) is None


def test_pickle_is_never_loaded():
    cache.put(DIGEST, a_table())
    path = cache.folder_of(DIGEST) / "y.npy"
    with path.open("wb") as file:
        np.save(file, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    meta = json.loads((path.parent / "meta.json").read_text())["meta"]
    meta["arrays"]["y"] = {"bytes": path.stat().st_size, "crc32": cache._checksum(path)}
    content = {"meta": meta, "sha256": cache._meta_digest(meta)}
    (path.parent / "meta.json").write_text(json.dumps(content))
    assert cache.get(DIGEST) is None


@pytest.mark.parametrize("fault", ["full", "read-only", "in the way"])
def test_unwritable_cache_does_not_fail_a_run(tmp_path, monkeypatch, fault):
    match fault:
        case "full":
            usage = shutil.disk_usage(tmp_path)._replace(free=10)
            monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
        case "read-only":

            def refuse(*_, **__):
                raise PermissionError(13, "Permission denied")

            monkeypatch.setattr("tempfile.mkdtemp", refuse)
        case _:
            (tmp_path / "cache").write_text("a file where the folder should be")
    registry = load_registry(modules=["harness.data.providers.generators"])
    table = table_of(resolve("friedman1:rows=50", registry))
    assert table.X.shape == (50, 10)
    assert any("was not cached" in note for note in table.notes)


def test_full_disk_while_writing_leaves_no_file(monkeypatch):
    save = np.save

    def fail(file, array, **options):
        if array.ndim == 2:
            raise OSError(28, "No space left on device")
        save(file, array, **options)

    monkeypatch.setattr(np, "save", fail)
    assert cache.put(DIGEST, a_table()) == "No space left on device"
    assert list(cache.folder_of(DIGEST).parent.iterdir()) == []


def test_partial_files_of_a_killed_process_are_removed():
    tables = cache.folder_of(DIGEST).parent
    halves = {"ours": f".{DIGEST[:16]}.abcdef", "old": ".0123.x", "being made": ".4567.y"}
    for name in halves.values():
        (tables / name).mkdir(parents=True)
        (tables / name / "numbers.npy").write_bytes(b"half")
    os.utime(tables / halves["old"], (0, 0))
    assert cache.put(DIGEST, a_table()) == ""
    assert {p.name for p in tables.iterdir()} == {DIGEST, halves["being made"]}


def _load(name):
    registry = load_registry(modules=["harness.data.providers.generators"])
    return float(table_of(resolve(name, registry)).y.sum())


def test_concurrent_loads_agree():
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        sums = pool.map(_load, ["friedman1:rows=2000"] * 6)
    assert len(set(sums)) == 1
    assert len(list((cache.cache_folder() / "tables").iterdir())) == 1


@pytest.mark.slow
def test_second_load_of_a_large_table_copies_nothing():
    """Print the seconds of both loads: ``LOAD_ROWS=1000000 pytest -m slow -s -k second_load``."""
    rows = int(os.environ.get("LOAD_ROWS", "1000000"))
    registry = load_registry(modules=["harness.data.providers.generators"])
    dataset = resolve(f"higgs_like:rows={rows}", registry)
    seconds = []
    for _ in range(4):
        began = time.perf_counter()
        table = table_of(dataset)
        seconds.append(time.perf_counter() - began)
    first, *later = seconds
    message = ", ".join(f"{second:.2f}" for second in later)
    print(f"\n{rows:,} rows: first load {first:.2f} s, later {message} s")  # noqa: T201
    assert table.X.shape == (rows, 28)
    base = table.X.to_numpy(copy=False)
    while base.base is not None and not isinstance(base, np.memmap | mmap.mmap):
        base = base.base
    assert isinstance(base, np.memmap | mmap.mmap), "mapped, not read into memory"


def test_plugin_table_is_rebuilt_each_time():
    calls = []

    def load():
        calls.append(1)
        return Table(pd.DataFrame({"a": [1.0, 2.0]}), np.array([0.5, float(len(calls))]))

    dataset = Dataset("theirs", Task.REGRESSION, load, "v1", rows=2, columns=1)
    assert [table_of(dataset).y[1] for _ in range(2)] == [1.0, 2.0]
    assert not (cache.cache_folder() / "tables").exists()


FRAME = pd.DataFrame({"a": [1.0, 2.0]})


@pytest.mark.parametrize(
    ("table", "declared", "message"),
    [
        (Table(FRAME, np.array([0.5, 1.5])), {"rows": 3}, "declared with 3 rows"),
        (Table(FRAME, np.array([0.5, 1.5])), {"n_classes": 2}, "2 classes, but has 0"),
        (Table(FRAME, np.array([1, 2])), {}, "y must be float64"),
        (Table(FRAME, np.array([0.5])), {}, r"shape \(2,\)"),
        (Table(FRAME, np.array([0.5, np.nan])), {}, "must be finite"),
        (Table(FRAME, np.array([0, 2]), ("a", "b")), {"n_classes": 2}, "from 0 to n_classes"),
        (Table(FRAME, np.arange(2.0), weight=np.ones(3)), {"weighted": True}, "weight must have"),
        (Table(FRAME, np.arange(2.0), weight=np.ones(2)), {}, "weighted=False"),
        (Table(FRAME, np.arange(2.0)), {"given_test": True}, "given_test=True"),
        (Table(FRAME, np.arange(2.0)), {"sparse": True}, "sparse=True"),
        (Table(FRAME.where(FRAME > 1), np.arange(2.0)), {}, "missing values, but declares none"),
        (Table(FRAME.astype("category"), np.arange(2.0)), {}, "categorical columns, but declares"),
        (Table(FRAME.iloc[:0], np.array([])), {}, "no rows or no columns"),
    ],
)
def test_table_that_differs_from_its_declaration(table, declared, message):
    facts = {"rows": 2, "columns": 1, **declared}
    dataset = Dataset("theirs", Task.REGRESSION, lambda: table, "v1", **facts)
    with pytest.raises(DataError, match=message):
        table_of(dataset)


def test_lock_is_always_released():
    with pytest.raises(RuntimeError), cache.locked("x"):
        raise RuntimeError
    with cache.locked("x"):
        assert any((cache.cache_folder() / "locks").iterdir())
