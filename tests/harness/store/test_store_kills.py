"""Tests of killed runs: stored results stay, finished results are found."""

import os
import random
import sqlite3
import time
from contextlib import closing

import pytest

from harness.core.outcome_files import SUFFIX
from harness.store import DATABASE, Store, artifacts, leftovers
from harness.store.artifacts import Stored


def test_reader_rolls_back_the_writes_of_a_killed_writer(full, child):
    with Store.open(full) as early:
        before = early.outcomes()
        child("die_writing", full).wait()
        assert (full / f"{DATABASE}-journal").stat().st_size > 0
        assert early.outcomes() == before
    child("die_writing", full).wait()
    with Store.open(full) as late:
        assert late.outcomes() == before


def test_finished_trials_of_a_killed_run_are_stored_by_the_next(tmp_path, kit):
    with Store.open(tmp_path, write=True) as store:
        run = kit.begin(store)
        store.plan_trials(run, [kit.trial(i) for i in range(6)])
        work = store.workdir(run)
        (work / "job").mkdir()
        for number in (0, 1):
            kit.finish_in(work / "job", number)
        kit.finish_in(work, 2)
        (work / "2-0.npz").unlink()  # its arrays are not all there
        (work / f"half{SUFFIX}").write_text('{"trial": {')
        (work / f"deep{SUFFIX}").write_text("[" * 100_000)
        outcome, path = kit.finish_in(work, 3)
        store.record(run, outcome, source=path)
        kit.finish_in(work, 3)  # as if killed between the commit and the removal of its files
        store.finish_run(run, "done")
        (store.artifacts.folder / ".part-x").write_bytes(b"half a copy")
        (tmp_path / ".work-of-nobody").mkdir()
        kit.finish_in(tmp_path / ".work-of-nobody", 4)
    with Store.open(tmp_path, write=True) as store:
        assert [o.trial.seed for o, _ in store.outcomes(run)] == [0, 1, 3]
        assert len(store.history(kit.trial(3).cell)) == 1
        assert store.pending(run) == [kit.trial(i) for i in (2, 4, 5)]
    assert list(tmp_path.glob(".work*")) == []
    assert list(tmp_path.rglob(".part*")) == []


def test_finished_trials_of_a_killed_run_are_found_in_a_relative_folder(tmp_path, kit, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with Store.open("results", write=True) as store:
        run = kit.begin(store)
        store.plan_trials(run, [kit.trial(0)])
        kit.finish_in(store.workdir(run), 0)
    with Store.open("results", write=True) as store:
        assert [o.trial.seed for o, _ in store.outcomes(run)] == [0]


def test_oversized_leftovers_do_not_block_the_next_run(tmp_path, kit, monkeypatch):
    with Store.open(tmp_path, write=True) as store:
        run = kit.begin(store)
        store.plan_trials(run, [kit.trial(0), kit.trial(1)])
        for number in (0, 1):
            kit.finish_in(store.workdir(run), number)
        (store.workdir(run) / "0-1.npz").write_bytes(bytes(5000))
    for module in (artifacts, leftovers):
        monkeypatch.setattr(module, "MAX_FILE", 4000)
    with Store.open(tmp_path, write=True) as store:
        assert [o.trial.seed for o, _ in store.outcomes(run)] == [1]
        assert store.pending(run) == [kit.trial(0)]
    assert list(tmp_path.glob(".work*")) == []


def test_work_folder_that_is_a_link_is_not_removed(tmp_path, kit):
    with Store.open(tmp_path / "results", write=True) as store:
        run = kit.begin(store)
    (tmp_path / "mine").mkdir()
    kit.finish_in(tmp_path / "mine", 0)
    (tmp_path / "results" / f".work-{run}").symlink_to(tmp_path / "mine")
    with Store.open(tmp_path / "results", write=True) as store:
        assert store.outcomes() == []
    assert len(list((tmp_path / "mine").iterdir())) == 3


def kill_and_check(folder, child, kit, planned, chance):
    """Start a run, kill it after a few outcomes and a random delay, and check the stored results.

    Return the ids of the trials that the run had been told were stored.
    """
    process = child("fill", folder, planned)
    messages = [process.stdout.readline().strip() for _ in range(chance.randint(1, 6))]
    time.sleep(chance.uniform(0, 0.01))
    process.kill()
    messages += process.stdout.read().split()
    with Store.open(folder, write=True) as store:
        results = [outcome for outcome, _ in store.outcomes()]
        assert {run["status"] for run in store.runs()} == {"interrupted"}
        for outcome in results:
            assert outcome.samples == kit.SAMPLES
            assert len(outcome.arrays) == 2
            assert all(store.artifacts.holds(Stored(a, 3000)) for a in outcome.arrays.values())
        assert store.counts()["outcomes"] == len(results)  # nothing was run twice
        assert len(results) + len(store.pending()) == planned
    assert list(folder.glob(".work*")) == []
    with closing(sqlite3.connect(folder / DATABASE)) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert database.execute("PRAGMA foreign_key_check").fetchall() == []
    return messages


def kill_campaign(folder, child, kit, rounds, seed):
    chance, messages = random.Random(seed), []
    for _ in range(rounds):
        messages += kill_and_check(folder, child, kit, 30 * rounds, chance)
        with Store.open(folder) as store:
            assert set(store.known(messages)) == set(messages)  # nothing was lost
    return messages


@pytest.mark.slow
def test_repeatedly_killed_run_loses_nothing(tmp_path, child, kit):
    assert len(kill_campaign(tmp_path, child, kit, 20, 20261121)) >= 20


@pytest.mark.slow
def test_long_kill_campaign_loses_nothing(tmp_path, child, kit):
    """``KILL_ROUNDS`` kills at moments drawn from ``KILL_SEED``."""
    rounds = int(os.environ.get("KILL_ROUNDS", "200"))
    message = kill_campaign(tmp_path, child, kit, rounds, int(os.environ.get("KILL_SEED", "1")))
    print(f"\n{rounds} kills, {len(message)} outcomes told as stored before them, none lost")  # noqa: T201
