"""Column layout of a binned table: features alone, in bundles, or as sparse columns.

Exclusive feature bundling, Ke et al. 2017, section 4. Features that are rarely outside their
default bins, and never two of them in one row, share a column. Features are bundled in the order
of their number of non-default rows, or of their degree in the conflict graph, which is computed on
a sample of rows. Conflicts are counted in all rows, so if none are allowed, the trees are the same
as without bundles.

A column in which few rows have an entry is stored as a sparse column (a list of its entries),
because that is cheaper than one byte per row.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from algorithms.gbdt.kernels.booster_arrays import (
    CACHE_LINE,
    MAX_BINS,
    FeatureLayout,
    SparseColumns,
)
from algorithms.gbdt.kernels.bundling import (
    count_entries,
    fill_bundle,
    find_bundles,
    write_sparse_entries,
)
from algorithms.gbdt.kernels.weighted_sketch import lay_rows
from algorithms.gbdt.phase_timer import BUNDLING, timed_phase

BLOCK = 1 << 12  # rows
OFTEN = 0.5  # a feature stays alone if more than this fraction of rows is not in the default bin
SELDOM = 4  # a column may be sparse if it has more than this many rows per entry
MAX_BUNDLES = 512  # maximum number of bundles that a feature is compared with
SPARSE_COST = 6  # time of an entry or a row of sparse columns, divided by that of a dense entry
GRAPH_ROWS = 1 << 13
GRAPH_PAIRS = 1 << 24


@dataclass(frozen=True)
class Layout:
    """Options for the columns of features that are mostly in their default bins."""

    bundles: bool = True  # whether features may share a column
    max_conflict_rate: float = 0.0  # fraction of rows in which features of a bundle may conflict
    order: str = "count"  # order of bundling: "count" or "degree"
    sparse: bool = True  # whether columns may be sparse; otherwise they have a byte per row


NO_BUNDLES = Layout(bundles=False)


@dataclass(frozen=True)
class Entries:
    """Non-default entries of sparse features: rows and bins."""

    start: np.ndarray  # int64 (n_features,), first entry of each feature
    end: np.ndarray
    rows: np.ndarray  # uint32, ascending within a feature
    bins: np.ndarray  # uint8
    default: np.ndarray  # int64 (n_features,), bin of all other rows; −1 if the feature is dense

    @property
    def counts(self):
        """Number of entries of each feature."""
        return self.end - self.start

    def of(self, features, n_features):
        """Return the same entries, with the features renumbered to ``features`` of all."""
        start, end = np.zeros((2, n_features), np.int64)
        default = np.full(n_features, -1)
        start[features], end[features], default[features] = self.start, self.end, self.default
        return Entries(start, end, self.rows, self.bins, default)


def no_sparse_columns(n_features):
    """Return the `SparseColumns` of a table whose columns are all dense."""
    return SparseColumns(
        np.zeros(1, np.int64),
        np.empty(0, np.uint32),
        np.zeros(n_features + 1, np.int64),
        np.empty(0, np.uint32),
        np.empty(0, np.uint8),
    )


@timed_phase(BUNDLING)
def lay_out(table, columns, entries, binner, layout, workers):
    """Return (rows, columns, FeatureLayout, SparseColumns) of a table with sparse columns.

    Parameters
    ----------
    table : SplitTable
    columns : uint8 (n_dense, n_rows), bins of its dense columns
    entries : Entries
    binner : Binner
    layout : Layout
    workers : Workers
    """
    n_rows = table.shape[0]
    alone, bundles, sparse_features = group_features(table, entries, binner, layout)
    n_own = len(columns)
    dense = [*table.dense_columns[:, None], *alone, *bundles]
    parts = split_sparse_columns(sparse_features, binner.counts)
    places = place_features([*dense, *parts], len(dense), entries, binner)
    columns = np.concatenate([columns, np.empty((len(dense) - n_own, n_rows), np.uint8)])
    given = entries.start, entries.end, entries.rows, entries.bins, places.default, places.first

    def fill(first, last):
        for c in range(n_own + first, n_own + last):
            members = dense[c]
            bundled = places.default[members[0]] >= 0
            columns[c] = 0 if bundled else max(entries.default[members[0]], 0)
            fill_bundle(*given, places.features[places.start[c] : places.start[c + 1]], columns[c])

    workers.share(fill, len(dense) - n_own)
    rows = np.empty((n_rows, len(dense)), np.uint8)

    def lay(first, last):
        lay_rows(columns, rows, first * BLOCK, min(last * BLOCK, n_rows))

    workers.share(lay, -(-n_rows // BLOCK))
    sparse_columns = store_sparse_columns(
        np.sort(sparse_features), n_rows, given, places, binner.counts
    )
    return rows, columns, places, sparse_columns


def group_features(table, entries, binner, layout):
    """Divide the sparse features of a table into single, bundled and sparse columns.

    Returns
    -------
    alone, bundles : lists of int64 arrays, the features of each dense column
    sparse_features : int64, those that stay sparse
    """
    n_rows, own = table.shape[0], table.sparse_columns
    counts = entries.counts
    is_categorical = np.array([binner.codes[f] is not None for f in own], bool)
    often = is_categorical | (entries.default[own] < 0) | (counts[own] > OFTEN * n_rows)
    useful = binner.counts[own] > 1
    alone = own[often & useful]
    rest = own[~often & useful]
    if not len(table.dense_columns) and not useful.any():
        alone = own[:1]  # a table needs a column
    if not layout.bundles:
        groups = list(rest[:, None])
    else:
        bundle = bundle_features(rest, n_rows, entries, binner, layout)
        ends = np.cumsum(np.bincount(bundle + 1, minlength=1))
        none, *groups = np.split(rest[np.argsort(bundle, kind="stable")], ends[:-1])
        groups = [*groups, *none[:, None]]
    entered = np.array([counts[group].sum() for group in groups], np.int64)
    few = layout.sparse & (entered * SELDOM < n_rows)
    if few.sum() * n_rows <= SPARSE_COST * (entered[few].sum() + n_rows):
        few[:] = False
    dense = [group for group, is_few in zip(groups, few, strict=True) if not is_few]
    sparse_groups = [group for group, is_few in zip(groups, few, strict=True) if is_few]
    return list(alone[:, None]), dense, np.concatenate([*sparse_groups, np.empty(0, np.int64)])


def bundle_features(features, n_rows, entries, binner, layout):
    """Return the bundle of each feature, int64; −1 without a bundle."""
    counts = entries.counts
    room = int(np.clip(SELDOM * counts[features].sum() // n_rows + 1, 1, MAX_BUNDLES))
    taken = np.zeros((room, -(-n_rows // 64)), np.uint64)
    used, conflicts = np.zeros((2, room), np.int64)
    bundle = np.full(len(counts), -1)
    order = features[np.argsort(-counts[features], kind="stable")]
    if layout.order == "degree":
        degree = degrees(order, n_rows, entries)
        order = order[np.argsort(-degree, kind="stable")]
    most = int(layout.max_conflict_rate * n_rows)
    given = entries.start, entries.end, entries.rows, order, binner.counts - 1
    find_bundles(*given, most, taken, used, conflicts, bundle)
    return bundle[features]


def degrees(features, n_rows, entries):
    """Return each feature's number of conflicting features, in a sample of rows."""
    step = -(-n_rows // GRAPH_ROWS)
    rows = [entries.rows[entries.start[f] : entries.end[f]] for f in features]
    rows = [own[own % step == 0] // step for own in rows]
    indptr = np.concatenate([[0], np.cumsum([len(own) for own in rows])])
    indices = np.concatenate([*rows, np.empty(0, np.uint32)]).astype(np.int32)
    ones = np.ones(len(indices), np.int32)
    shape = (-(-n_rows // step), len(features))
    at = sparse.csc_array((ones, indices, indptr), shape=shape).tocsr()
    pairs = np.cumsum(np.diff(at.indptr).astype(np.int64) ** 2)
    at = at[: max(1, int(np.searchsorted(pairs, GRAPH_PAIRS)))]
    return np.diff((at.T.tocsr() @ at).indptr)


def split_sparse_columns(features, counts):
    """Return the features of each sparse column, in order, at most MAX_BINS bins per column."""
    parts, used = [], MAX_BINS
    for f in np.sort(features):
        needed = counts[f] - 1
        if used + needed > MAX_BINS:
            parts.append([])
            used = 1
        parts[-1].append(f)
        used += needed
    return [np.array(part, np.int64) for part in parts]


def place_features(groups, n_dense, entries, binner):
    """Return the `FeatureLayout` of features, given those of each column, ``n_dense`` dense."""
    counts = binner.counts
    column, first = np.full(len(counts), -1), np.zeros(len(counts), np.int64)
    default = entries.default.copy()
    pairs, length = np.zeros((2, len(groups)), np.int64)
    members = []
    for c, group in enumerate(groups):
        column[group] = c
        if len(group) == 1 and c < n_dense:
            default[group], length[c] = -1, counts[group[0]]
            members.append(group)
            continue
        is_pair = counts[group] == 2
        own = np.concatenate([np.sort(group[~is_pair]), np.sort(group[is_pair])])
        ends = 1 + np.cumsum(counts[own] - 1)
        first[own] = ends - (counts[own] - 1)
        pairs[c], length[c] = is_pair.sum(), ends[-1]
        members.append(own)
    start = np.concatenate([[0], np.cumsum([len(own) for own in members])])
    return FeatureLayout(column, first, default, start, np.concatenate(members), pairs, length)


def store_sparse_columns(features, n_rows, given, places, counts):
    """Return the `SparseColumns` of features.

    Parameters
    ----------
    features : int64, ascending
    given : start, end, rows and bins of the entries, and default and first of places
    """
    if not len(features):
        return no_sparse_columns(len(counts))
    starts, ends, entry_rows = given[:3]
    base = places.column * stride_of(places)
    start = np.zeros(n_rows + 1, np.int64)
    count_entries(starts, ends, entry_rows, features, start[1:])
    np.cumsum(start, out=start)
    of_feature = np.zeros(len(counts) + 1, np.int64)
    of_feature[features + 1] = ends[features] - starts[features]
    np.cumsum(of_feature, out=of_feature)
    cells, own = np.empty(start[-1], np.uint32), np.empty(start[-1], np.uint8)
    write_sparse_entries(*given, features, base, start[:-1].copy(), cells, own)
    rows = np.concatenate([entry_rows[starts[f] : ends[f]] for f in features])
    return SparseColumns(start, cells, of_feature, rows, own)


def stride_of(places):
    """Return the distance of two columns in a histogram, in entries.

    It is an odd number of cache lines. With a power of two, the same bin of many columns would map
    to few cache sets, and stores would delay loads at a distance of 4096 bytes (4K aliasing).
    """
    lines = -(-int(places.length.max()) // CACHE_LINE)
    return (lines | 1) * CACHE_LINE
