"""Outcome files that are not stored yet, and those that a killed run left.

Workers write into ``.work-…`` folders inside the results folder. The holder of the writer's lock
knows that no other run is active, so all files there are leftovers: whole outcomes are stored in
the run that made them, and the rest is removed.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from harness.core.errors import HarnessError
from harness.core.outcome_files import SUFFIX, read_outcome
from harness.store.artifacts import MAX_FILE
from harness.store.faults import faults

if TYPE_CHECKING:
    from harness.store.write import Store

WORK = ".work-"


def workdir(folder: Path, run_id: str) -> Path:
    """Return a run's work folder; create it if it is missing."""
    place = folder / f"{WORK}{run_id}"
    place.mkdir(exist_ok=True)
    return place


def discard(folder: Path, files: Iterable[Path]) -> None:
    """Remove the files that lie in a work folder of ``folder``; keep all others."""
    home = folder.resolve()
    with faults(folder):
        for file in files:
            place = file.parent.resolve()
            inside = place != home and place.is_relative_to(home)
            if inside and place.relative_to(home).parts[0].startswith(WORK):
                file.unlink(missing_ok=True)


def recover(store: Store) -> None:
    """Store or remove the leftovers of killed runs; the caller holds the writer's lock."""
    with store.writing() as database:
        database.execute(
            "UPDATE run SET status = 'interrupted', ended = coalesce("
            "(SELECT max(o.ended) FROM outcome AS o WHERE o.run = run.key), started)"
            " WHERE status = 'running'"
        )
    with faults(store.folder):
        left = [p for p in store.folder.glob(f"{WORK}*") if p.is_dir() and not p.is_symlink()]
        store.artifacts.remove_parts()
    known = {run["id"] for run in store.runs()} if left else set()
    for place in left:
        if (run_id := place.name.removeprefix(WORK)) in known:
            for file in sorted(place.rglob(f"*{SUFFIX}")):
                _store_leftover(store, run_id, file)
        shutil.rmtree(place, ignore_errors=True)


def _store_leftover(store: Store, run_id: str, file: Path) -> None:
    """Store the outcome of a file if it is whole and its run has no outcome of that trial."""
    try:
        outcome = read_outcome(file)
        if any(Path(array).stat().st_size > MAX_FILE for array in outcome.arrays.values()):
            return  # too large for the store; an error here would stop every later run
    except (HarnessError, OSError, RecursionError):
        return  # a partial file or no outcome: the trial is run again
    sql = (
        "SELECT 1 FROM run_trial AS r JOIN run ON run.key = r.run JOIN trial ON"
        " trial.key = r.trial WHERE run.id = ? AND trial.id = ? AND r.outcome IS NOT NULL"
    )
    with store.writing() as database:
        recorded = database.value(sql, run_id, outcome.trial.id) is not None
    if not recorded:
        store.record(run_id, outcome, source=file)
