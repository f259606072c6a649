"""Outcome files: one JSON file and its ``.npz`` arrays for each trial, written atomically.

The worker writes them, the store reads them. The files of an interrupted run are collected by the
next run. Nothing in them is unpickled.
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from harness.core.errors import HarnessError
from harness.core.model import Outcome, outcome_from_json, to_json

if TYPE_CHECKING:
    import numpy as np

SUFFIX = ".outcome.json"


def outcome_path(folder: Path, trial_id: str) -> Path:
    """Return the path of the outcome file of a trial."""
    return folder / f"{trial_id}{SUFFIX}"


def write_arrays(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write plain arrays as ``.npz``; object arrays are an error."""
    import numpy as np

    _write(path, lambda file: np.savez(file, allow_pickle=False, **arrays))


def write_outcome(path: Path, outcome: Outcome) -> None:
    """Write an outcome whose ``arrays`` are names of files beside ``path``."""
    text = json.dumps(to_json(outcome))
    _write(path, lambda file: file.write(text.encode()))


def read_outcome(path: Path) -> Outcome:
    """Return an outcome with the full paths of its arrays.

    Raises
    ------
    HarnessError
        If the file or one of its arrays is missing, damaged, or outside the folder of ``path``.
    """
    try:
        outcome = outcome_from_json(json.loads(path.read_bytes()))
        arrays = {name: _beside(path, file) for name, file in outcome.arrays.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise HarnessError(f"{path} is not an outcome file: {error}; delete it") from error
    return dataclasses.replace(outcome, arrays=arrays)


def _beside(path: Path, file: str) -> str:
    array = path.parent / file
    if array.parent != path.parent or not array.is_file():
        raise ValueError(f"it names {file!r}, which is not a file beside it")
    return str(array.absolute())


def _write(path: Path, fill: Callable[[IO[bytes]], Any]) -> None:
    """Write a file atomically and durably (temporary file, fsync, rename)."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as file:
            fill(file)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
