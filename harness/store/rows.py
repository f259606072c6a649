"""Conversion between objects of the model and rows of the store.

Values that SQLite cannot hold are stored as follows. A NaN in a number column is NULL; NaN and
infinity inside JSON are ``{"$float": "nan"}``; half a surrogate pair, which is not Unicode, becomes
its backslash escape; a negative zero in a number column is zero. Everything else is unchanged.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any, get_args

from harness.core.errors import StoreError
from harness.core.model import (
    JSON,
    Block,
    DuelOutcome,
    Failure,
    Order,
    Outcome,
    Sample,
    Status,
    Trial,
    duel_from_json,
    to_json,
    trial_from_json,
)

_FLOAT = "$float"
_MARK = '"$'
_IN_COLUMNS = ("id", "cell", "algorithm", "dataset")
_IN_BODY = ("params", "preparation", "split", "seed", "threads", "task", "timed")


def dumps(value: Any) -> str:
    """Return strict JSON for plain data and model objects, with NaN as ``{"$float": "nan"}``."""
    try:
        try:
            written = _strict(value)
        except ValueError:  # NaN or infinity
            written = _MARK
        return _strict(_tagged(to_json(value))) if _MARK in written else written
    except (TypeError, ValueError, RecursionError) as error:
        raise StoreError(f"only JSON values can be stored: {error}") from error


def _plain(value: Any) -> Any:
    """Return a value that the encoder does not know as JSON data."""
    plain = to_json(value)
    if plain is value:
        raise TypeError(f"{type(value).__name__} is not a JSON value")
    return plain


_strict = json.JSONEncoder(default=_plain, separators=(",", ":"), allow_nan=False).encode


def loads(written: Any) -> Any:
    """Return the value that :func:`dumps` encoded."""
    return json.loads(text(written), object_hook=_untagged)


def _tagged(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return {_FLOAT: str(value)}
    if isinstance(value, dict):  # a caller's key with the mark gets one mark more
        return {f"${k}" if k.startswith("$") else k: _tagged(v) for k, v in value.items()}
    return [_tagged(item) for item in value] if isinstance(value, list) else value


def _untagged(value: JSON) -> Any:
    if value.keys() == {_FLOAT}:
        return float(text(value[_FLOAT]))
    return {k.removeprefix("$"): v for k, v in value.items()}


def storable(value: str) -> str:
    """Return text that SQLite accepts: lone surrogates are escaped."""
    return value.encode("utf-8", "backslashreplace").decode("utf-8")


def text(value: Any) -> str:
    """Return a column's text."""
    if not isinstance(value, str):
        raise TypeError(f"text expected, not {type(value).__name__}")
    return value


def integer(value: Any) -> int:
    """Return a column's integer."""
    if not isinstance(value, int):
        raise TypeError(f"integer expected, not {type(value).__name__}")
    return value


def real(value: Any) -> float:
    """Return a column's number; NULL is NaN."""
    if value is None:
        return math.nan
    if not isinstance(value, (float, int)):
        raise TypeError(f"number expected, not {type(value).__name__}")
    return float(value)


def mapping(written: Any) -> JSON:
    """Return a column's JSON object."""
    decoded = loads(written)
    if not isinstance(decoded, dict):
        raise TypeError(f"JSON object expected, not {type(decoded).__name__}")
    return decoded


# ------------------------------------------------------------------ to rows


def trial_row(trial: Trial) -> tuple[str, ...]:
    """Return id, cell, algorithm, dataset, body, ingredients."""
    texts = (storable(getattr(trial, name)) for name in _IN_COLUMNS)
    body = {name: getattr(trial, name) for name in _IN_BODY}
    body["split"] = vars(trial.split)  # to_json would take half of the planning time
    return (*texts, dumps(body), dumps(trial.ingredients))


def end_row(outcome: Outcome | DuelOutcome) -> tuple[str | None, ...]:
    """Return status, failure kind, message and detail, facts, started, ended."""
    failure = outcome.failure
    texts = (failure.kind, failure.message, failure.detail) if failure else (None, None, None)
    kept = tuple(None if part is None else storable(part) for part in texts)
    times = (storable(outcome.started), storable(outcome.ended))
    return (outcome.status.value, *kept, dumps(outcome.facts), *times)


def sample_row(sample: Sample) -> tuple[Any, ...]:
    """Return phase, wall, cpu, peak, cold; SQLite stores a NaN as NULL."""
    return (storable(sample.phase), sample.wall, sample.cpu, sample.peak, int(sample.cold))


# ------------------------------------------------------------------ from rows


def trial_of(row: tuple[Any, ...]) -> Trial:
    """Return the trial of a row made by :func:`trial_row`."""
    *texts, body, ingredients = row
    names = dict(zip(_IN_COLUMNS, map(text, texts), strict=True))
    return trial_from_json({**mapping(body), **names, "ingredients": mapping(ingredients)})


def sample_of(row: tuple[Any, ...]) -> Sample:
    """Return the sample of a row made by :func:`sample_row`."""
    phase, wall, cpu, peak, cold = row
    return Sample(text(phase), real(wall), real(cpu), integer(peak), bool(integer(cold)))


def end_of(row: tuple[Any, ...]) -> dict[str, Any]:
    """Return the fields of a row made by :func:`end_row`."""
    status, kind, message, detail, facts, started, ended = row
    failure = None if kind is None else Failure(text(kind), text(message), text(detail))
    return {
        "status": Status(status),
        "failure": failure,
        "facts": mapping(facts),
        "started": text(started),
        "ended": text(ended),
    }


def outcome_of(
    trial: tuple[Any, ...],
    end: tuple[Any, ...],
    reason: Any,
    samples: Iterable[tuple[Any, ...]],
    arrays: Iterable[tuple[Any, Any]],
) -> Outcome:
    """Return an outcome from the rows of its trial, its end, its samples and its artifacts."""
    return Outcome(
        trial=trial_of(trial),
        reason=text(reason),
        samples=tuple(sample_of(row) for row in samples),
        arrays={text(name): text(sha256) for name, sha256 in arrays},
        **end_of(end),
    )


def block_of(row: tuple[Any, ...], samples: Mapping[tuple[str, int], Sample]) -> Block:
    """Return a block from launch, number, phase, pattern and the samples of its calls."""
    launch, number, phase, pattern = row
    if pattern not in get_args(Order):
        raise ValueError(f"{pattern!r} is not an order of a block")
    a, b = (tuple(samples[s, i] for i in range(pattern.count(s.upper()))) for s in "ab")
    return Block(integer(launch), integer(number), text(phase), pattern, a, b)


def duel_outcome_of(body: Any, end: tuple[Any, ...], blocks: Iterable[Block]) -> DuelOutcome:
    """Return a duel's outcome from the duel's JSON, the row of its end, and its blocks."""
    return DuelOutcome(duel=duel_from_json(mapping(body)), blocks=tuple(blocks), **end_of(end))
