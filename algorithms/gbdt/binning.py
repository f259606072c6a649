"""Feature binning: choose bin edges on a sample of rows, then map every value to its bin.

The sample is drawn by a hash of the row's number, so it is the same for any number of threads and
machines.
"""

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from algorithms.gbdt.bundles import NO_BUNDLES, Entries, lay_out, no_lists
from algorithms.gbdt.category_bins import bins_of_codes
from algorithms.gbdt.gradient_quantization import IN_ORDER
from algorithms.gbdt.kernels.bin_edges import LINE, count_runs, find_edges, turn_rows
from algorithms.gbdt.kernels.binning import ROWS_AT_ONCE, bin_rows
from algorithms.gbdt.kernels.booster_arrays import MAX_BINS, Bins, FeatureLayout
from algorithms.gbdt.kernels.row_sampling import draw_rows
from algorithms.gbdt.sparse_columns import Edges
from algorithms.gbdt.split_table import split_columns
from algorithms.trees.kernels.presort import BUCKETS
from algorithms.trees.kernels.radix_sort import PASSES, sort_values

SAMPLE_SEED = 1
END_OF_CODES = 1 << 31  # category codes are below it, because trees store them as int32
ALL = 1 << 32
ROWS_A_SHARE = 4096
VALUES_AT_ONCE = 1 << 21  # sampled values that are transposed together
FEW_TO_SORT = 4096  # values below which a comparison sort is faster than a radix sort


@dataclass(frozen=True)
class Binner:
    """Mapping from feature values to bins.

    ``edges`` holds the ascending float64 bin edges of each numeric feature. ``codes`` holds the
    codes with own bins of each categorical feature, and None for numeric ones. The bin after the
    last one is for missing values and for codes without a bin. ``missing`` is its number, or −1 if
    training has none. ``high_cardinality`` holds all codes of each feature of more categories than
    bins, whose bins are assigned anew for each tree (`gbdt/high_cardinality.py`).
    """

    edges: tuple  # of float64 arrays
    codes: tuple  # of int64 arrays or None
    missing: np.ndarray  # int64 (n_features,)
    high_cardinality: dict = field(default_factory=dict)  # feature → int64 array
    missing_kind: int = 1  # `harness.Missing` of the nodes

    @property
    def counts(self):
        """Number of bins of each feature, including the missing bin: int64 (n_features,)."""
        pairs = zip(self.edges, self.codes, strict=True)
        own = [len(e) + 1 if c is None else len(c) for e, c in pairs]
        return np.array(own, np.int64) + (self.missing >= 0)


