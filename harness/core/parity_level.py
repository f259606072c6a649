"""Parity levels: how far two implementations agree, from the same inputs."""

from __future__ import annotations

from collections.abc import Iterable

AGREEMENTS = ("bits", "values", "structure", "accuracy", "")  # the closest first
PARITY_LEVELS = ("L3", "L2", "L1", "L0", "")  # the highest first; "": no agreement is shown
MEANING = {
    "L3": "the same bits from raw data",
    "L2": "the same trees from raw data",
    "L1": "the same splits of the training rows",
    "L0": "equivalent accuracy",
    "": "not shown to agree",
}


def parity_level_of(inputs: str, agreement: str) -> str:
    """Return the parity level of an agreement.

    Parameters
    ----------
    inputs
        Inputs of both sides: ``raw`` data, the library's ``bins``, or those and its
        ``gradients``.
    agreement
        ``bits``, ``values``, ``structure``, ``accuracy`` or ``""``.
    """
    reached = PARITY_LEVELS[AGREEMENTS.index(agreement)]
    return reached if inputs == "raw" else lowest(["L1", reached])


def lowest(levels: Iterable[str]) -> str:
    """Return the lowest of the given parity levels."""
    return max(levels, key=PARITY_LEVELS.index)


def reaches(level: str, required: str) -> bool:
    """Return whether a parity level is at least as high as another."""
    return PARITY_LEVELS.index(level) <= PARITY_LEVELS.index(required)
