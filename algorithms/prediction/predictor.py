"""Fast prediction with any `harness.TreeEnsemble`, bitwise equal to its own."""

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
FEW_ROWS = 8  # rows that are traversed together
LEAF_BY_MASK, SPLITS_PER_STEP = 16, 12  # costs in evaluations of numeric splits
SPLITS_PER_COLUMN = 14  # cost of transposing a column, in the same unit
ROWS_TO_PACK = 1024  # predicted rows after which leaf masks are packed
WALKS_AT_ONCE = 1 << 20  # rows × trees between two checks for Ctrl-C, a fraction of a second
FEW_STEPS = 1 << 17  # rows × trees below which several threads are slower than one
BLOCK_VALUES = 1 << 21  # values of X whose category codes are renumbered together
WIDENED = 1 << 17  # values that are converted to float64 together: a second-level cache
MADE_LATER = ("_narrow", "_masks", "_saved", "_seen")  # caches that are not pickled


PACKED = frozenset(
    (
        *("roots", "numbers", "reading", "is_median", "values", "output", "start", "categorical"),
        *("weight", "steps", "bits", "values_of_steps", "nodes", "paths", "linear"),
    )
)  # attributes that `pack_trees` returns


class FastPredictor:
    """Predictor with the packed trees of an ensemble.

    Parameters
    ----------
    ensemble : harness.TreeEnsemble
    pack_now : bool
        Whether the trees are packed at once, instead of at the first prediction. On a few hundred
        rows packing takes a tenth of the time of training.
    """

    _seen = 0  # number of rows predicted so far, in calls with more than a few

    def __init__(self, ensemble, *, pack_now=True):
        self.ensemble = ensemble
        if pack_now:
            self.__dict__ |= pack_trees(ensemble)

    def __getattr__(self, name):
        """Pack the trees when one of these attributes is first needed."""
        if name not in PACKED or "ensemble" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        if "roots" not in self.__dict__:
            self.__dict__ |= pack_trees(self.ensemble)
        if name not in self.__dict__:
            if name == "linear":  # of a predictor that an older version pickled
                return None
            raise AttributeError(f"the packed trees have no {name!r}")
        return self.__dict__[name]  # another thread may have packed them

    def __getstate__(self):
        left_out = PACKED.union(MADE_LATER)  # made again when they are needed
        return {name: value for name, value in self.__dict__.items() if name not in left_out}

    def raw(self, X, threads=1, trees=slice(None)):
        """Return the raw scores, (n_rows, n_scores) in the ensemble's ``sum_dtype``.

        Parameters
        ----------
        X : (n_rows, n_features) float32 or float64 array, C-contiguous, NaN where missing; or
            sparse, CSR or CSC, without duplicate entries
        threads : int
        trees : slice of trees to sum, if the ensemble is a sum
        """
        out = np.empty((X.shape[0], len(self.start)))
        out[:] = self.start
        self.add(X, out, threads, trees)
        return self.finish(out)

    def raw_at_once(self, estimator, X, trees=slice(None)):
        """Return `raw` of unvalidated X, or None if X must be validated first.

        The traversal checks the values itself, which saves a pass over the array and a copy. The
        result is None if a value is infinite, or if there are categorical splits.
        """
        is_numeric = self.categorical is None and self.linear is None
        if not is_numeric or plain_array(estimator, X) is None:
            return None
        check_columns(X, self.ensemble.n_features)
        X = np.ascontiguousarray(X)
        threads = threads_of(estimator, len(X))
        out = np.empty((X.shape[0], len(self.start)))
        out[:] = self.start
        most = LARGEST[4 if self.reading.rounds_values else X.itemsize]
        return None if self._walk(X, out, threads, trees, most) else self.finish(out)

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
        elif self.numbers is not None:
            step = max(BLOCK, BLOCK_VALUES // max(X.shape[1], 1))
            for start in range(0, X.shape[0], step):
                rows = slice(start, start + step)
                self._walk(self.numbers.widen(X[rows]), out[rows], threads, trees)
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
        if self.categorical is None:
            return LeafMasks(steps_of(self.nodes), np.empty(0, np.uint64), self.roots)
        return LeafMasks(self.steps, self.bits, self.roots)

    @cached_property
    def _saved(self):
        """Time that masks save per tree, and cost of transposing a row, in split evaluations."""
        n_trees, columns = max(len(self.roots), 1), np.unique(self.nodes["asks"] >> 1)
        n_splits = (len(self.nodes) - n_trees) // 2
        saved = (SPLITS_PER_STEP * self.paths[:, 1].sum() - n_splits) / n_trees - LEAF_BY_MASK
        return saved, SPLITS_PER_COLUMN * len(columns)

    def masks_for(self, n_rows, trees, is_transposed=False):
        """Return the filled `LeafMasks` if they are faster for ``n_rows``, else None.

        They are faster for trees with categorical splits. For other trees the time saved must
        exceed the cost of transposing the rows, unless these are transposed already.
        """
        if n_rows < FEW_ROWS or self.linear is not None:
            return None
        saved, transpose_cost = self._saved
        if self.categorical is None and saved * len(self.roots[trees]) <= (
            0 if is_transposed else transpose_cost
        ):
            return None
        self._seen += n_rows
        if self._seen < ROWS_TO_PACK:
            return None
        if not self._masks.is_faster(n_rows * len(self.roots[trees])):
            return None
        self._masks.fill()
        return self._masks

    def _add_sparse(self, X, out, threads, trees):
        narrow, used = self._narrow
        if used.is_one_block(X):
            narrow.add(used.lay_out(X), out, 1, trees)
            return
        n_rows, width = X.shape[0], used.width
        few = n_rows * len(self.roots[trees]) < FEW_STEPS
        masks = None if narrow.numbers is not None else narrow.masks_for(n_rows, trees, True)

        def add(rows, dense):
            n = rows.stop - rows.start
            if masks is None:
                narrow.add(dense[: n * width].reshape(n, width), out[rows], 1, trees)
            else:
                masks.add_transposed(trees, narrow.adding(trees), dense, width, out[rows])

        used.each_block(X, 1 if few else threads, add, 1 if masks is None else BLOCK)

    def adding(self, trees):
        """Return values, outputs and reading of the given trees for `LeafMasks`."""
        values = self.values if self.categorical is None else self.values_of_steps
        return values, self.output[trees], self.reading

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
        few = n_rows * len(self.roots[trees]) < FEW_STEPS
        beyond = []

        def walk(first, last):
            rows = slice(first * BLOCK, last * BLOCK)
            beyond.append(self._walk_rows(X[rows], out[rows], trees, masks, most))

        step = max(1, WALKS_AT_ONCE // (BLOCK * max(len(self.roots[trees]), 1)))
        with Workers(1 if few else threads) as workers:
            workers.share_steps(walk, -(-n_rows // BLOCK), step)
        return any(beyond)

    def _walk_rows(self, X, out, trees, masks, most):
        """Do the same as `_walk` in the current thread, with `LeafMasks` if given."""
        if masks is not None:
            masks.add_rows(trees, self.adding(trees), X, out)
            return most < np.inf and is_beyond(X.reshape(-1), X.dtype.type(most))
        at = np.empty(BLOCK, np.int64)
        if self.linear is not None:
            add_linear_trees(
                self.steps, self.bits, self.roots[trees], self.weight[trees], self.output[trees],
                self.linear, X.astype(np.float64, copy=False), self.reading, at, out,
            )  # fmt: skip
            return False
        if self.categorical is not None:
            self._walk_categorical(X, out, trees, at)
            return False
        return add_numeric_trees(
            self.nodes, self.roots[trees], self.paths[trees], self.values, self.output[trees],
            X.reshape(-1), X.shape[1], X.dtype.type(most), self.reading.rounds_sums, at, out,
        )  # fmt: skip

    def _walk_categorical(self, X, out, trees, at):
        """Add the scores of trees with categorical splits.

        Blocks of float32 X are converted to float64, so that the kernels are compiled only once.
        """
        roots, output, paths = self.roots[trees], self.output[trees], self.paths[trees]
        in_advance = self.categorical.is_faster(len(X), paths[:, 0], trees)
        buffers = self.categorical.new_block() if in_advance else ()
        step = max(BLOCK, WIDENED // max(X.shape[1], 1) // BLOCK * BLOCK)
        for start in range(0, len(X), step):
            rows = slice(start, start + step)
            wide = X[rows].astype(np.float64, copy=False)
            where = at, out[rows]
            if in_advance:
                add_categorical_trees(
                    self.nodes, roots, paths, self.values, output, *self.categorical.of(trees),
                    wide, self.reading, *buffers, *where,
                )  # fmt: skip
            else:
                values = self.values_of_steps
                given = self.steps, self.bits, roots, values, output, wide, self.reading
                add_trees(*given, *where)

    def finish(self, out):
        """Return the raw scores from the sums over all trees."""
        e = self.ensemble
        if self.is_median:
            return e.combine(out.astype(np.int32))
        found = out.astype(e.sum_dtype, copy=False)
        if e.combination in ("mean", "vote"):
            found /= found.dtype.type(e.weight.sum())
        return found if e.base_first else found + e.base.astype(found.dtype)


def pack_trees(ensemble):
    """Return the attributes of a `FastPredictor` that hold the trees of an ensemble, by name."""
    roots = ensemble.offsets[:-1].astype(np.int64)
    numbers, steps, bits = pack(ensemble)
    is_median = ensemble.combination == "median"
    packed = {"roots": roots, "numbers": numbers, "reading": reading_of(ensemble)}
    packed |= {"is_median": is_median, "categorical": None, "linear": None}
    if is_median:  # it needs the leaf of every tree: one score per tree, the leaf index
        values = np.arange(ensemble.n_nodes, dtype=np.float64)[:, None]
        output, start = np.arange(ensemble.n_trees), np.zeros(ensemble.n_trees)
    else:
        values, output = summed_values(ensemble), ensemble.output.astype(np.int64)
        base = ensemble.base if ensemble.base_first else np.zeros(ensemble.n_outputs)
        start = base.astype(ensemble.sum_dtype).astype(np.float64)
    packed |= {"values": values, "output": output, "start": start}
    if ensemble.linear is not None:
        terms, weight = linear_terms(ensemble), ensemble.weight.copy()
        return packed | {"linear": terms, "weight": weight, "steps": steps, "bits": bits}
    if (steps["kind"] & (IS_SET | ZERO_MISSING)).any():
        categorical = CategoricalSplits(steps, bits, roots)
        packed |= {"steps": steps, "bits": bits, "values_of_steps": values}
        packed["categorical"] = categorical
        steps = categorical.take_numeric_steps()
    nodes, order, paths = pack_nodes(steps, roots, ensemble.cover)
    return packed | {"nodes": nodes, "paths": paths, "values": np.ascontiguousarray(values[order])}
