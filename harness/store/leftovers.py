"""Outcome files on their way into the store, and what a killed run left of them.

Workers write into ``.work-…`` folders inside the results folder. Whoever holds the writer's lock
knows that no other run is alive, so what lies there then was left behind: whole outcomes are
stored in the run that made them, the rest is removed.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from harness.model import Outcome, outcome_from_json
from harness.store.faults import faults

if TYPE_CHECKING:
    from harness.store.write import Store

WORK = ".work-"
MAX_OUTCOME = 64 * 2**20  # bytes of an outcome file


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
            place = file.resolve()
            inside = place.is_relative_to(home) and place.relative_to(home).parts[0]
            if inside and inside.startswith(WORK):
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
    known = {run["id"] for run in store.runs()} if left else set()
    for place in left:
        run_id = place.name.removeprefix(WORK)
        if run_id in known:
            for file, outcome in _outcomes(place):
                _adopt(store, run_id, outcome, file)
        shutil.rmtree(place, ignore_errors=True)


def _outcomes(place: Path) -> Iterator[tuple[Path, Outcome]]:
    """Yield the whole outcomes of a work folder, with their files."""
    for file in sorted(place.rglob("*.json")):
        try:
            if file.stat().st_size <= MAX_OUTCOME:
                yield file, outcome_from_json(json.loads(file.read_bytes()))
        except (OSError, ValueError, TypeError, LookupError, AttributeError, RecursionError):
            continue  # half a file, or no outcome: the trial is run again


def _adopt(store: Store, run_id: str, outcome: Outcome, file: Path) -> None:
    """Store an outcome unless the run has one of the trial, or an array file is missing."""
    with store.writing() as database:
        sql = (
            "SELECT 1 FROM run_trial AS r JOIN run ON run.key = r.run JOIN trial ON"
            " trial.key = r.trial WHERE run.id = ? AND trial.id = ? AND r.outcome IS NOT NULL"
        )
        if database.value(sql, run_id, outcome.trial.id) is not None:
            return
    arrays = [file.parent / path for path in outcome.arrays.values()]
    if all(
        path.is_file() and path.resolve().is_relative_to(file.parent.resolve()) for path in arrays
    ):
        store.record(run_id, outcome, source=file)
