"""Fast prediction with any `harness.TreeEnsemble`, bitwise equal to its own."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import sparse

from algorithms.estimator.fast_validation import plain_array
from algorithms.prediction.categorical_splits import CategoricalSplits
from algorithms.prediction.columns import check_columns
from algorithms.prediction.kernels.categorical_walk import add_categorical_trees
from algorithms.prediction.kernels.linear_walk import add_linear_trees
from algorithms.prediction.kernels.numeric_walk import add_numeric_trees
from algorithms.prediction.kernels.walk import BLOCK, IS_SET, ZERO_MISSING, add_trees
from algorithms.prediction.leaf_masks import LeafMasks, steps_of
from algorithms.prediction.numeric_nodes import pack_nodes
from algorithms.prediction.packing import linear_terms, pack, reading_of, summed_values
from algorithms.prediction.sparse_predict import UsedColumns, narrowed
from algorithms.runtime.threads import Workers, threads_of
from algorithms.runtime.value_checks import is_beyond

LARGEST = {4: float(np.finfo(np.float32).max), 8: float(np.finfo(np.float64).max)}  # by bytes
WIDE = 512  # columns from which only those that splits use are copied from column-major X
FEW_ROWS = 8  # rows that are traversed together
LEAF_BY_MASK, SPLITS_PER_STEP = 16, 12  # costs in evaluations of numeric splits
SPLITS_PER_COLUMN = 14  # cost of transposing a column, in the same unit
ROWS_TO_PACK = 1024  # predicted rows after which leaf masks are packed
WALKS_AT_ONCE = 1 << 20  # rows × trees between two checks for Ctrl-C, a fraction of a second
FEW_STEPS = 1 << 17  # rows × trees below which several threads are slower than one
BLOCK_VALUES = 1 << 21  # values of X whose category codes are renumbered together
WIDENED = 1 << 17  # values that are converted to float64 together: a second-level cache


@dataclass(frozen=True)
class PackedTrees:
    """Trees of an ensemble in the forms that the kernels traverse.

    ``nodes`` and ``paths`` are those of `pack_nodes`; ``steps`` and ``bits``, of all splits, those
    of `pack`. Fields that the trees do not need are None.
    """

    roots: np.ndarray  # int64 (n_trees,)
    numbers: object  # how X is widened before the traversal, or None
    reading: object  # from `reading_of`
    is_median: bool
    values: np.ndarray  # float64 (n_nodes, n_values)
    output: np.ndarray  # int64 (n_trees,)
    start: np.ndarray  # float64 (n_scores,)
    steps: np.ndarray | None = None
    bits: np.ndarray | None = None
    weight: np.ndarray | None = None  # float64 (n_trees,), of trees with linear leaves
    linear: object | None = None  # `LinearTerms`
    categorical: CategoricalSplits | None = None
    values_of_steps: np.ndarray | None = None  # float64 (n_nodes, n_values), for ``steps``
    nodes: np.ndarray | None = None
    paths: np.ndarray | None = None


class FastPredictor:
    """Predictor with the packed trees of an ensemble.

    The trees are packed at the first prediction: on a few hundred rows packing takes a tenth of the
    time of training.
    """

    _seen = 0  # number of rows predicted so far, in calls with more than a few

    def __init__(self, ensemble):
        self.ensemble = ensemble

    def __getstate__(self):
        return {"ensemble": self.ensemble}

    def __setstate__(self, state):
        self.ensemble = state["ensemble"]  # earlier versions also pickled the packed trees

    @cached_property
    def packed(self):
        """The `PackedTrees`."""
        return pack_trees(self.ensemble)

    def raw(self, X, threads=1, trees=slice(None)):
        """Return the raw scores, (n_rows, n_scores) in the ensemble's ``sum_dtype``.

        Parameters
        ----------
        X : (n_rows, n_features) float32 or float64 array, C-contiguous, NaN where missing; or
            sparse, CSR or CSC, without duplicate entries
        threads : int
        trees : slice of trees to sum, if the ensemble is a sum
        """
        out = np.empty((X.shape[0], len(self.packed.start)))
        out[:] = self.packed.start
        self.add(X, out, threads, trees)
        return self.finish(out)

    def raw_at_once(self, estimator, X, trees=slice(None)):
        """Return `raw` of unvalidated X, or None if X must be validated first.

        The traversal checks the values itself, which saves a pass over the array and a copy. The
        result is None if a value is infinite, or if there are categorical splits.
        """
        is_numeric = self.packed.categorical is None and self.packed.linear is None
        if not is_numeric or plain_array(estimator, X) is None:
            return None
        check_columns(X, self.ensemble.n_features)
        most = LARGEST[4 if self.packed.reading.rounds_values else X.itemsize]
        walk = self._walk
        if not X.flags.c_contiguous and X.flags.f_contiguous and X.shape[1] >= WIDE:
            narrow, used = self._narrow
            if 2 * used.width <= X.shape[1]:
                if is_beyond(X.T.reshape(-1), X.dtype.type(most)):
                    return None
                walk, X = narrow._walk, X[:, used.columns]  # noqa: SLF001 - the same class
        X = np.ascontiguousarray(X)
        out = np.empty((X.shape[0], len(self.packed.start)))
        out[:] = self.packed.start
        is_infinite = walk(X, out, threads_of(estimator, len(X)), trees, most)
        return None if is_infinite else self.finish(out)

    def add(self, X, out, threads=1, trees=slice(None)):
        """Add the scores of the given trees to ``out``.

        Raises
        ------
        ValueError
            If X has another number of columns than the training data.
        """
        check_columns(X, self.ensemble.n_features)
        if sparse.issparse(X):
            self._add_sparse(X.tocsr(), out, threads, trees)
        elif self.packed.numbers is not None:
            step = max(BLOCK, BLOCK_VALUES // max(X.shape[1], 1))
            for start in range(0, X.shape[0], step):
                rows = slice(start, start + step)
                self._walk(self.packed.numbers.widen(X[rows]), out[rows], threads, trees)
        else:
            self._walk(X, out, threads, trees)

    @cached_property
    def _narrow(self):
        """Predictor on the columns used by splits only, and the `UsedColumns` that extract them."""
        ensemble, place = narrowed(self.ensemble)
        return FastPredictor(ensemble), UsedColumns(place, ensemble.absent)

    @cached_property
    def _masks(self):
        """`LeafMasks`, which find the leaves of many rows without a traversal."""
        if self.packed.categorical is None:
            return LeafMasks(steps_of(self.packed.nodes), np.empty(0, np.uint64), self.packed.roots)
        return LeafMasks(self.packed.steps, self.packed.bits, self.packed.roots)

    @cached_property
    def _saved(self):
        """Time that masks save per tree, and cost of transposing a row, in split evaluations."""
        n_trees, columns = max(len(self.packed.roots), 1), np.unique(self.packed.nodes["asks"] >> 1)
        n_splits = (len(self.packed.nodes) - n_trees) // 2
        saved = (
            SPLITS_PER_STEP * self.packed.paths[:, 1].sum() - n_splits
        ) / n_trees - LEAF_BY_MASK
        return saved, SPLITS_PER_COLUMN * len(columns)

    def masks_for(self, n_rows, trees, is_transposed=False):
        """Return the filled `LeafMasks` if they are faster for ``n_rows``, else None.

        They are faster for trees with categorical splits. For other trees the time saved must
        exceed the cost of transposing the rows, unless these are transposed already.
        """
        if n_rows < FEW_ROWS or self.packed.linear is not None:
            return None
        saved, transpose_cost = self._saved
        if self.packed.categorical is None and saved * len(self.packed.roots[trees]) <= (
            0 if is_transposed else transpose_cost
        ):
            return None
        self._seen += n_rows
        if self._seen < ROWS_TO_PACK:
            return None
        if not self._masks.is_faster(n_rows * len(self.packed.roots[trees])):
            return None
        self._masks.fill()
        return self._masks

    def _add_sparse(self, X, out, threads, trees):
        narrow, used = self._narrow
        if used.is_one_block(X):
            narrow.add(used.lay_out(X), out, 1, trees)
            return
        n_rows, width = X.shape[0], used.width
        few = n_rows * len(self.packed.roots[trees]) < FEW_STEPS
        masks = None if narrow.packed.numbers is not None else narrow.masks_for(n_rows, trees, True)

        def add(rows, dense):
            n = rows.stop - rows.start
            if masks is None:
                narrow.add(dense[: n * width].reshape(n, width), out[rows], 1, trees)
            else:
                masks.add_transposed(trees, narrow.adding(trees), dense, width, out[rows])

        used.each_block(X, 1 if few else threads, add, 1 if masks is None else BLOCK)

    def adding(self, trees):
        """Return values, outputs and reading of the given trees for `LeafMasks`."""
        values = (
            self.packed.values if self.packed.categorical is None else self.packed.values_of_steps
        )
        return values, self.packed.output[trees], self.packed.reading

    def _walk(self, X, out, threads, trees, most=np.inf):
        """Add the scores of the given trees to ``out``; X has the columns of the packed nodes.

        Returns
        -------
        bool, whether a value is larger than ``most``; not checked with categorical splits
        """
        n_rows = X.shape[0]
        masks = self.masks_for(n_rows, trees)
        if n_rows <= BLOCK:
            return self._walk_rows(X, out, trees, masks, most)
        few = n_rows * len(self.packed.roots[trees]) < FEW_STEPS
        beyond = []

        def walk(first, last):
            rows = slice(first * BLOCK, last * BLOCK)
            beyond.append(self._walk_rows(X[rows], out[rows], trees, masks, most))

        step = max(1, WALKS_AT_ONCE // (BLOCK * max(len(self.packed.roots[trees]), 1)))
        with Workers(1 if few else threads) as workers:
            workers.share_steps(walk, -(-n_rows // BLOCK), step)
        return any(beyond)

    def _walk_rows(self, X, out, trees, masks, most):
        """Do the same as `_walk` in the current thread, with `LeafMasks` if given."""
        if masks is not None:
            masks.add_rows(trees, self.adding(trees), X, out)
            return most < np.inf and is_beyond(X.reshape(-1), X.dtype.type(most))
        at, p = np.empty(BLOCK, np.int64), self.packed
        if p.linear is not None:
            add_linear_trees(
                p.steps, p.bits, p.roots[trees], p.weight[trees], p.output[trees], p.linear,
                X.astype(np.float64, copy=False), p.reading, at, out,
            )  # fmt: skip
            return False
        if p.categorical is not None:
            self._walk_categorical(X, out, trees, at)
            return False
        return add_numeric_trees(
            p.nodes, p.roots[trees], p.paths[trees], p.values, p.output[trees], X.reshape(-1),
            X.shape[1], X.dtype.type(most), p.reading.rounds_sums, at, out,
        )  # fmt: skip

    def _walk_categorical(self, X, out, trees, at):
        """Add the scores of trees with categorical splits.

        Blocks of float32 X are converted to float64, so that the kernels are compiled only once.
        """
        p = self.packed
        roots, output, paths = (
            p.roots[trees],
            p.output[trees],
            p.paths[trees],
        )
        in_advance = p.categorical.is_faster(len(X), paths[:, 0], trees)
        buffers = p.categorical.new_block() if in_advance else ()
        step = max(BLOCK, WIDENED // max(X.shape[1], 1) // BLOCK * BLOCK)
        for start in range(0, len(X), step):
            rows = slice(start, start + step)
            wide = X[rows].astype(np.float64, copy=False)
            where = at, out[rows]
            if in_advance:
                add_categorical_trees(
                    p.nodes, roots, paths, p.values, output, *p.categorical.of(trees),
                    wide, p.reading, *buffers, *where,
                )  # fmt: skip
            else:
                values = p.values_of_steps
                given = (
                    p.steps,
                    p.bits,
                    roots,
                    values,
                    output,
                    wide,
                    p.reading,
                )
                add_trees(*given, *where)

    def finish(self, out):
        """Return the raw scores from the sums over all trees."""
        e = self.ensemble
        if self.packed.is_median:
            return e.combine(out.astype(np.int32))
        found = out.astype(e.sum_dtype, copy=False)
        if e.combination in ("mean", "vote"):
            found /= found.dtype.type(e.weight.sum())
        return found if e.base_first else found + e.base.astype(found.dtype)


def pack_trees(ensemble):
    """Return the `PackedTrees` of an ensemble."""
    roots = ensemble.offsets[:-1].astype(np.int64)
    numbers, steps, bits = pack(ensemble)
    is_median = ensemble.combination == "median"
    if is_median:  # it needs the leaf of every tree: one score per tree, the leaf index
        values = np.arange(ensemble.n_nodes, dtype=np.float64)[:, None]
        output, start = np.arange(ensemble.n_trees), np.zeros(ensemble.n_trees)
    else:
        values, output = summed_values(ensemble), ensemble.output.astype(np.int64)
        base = ensemble.base if ensemble.base_first else np.zeros(ensemble.n_outputs)
        start = base.astype(ensemble.sum_dtype).astype(np.float64)
    packed = PackedTrees(roots, numbers, reading_of(ensemble), is_median, values, output, start)
    if ensemble.linear is not None:
        terms, weight = linear_terms(ensemble), ensemble.weight.copy()
        return replace(packed, steps=steps, bits=bits, weight=weight, linear=terms)
    if (steps["kind"] & (IS_SET | ZERO_MISSING)).any():
        splits = CategoricalSplits(steps, bits, roots)
        packed = replace(packed, steps=steps, bits=bits, categorical=splits, values_of_steps=values)
        steps = splits.take_numeric_steps()
    nodes, order, paths = pack_nodes(steps, roots, ensemble.cover)
    return replace(packed, nodes=nodes, paths=paths, values=np.ascontiguousarray(values[order]))
