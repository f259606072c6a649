"""Determinism of training: repeated, with more threads, with rows in another order.

Each variation is compared with one base fit. *The same* means equal bytes of the predictions; if
they differ, the distance is given in representable numbers and in the metric.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from harness.analysis.diagnostics.agreement import Agreement, compare

# Variation → start of the sentence.
CHECKS = {
    "seed": "Trained again with the same seed in a new process",
    "threads": "Trained with another number of threads",
    "rows": "Trained on the same rows in another order",
}


@dataclass(frozen=True)
class Check:
    """The effect of one variation on the predictions."""

    check: str  # a key of CHECKS
    same: bool | None  # whether the bytes are equal; None if it could not be run
    agreement: Agreement | None = None
    metric: str = ""
    change: float | None = None  # of the metric, varied − base
    reason: str = ""  # why it could not be run

    @property
    def sentence(self) -> str:
        """Return the result as a sentence."""
        head = CHECKS[self.check]
        if self.same is None or self.agreement is None:
            return f"{head}: could not be run: {self.reason}"
        if self.same:
            return f"{head}: the same bytes"
        agreement = self.agreement
        if agreement.same == 1:
            return f"{head}: the same numbers, but not the same bytes (a zero has another sign)"
        words = (
            f"{head}: {1 - agreement.same:.1%} of the predicted numbers differ, "
            f"by up to {agreement.most_ulps} {agreement.dtype} steps ({agreement.largest:.2g})"
        )
        return words if self.change is None else f"{words}; {self.metric} by {self.change:+.2g}"


def check(
    name: str,
    base: np.ndarray,
    varied: np.ndarray,
    metric: str = "",
    score: Callable[[np.ndarray], float] | None = None,
) -> Check:
    """Compare the predictions of a varied fit with those of the base fit.

    Parameters
    ----------
    name
        One of ``CHECKS``.
    base, varied
        (n,) values or (n, n_classes) probabilities of the same rows in the same order.
    score
        Function from predictions to the metric, if there is one.
    """
    same = base.dtype == varied.dtype and base.tobytes() == varied.tobytes()
    change = score(varied) - score(base) if score else None
    return Check(name, same, compare(base, varied), metric, change)


def summary(checks: list[Check]) -> str:
    """Return all checks in one line, such as "the same bytes for seed, threads"."""
    words = {"seed": "seed", "threads": "threads", "rows": "row order"}
    groups: dict[bool | None, list[str]] = {True: [], False: [], None: []}
    for one in checks:
        groups[one.same].append(words[one.check])
    heads = {True: "the same bytes for", False: "not the same for", None: "unknown for"}
    return "; ".join(f"{heads[key]} {', '.join(names)}" for key, names in groups.items() if names)
