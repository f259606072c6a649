"""A dataset, metric, section or executor under check."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from harness.core.model import Table


@dataclass(frozen=True)
class Held:
    """What a plugin registers, and by which plugin."""

    kind: str
    value: Any
    plugin: str = ""  # module or file that registers it; "" where that does not matter

    @property
    def name(self) -> str:
        """Its name."""
        return str(self.value.name)

    @cached_property
    def table(self) -> Table:
        """The rows of a dataset, loaded once."""
        return self.load()

    def load(self) -> Table:
        """Load the rows of a dataset, with the options that it declares."""
        found: Table = self.value.load(**self.value.options)
        return found