def sample_rows(n_rows, wanted):
    """Return the rows on which edges are chosen, ascending: all, or about as many as wanted."""
    if n_rows <= wanted:
        return np.arange(n_rows, dtype=np.uint32)
    out = np.empty(n_rows, np.uint32)
    count = draw_rows(np.uint32(SAMPLE_SEED), ALL * wanted // n_rows, 0, n_rows, out)
    return out[:count]


def find_bins(X, categorical, max_bin, sample, min_in_bin, workers, forced=None):
    """Return the `Binner` of a table.

    Parameters
    ----------
    X : (n_rows, n_features) float32 or float64, C-contiguous, NaN where missing; or a SplitTable
    categorical : (n_features,) bool
    max_bin : int, or int64 (n_features,)
        Maximum number of bins of a feature, including the missing bin; 2 to 256.
    sample : approximate number of rows on which edges are chosen
    min_in_bin : minimum number of sampled rows in a bin
    workers : Workers
    forced : dict, feature → ascending edges that its bins must have
    """
    table = split_columns(X, bundles=False)
    n_rows, n_features = table.shape
    limits, forced = np.broadcast_to(max_bin, n_features).tolist(), forced or {}
    gaps = np.empty(n_features, bool)
    gaps[table.dense_columns] = find_gaps(table.array, workers)[table.dense_columns]
    gaps[table.listed_columns] = listed_gaps(table)
    drawn = sample_rows(n_rows, sample)
    values_of = table.listed.sample(drawn, workers)

    def choose(f, values, counts):
        if categorical[f]:
            return frequent_codes(values, counts)
        room = limits[f] - 1 if gaps[f] else limits[f]
        values = values.astype(np.float64, copy=False)  # avoids compiling for float32 as well
        if f in forced:
            return edges_with_forced(values, counts, forced[f], room, min_in_bin)
        return edges_of_runs(values, counts, room, min_in_bin)

    def find_listed(j):
        own = values_of(j).astype(table.read_as, copy=False)
        n_zeros = 0 if np.isnan(table.absent) else len(drawn) - len(own)
        return choose(table.listed_columns[j], *runs_of(own, n_zeros))

    def find_dense(feature_and_values):
        feature, values = feature_and_values
        return choose(feature, *runs_of(values))

    listed = list(range(len(table.listed_columns)))
    edges_or_codes = dict(zip(table.listed_columns, workers.each(find_listed, listed), strict=True))
    fewest = LINE * -(-2 * workers.threads // LINE)
    step = max(fewest, VALUES_AT_ONCE // max(len(drawn), 1) // LINE * LINE)
    for first in range(0, len(table.dense_columns), step):
        features = table.dense_columns[first : first + step]
        columns = take_columns(table, features, drawn, workers)
        pairs = list(zip(features, columns, strict=True))
        edges_or_codes.update(zip(features, workers.each(find_dense, pairs), strict=True))
    all_codes = np.flatnonzero(categorical).tolist()
    high_cardinality = {
        f: edges_or_codes[f] for f in all_codes if len(edges_or_codes[f]) > limits[f] - 1
    }
    edges_or_codes = [
        edges_or_codes[f][: limits[f] - 1] if categorical[f] else edges_or_codes[f]
        for f in range(n_features)
    ]
    edges = tuple(np.empty(0) if c else e for e, c in zip(edges_or_codes, categorical, strict=True))
    codes = tuple(e if c else None for e, c in zip(edges_or_codes, categorical, strict=True))
    own = [len(e) if c else len(e) + 1 for e, c in zip(edges_or_codes, categorical, strict=True)]
    missing = np.where(gaps | categorical, own, -1).astype(np.int64)
    return Binner(edges, codes, missing, high_cardinality)


def edges_of_runs(values, counts, room, min_in_bin):
    """Return the edges of at most ``room`` bins, ascending float64.

    Parameters
    ----------
    values, counts : from `runs_of`; values are float64
    room : int
    min_in_bin : minimum number of rows in a bin
    """
    room = max(1, min(room, int(counts.sum()) // min_in_bin))
    edges = np.empty(room)
    return edges[: find_edges(values, counts, room, min_in_bin, edges)].copy()


def edges_with_forced(values, counts, forced, room, min_in_bin):
    """Return edges that include the forced ones; the other bins divide the spaces between them.

    Each space gets a share of the other bins in proportion to its rows.

    Parameters
    ----------
    values, counts, room, min_in_bin : as of `edges_of_runs`
    forced : ascending float64
    """
    forced = forced[: room - 1]
    known = ~np.isnan(values)
    values, counts = values[known], counts[known]
    left, total = room - len(forced) - 1, max(int(counts.sum()), 1)
    places = np.concatenate([[0], np.searchsorted(values, forced, "right"), [len(values)]])
    edges = [forced]
    for first, last in pairwise(places.tolist()):
        own = counts[first:last]
        more = int(left * int(own.sum()) / total)
        if more and last - first > 1:
            edges.append(edges_of_runs(values[first:last].copy(), own.copy(), more + 1, min_in_bin))
    return np.unique(np.concatenate(edges))


def take_columns(table, columns, rows, workers):
    """Return some rows of a table's dense columns, transposed: (n_columns, n)."""
    out = np.empty((len(columns), len(rows)), table.read_as)

    def take(begin, end):
        for start in range(begin * ROWS_A_SHARE, min(end * ROWS_A_SHARE, len(rows)), ROWS_A_SHARE):
            end_of_share = min(start + ROWS_A_SHARE, len(rows))
            turn_rows(table.array, columns, rows, out, start, end_of_share)

    workers.share(take, -(-len(rows) // ROWS_A_SHARE))
    return out


def runs_of(values, n_zeros=0):
    """Return the ascending distinct values of a column, and the number of rows with each.

    ``n_zeros`` rows are added for the value zero.
    """
    ordered = np.empty(len(values) + 1, values.dtype)
    np.add(values, 0.0, out=ordered[:-1])  # −0.0 becomes 0.0
    sort(ordered[:-1])
    counts = np.empty(len(ordered), np.int64)
    n_runs = count_runs(ordered, len(values), counts, n_zeros)
    return ordered[:n_runs], counts[:n_runs]


def sort(values):
    """Sort numbers in place, NaN last."""
    if len(values) < FEW_TO_SORT:
        values.sort()
        return
    bits = values.view(np.uint64 if values.itemsize == 8 else np.uint32)
    sort_values(values, bits, np.empty_like(bits), np.empty((PASSES, BUCKETS), np.uint32))


def find_gaps(X, workers):
    """Return which columns have missing values, bool (n_features,)."""
    has_nan = np.zeros((-(-len(X) // ROWS_A_SHARE), X.shape[1]), bool)

    def scan(first, last):
        for part in range(first, last):
            rows = X[part * ROWS_A_SHARE : (part + 1) * ROWS_A_SHARE]
            has_nan[part] = np.isnan(rows).any(axis=0)

    workers.share(scan, len(has_nan))
    return has_nan.any(axis=0)


def listed_gaps(table):
    """Return which sparse columns have missing values, bool (n_listed,)."""
    few = np.isnan(table.absent) & (table.listed.counts < table.shape[0])
    return table.listed.gaps | few


def frequent_codes(values, counts):
    """Return the codes by descending frequency, then ascending; negative codes are missing.

    Raises
    ------
    ValueError
        If a code does not fit into int32.
    """
    known = values >= 0
    codes, at = np.unique(np.trunc(values[known]), return_inverse=True)
    if len(codes) and codes[-1] >= END_OF_CODES:
        raise ValueError(
            f"a categorical column has code {codes[-1]:.0f}; codes must be below 2**31"
        )
    counts = np.bincount(at, counts[known])
    return codes[np.lexsort((codes, -counts))].astype(np.int64)


def bin_table(X, binner, monotone, groups, workers, layout=NO_BUNDLES, number=IN_ORDER[0]):
    """Return the `Bins` of a table; other parameters are those of `find_bins`.

    Parameters
    ----------
    monotone : int64 (n_features,): −1, 0, 1
    groups : uint64 (n_features, n_words), bit sets of interaction groups
    layout : Layout
        Options for bundled and sparse columns.
    number : uint32 (n_rows,), row at each position; (0,) if rows are not reordered
        Only for tables without sparse columns.
    """
    table = split_columns(X, bundles=False)
    rows, columns = bin_dense(table, binner, workers, number)
    is_set = np.array([c is not None for c in binner.codes], np.int64)
    sizes = np.ones((len(is_set) if is_set.any() else 0, MAX_BINS), np.int32)
    facts = binner.counts, binner.missing, is_set, sizes, monotone, groups
    if not len(table.listed_columns):
        n_features = len(columns)
        every, ones = np.arange(n_features), np.ones(n_features, np.int64)
        places = FeatureLayout(
            every, 0 * ones, -ones, np.arange(n_features + 1), every, 0 * ones, binner.counts
        )
        return Bins(rows, columns, *facts, places, no_lists(n_features))
    entries = bin_listed(table, binner, workers)
    del rows
    rows, columns, places, lists = lay_out(table, columns, entries, binner, layout, workers)
    return Bins(rows, columns, *facts, places, lists)


def bin_dense(table, binner, workers, number):
    """Return the bins of the dense columns, (n_rows, n_dense) and (n_dense, n_rows)."""
    X, features = table.array, table.dense_columns
    n_rows, n_columns = len(X), len(features)
    if not n_columns:
        return np.empty((n_rows, 0), np.uint8), np.empty((0, n_rows), np.uint8)
    rows = np.empty((n_rows, n_columns), np.uint8)
    columns = np.empty((n_columns, n_rows), np.uint8)
    padded, indptr = pad_edges([binner.edges[f] for f in features], table)
    codes = [binner.codes[f] for f in features]
    missing = np.where([c is None for c in codes], binner.missing[features], -1)

    def fill(first, last):
        first, last = first * ROWS_A_SHARE, min(last * ROWS_A_SHARE, n_rows)
        at, values = np.empty(ROWS_AT_ONCE, np.uint64), np.empty(ROWS_AT_ONCE, X.dtype)
        edges = padded, indptr, missing
        bin_rows(X, features, number, *edges, rows, columns, at, values, first, last)

    workers.share(fill, -(-n_rows // ROWS_A_SHARE))
    for j, own in enumerate(codes):
        if own is not None:
            bins = bins_of_codes(X[:, features[j]], own)
            columns[j] = bins[number] if len(number) else bins
            rows[:, j] = columns[j]
    return rows, columns


def bin_listed(table, binner, workers):
    """Return the `Entries` of the sparse columns that are not in their default bins."""
    features = table.listed_columns
    codes = [binner.codes[f] for f in features]
    missing = binner.missing[features]
    default = missing.copy()
    for j, own in enumerate(codes):
        if own is not None:
            default[j] = bins_of_codes(np.array([table.absent]), own)[0]
        elif not np.isnan(table.absent):
            default[j] = np.searchsorted(binner.edges[features[j]], 0.0)
    edges, begin = pad_edges([binner.edges[f] for f in features], table)
    ways = Edges(edges, begin, codes, missing, default)
    start, counts, kept, bins = table.listed.bin(ways, workers)
    return Entries(start, start + counts, kept, bins, default).of(features, table.shape[1])


def pad_edges(edges, table):
    """Return all edges in the dtype of a table's values, and the start of each feature's edges.

    The edges of a feature are padded to a power of two minus one. Edges are rounded down to
    float32: a float32 x ≤ t if and only if x ≤ the largest float32 that is not above t.
    """
    dtype = table.read_as
    counts = np.array([len(e) for e in edges], np.int64)
    room = [(1 << int(count).bit_length()) - 1 for count in counts]
    indptr = np.concatenate([[0], np.cumsum(room)]).astype(np.int64)
    padded = np.full(max(indptr[-1], 1), np.inf, table.dtype)
    every = np.concatenate([*edges, np.empty(0)])
    own = every.astype(dtype)
    above = own.astype(np.float64) > every
    own[above] = np.nextafter(own[above], dtype.type(-np.inf))
    shift = indptr[:-1] - (np.cumsum(counts) - counts)
    padded[np.arange(len(every)) + np.repeat(shift, counts)] = (
        last_rounded(own) if table.rounds else own
    )
    return padded, indptr


def last_rounded(edges):
    """Return the largest float64 that rounds to at most each float32 edge.

    It is the midpoint to the next float32 if a tie rounds down to the (even) edge, otherwise the
    float64 just below the midpoint. Edges are finite.
    """
    half = edges.astype(np.float64)
    with np.errstate(over="ignore"):  # the next float32 may be infinity
        half += (np.nextafter(edges, np.float32(np.inf)).astype(np.float64) - half) / 2.0
    is_odd = (edges.view(np.uint32) & 1).astype(bool)
    half[is_odd] = np.nextafter(half[is_odd], -np.inf)
    return half
