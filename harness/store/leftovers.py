"""Outcome files on their way into the store, and what a killed run left of them.

Workers write into ``.work-…`` folders inside the results folder. Whoever holds the writer's lock
knows that no other run is alive, so what lies there then was left behind: whole outcomes are
stored in the run that made them, the rest is removed.
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
    """Return a run's work folder, made where it is missing."""
    place = folder / f"{WORK}{run_id}"
    place.mkdir(exist_ok=True)
    return place


def discard(folder: Path, files: Iterable[Path]) -> None:
    """Remove those files that lie in a work folder of ``folder``; leave all others alone."""
    home = folder.resolve()
    with faults(folder):
        for file in files:
            place = file.parent.resolve()
            inside = place != home and place.is_relative_to(home)
            if inside and place.relative_to(home).parts[0].startswith(WORK):
                file.unlink(missing_ok=True)


def recover(store: Store) -> None:
    """Settle what runs that were killed left behind; the caller holds the writer's lock."""
    with store.writing() as database:
        database.execute(
            "UPDATE run SET status = 'interrupted', ended = coalesce("
            "(SELECT max(o.ended) FROM outcome AS o WHERE o.run = run.key), started)"
            " WHERE status = 'running'"
        )
    with faults(store.folder):
        left = [p for p in store.folder.glob(f"{WORK}*") if p.is_dir() and not p.is_symlink()]
        store.artifacts.forget_parts()
    known = {run["id"] for run in store.runs()} if left else set()
    for place in left:
        if (run_id := place.name.removeprefix(WORK)) in known:
            for file in sorted(place.rglob(f"*{SUFFIX}")):
                _adopt(store, run_id, file)
        shutil.rmtree(place, ignore_errors=True)


def _adopt(store: Store, run_id: str, file: Path) -> None:
    """Store the outcome of a file, where it is whole and its run has none of that trial."""
    try:
        outcome = read_outcome(file)
        if any(Path(array).stat().st_size > MAX_FILE for array in outcome.arrays.values()):
            return  # what no store takes would keep every later run from beginning
    except (HarnessError, OSError, RecursionError):
        return  # half a file, or no outcome: the trial is run again
    sql = (
        "SELECT 1 FROM run_trial AS r JOIN run ON run.key = r.run JOIN trial ON"
        " trial.key = r.trial WHERE run.id = ? AND trial.id = ? AND r.outcome IS NOT NULL"
    )
    with store.writing() as database:
        recorded = database.value(sql, run_id, outcome.trial.id) is not None
    if not recorded:
        store.record(run_id, outcome, source=file)
