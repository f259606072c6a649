"""Agreement of two ensembles on the columns: rank correlations of their gain importances.

The importance of a column is the sum of the gains of its splits, each times the weight of its tree.
Libraries have different units of gain (impurity per row, loss, hessian-weighted), so only ranks are
compared: Spearman's ρ and Kendall's τ_b, both with ties, which are frequent because many columns
are never split on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from harness.analysis.diagnostics import InapplicableError
from harness.analysis.diagnostics.agreement import pearson

if TYPE_CHECKING:
    from harness.trees.ensemble import TreeEnsemble

TOP = 10


@dataclass(frozen=True)
class Ranks:
    """Agreement of two ensembles on the ranks of the columns."""

    columns: int
    used: tuple[int, int]  # columns that each side splits on
    spearman: float
    kendall: float
    top: int  # number of top columns that are compared
    shared: int  # top columns of both
    shares: tuple[tuple[float, ...], tuple[float, ...]]  # importance of each column, summing to 1

    @property
    def sentence(self) -> str:
        """Return the result as a sentence."""
        return (
            f"Spearman {self.spearman:.3f}, Kendall {self.kendall:.3f} over {self.columns} "
            f"columns; {self.shared} of the {self.top} most important are the same"
        )


def gain_importance(ensemble: TreeEnsemble) -> np.ndarray:
    """Return the importance of each column, float64 (n_features,), in the library's own unit.

    Raises
    ------
    InapplicableError
        If the gain of some split is unknown.
    """
    inner = ensemble.left >= 0
    gain = ensemble.gain[inner]
    if np.isnan(gain).any():
        raise InapplicableError(
            f"{ensemble.library or 'it'} does not export the gains of its splits"
        )
    weight = np.repeat(np.abs(ensemble.weight), np.diff(ensemble.offsets))[inner]
    return np.bincount(
        ensemble.feature[inner], weights=gain * weight, minlength=ensemble.n_features
    )


def compare(a: ArrayLike, b: ArrayLike) -> Ranks:
    """Compare the importances of the same columns by two models.

    Raises
    ------
    InapplicableError
        If the columns differ, or all columns are equally important for one side.
    """
    from scipy.stats import kendalltau, rankdata

    x, y = np.asarray(a, np.float64), np.asarray(b, np.float64)
    if x.shape != y.shape or len(x) < 2:
        raise InapplicableError(f"importances of {len(x)} and {len(y)} columns have no common rank")
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        raise InapplicableError("one side finds all columns equally important")
    spearman = pearson(rankdata(x), rankdata(y))
    assert spearman is not None, "both sides vary"
    top = min(TOP, len(x))
    heads = [set(np.argsort(-v, kind="stable")[:top].tolist()) for v in (x, y)]
    return Ranks(
        columns=len(x),
        used=(int(np.count_nonzero(x)), int(np.count_nonzero(y))),
        spearman=spearman,
        kendall=float(kendalltau(x, y).statistic),
        top=top,
        shared=len(heads[0] & heads[1]),
        shares=(tuple((x / x.sum()).tolist()), tuple((y / y.sum()).tolist())),
    )
