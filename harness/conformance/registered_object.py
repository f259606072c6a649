"""Dataset, metric, section or executor that is checked."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from harness.core.model import Table


@dataclass(frozen=True)
class RegisteredObject:
    """Registered object and its plugin."""

    kind: str
    value: Any
    plugin: str = ""  # module or file that registers it; "" if irrelevant

    @property
    def name(self) -> str:
        """Return the name of the object."""
        return str(self.value.name)

    @cached_property
    def table(self) -> Table:
        """Return the table of a dataset, loaded once."""
        return self.load()

    def load(self) -> Table:
        """Load the table of a dataset with its default options."""
        table: Table = self.value.load(**self.value.options)
        return table
