"""Tests of array files that are lost, changed or invalid."""

import io
import os
import zipfile

import numpy as np
import pytest

from harness.core.errors import StoreError
from harness.core.outcome_files import write_arrays
from harness.store import artifacts
from harness.store.artifacts import Artifacts


@pytest.fixture
def kept(tmp_path):
    (tmp_path / "artifacts").mkdir()
    return Artifacts(tmp_path / "artifacts")


def taken(kept, tmp_path, content):
    (tmp_path / "source").write_bytes(content)
    return kept.add_files({"any": tmp_path / "source"})["any"]


def test_arrays_of_every_plain_dtype_are_read_back(kept, tmp_path):
    arrays = {
        "float": np.linspace(0, 1, 12).reshape(3, 4),
        "fortran": np.asfortranarray(np.arange(6, dtype=np.float32).reshape(2, 3)),
        "text": np.array(["a", "ü\n"]),
        "empty": np.empty((0, 3)),
        "scalar": np.float64(2.5),
        "flags": np.array([True, False]),
        "record": np.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")]),
    }
    write_arrays(tmp_path / "all.npz", arrays)
    result = kept.load(kept.add_files({"all": tmp_path / "all.npz"})["all"].sha256)
    assert result.keys() == arrays.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(result[name], array)
        assert result[name].dtype == array.dtype


def test_changed_file_is_refused_and_replaced_when_stored_again(kept, tmp_path):
    stored = taken(kept, tmp_path, b"0" * 5000)
    path = kept.path(stored.sha256)
    path.write_bytes(b"0" * 4999 + b"1")
    with pytest.raises(StoreError, match="were changed since; remove the file and run"):
        kept.load(stored.sha256)
    assert not kept.holds(stored)
    kept.add_files({"one": tmp_path / "source", "same": tmp_path / "source"})
    assert kept.holds(stored)
    assert list(kept.files()) == [path]


def test_missing_file_is_reported_with_advice(kept):
    with pytest.raises(StoreError, match="are missing; run the experiment again"):
        kept.load("ab" * 32)


@pytest.mark.parametrize("name", ["../../x", "", "AB" * 32, "ab" * 31 + "/x", "ab" * 32 + "\n"])
def test_invalid_hash_never_becomes_a_path(kept, name):
    with pytest.raises(StoreError, match="is not a SHA-256"):
        kept.load(name)


def test_link_or_pipe_is_not_followed(kept, tmp_path):
    stored = taken(kept, tmp_path, b"content")
    path = kept.path(stored.sha256)
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreError):
        kept.load(stored.sha256)
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(StoreError, match="not a regular file"):
        kept.load(stored.sha256)


def test_pickle_is_refused(kept, tmp_path):
    buffer = io.BytesIO()
    np.savez(buffer, x=np.array([{"a": 1}], dtype=object))
    with pytest.raises(StoreError, match="plain arrays"):
        kept.load(taken(kept, tmp_path, buffer.getvalue()).sha256)


def test_file_that_is_no_array_archive_is_refused(kept, tmp_path):
    for content in (b"", b"PK\x03\x04", b"\x80\x04K\x01.", archive({"x.npy": b"no array"})):
        with pytest.raises(StoreError):
            kept.load(taken(kept, tmp_path, content).sha256)


def test_decompression_bomb_is_refused_before_unpacking(kept, tmp_path, monkeypatch):
    monkeypatch.setattr(artifacts, "MAX_FILE", 10_000_000)
    buffer = io.BytesIO()
    np.savez_compressed(buffer, x=np.zeros(2_000_000))
    assert len(buffer.getvalue()) < 100_000
    with pytest.raises(StoreError, match="unpacks to more than"):
        kept.load(taken(kept, tmp_path, buffer.getvalue()).sha256)
    many = archive({f"{i}.npy": b"" for i in range(artifacts.MAX_ARRAYS + 1)})
    with pytest.raises(StoreError, match="unpacks to more than"):
        kept.load(taken(kept, tmp_path, many).sha256)
    with pytest.raises(StoreError, match="not a regular file of at most"):
        taken(kept, tmp_path, b"0" * 10_000_001)


def test_array_declaring_a_huge_size_is_refused(kept, tmp_path):
    buffer = io.BytesIO()
    np.save(buffer, np.zeros(8))
    lying = buffer.getvalue().replace(b"(8,), }" + b" " * 12, b"(8000000000000,), }")
    with pytest.raises(StoreError, match="not as long as its header says"):
        kept.load(taken(kept, tmp_path, archive({"x.npy": lying})).sha256)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_random_damage_to_a_consistent_archive_is_always_detected(kept, tmp_path, seed):
    """Damage with a matching hash, as in a foreign store."""
    random = np.random.default_rng(seed)
    buffer = io.BytesIO()
    np.savez_compressed(buffer, x=np.arange(50.0), y=np.array(["a", "b"]))
    content = np.frombuffer(buffer.getvalue(), dtype=np.uint8)
    for _ in range(200):
        broken = content.copy()
        where = random.integers(len(broken), size=random.integers(1, 6))
        broken[where] = random.integers(256, size=len(where))
        try:
            result = kept.load(taken(kept, tmp_path, broken.tobytes()).sha256)
        except StoreError:
            continue
        assert all(isinstance(array, np.ndarray) for array in result.values())


def archive(members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as written:
        for name, content in members.items():
            written.writestr(name, content)
    return buffer.getvalue()
