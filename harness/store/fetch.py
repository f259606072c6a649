"""Read outcomes and duels from the tables: first all rows, then the objects made from them."""
# ruff: noqa: S608 -- the pieces of SQL are this file's constants; values are always bound

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

from harness.core.model import DuelOutcome, Outcome, Sample, Trial
from harness.store import rows
from harness.store.connect import Database
from harness.store.faults import decoding

BATCH = 10_000  # ids or keys in one query
TRIAL = "t.id, t.cell, t.algorithm, t.dataset, t.body, t.ingredients"
_END = "o.status, o.failure_kind, o.failure_message, o.failure_detail, o.facts, o.started, o.ended"
_SAMPLE = "phase, wall, cpu, peak, cold"

Row = tuple[Any, ...]


def batches(items: Iterable[Any]) -> Iterator[list[Any]]:
    """Yield lists of at most ``BATCH`` items."""
    left = iter(items)
    while batch := list(islice(left, BATCH)):
        yield batch


class _Parts(NamedTuple):
    """Samples and named artifacts by the key of their outcome."""

    samples: dict[int, list[Row]]
    arrays: dict[int, list[Row]]


def trials(database: Database, source: str, *values: Any) -> list[Trial]:
    """Return the trials of a FROM clause in which they are named ``t``."""
    with database.reading():
        selected = database.query(f"SELECT {TRIAL} FROM {source}", *values)
    with decoding(database.path):
        return [rows.trial_of(row) for row in selected]


def outcomes(database: Database, tag: str, source: str, *values: Any) -> list[tuple[Outcome, Any]]:
    """Return the outcomes of a FROM clause, each with the value of an expression.

    Parameters
    ----------
    tag
        An SQL expression on ``source``.
    source
        The text after FROM; it names the trial ``t`` and the outcome ``o``.
    values
        Values of the placeholders in ``source``.
    """
    with database.reading():
        sql = f"SELECT {tag}, o.key, o.reason, {_END}, {TRIAL} FROM {source}"
        selected = database.query(sql, *values)
        parts = _parts(database, [row[1] for row in selected])
    with decoding(database.path):
        return [(_outcome(row[1:], parts), row[0]) for row in selected]


def _parts(database: Database, keys: Sequence[int]) -> _Parts:
    parts = _Parts(defaultdict(list), defaultdict(list))
    for batch in batches(keys):
        keys_json = json.dumps(batch)
        for key, *sample in database.query(
            f"SELECT outcome, {_SAMPLE} FROM json_each(?) AS j JOIN sample ON outcome = j.value"
            " ORDER BY outcome, position",
            keys_json,
        ):
            parts.samples[key].append(tuple(sample))
        for key, name, sha256 in database.query(
            "SELECT n.outcome, n.name, a.sha256 FROM json_each(?) AS j"
            " JOIN outcome_artifact AS n ON n.outcome = j.value"
            " JOIN artifact AS a ON a.key = n.artifact ORDER BY n.outcome, n.name",
            keys_json,
        ):
            parts.arrays[key].append((name, sha256))
    return parts


def _outcome(row: Row, parts: _Parts) -> Outcome:
    key, reason, end, trial = row[0], row[1], row[2:9], row[9:]
    return rows.outcome_of(
        trial, end, reason, parts.samples.get(key, ()), parts.arrays.get(key, ())
    )


def duels(database: Database, tag: str, source: str, *values: Any) -> list[tuple[DuelOutcome, Any]]:
    """Return the duels of a FROM clause as :func:`outcomes` does; ``d`` is the duel there."""
    with database.reading():
        selected = database.query(f"SELECT {tag}, o.key, d.body, {_END} FROM {source}", *values)
        blocks = {row[1]: _blocks(database, row[1]) for row in selected}
    with decoding(database.path):
        return [(_duel(row, *blocks[row[1]]), row[0]) for row in selected]


def _blocks(database: Database, outcome: int) -> tuple[list[Row], list[Row]]:
    blocks = database.query(
        "SELECT position, launch, number, phase, pattern FROM block"
        " WHERE outcome = ? ORDER BY position",
        outcome,
    )
    samples = database.query(
        f"SELECT block, side, call, {_SAMPLE} FROM block_sample WHERE outcome = ?", outcome
    )
    return blocks, samples


def _duel(row: Row, blocks: list[Row], samples: list[Row]) -> DuelOutcome:
    by_block: dict[int, dict[tuple[str, int], Sample]] = defaultdict(dict)
    for block, side, call, *sample in samples:
        by_block[block][side, call] = rows.sample_of(tuple(sample))
    built = [rows.block_of(tuple(rest), by_block[position]) for position, *rest in blocks]
    return rows.duel_outcome_of(row[2], row[3:], built)
