"""Tests of faults during a run on the command line: a message, and no lost results."""

import csv
import io
import os
import shutil
import sqlite3
import subprocess
import sys
import textwrap
from contextlib import closing
from pathlib import Path

import pytest
from command_line import run_command

from harness.store import DATABASE, Store

QUICK = ["-d", "iris", "-a", "sklearn.decision_tree", "--set", "splits.folds=2"]
QUICK += ["--set", "duels.datasets=[]"]
HOSTILE = [
    "../../x",
    "<script>alert(1)</script>",
    "=cmd()|' /c calc'!A0",
    "a\x1b[31m\x07b",
    "n" * 10_000,
]


def harness(folder, *arguments, prefix=(), **variables):
    return subprocess.run(
        [*prefix, sys.executable, "-m", "harness", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "COLUMNS": "200", "HARNESS_RESULTS": "results", **variables},
        check=False,
    )


@pytest.fixture
def mounted(tmp_path):
    """Return a function that mounts a file system on ``tmp_path/disk`` for one command."""
    unshare = shutil.which("unshare")
    if unshare is None:
        pytest.skip("unshare is not installed, so nothing can be mounted privately")
    disk = tmp_path / "disk"
    disk.mkdir()

    def prefix(options):
        line = f"mount -t tmpfs -o {options} tmpfs '{disk}' && exec \"$@\""
        command = [unshare, "--map-root-user", "--mount", "sh", "-c", line, "sh"]
        tried = subprocess.run([*command, "true"], capture_output=True, text=True, check=False)
        if tried.returncode:
            pytest.skip(f"private mounts are not allowed here: {tried.stderr.strip()}")
        return command

    return prefix


def refused(done, *words):
    """Check that a command ended as a fault of the store, reported in one line."""
    assert done.returncode == 5, done.stderr
    assert "Traceback" not in done.stderr
    assert all(word in done.stderr.splitlines()[-1] for word in words), done.stderr


def test_full_disk_ends_a_run_with_one_line(tmp_path, mounted):
    prefix = mounted("size=100k")
    done = harness(tmp_path, "run", *QUICK, "--results", "disk", prefix=prefix)
    refused(done, "full", "free some room and run again")


@pytest.mark.slow
def test_cache_on_a_full_disk_does_not_fail_a_run(tmp_path, mounted):
    cache = str(tmp_path / "disk")
    done = harness(
        tmp_path, "run", *QUICK, "--no-report", prefix=mounted("size=8k"), HARNESS_CACHE=cache
    )
    assert done.returncode == 0, done.stderr


def test_read_only_folder_ends_a_run_with_one_line(tmp_path, mounted):
    done = harness(tmp_path, "run", *QUICK, "--results", "disk/results", prefix=mounted("ro"))
    refused(done, "check the folder's permissions")


def test_results_folder_that_is_a_file_is_reported(tmp_path):
    (tmp_path / "results").write_text("mine")
    refused(run_command(tmp_path, "run", *QUICK), "File exists")
    assert (tmp_path / "results").read_text() == "mine"


@pytest.mark.slow
def test_run_waits_for_a_reader_with_an_open_cursor(tmp_path):
    with Store.open(tmp_path / "results", write=True) as store:
        for _ in range(200):
            store.begin_run("before", {}, "0", {})
    with closing(sqlite3.connect(tmp_path / "results" / DATABASE)) as other_program:
        cursor = other_program.execute("SELECT config FROM run")
        cursor.fetchone()
        process = subprocess.Popen(
            [sys.executable, "-m", "harness", "run", *QUICK, "--results", "results"],
            cwd=tmp_path, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert "another program reads" in process.stderr.readline()
        cursor.close()
        _, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    with Store.open(tmp_path / "results") as store:
        assert store.counts("latest")["done"] == 2


def test_second_run_without_waiting_reports_the_writer(tmp_path):
    with Store.open(tmp_path / "results", write=True):
        refused(
            run_command(tmp_path, "run", *QUICK, "--no-wait"),
            f"pid {os.getpid()}",
            "run again when it has ended",
        )


@pytest.mark.slow
def test_hostile_names_stay_text(tmp_path):
    """Names of columns, labels and values are arbitrary; no code runs, no path leads out."""
    rows = [[i % 7, HOSTILE[i % 5], i * 31 % 11, i * 17 % 13, HOSTILE[i % 2]] for i in range(60)]
    with (tmp_path / "=cmd().csv").open("w", newline="") as file:
        csv.writer(file).writerows([[*HOSTILE[:4], HOSTILE[4]], *rows])
    plugin = tmp_path / "plugin.py"
    plugin.write_text(
        textwrap.dedent(
            """
            from harness import ALL_TASKS, Algorithm, hookimpl

            def adapter(spec):
                raise ValueError("=cmd()|' /c calc'!A0 <script>alert(1)</script> \\x1b[31m")

            @hookimpl
            def register_algorithms(register):
                register(Algorithm("hostile", adapter, ALL_TASKS, origin="reference"))
            """
        )
    )
    before = sorted(p for p in tmp_path.rglob("*") if "results" not in p.parts)
    arguments = ["--data", "=cmd().csv", "--target", HOSTILE[4], "--plugin", "plugin.py"]
    arguments += ["-a", "sklearn.decision_tree", "-a", "hostile", "--set", "splits.folds=2"]
    done = harness(tmp_path, "run", *arguments)
    assert done.returncode == 3, done.stderr
    assert "Traceback" not in done.stderr
    assert "\x1b" not in done.stdout + done.stderr
    page = (tmp_path / done.stdout.splitlines()[-1]).read_text()
    assert "<script>alert" not in page
    assert "\x1b" not in page
    exported = harness(tmp_path, "export", "--plugin", "plugin.py").stdout
    reasons = {row["reason"][:6] for row in csv.DictReader(io.StringIO(exported))}
    assert reasons == {"", "'=cmd("}
    left = {p for p in tmp_path.rglob("*") if not {"results", "__pycache__"} & set(p.parts)}
    assert sorted(left) == before
    assert not Path(tmp_path, "../../x").exists()


def test_ten_kilobyte_name_is_shortened(tmp_path):
    done = run_command(tmp_path, "run", "-d", "n" * 10_000)
    assert done.returncode == 2
    assert "unknown dataset 'nnn" in done.stderr
    assert len(done.stderr) < 300


@pytest.mark.slow
def test_failing_listener_loses_no_outcome(tmp_path):
    (tmp_path / "deaf.py").write_text(
        "from harness import hookimpl\n\n"
        "@hookimpl\ndef trial_finished(outcome):\n    raise RuntimeError('not today')\n"
    )
    done = harness(tmp_path, "run", *QUICK, "--no-report", "--plugin", "deaf.py")
    assert done.returncode == 0, done.stderr
    assert "a plugin's trial_finished failed: RuntimeError: not today" in done.stderr
