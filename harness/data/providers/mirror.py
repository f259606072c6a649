"""Plugin: datasets of the folder ``HARNESS_MIRROR``, which replace cards of the same name."""

from __future__ import annotations

from collections.abc import Callable

from harness.core.errors import DataError
from harness.core.model import Dataset
from harness.data.cards import every_card
from harness.data.mirror import entries
from harness.plugins.hookspecs import hookimpl


@hookimpl
def register_datasets(register: Callable[[Dataset], None]) -> None:
    """Register every usable dataset of the mirror, with suites and groups of its card."""
    usable = [entry for entry in entries() if not entry.refused]
    if not usable:
        return
    cards = {card.name: card for _, card in every_card() if not isinstance(card, DataError)}
    for entry in usable:
        card = cards.get(entry.name)
        register(entry.dataset(card.suites, card.read.group) if card else entry.dataset())
