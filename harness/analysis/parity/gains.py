"""The gain of a split by sums over its rows, and its possible error by rounding.

With a row's gradient g (one number per output) and hessian h, over the rows of a node

    gain = s(left) + s(right) − s(both)        s = Σ_k T(G_k)² / (H + λ)

where G_k and H are sums and T reduces the size of G_k by α. That is the gain of second-order
boosting (Chen and Guestrin 2016); with g = w·y and h = w it is the decrease of the squared error,
and with y one column of 0 and 1 per class it is the decrease of the Gini impurity. Entropy has
s = Σ_k G_k log₂(G_k / H).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.analysis.parity.ensembles import Rows

DOUBLE, SINGLE = (float(np.finfo(dtype).eps) / 2 for dtype in (np.float64, np.float32))


@dataclass(frozen=True, eq=False)
class Terms:
    """The summands of one side at every node of one tree."""

    criterion: str
    g: np.ndarray  # (n, k) float64
    h: np.ndarray  # (n,) float64
    l2: float = 0.0
    l1: float = 0.0
    scale: float = 1.0  # of the gain, in the library's own unit
    entropy: bool = False


@dataclass(frozen=True)
class Gain:
    """Gain of a split, and its possible errors in three cases of rounding."""

    value: float
    resolution: float  # everything in double precision, as computed here
    terms: float  # g, h and the result in single precision, sums in double, as in the libraries
    sums: float  # the sums in single precision, too


def gain_of(terms: Terms, rows: Rows, left: np.ndarray) -> Gain:
    """Return the gain of splitting ``rows`` by the mask ``left``.

    With u the unit roundoff, the sum of n rounded terms is off by about u · √Σg², and a sum that
    is rounded at each step by about √n · u · Σ|g| (Higham and Mary 2019); the bounds carry that
    through the formula. Sums of whole numbers are exact. Without regularization the gain does not
    change if a multiple of h is subtracted from g, so it is computed about the node's mean, which
    is more exact than a library's computation without it.
    """
    g, h = terms.g[rows], terms.h[rows]
    exact = _whole(g) and _whole(h)
    steps = 0.0 if exact else float(np.sqrt(len(rows)))
    of_terms, of_sums, of_result = _sizes(terms, g, h, left)
    single = SINGLE * terms.scale
    if not terms.entropy and terms.l2 == 0 and terms.l1 == 0 and h.sum() > 0:
        g = g - h[:, None] * (g.sum(axis=0) / h.sum())
    parts = [_score(terms, g[part], h[part]) for part in (left, ~left)]
    value = (sum(parts) - _score(terms, g, h)) * terms.scale
    _, own_sums, own_result = _sizes(terms, g, h, left)
    return Gain(
        value,
        resolution=DOUBLE * terms.scale * (steps * own_sums + own_result),
        terms=single * ((0.0 if exact else of_terms) + of_result),
        sums=single * (steps * of_sums + of_result),
    )


def _whole(values: np.ndarray) -> bool:
    """Return whether all values are whole numbers, whose sums are exact."""
    return bool((values == np.rint(values)).all())


def _score(terms: Terms, g: np.ndarray, h: np.ndarray) -> float:
    total, weight = g.sum(axis=0), float(h.sum())
    if terms.entropy:
        share = total[total > 0] / weight
        return float((share * np.log2(share)).sum() * weight)
    shrunk = np.maximum(np.abs(total) - terms.l1, 0.0)
    below = weight + terms.l2
    return float((shrunk**2).sum() / below) if below > 0 else 0.0


def _sizes(
    terms: Terms, g: np.ndarray, h: np.ndarray, left: np.ndarray
) -> tuple[float, float, float]:
    """Return the effect of one relative unit on the gain: of each term, of each sum, of the result.

    A change of G by δ changes G² / H by 2 |G| δ / H, and one of H by δ by (G / H)² δ.
    """
    of_terms = of_sums = of_result = 0.0
    for part in (left, ~left, np.ones(len(left), bool)):
        total, weight = np.abs(g[part].sum(axis=0)), float(h[part].sum())
        below = weight + terms.l2
        if terms.entropy:
            of_sums += weight
            of_result += weight
        elif below > 0:
            slope = 2 * total / below
            of_terms += float((slope * np.sqrt((g[part] ** 2).sum(axis=0))).sum())
            of_sums += float((slope * np.abs(g[part]).sum(axis=0)).sum())
            of_sums += float(((total / below) ** 2).sum()) * weight
            of_result += float((total**2).sum()) / below
    return of_terms, of_sums, of_result


def leaf_rounding(terms: Terms, rows: Rows, value: np.ndarray) -> float:
    """Return the possible error of a leaf's value with float32 sums, as a share of its size.

    Parameters
    ----------
    value
        The leaf's numbers, (k,); only whether they are zero matters.
    """
    g, h = np.abs(terms.g[rows]).sum(axis=0), float(terms.h[rows].sum())
    total = np.abs(terms.g[rows].sum(axis=0))
    known = (total > 0) & np.broadcast_to(value != 0, total.shape) & (h + terms.l2 > 0)
    share = (g[known] / total[known]).max(initial=1.0)
    return float(SINGLE * np.sqrt(len(rows)) * (share + 2))
