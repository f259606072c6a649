"""Compare two ensembles tree by tree and explain the first differences.

``compare`` walks two ensembles (``paired_walk``, ``split_equality``) to the first place where each
level of agreement ends (``first_difference``), recomputes both gains of both splits there
(``objectives``, ``gains``), distinguishes ties, rounding and different rules (``causes``), and
describes them (``explanations``, ``node_text``). See ``docs/decisions/parity-levels.md``.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from harness.analysis.difference import Comparison
from harness.analysis.parity.causes import Pair, explain
from harness.analysis.parity.ensembles import Side, Training
from harness.analysis.parity.explanations import sentence
from harness.analysis.parity.first_difference import base_shifts, first_places
from harness.core.errors import DataError

__all__ = ["TOLERANCE", "Side", "Training", "compare"]

TOLERANCE = 1e-6  # relative, of leaf values


def compare(a: Side, b: Side, training: Training, tolerance: float = TOLERANCE) -> Comparison:
    """Compare two ensembles and explain the first difference on each level of agreement.

    Parameters
    ----------
    a, b
        Ensembles of the same rows; their order affects the sentences only.
    training
        The training rows of both.
    tolerance
        Leaf values agree if they differ by no more than this share of the larger one, or by
        one rounding unit of the tree's largest leaf.

    Raises
    ------
    DataError
        If the ensembles have another number of columns than the training rows.
    """
    for side in (a, b):
        if side.ensemble.n_features != training.X.shape[1]:
            raise DataError(
                f"the trees of {side.name} have {side.ensemble.n_features} columns but the training"
                f" rows have {training.X.shape[1]}: compare both on the rows they were trained on"
            )
    if a.name == b.name:
        a, b = replace(a, name=f"{a.name} (A)"), replace(b, name=f"{b.name} (B)")
    one, other = a.ensemble, b.ensemble
    places, n_equal = first_places(one, other, training, tolerance)
    pair = Pair(a, b, training, base_shifts(one, other, tolerance))
    explained = [explain(place, pair) for place in places]
    levels = {place.level for place in places}
    broken = next((level for level in ("structure", "values", "bits") if level in levels), None)
    agreement = {"structure": "", "values": "structure", "bits": "values", None: "bits"}[broken]
    return Comparison(
        agreement,
        tuple(replace(d, sentence=sentence(d, a, b)) for d in explained),
        (one.n_trees, other.n_trees),
        n_equal,
        training.rows,
        _worst(a, b, training),
        tolerance,
    )


def _worst(a: Side, b: Side, training: Training) -> float | None:
    """Return the largest difference of predictions on the training rows."""
    with np.errstate(invalid="ignore"):  # infinite leaves
        one, other = (side.ensemble.predict(training.X) for side in (a, b))
        if one.shape != other.shape:
            return None
        same = (one == other) | (np.isnan(one) & np.isnan(other))
        return float(np.where(same, 0.0, np.abs(one - other)).max(initial=0.0))
