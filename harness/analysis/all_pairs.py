"""All algorithms of a run compared with each other, over the datasets that all finished.

Declared pairs are tested from their own verdicts, each on its own datasets. Ranks, the matrix of
comparisons, improvability and ratings need losses without gaps, so they use only the datasets and
algorithms with complete results; what is left out is named.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import NamedTuple

import numpy as np

from harness.analysis.across import PairTest, compare_differences
from harness.analysis.run_view import Accuracy


@dataclass(frozen=True)
class Field:
    """Losses of k algorithms on N datasets, without gaps.

    ``losses`` (N, k), lower is better; ``gaps`` (N,) from the constant model's loss to the best,
    NaN if no verdict of the run has it.
    """

    names: tuple[str, ...]
    datasets: tuple[str, ...]
    losses: np.ndarray
    gaps: np.ndarray
    left_out: tuple[str, ...]  # algorithms without a loss on each of the datasets

    def shares(self) -> np.ndarray:
        """Return the losses as shares of each dataset's gap, for the datasets that have one."""
        known = self.gaps > 0
        shares: np.ndarray = self.losses[known] / self.gaps[known, None]
        return shares


def field_of(losses: Mapping[str, Mapping[str, float]], gaps: Mapping[str, float]) -> Field:
    """Return the complete part of a run.

    An algorithm stays if it has a loss on every dataset that half of the algorithms or more have
    one on; the others are left out, and so are the rarer datasets.

    Parameters
    ----------
    losses
        Algorithm → dataset → mean primary loss, turned so that lower is better; finite.
    gaps
        Dataset → gap.
    """
    having: dict[str, int] = defaultdict(int)
    for by_dataset in losses.values():
        for dataset in by_dataset:
            having[dataset] += 1
    common = [d for d, n in having.items() if 2 * n >= len(losses)]
    names = [name for name, by_dataset in losses.items() if all(d in by_dataset for d in common)]
    table = np.array([[losses[name][d] for name in names] for d in common])
    return Field(
        names=tuple(names),
        datasets=tuple(common),
        losses=table.reshape(len(common), len(names)),
        gaps=np.array([gaps.get(d, math.nan) for d in common]),
        left_out=tuple(name for name in losses if name not in names),
    )


def gaps_of(accuracy: Iterable[Accuracy]) -> dict[str, float]:
    """Return each dataset's gap, the median over the verdicts that have it."""
    by_dataset: dict[str, list[float]] = defaultdict(list)
    for verdict in accuracy:
        if verdict.dataset and verdict.gap > 0:
            by_dataset[verdict.dataset].append(verdict.gap)
    return {dataset: median(gaps) for dataset, gaps in by_dataset.items()}


class Variant(NamedTuple):
    """A declared pair on one track, with the params of its sides as text."""

    algorithm: str
    reference: str
    track: str
    params: str
    reference_params: str


class DeclaredTest(NamedTuple):
    """Test of a declared pair over datasets."""

    test: PairTest
    algorithm: str
    reference: str
    track: str
    n_missing: int  # datasets without a usable difference


def declared_tests(accuracy: Iterable[Accuracy], share: float) -> tuple[DeclaredTest, ...]:
    """Return the test of each declared pair, one for each track and set of params.

    Differences are shares of each dataset's gap; a difference within ±``share`` is a tie. Holm's
    adjustment is over all pairs, because they were declared before the results were known.
    """
    differences: dict[Variant, list[float]] = {}
    n_missing: dict[Variant, int] = {}
    for variant, verdicts in _by_variant(accuracy).items():
        usable = [v for v in verdicts if v.gap > 0 and math.isfinite(v.difference.value)]
        if usable:
            differences[variant] = [v.difference.value / v.gap for v in usable]
            n_missing[variant] = len(verdicts) - len(usable)
    tests = compare_differences(differences, tie=share)
    return tuple(
        DeclaredTest(test, pair.algorithm, pair.reference, pair.track, n_missing[pair])
        for pair, test in zip(differences, tests, strict=True)
    )


def _by_variant(accuracy: Iterable[Accuracy]) -> dict[Variant, list[Accuracy]]:
    variants: dict[Variant, list[Accuracy]] = defaultdict(list)
    for v in accuracy:
        if v.dataset:
            ours, theirs = (repr(sorted(side.items(), key=str)) for side in v.params)
            variants[Variant(v.algorithm, v.reference, v.track, ours, theirs)].append(v)
    return variants


def matrix(field: Field, share: float) -> Sequence[Sequence[PairTest | None]]:
    """Return the multi-comparison matrix: row against column, None on the diagonal.

    Each entry uses its two algorithms alone, so it does not depend on a third one; p is not
    adjusted (Ismail-Fawaz et al. 2023, arXiv 2305.11921). Differences are shares of the gap.
    """
    shares = field.shares()
    rows = range(len(field.names))
    pairs = {(str(i), str(j)): shares[:, j] - shares[:, i] for i in rows for j in rows if i != j}
    tests = {test.pair: test for test in compare_differences(pairs, tie=share)}
    return [[tests.get((str(i), str(j))) for j in rows] for i in rows]
