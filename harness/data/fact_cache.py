"""Cache of small facts that are expensive to compute, in the cache folder."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from pathlib import Path

from pydantic import ValidationError

from harness.data.folders import cache_folder
from harness.data.reading import READING_VERSION, Model
from harness.data.writing import write_atomically


def recall(key: str, model: type[Model]) -> Model | None:
    """Return the cached fact of a key, or None if there is none or it is damaged."""
    try:
        return model.model_validate_json(_place(key).read_bytes())
    except (OSError, ValidationError, ValueError):
        return None


def remember(key: str, fact: Model) -> None:
    """Store a fact; do nothing if the cache cannot be written."""
    with suppress(OSError):
        write_atomically(_place(key), fact.model_dump_json().encode())


def _place(key: str) -> Path:
    digest = hashlib.sha256(f"{READING_VERSION}\n{key}".encode()).hexdigest()
    return cache_folder() / "seen" / f"{digest}.json"
