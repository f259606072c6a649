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
    """One answer, in the form that the store keeps and a report shows.

    Attributes
    ----------
    name
        Key in the ``[diagnostics]`` table.
    algorithm
        Name of the algorithm.
    dataset
        Name of the dataset.
    params
        Parameters of the algorithm, JSON.
    preparation
        Name of the preparation of the columns.
    reference
        Other side of a pair; "" if there is none.
    about
        Distinction between answers of one name, such as an axis or training rows.
    sentence
        Result as a sentence.
    found
        Record of the diagnostic, JSON.
    reason
        Reason why there is no answer; "" if there is one.
    """

    name: str
    algorithm: str
    dataset: str
    params: Mapping[str, Any] = field(default_factory=dict)
    preparation: str = ""
    reference: str = ""
    about: str = ""
    sentence: str = ""
    found: Mapping[str, Any] = field(default_factory=dict)
    reason: str = ""
