"""Tests of closed and full standard streams, non-UTF-8 names, and a missing folder."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness.core.errors import DataError
from harness.data import dataset_from_file

FULL = Path("/dev/full")


def harness(*arguments, cwd, streams=""):
    """Run the command line in a shell that closes or redirects some streams."""
    script = f'exec "$@" {streams}'
    command = ["/bin/sh", "-c", script, "sh", sys.executable, "-m", "harness", *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, check=False)


@pytest.mark.slow
@pytest.mark.parametrize("streams", ["2>&-", "<&- 2>&-", "<&- >&- 2>&-"])
def test_run_works_with_closed_streams_and_keeps_its_store_valid(tmp_path, streams):
    chosen = ["-d", "iris", "-a", "sklearn.decision_tree", "--set", "splits.folds=2"]
    folder = tmp_path / "results"
    done = harness("run", *chosen, "--results", str(folder), cwd=tmp_path, streams=streams)
    assert done.returncode == 0, done.stderr
    assert list(folder.glob("report-*.html"))
    again = harness("list", "runs", "--results", str(folder), cwd=tmp_path)
    assert again.returncode == 0, again.stderr


@pytest.mark.skipif(not FULL.exists(), reason="this system has no /dev/full")
def test_full_disk_under_stdout_is_one_line():
    done = harness("list", "metrics", cwd="/", streams="> /dev/full")
    assert done.returncode == 5
    assert done.stderr == b"harness: the output cannot be written: No space left on device\n"
    done = harness("list", "nothing", cwd="/", streams="2> /dev/full")
    assert done.returncode == 2


def test_argument_that_is_not_utf_8_is_one_line(tmp_path):
    name = os.fsdecode(b"caf\xe9.csv")
    try:
        (tmp_path / name).write_text("a,y\n1,0\n2,1\n")
    except OSError:
        pytest.skip("this file system takes UTF-8 alone")
    done = harness("run", "--data", name, "--target", "y", cwd=tmp_path)
    assert done.returncode == 2
    message = rb"harness: the argument b'caf\xe9.csv' is not UTF-8; rename the file"
    assert done.stderr.splitlines() == [message]
    with pytest.raises(DataError, match=r"caf\\xe9\.csv' is not UTF-8; rename the file"):
        dataset_from_file(tmp_path / name, "y")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="folders in use stay elsewhere")
def test_missing_current_folder_is_one_line(tmp_path):
    script = 'mkdir gone && cd gone && rmdir ../gone && exec "$@"'
    command = ["/bin/sh", "-c", script, "sh", sys.executable, "-m", "harness", "list", "metrics"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith(b"harness: the current folder cannot be used: ")
    assert done.stderr.count(b"\n") == 1
