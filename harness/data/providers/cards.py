"""Plugin: datasets with a card, except those that the mirror provides."""

from __future__ import annotations

from collections.abc import Callable

from harness.core.errors import DataError
from harness.core.model import Dataset
from harness.data.cards import every_card
from harness.data.mirror import mirrored_names
from harness.plugins.hookspecs import hookimpl


@hookimpl
def register_datasets(register: Callable[[Dataset], None]) -> None:
    """Register every card without mistakes; ``harness data list`` shows the others."""
    mirrored = mirrored_names()
    for path, card in every_card():
        if not isinstance(card, DataError) and card.name not in mirrored:
            register(card.dataset(path.parent))
