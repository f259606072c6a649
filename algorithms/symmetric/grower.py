"""Growth of one symmetric tree, level by level.

Each level makes one pass over the rows: the smaller leaf of each pair of siblings is summed, the
other one is the difference. All leaves then rate every split together.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from scipy.special import ndtri

from algorithms.gbdt.gradient_quantization import pack_rows
from algorithms.gbdt.kernels.booster_arrays import CACHE_LINE, TILE
from algorithms.gbdt.sampling import hash_numbers, seed_of, seeds_of
from algorithms.symmetric.kernels.grow_tree import (
    GrowthArrays,
    TreeScoring,
    find_redundant_split,
    grow_alone,
    split_leaves,
)
from algorithms.symmetric.kernels.monotone_scan import scan_monotone
from algorithms.symmetric.kernels.partition import count_sides, find_leaves, partition_rows
from algorithms.symmetric.kernels.sorted_scan import SortedRows
from algorithms.symmetric.kernels.split_scores import (
    COSINE,
    L2,
    NOISE_BITS,
    build_level,
    scan_features,
)
from algorithms.symmetric.tree import SymmetricTree

SCORES = {"L2": L2, "Cosine": COSINE, "NewtonL2": L2, "NewtonCosine": COSINE}
NORMAL = ndtri((np.arange(1 << NOISE_BITS) + 0.5) / (1 << NOISE_BITS))
NO_NOISE = np.empty(0)
PACKING, SPLITS, FEATURES, COLUMNS = range(4)  # salts of seeds
KINDS = np.array([SPLITS, FEATURES])
SMALL = 1 << 13  # rows below which a pass over them stays in the calling thread
FEW_CELLS = 1 << 17  # rows × features below which rows are sorted by bin, and one thread works
MANY_CELLS = 1 << 24  # rows × features from which Ctrl-C is checked for each level


@dataclass(frozen=True)
class GrownTree:
    """Splits of a tree by used features and bins, and the leaf of each row."""

    features: np.ndarray  # int64 (depth,)
    bins: np.ndarray  # int64 (depth,): larger bins are on the true side
    leaf_of: np.ndarray  # uint16 (n_rows,)

    @property
    def n_leaves(self):
        """Number of leaves, some of which may be empty."""
        return 1 << len(self.features)

    def tree(self, table, values, weights):
        """Return the `SymmetricTree`.

        Parameters
        ----------
        table : the table on which it was grown
        values : float64 (n_leaves, n_scores), leaf values
        weights : float64 (n_leaves,), Σ of the sample weights
        """
        return SymmetricTree(*self.describe(table), values, weights)

    def describe(self, table):
        """Return the column of X, the border and the side of missing values of each split.

        Parameters
        ----------
        table : BinnedTable

        Returns
        -------
        int64, float32 and bool (depth,); True if missing values lie above the border
        """
        features = table.features[self.features]
        pairs = zip(self.features.tolist(), self.bins.tolist(), strict=True)
        borders = np.array([table.borders[f][b] for f, b in pairs], np.float32)
        return features, borders, table.nan_right[features]


class RowGroups:
    """Sampled rows grouped by leaf, in ascending order within a leaf."""

    def __init__(self, rows, depth, workers):
        n_leaves = 1 << depth
        self.rows, self.spare = rows, np.empty_like(rows)
        self.starts, self.ends = np.zeros((2, n_leaves), np.int64)
        self.ends[0] = len(rows)
        self.n_leaves, self.workers = 1, workers
        self.signs = []  # monotone constraint of each split so far

    def split(self, column, border):
        """Split every leaf by one column."""
        n, leaves, rows = len(self.rows), self.n_leaves, self.rows
        size = self.workers.threads if n >= SMALL else 1
        if size == 1:
            split_leaves(column, border, rows, self.spare, self.starts, self.ends, leaves)
            self.rows, self.spare = self.spare, rows
            self.n_leaves *= 2
            return
        counts = np.zeros((size, 2, leaves), np.int64)
        bounds = [n * i // size for i in range(size + 1)]
        given = column, border, rows, self.starts, self.ends, leaves

        def count(first, last):
            for part in range(first, last):
                count_sides(*given, counts[part], bounds[part], bounds[part + 1])

        self.workers.share(count, size)
        total = counts.sum(axis=0)
        start = self.starts[:leaves] + np.array([np.zeros(leaves, np.int64), total[0]])
        places = start + np.cumsum(counts, axis=0) - counts

        def move(first, last):
            for part in range(first, last):
                spans = places[part], self.spare, bounds[part], bounds[part + 1]
                partition_rows(*given, *spans)

        self.workers.share(move, size)
        self.rows, self.spare = self.spare, rows
        whole = self.ends[:leaves].copy()
        self.ends[:leaves] = start[1]
        self.starts[leaves : 2 * leaves], self.ends[leaves : 2 * leaves] = start[1], whole
        self.n_leaves *= 2


class SymmetricGrower:
    """Grower with quantized gradients and exact integer histograms.

    The result does not depend on the number of threads.

    Parameters
    ----------
    params : the estimator
    table : BinnedTable
    n_outputs : int, scores per row
    workers : Workers
    """

    def __init__(self, params, table, n_outputs, workers):
        self.params, self.table, self.workers = params, table, workers
        self.penalties = params.penalties
        self.depth, self.n_outputs = int(params.depth), n_outputs
        self.n_bins = table.n_bins
        n_used = table.rows.shape[1]
        most = int(self.n_bins.max(initial=1))
        self.stride = (-(-most // CACHE_LINE) | 1) * CACHE_LINE
        self.features = np.arange(n_used)
        self.best_score, self.best_bin = np.empty(n_used), np.empty(n_used, np.int64)
        self.signs = self._column_signs()
        self.has_signs = bool(self.signs.any())
        self._make_histograms()

    def _column_signs(self):
        """Return the monotone constraint of each used column, int64 (n_used,)."""
        signs, n_used = self.params.signs, self.table.rows.shape[1]
        return signs[self.table.features] if signs.any() else np.zeros(n_used, np.int64)

    def _make_histograms(self):
        """Allocate the histograms."""
        n_rows, n_used = self.table.rows.shape
        n_slots = 1 << max(self.depth - 1, 0)
        shape = n_slots, self.n_outputs, 2, n_used * self.stride
        self.planes = np.empty(shape, np.int64)
        self.work = np.zeros(n_used * self.stride, np.int64)
        self.records = np.empty((self.n_outputs, n_rows), np.int64)

    def get_state(self):
        """Return the arrays and the JSON values from which a snapshot continues, two dicts."""
        return {} if self.penalties is None else {"penalized": self.penalties.is_used}, {}

    def set_state(self, arrays, values):  # noqa: ARG002 - of growers with categories
        """Continue from the arrays and the JSON values of a snapshot."""
        if self.penalties is not None:
            self.penalties.is_used[:] = arrays["penalized"]

    def grow(self, g, weight, l2, noise, seed):
        """Return the `GrownTree` for derivatives of −loss.

        Parameters
        ----------
        g : (n_outputs, n_rows) float64, times the weights
        weight : (n_rows,) float32, 0 for rows outside the sample; or (0,) if all are 1;
            (n_outputs, n_rows) if the outputs have different weights
        l2 : float, λ for the weights of this table
        noise : float, standard deviation of the noise of a score
        seed : int
        """
        self._load(g, weight, seed)
        self.l2 = l2
        rows = np.arange(g.shape[1])
        if len(weight):
            rows = np.flatnonzero(weight if weight.ndim == 1 else weight[0])
        usable = self.draw_features(seed)
        if not (len(usable) and len(rows)):
            return self._finish([])
        return self._finish(self._find_splits(rows.astype(np.uint32), usable, noise, seed))

    def _find_splits(self, rows, usable, noise, seed):
        """Return the splits of a tree: list or array of features and bins."""
        if self.grows_alone:
            return self._find_splits_alone(rows, usable, noise, seed)
        return self._find_splits_by_level(rows, usable, noise, seed)

    def _find_splits_alone(self, rows, usable, noise, seed):
        """Return the splits, found in the calling thread."""
        splits = np.empty((self.depth, 2), np.int64)
        given = self.are_usable(usable), self.scoring(quantiles_of(noise)), self.level_seeds(seed)
        count = grow_alone(self.arrays, self.records, rows, *given, splits)
        return splits[:count]

    def are_usable(self, usable):
        """Return whether each feature is in ``usable``, bool (n_features,)."""
        found = np.zeros(len(self.features), bool)
        found[usable] = True
        return found

    def level_seeds(self, seed):
        """Return the seeds of the noise of splits and of features, uint32 (depth, 2).

        Parameters
        ----------
        seed : int, or uint64 (n, 1, 1); then the result is (n, depth, 2)
        """
        seed, levels = np.atleast_1d(np.asarray(seed, np.uint64)), np.arange(self.depth)[:, None]
        return seeds_of(seed, KINDS, levels).astype(np.uint32)

    @property
    def grows_alone(self):
        """Whether the calling thread grows a whole tree in one kernel call."""
        is_small = self.workers.threads == 1 and self.table.rows.size < MANY_CELLS
        return is_small and not self.has_signs and self.penalties is None

    def scoring(self, noise):
        """Return the `TreeScoring`; ``noise`` has the quantiles of the noise of a score."""
        return TreeScoring(SCORES[self.params.score_function], self.l2, self.steps[0], noise)

    @cached_property
    def arrays(self):
        """The `GrowthArrays`."""
        table, leaves = self.table, max(1 << self.depth, 4)  # `build_wide` needs four sums
        return GrowthArrays(
            table.rows,
            table.columns,
            self.n_bins,
            self.stride,
            self._sort_rows(),
            self.features,
            np.empty(len(table.rows), np.uint32),
            np.empty((3, leaves), np.int64),
            self.planes,
            self.work,
            np.empty((4, self.stride)),
            self.best_score,
            self.best_bin,
        )

    def _sort_rows(self):
        """Return the `SortedRows` of the table."""
        n_used, n_rows = self.table.columns.shape
        if self.table.rows.size * self.n_outputs < FEW_CELLS:
            rows = np.argsort(self.table.columns, axis=1, kind="stable").astype(np.uint32)
            counts = [np.bincount(own, minlength=self.stride) for own in self.table.columns]
            ends = np.cumsum(counts, axis=1)
        else:  # such a table is not sorted
            n_rows = 0
            rows, ends = np.empty((n_used, 0), np.uint32), np.empty((n_used, 0), np.int64)
        n_leaves = 1 << max(self.depth - 1, 0)
        return SortedRows(
            rows,
            ends,
            np.empty(n_rows, np.uint16),
            np.empty((self.n_outputs, 2, n_rows)),
            np.empty((n_leaves, self.n_outputs, 2)),
            np.empty((n_leaves, self.n_outputs, 4)),
            np.empty_like(rows),
            np.empty_like(ends),
        )

    def _find_splits_by_level(self, rows, usable, noise, seed):
        """Return the splits, found by all threads together, level by level."""
        groups = RowGroups(rows, self.depth, self.workers)
        splits = []
        if self.penalties is not None:
            self.penalties.start_tree(len(rows))
        for level in range(self.depth):
            self.workers.check()
            self._scan_level(groups, noise, seed_of(seed, SPLITS, level))
            f, b = self._best(usable, noise, seed_of(seed, FEATURES, level))
            splits.append((f, b))
            groups.signs.append(self._sign(f) if self.has_signs else 0)
            groups.split(self._column(f), b)
            redundant = find_redundant(groups)
            if redundant >= 0:
                del splits[redundant]
                break
        return splits

    def draw_features(self, seed):
        """Return the features of a tree: each is kept with probability ``rsm``; at least one."""
        if self.params.rsm == 1.0 or not len(self.features):
            return self.features
        drawn = hash_numbers(seed_of(seed, COLUMNS), len(self.features))
        kept = np.flatnonzero(drawn < self.params.rsm * 2.0**32)
        return kept if len(kept) else self.features[[drawn.argmin()]]

    def _load(self, g, weight, seed):
        """Quantize the derivatives and weights."""
        self.steps = np.empty((self.n_outputs, 2))
        for k in range(self.n_outputs):
            own = weight if weight.ndim == 1 else weight[k]
            given = g[k].astype(np.float32), own, seed_of(seed, PACKING, k)
            scale = pack_rows(*given, self.records[k], self.workers)
            self.steps[k] = scale.g, scale.h
        if self.n_outputs > 1:  # one step for all outputs, as their scores are added
            self._use_common_step(g, weight, seed)

    def _use_common_step(self, g, weight, seed):
        """Quantize all outputs with one step."""
        flat = np.ascontiguousarray(g, np.float32).reshape(-1)
        weights = weight.reshape(-1)
        if len(weight) and weight.ndim == 1:
            weights = np.tile(weight, self.n_outputs)
        records = self.records.reshape(-1)
        scale = pack_rows(flat, weights, seed_of(seed, PACKING), records, self.workers)
        self.steps[:] = scale.g, scale.h

    def _level_signs(self, groups):
        """Return the constraints of the splits so far and of each column, as `scan_monotone`."""
        signs = np.empty((len(self.signs), len(groups.signs) + 1), np.int64)
        signs[:, :-1], signs[:, -1] = groups.signs, self.signs
        return signs

    def _sign(self, f):
        """Return the monotone constraint of a split."""
        return self.signs[f]

    def _scan_level(self, groups, noise, seed):
        """Build the histograms of a level, and find the best split of each feature."""
        n_before = groups.n_leaves // 2
        quantiles = quantiles_of(noise)
        kind, table = SCORES[self.params.score_function], self.table
        self.best_score.fill(-np.inf)
        n_leaves, signs = groups.n_leaves, self._level_signs(groups)

        def scan(first, last):
            sums, scores = np.zeros(4, np.int64), np.empty((4, self.stride))
            for low in range(first, last, TILE):
                high = min(low + TILE, last)
                build_level(
                    table.rows, self.records, groups.rows, groups.starts, groups.ends, n_before,
                    self.features, self.n_bins, low, high, self.stride, self.planes, self.work,
                    sums,
                )  # fmt: skip
                if self.has_signs:
                    scan_monotone(
                        self.planes, n_leaves, self.n_bins, low, high, signs, self.stride, self.l2,
                        self.steps[0], kind, quantiles, np.uint32(seed),
                        np.empty((n_leaves, 2, self.stride)), np.empty((2, 2 * n_leaves)),
                        self.best_score, self.best_bin,
                    )  # fmt: skip
                    continue
                scan_features(
                    self.planes, n_leaves, self.n_bins, low, high, self.stride, self.l2,
                    self.steps[0], kind, quantiles, np.uint32(seed), scores, self.best_score,
                    self.best_bin,
                )  # fmt: skip

        self.workers.share(scan, len(self.features))

    def _best(self, usable, noise, seed):
        """Return the feature and the bin of the best split; noise is added to each feature."""
        scores = self._penalized(usable, self.best_score[usable])
        if noise > 0.0:
            drawn = hash_numbers(seed, len(self.features))[usable] >> np.uint32(32 - NOISE_BITS)
            scores = scores + noise * NORMAL[drawn]
        f = int(usable[self._choose_gain(usable, scores)])
        return f, int(self.best_bin[f])

    def _columns_of(self, candidates):
        """Return the column of X of each candidate's best split, int64 (n,)."""
        return self.table.features[candidates]

    def _penalized(self, candidates, scores):
        """Return the scores of candidates minus the penalties of their columns."""
        if self.penalties is None:
            return scores
        return self.penalties.penalize(scores, self._columns_of(candidates))

    def _weighted(self, candidates, gains):
        """Return the gains of candidates times the weights of their columns."""
        if self.penalties is None:
            return gains
        return self.penalties.weight_gains(gains, self._columns_of(candidates))

    def _choose_gain(self, candidates, scores):
        """Return the place of the best candidate, by its penalized score."""
        if self.penalties is None:
            return int(scores.argmax())
        return self.penalties.pick_best_candidate(scores, self._columns_of(candidates))

    def _column(self, f):
        """Return the bins of a feature, uint8 (n_rows,)."""
        return self.table.columns[f]

    def _finish(self, splits):
        """Return the `GrownTree` of some splits."""
        features, bins = np.array(splits, np.int64).reshape(-1, 2).T.copy()
        n_rows = self.table.rows.shape[0]
        leaf_of = np.zeros(n_rows, np.uint16)

        def fill(first, last):
            first, last = first * SMALL, min(last * SMALL, n_rows)
            find_leaves(self.table.columns, features, bins, leaf_of, first, last)

        if len(features):
            self.workers.share(fill, -(-n_rows // SMALL))
        return GrownTree(features, bins, leaf_of)


@lru_cache(maxsize=1)
def quantiles_of(noise):
    """Return the quantiles of the noise of a score; (0,) if there is none."""
    return NORMAL * noise if noise > 0.0 else NO_NOISE


def find_redundant(groups):
    """Return the first split that is redundant in the sampled rows; −1 if there is none.

    Parameters
    ----------
    groups : RowGroups
    """
    return find_redundant_split(groups.starts, groups.ends, groups.n_leaves)
