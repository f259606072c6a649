"""Tests of cleaning a store: what is removed, kept and never touched."""

import shutil
from datetime import UTC, datetime, timedelta

import pytest

from harness.core.errors import ConfigError, StoreError
from harness.core.model import Status
from harness.store import Store
from harness.store.clean import clean


@pytest.fixture
def store(full, kit):
    """Two runs: the second reuses the first's trial 0 and has a trial 9 of its own."""
    with Store.open(full, write=True) as store:
        second = kit.begin(store, "second")
        store.attach(second, kit.trial(0).id)
        outcome, path = kit.finish_in(store.workdir(second), 9)
        store.record(second, outcome, source=path)
        store.finish_run(second, "done")
        yield store


def files(folder):
    return sorted(path for path in (folder / "artifacts").rglob("*") if path.is_file())


def state(store):
    return [(run, store.outcomes(run["id"]), store.duels(run["id"])) for run in store.runs()]


def test_nothing_requested_and_nothing_unused_removes_nothing(store):
    before = state(store), files(store.folder)
    for dry in (True, False):
        removed = clean(store, dry_run=dry)
        assert (removed.runs, removed.outcomes, removed.files, removed.bytes) == ((), 0, (), 0)
    assert (state(store), files(store.folder)) == before


def test_unreferenced_arrays_are_listed_then_removed(store):
    before = state(store), files(store.folder)
    stray = store.folder / "artifacts" / "00" / ("1" * 62 + ".npz")
    stray.parent.mkdir(exist_ok=True)
    stray.write_bytes(b"x" * 100)
    part = store.folder / "artifacts" / ".part-left"
    part.write_bytes(b"x" * 11)
    misplaced = store.folder / "artifacts" / "zz" / before[1][0].name
    misplaced.parent.mkdir()
    misplaced.write_bytes(b"x")
    listed = clean(store)
    assert listed.files == tuple(sorted([stray, part, misplaced]))
    assert listed.bytes == 112
    assert len(files(store.folder)) == len(before[1]) + 3
    assert clean(store, dry_run=False) == listed
    assert (state(store), files(store.folder)) == before


def test_dry_run_lists_what_the_real_one_removes(store):
    first = store.runs()[1]["id"]
    before = state(store), files(store.folder), store.counts()
    listed = clean(store, runs=[first])
    assert (state(store), files(store.folder), store.counts()) == before
    assert listed.runs == (first,)
    assert listed.outcomes == 4  # trial 0 is the second run's too
    assert len(listed.files) == 2  # those of trial 3
    assert clean(store, runs=[first], dry_run=False) == listed
    assert clean(store).files == ()


def test_results_reused_by_another_run_are_kept(store, kit):
    first, second = store.runs()[1]["id"], store.runs()[0]["id"]
    before = store.outcomes(second)
    clean(store, runs=[first], dry_run=False)
    assert store.outcomes(second) == before
    assert store.history(kit.trial(0).cell) == [(before[0][0], "")]
    assert store.known([kit.trial(0).id]) == {kit.trial(0).id: Status.DONE}
    for sha256 in before[0][0].arrays.values():
        assert store.artifacts.path(sha256).is_file()
    assert store.known([kit.trial(3).id]) == {}
    assert store.find(kit.trial(3).id) == []
    assert store.counts() == {"runs": 1, "trials": 2, "outcomes": 2, "duels": 0, "artifacts": 4}
    clean(store, runs=["latest"], dry_run=False)
    assert set(store.counts().values()) == {0}
    assert files(store.folder) == []


def test_runs_are_removed_by_age(store):
    began = datetime.fromisoformat(store.runs()[1]["started"])
    assert clean(store, before=began).runs == ()
    assert len(clean(store, before=datetime.now(UTC) + timedelta(days=1)).runs) == 2
    east = (began + timedelta(milliseconds=1)).astimezone(datetime.now().astimezone().tzinfo)
    assert clean(store, before=east).runs == (store.runs()[1]["id"],)


def test_unknown_run_removes_nothing(store):
    before = state(store)
    with pytest.raises(ConfigError):
        clean(store, runs=["latest", "nowhere"], dry_run=False)
    assert state(store) == before


def test_cleaning_frees_disk_space(store, kit):
    run = kit.begin(store)
    big = [kit.outcome(of=kit.trial(100 + i), facts={"x": "y" * 10_000}) for i in range(100)]
    kit.record_all(store, run, big)
    size = (store.folder / "harness.db").stat().st_size
    clean(store, runs=[run], dry_run=False)
    assert (store.folder / "harness.db").stat().st_size < size - 900_000


def test_nothing_behind_a_link_is_removed(store, tmp_path):
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "photo.npz").write_text("x")
    (store.folder / "artifacts" / "ln").symlink_to(precious)
    clean(store, dry_run=False)
    shutil.move(store.folder / "artifacts", tmp_path / "moved")
    (store.folder / "artifacts").symlink_to(precious)
    with pytest.raises(StoreError, match="leads out of the results folder"):
        clean(store, dry_run=False)
    assert (precious / "photo.npz").read_text() == "x"


def test_reader_cannot_clean(full):
    with Store.open(full) as store, pytest.raises(StoreError, match="reading only"):
        clean(store)
