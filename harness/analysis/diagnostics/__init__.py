"""What else a run can say of its models: pure functions on stored arrays, one idea a module.

Each takes plain arrays and returns a frozen record of plain numbers with a ``sentence`` that says
in words what was found. :class:`InapplicableError` is raised where a question makes no sense, and
its message is what a report shows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from harness.core.errors import HarnessError


class InapplicableError(HarnessError):
    """A diagnostic that has no meaning for this algorithm or this task, in words."""


@dataclass(frozen=True)
class Diagnostic:
    """One answer, as the store keeps it and a report shows it."""

    name: str  # as the ``[diagnostics]`` table calls it
    algorithm: str
    dataset: str
    params: Mapping[str, Any] = field(default_factory=dict)
    preparation: str = ""
    reference: str = ""  # the other side of a pair
    about: str = ""  # what tells apart answers of one name: an axis, or training rows
    sentence: str = ""  # what was found, in words
    found: Mapping[str, Any] = field(default_factory=dict)  # the record of the module, as JSON
    reason: str = ""  # why there is no answer
