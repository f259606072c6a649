"""Small facts that were hard to find out, kept in the cache folder by what they follow from."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from pathlib import Path

from pydantic import ValidationError

from harness.data.folders import cache_folder
from harness.data.reading import READING_VERSION, Model
from harness.data.writing import write_atomically


def recall(key: str, model: type[Model]) -> Model | None:
    """Return what was remembered under a key, or None; whatever is damaged is forgotten."""
    try:
        return model.model_validate_json(_place(key).read_bytes())
    except (OSError, ValidationError, ValueError):
        return None


def remember(key: str, fact: Model) -> None:
    """Keep a fact; where the cache cannot be written it is found out again next time."""
    with suppress(OSError):
        write_atomically(_place(key), fact.model_dump_json().encode())


def _place(key: str) -> Path:
    digest = hashlib.sha256(f"{READING_VERSION}\n{key}".encode()).hexdigest()
    return cache_folder() / "seen" / f"{digest}.json"
