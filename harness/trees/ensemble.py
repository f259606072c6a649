"""The common form of a fitted tree ensemble: flat arrays, and the rules to evaluate them.

Models of every library are converted to a :class:`TreeEnsemble`, so that parity, prediction,
importance, drawing and export are written once. Every instance is checked when it is made, so a
malformed model raises an error before any code traverses it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from harness.core.errors import DataError
from harness.trees import check
from harness.trees import predict as tree_predict
from harness.trees.linear_leaves import LinearLeaves
from harness.trees.predict import Missing

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["LinearLeaves", "Missing", "Tree", "TreeEnsemble"]


@dataclass(frozen=True, eq=False)
class Tree:
    """One tree of ``n`` nodes; the root is node 0 and children are numbered from it.

    A child comes after its parent. ``feature``, ``left`` and ``right`` are -1 at leaves.
    ``sets`` holds, for each categorical split, the category codes and whether these go left; all
    other codes, including those not seen in training, go to the other side.
    """

    feature: np.ndarray  # (n,) int32, column
    threshold: np.ndarray  # (n,) float64; unused at leaves and categorical splits
    left: np.ndarray  # (n,) int32
    right: np.ndarray  # (n,) int32
    value: np.ndarray  # (n, n_values) float64; unused at inner nodes, NaN if unknown
    default_left: np.ndarray | None = None  # (n,) bool: missing values go left; None: right
    missing: np.ndarray | None = None  # (n,) uint8 of `Missing`; None: NONE
    gain: np.ndarray | None = None  # (n,) float64 in the library's own unit; NaN if unknown
    cover: np.ndarray | None = None  # (n,) float64: rows, weight or hessian; NaN if unknown
    sets: Mapping[int, tuple[Sequence[int], bool]] = field(default_factory=dict)
    linear: LinearLeaves | None = None  # linear models of the leaves

    def __len__(self) -> int:
        return len(self.feature)


@dataclass(frozen=True, eq=False, repr=False)
class TreeEnsemble:
    """Trees stored end to end, with everything needed to predict as the library does.

    Tree ``t`` owns the nodes ``offsets[t] … offsets[t + 1] - 1``, its root first; ``left`` and
    ``right`` hold node numbers of the whole ensemble. A row goes to the ``default_left`` side if
    its value is missing in the sense of ``missing``; otherwise it goes left if ``x comparison
    threshold`` or, if ``categories`` is not -1, by membership in that category set. The value of
    the leaf, times the tree's weight, is added to the outputs
    ``output[t] … output[t] + n_values - 1``. With ``linear``, the output of the leaf's linear model
    is added instead of its value.

    Raises
    ------
    DataError
        On construction, if anything is out of bounds, cyclic or of the wrong shape.
    """

    MIN_GAP: ClassVar[float] = tree_predict.MIN_GAP  # of predictions with the link "ascending"

    # one entry for each node
    feature: np.ndarray  # int32, column; -1 at leaves
    threshold: np.ndarray  # float64
    left: np.ndarray  # int32, after its parent; -1 at leaves
    right: np.ndarray  # int32
    default_left: np.ndarray  # bool
    missing: np.ndarray  # uint8, see Missing
    categories: np.ndarray  # int32, number of the category set; -1: a numeric split
    value: np.ndarray  # float64 (n_nodes, n_values)
    gain: np.ndarray  # float64, NaN if unknown
    cover: np.ndarray  # float64, NaN if unknown
    # one entry for each category set
    set_indptr: np.ndarray  # int64 (n_sets + 1,)
    set_codes: np.ndarray  # int32, ascending within a set
    members_left: np.ndarray  # bool: the set's codes go left and all others right, or reversed
    # one entry for each tree
    offsets: np.ndarray  # int64 (n_trees + 1,)
    weight: np.ndarray  # float64
    output: np.ndarray  # int32, first output that the tree contributes to
    # the whole ensemble
    base: np.ndarray  # float64 (n_outputs,)
    n_features: int
    comparison: Literal["<=", "<"] = "<="
    combination: Literal["sum", "mean", "vote", "median"] = "sum"  # mean, vote, median: weighted
    against: float = 0.0  # vote: score of each class not voted for, times the weight
    link: Literal["identity", "sigmoid", "softmax", "exp", "step", "ascending"] = "identity"
    temperature: float = 1.0  # raw scores are divided by it before the link
    input_dtype: Literal["float32", "float64"] = "float64"  # X is rounded to it before comparison
    zero_within: float = 0.0  # values of at most this size are read as 0 (LightGBM)
    sum_dtype: Literal["float32", "float64"] = "float64"  # of sums, in tree order, and the link
    base_first: bool = True  # whether the sum starts from the base score or ends with it
    absent: Literal["zero", "nan"] = "zero"  # value of an entry that a sparse matrix omits
    missing_value: float = np.nan  # a missing value in numeric columns, besides NaN
    classes: tuple[int, ...] = ()  # class code of each column that predict returns
    library: str = ""
    version: str = ""
    cover_kind: Literal["rows", "weight", "hessian", ""] = ""
    linear: LinearLeaves | None = None  # linear models of the leaves

    def __post_init__(self) -> None:
        check.freeze_arrays(self)
        object.__setattr__(self, "classes", check.as_classes(self.classes))
        self.validate()

    def __repr__(self) -> str:
        made_by = f"{self.library} {self.version}".strip() or "unknown"
        return f"TreeEnsemble({self.n_trees} trees, {self.n_nodes} nodes, by {made_by})"

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.weight)

    @property
    def n_nodes(self) -> int:
        """Number of nodes of all trees."""
        return len(self.feature)

    @property
    def n_outputs(self) -> int:
        """Number of raw scores a row."""
        return len(self.base)

    def validate(self) -> None:
        """Check every array; raise DataError at the first error."""
        check.check(self)

    def leaves(self, X: Any) -> np.ndarray:
        """Return the leaf of each row in each tree: node numbers, int32 (n_rows, n_trees)."""
        return tree_predict.leaves(self, X)

    def raw(self, X: Any) -> np.ndarray:
        """Return scores before the link, (n_rows, n_outputs) in ``sum_dtype``.

        Parameters
        ----------
        X
            Numeric array (n_rows, n_features), a DataFrame whose ``category`` columns are read
            as codes, or a sparse matrix.
        """
        return tree_predict.raw(self, X)

    def predict(self, X: Any) -> np.ndarray:
        """Return float64 values (n_rows,), or probabilities with a column for each of classes."""
        return tree_predict.predict(self, X)

    def from_raw(self, score: np.ndarray) -> np.ndarray:
        """Return the values or probabilities of raw scores, as :meth:`predict` returns for rows."""
        return tree_predict.from_raw(self, score)

    def combine(self, leaves: np.ndarray) -> np.ndarray:
        """Return the raw scores of rows from their leaves; see :meth:`leaves`.

        Raises
        ------
        DataError
            If the leaves are linear models: their outputs depend on the rows.
        """
        return tree_predict.combine(self, leaves)

    def chunks(self, X: Any) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield slices of rows with their values as the trees read them: dense, float64."""
        return tree_predict.chunks(self, X)

    def tree(self, number: int) -> Tree:
        """Return one tree with nodes numbered from its own root."""
        start, end = (int(o) for o in self.offsets[number : number + 2])
        part = slice(start, end)
        sets = {}
        for node in np.flatnonzero(self.categories[part] >= 0).tolist():
            k = int(self.categories[start + node])
            codes = self.set_codes[self.set_indptr[k] : self.set_indptr[k + 1]]
            sets[node] = (codes.tolist(), bool(self.members_left[k]))
        inner = self.left[part] >= 0
        return Tree(
            feature=self.feature[part],
            threshold=self.threshold[part],
            left=np.where(inner, self.left[part] - start, -1).astype(np.int32),
            right=np.where(inner, self.right[part] - start, -1).astype(np.int32),
            value=self.value[part],
            default_left=self.default_left[part],
            missing=self.missing[part],
            gain=self.gain[part],
            cover=self.cover[part],
            sets=sets,
            linear=None if self.linear is None else self.linear.part(start, end),
        )

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return plain arrays for an ``.npz`` file, readable without pickle."""
        arrays = {name: getattr(self, name) for name in check.DTYPES}
        own = (f.name for f in fields(self) if f.name not in arrays and f.name != "linear")
        header = np.array(json.dumps({name: getattr(self, name) for name in own}))
        linear = {} if self.linear is None else self.linear.to_arrays()
        return {**arrays, **linear, "header": header}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> TreeEnsemble:
        """Return the ensemble that :meth:`to_arrays` wrote; raise DataError for anything else."""
        known = {f.name for f in fields(cls)}
        try:
            header = json.loads(str(arrays["header"]))
            given: dict[str, Any] = {name: arrays[name] for name in check.DTYPES}
            given |= {name: header[name] for name in known & header.keys()}
            return cls(**given, linear=LinearLeaves.from_arrays(arrays))
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(
                f"stored trees cannot be read ({error!r}): run the trial again with --fresh"
            ) from error

    @classmethod
    def join(cls, trees: Sequence[Tree], *, n_features: int, **rest: Any) -> TreeEnsemble:
        """Join trees end to end.

        Parameters
        ----------
        trees
            All with the same number of values per node.
        n_features
            Number of columns of X.
        rest
            Further fields. By default every tree has weight 1 and contributes to output 0, and
            ``base`` is zero with as many outputs as a tree has values.
        """
        width = trees[0].value.shape[1] if trees else 1
        sizes = np.array([0, *(len(t) for t in trees)])
        whole: dict[str, Any] = {
            "weight": np.ones(len(trees)),
            "output": np.zeros(len(trees), np.int32),
            "base": np.zeros(width),
            **rest,
            "linear": LinearLeaves.join([t.linear for t in trees], [t.value[:, 0] for t in trees]),
        }
        return cls(
            **_flat_nodes(trees, np.cumsum(sizes), width),
            n_features=n_features,
            **whole,
        )


def _flat_nodes(trees: Sequence[Tree], offsets: np.ndarray, width: int) -> dict[str, Any]:
    """Return the node and category-set arrays of trees joined end to end."""

    def flat(name: str, absent: Any) -> np.ndarray:
        arrays = [getattr(t, name) for t in trees]
        filled = [
            np.full(len(t), absent) if a is None else a for t, a in zip(trees, arrays, strict=True)
        ]
        return np.concatenate(filled) if filled else np.empty(0, type(absent))

    start = np.repeat(offsets[:-1], np.diff(offsets))
    children = {n: np.where((c := flat(n, 0)) >= 0, c + start, c) for n in ("left", "right")}
    categories = np.full(offsets[-1], -1, np.int32)
    indptr, codes = [0], [np.empty(0, np.int32)]
    members_left = list[bool]()
    for tree, first in zip(trees, offsets, strict=False):
        for node, (members, to_left) in tree.sets.items():
            categories[first + node] = len(members_left)
            codes.append(np.sort(np.asarray(members)) if len(members) else codes[0])
            indptr.append(indptr[-1] + len(members))
            members_left.append(to_left)
    values = [t.value for t in trees]
    return {
        "feature": flat("feature", 0),
        "threshold": flat("threshold", 0.0),
        **children,
        "default_left": flat("default_left", False),
        "missing": flat("missing", int(Missing.NONE)),
        "categories": categories,
        "value": np.concatenate(values) if values else np.empty((0, width)),
        "gain": flat("gain", np.nan),
        "cover": flat("cover", np.nan),
        "set_indptr": np.array(indptr),
        "set_codes": np.concatenate(codes),
        "members_left": np.array(members_left, bool),
        "offsets": offsets,
    }
