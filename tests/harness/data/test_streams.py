"""Tests of opening and hashing files."""

import hashlib
import os
import time
import zipfile

import pytest

from harness.core.errors import ConfigError, DataError
from harness.data import streams
from harness.data.safe_names import count, listed, shown
from harness.data.streams import check_sha256, open_data, sha256_of
from harness.data.writing import write_atomically


def test_zip_member_is_read_in_place(tmp_path):
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("../../evil.csv", "x,y\n1,2\n")
        archive.writestr("zeros.csv", "0" * 3_000_000)
    with open_data(path, "../../evil.csv") as stream:
        assert stream.read() == b"x,y\n1,2\n"
    assert sorted(p.name for p in tmp_path.parent.rglob("evil*")) == []
    with pytest.raises(DataError, match="'absent' cannot be read"), open_data(path, "absent"):
        pass


def test_zip_bomb_is_stopped(tmp_path, monkeypatch):
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("zeros.csv", "0" * 3_000_000)
    monkeypatch.setenv("HARNESS_MAX_BYTES", "1MB")
    with pytest.raises(DataError, match="decompression bomb"), open_data(path, "zeros.csv") as file:
        file.read()


def test_without_a_user_limit_the_ratio_decides(monkeypatch):
    from harness.data.folders import ALWAYS_ALLOWED, MAX_BYTES, max_bytes

    assert max_bytes(1000) == ALWAYS_ALLOWED
    assert max_bytes(ALWAYS_ALLOWED) == MAX_BYTES
    assert max_bytes() == MAX_BYTES
    monkeypatch.setenv("HARNESS_MAX_BYTES", "20GiB")
    assert max_bytes(1000) == 20 * 2**30
    monkeypatch.setenv("HARNESS_MAX_BYTES", "much")
    with pytest.raises(ConfigError, match="not a size"):
        max_bytes()


def test_hash_equals_that_of_the_bytes(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"abc")
    assert sha256_of(path) == hashlib.sha256(b"abc").hexdigest()
    with pytest.raises(DataError, match="not the expected 0000000000000000"):
        check_sha256(path, "0" * 64)


def test_unchanged_large_file_is_hashed_once(tmp_path, monkeypatch):
    monkeypatch.setattr(streams, "_REMEMBERED", 1)
    monkeypatch.setattr(streams, "_SETTLED", -1.0)
    path = tmp_path / "a"
    path.write_bytes(b"abc")
    expected = sha256_of(path)
    monkeypatch.setattr(hashlib, "file_digest", lambda *_: pytest.fail("hashed again"))
    assert sha256_of(path) == expected
    monkeypatch.undo()
    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path / "cache"))
    before = path.stat()
    path.write_bytes(b"abd")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert sha256_of(path) == hashlib.sha256(b"abd").hexdigest(), "the inode's time tells"


def test_recently_written_file_is_not_cached(tmp_path, monkeypatch):
    monkeypatch.setattr(streams, "_REMEMBERED", 1)
    path = tmp_path / "a"
    path.write_bytes(b"abc")
    sha256_of(path)
    assert not (tmp_path / "cache/seen").exists()
    monkeypatch.setattr(time, "time", lambda: 0.0)  # a clock that jumped back
    sha256_of(path)
    assert not (tmp_path / "cache/seen").exists()


def test_file_changing_while_read_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "a"
    path.write_bytes(b"abc")
    digest = hashlib.file_digest

    def meanwhile(file, name):
        path.write_bytes(b"abcd")
        return digest(file, name)

    monkeypatch.setattr(hashlib, "file_digest", meanwhile)
    with pytest.raises(DataError, match="changed while it was read"):
        sha256_of(path)


def test_special_files_are_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", "/dev/zero"):
        with pytest.raises(DataError, match="not a regular file"):
            sha256_of(type(tmp_path)(path))


def test_failed_write_keeps_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "a"
    write_atomically(path, b"old")

    def fail(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="No space"):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["a"]


def test_names_in_messages_are_escaped_and_short():
    assert shown("\x1b[31m\n") == "'\\x1b[31m\\n'"
    assert len(shown("x" * 10_000)) < 70
    assert listed(list("abcdefg")) == "'a', 'b', 'c', 'd', 'e' and 2 more"
    assert (count(1, "row"), count(2000, "row")) == ("1 row", "2,000 rows")
