"""Diagnostics of a run's models: pure functions on stored arrays, one diagnostic per module.

Each takes plain arrays and returns a frozen record of plain numbers with a ``sentence`` that states
the result. :class:`InapplicableError` is raised if a diagnostic does not apply; a report shows its
message.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from harness.core.errors import HarnessError


class InapplicableError(HarnessError):
    """Error for a diagnostic without meaning for an algorithm or a task; the message says why."""


@dataclass(frozen=True)
class Diagnostic:
    """One answer, in the form that the store keeps and a report shows."""

    name: str  # key in the ``[diagnostics]`` table
    algorithm: str
    dataset: str
    params: Mapping[str, Any] = field(default_factory=dict)
    preparation: str = ""
    reference: str = ""  # the other side of a pair
    about: str = ""  # distinguishes answers of one name: an axis, or training rows
    sentence: str = ""  # the result as a sentence
    found: Mapping[str, Any] = field(default_factory=dict)  # the record of the module, as JSON
    reason: str = ""  # why there is no answer
