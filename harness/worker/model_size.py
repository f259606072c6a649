"""Size of a fitted model: the number of bytes of its pickle."""

from __future__ import annotations

import pickle
from typing import Any

from harness.core.model import JSON


class _Counter:
    """File object that counts the written bytes and discards them."""

    def __init__(self) -> None:
        self.bytes = 0

    def write(self, data: Any) -> int:
        """Count some bytes."""
        size = memoryview(data).nbytes
        self.bytes += size
        return size


def fitted_model(adapter: Any) -> Any:
    """Return the fitted model of an adapter: its ``model`` or ``booster``, else the adapter."""
    for name in ("model", "booster"):
        model = getattr(adapter, name, None)
        if model is not None:
            return model
    return adapter


def size_facts(adapter: Any) -> JSON:
    """Return the size of a fitted model as a fact of its trial; empty if it cannot be pickled."""
    counter = _Counter()
    try:
        pickle.Pickler(counter, protocol=5).dump(fitted_model(adapter))
    except Exception:  # noqa: BLE001 - pickling a plugin's model may raise anything
        return {}
    return {"model_bytes": counter.bytes}
