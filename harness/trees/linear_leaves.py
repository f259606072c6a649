"""Linear models in the leaves of a `TreeEnsemble` (LightGBM's ``linear_tree``).

The output of a leaf is ``constant + Σ coefficient · x`` over the features of the leaf. If one of
these values is missing, the output is the value of the leaf.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from harness.core.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from harness.trees.ensemble import TreeEnsemble

PREFIX = "linear_"
DTYPES = {"constant": "float64", "start": "int64", "feature": "int32", "coefficient": "float64"}


@dataclass(frozen=True, eq=False)
class LinearLeaves:
    """Linear models of the leaves of one tree or of an ensemble.

    The terms of node ``i`` are the entries ``start[i] … start[i + 1] - 1`` of ``feature`` and
    ``coefficient``. Inner nodes have none, and their constants are unused.
    """

    constant: np.ndarray  # float64 (n_nodes,)
    start: np.ndarray  # int64 (n_nodes + 1,)
    feature: np.ndarray  # int32 (n_terms,), column
    coefficient: np.ndarray  # float64 (n_terms,)

    def __post_init__(self) -> None:
        for name, dtype in DTYPES.items():
            given = np.asarray(getattr(self, name))
            _need(given.dtype.kind in "biuf" and given.ndim == 1, f"{name} is not {dtype}")
            kept = np.ascontiguousarray(given, dtype=dtype)
            _need(np.array_equal(kept, given, equal_nan=True), f"{name} is not {dtype}")
            object.__setattr__(self, name, kept)
        _need(
            len(self.start) == len(self.constant) + 1,
            "start has not one entry more than constant",
        )
        rises = bool((self.start[1:] >= self.start[:-1]).all())
        _need(rises and self.start[0] == 0, "start decreases")
        n_terms = int(self.start[-1])
        spans = n_terms == len(self.feature) == len(self.coefficient)
        _need(spans, "start does not span feature and coefficient")

    @classmethod
    def constants(cls, value: np.ndarray) -> LinearLeaves:
        """Return leaves without terms; their outputs are the given values of the nodes."""
        start = np.zeros(len(value) + 1, np.int64)
        return cls(value, start, np.empty(0, np.int32), np.empty(0))

    @classmethod
    def join(
        cls, trees: Sequence[LinearLeaves | None], values: Sequence[np.ndarray]
    ) -> LinearLeaves | None:
        """Join the leaves of trees end to end; None if no tree has linear leaves.

        Parameters
        ----------
        trees
            Leaves of each tree; None for constant leaves.
        values
            Values of the nodes of each tree.
        """
        if all(own is None for own in trees):
            return None
        parts = [
            cls.constants(value) if own is None else own
            for own, value in zip(trees, values, strict=True)
        ]
        sizes = np.concatenate([np.diff(part.start) for part in parts])
        start = np.concatenate([[0], np.cumsum(sizes)])
        constant, feature, coefficient = (
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("constant", "feature", "coefficient")
        )
        return cls(constant, start, feature, coefficient)

    def part(self, first: int, last: int) -> LinearLeaves:
        """Return a copy of the leaves of the nodes ``first`` to ``last`` - 1."""
        start = self.start[first : last + 1]
        terms = slice(start[0], start[-1])
        given = self.feature[terms].copy(), self.coefficient[terms].copy()
        return LinearLeaves(self.constant[first:last].copy(), start - start[0], *given)

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays under the names that they have in a stored ensemble."""
        return {PREFIX + field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> LinearLeaves | None:
        """Return the leaves of stored arrays, or None if they have none."""
        if PREFIX + "constant" not in arrays:
            return None
        return cls(**{name: arrays[PREFIX + name] for name in DTYPES})

    def outputs(self, value: np.ndarray, leaf: np.ndarray, X: np.ndarray) -> np.ndarray:
        """Return the output of a leaf for each row, float64 (n_rows,).

        Parameters
        ----------
        value
            (n_nodes,), used where a term's value is missing.
        leaf
            (n_rows,), node of the leaf of each row.
        X
            (n_rows, n_features) float64, NaN where missing.
        """
        result: np.ndarray = self.constant[leaf]
        for node in np.unique(leaf).tolist():
            rows = np.flatnonzero(leaf == node)
            total = result[rows]
            for k in range(self.start[node], self.start[node + 1]):
                total += self.coefficient[k] * X[rows, self.feature[k]]
            columns = self.feature[self.start[node] : self.start[node + 1]]
            missing = np.isnan(X[np.ix_(rows, columns)]).any(axis=1)
            result[rows] = np.where(missing, value[node], total)
        return result


def check_linear_leaves(e: TreeEnsemble) -> None:
    """Raise DataError unless the linear leaves of an ensemble fit its trees."""
    linear = e.linear
    if linear is None:
        return
    _need(isinstance(linear, LinearLeaves), "linear is not of type LinearLeaves")
    _need(len(linear.constant) == e.n_nodes, "constant has not one entry for each node")
    inside = (linear.feature >= 0) & (linear.feature < e.n_features)
    _need(bool(inside.all()), "a leaf has an unknown feature")
    has_terms = np.diff(linear.start) > 0
    _need(not (has_terms & (e.left >= 0)).any(), "an inner node has terms")
    finite = (
        np.isfinite(linear.coefficient).all() and np.isfinite(linear.constant[e.left < 0]).all()
    )
    _need(bool(finite), "a coefficient or constant is not finite")
    plain = e.combination == "sum" and e.value.shape[1] == 1 and e.sum_dtype == "float64"
    _need(plain, "linear leaves need a float64 sum of trees with one value per leaf")
    _need(e.input_dtype == "float64", "linear leaves need float64 values")


def _need(holds: bool, what: str) -> None:
    if not holds:
        raise DataError(f"malformed linear leaves: {what}; export the model again")
