"""The size of a fitted model: the bytes that pickle would write of it."""

from __future__ import annotations

import pickle
from typing import Any

from harness.core.model import JSON


class _Counter:
    """A file that counts what is written to it and keeps nothing."""

    def __init__(self) -> None:
        self.bytes = 0

    def write(self, data: Any) -> int:
        """Count some bytes."""
        size = memoryview(data).nbytes
        self.bytes += size
        return size


def fitted_model(adapter: Any) -> Any:
    """Return what an adapter has trained: its ``model`` or ``booster``, else the adapter itself."""
    for name in ("model", "booster"):
        found = getattr(adapter, name, None)
        if found is not None:
            return found
    return adapter


def size_facts(adapter: Any) -> JSON:
    """Return the size of a fitted model as a fact of its trial; nothing where it has no pickle."""
    counter = _Counter()
    try:
        pickle.Pickler(counter, protocol=5).dump(fitted_model(adapter))
    except Exception:  # noqa: BLE001 - a model of a plugin may refuse in any way
        return {}
    return {"model_bytes": counter.bytes}
