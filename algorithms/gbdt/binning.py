"""Feature binning: choose bin edges on a sample of rows, then map every value to its bin.

The sample is drawn by a hash of the row's number, so it is the same for any number of threads and
machines.
"""

from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from algorithms.gbdt.bundles import NO_BUNDLES, Entries, lay_out, no_sparse_columns
from algorithms.gbdt.category_bins import bins_of_codes
from algorithms.gbdt.gradient_quantization import IN_ORDER
from algorithms.gbdt.kernels.bin_edges import LINE, count_runs, divides_rows, find_edges, turn_rows
from algorithms.gbdt.kernels.binning import ROWS_AT_ONCE, bin_rows
from algorithms.gbdt.kernels.booster_arrays import MAX_BINS, Bins, FeatureLayout
from algorithms.gbdt.kernels.row_sampling import draw_rows
from algorithms.gbdt.phase_timer import BINNING, EDGES, timed_phase
from algorithms.gbdt.sparse_columns import Edges
from algorithms.gbdt.sparse_edges import (
    MAX_ENTRIES,
    EdgeLimits,
    choose_column_edges,
    choose_edges,
)
from algorithms.gbdt.split_table import SplitTable, split_columns

SAMPLE_SEED = 1
END_OF_CODES = 1 << 31  # category codes are below it, because trees store them as int32
ALL = 1 << 32
ROWS_A_SHARE = 4096
VALUES_AT_ONCE = 1 << 21  # sampled values that are transposed together


@dataclass(frozen=True)
class Binner:
    """Mapping from feature values to bins.

    ``edges`` holds the ascending float64 bin edges of each numeric feature. ``codes`` holds the
    codes with own bins of each categorical feature, and None for numeric ones. The bin after the
    last one is for missing values and for codes without a bin. ``missing`` is its number, or −1 if
    training has none. ``high_cardinality`` holds all codes of each feature of more categories than
    bins, whose bins are assigned again for each tree (`gbdt/high_cardinality.py`).
    """

    edges: tuple  # of float64 arrays
    codes: tuple  # of int64 arrays or None
    missing: np.ndarray  # int64 (n_features,)
    high_cardinality: dict = field(default_factory=dict)  # feature → int64 array
    missing_kind: int = 1  # `harness.Missing` of the nodes

    @cached_property
    def counts(self):
        """Number of bins of each feature, including the missing bin: int64 (n_features,)."""
        own = count_each(self.edges) + 1
        for f, codes in enumerate(self.codes):
            if codes is not None:
                own[f] = len(codes)
        return own + (self.missing >= 0)


class SampledTable(NamedTuple):
    """Sampled rows of a table that is not in memory."""

    table: SplitTable  # of the sampled rows, without sparse columns
    n_rows: int  # rows of the whole table
    any_missing: np.ndarray  # bool (n_features,): whether any row of the whole table has NaN


def count_each(arrays):
    """Return the length of each array, int64."""
    return np.fromiter(map(len, arrays), np.int64, len(arrays))


def sample_rows(n_rows, wanted):
    """Return the rows on which edges are chosen, ascending: all, or about as many as wanted."""
    if n_rows <= wanted:
        return np.arange(n_rows, dtype=np.uint32)
    out = np.empty(n_rows, np.uint32)
    count = draw_rows(np.uint32(SAMPLE_SEED), ALL * wanted // n_rows, 0, n_rows, out)
    return out[:count]


@timed_phase(EDGES)
def find_bins(X, categorical, max_bin, sample, min_in_bin, workers, min_in_leaf=0, forced=None):
    """Return the `Binner` of a table.

    Parameters
    ----------
    X : (n_rows, n_features) float32 or float64, C-contiguous, NaN where missing; or a SplitTable;
        or the SampledTable of the rows that `sample_rows` draws
    categorical : (n_features,) bool
    max_bin : int, or int64 (n_features,)
        Maximum number of bins of a feature, including the missing bin; 2 to 256.
    sample : approximate number of rows on which edges are chosen
    min_in_bin : minimum number of sampled rows in a bin
    workers : Workers
    min_in_leaf : minimum number of rows on both sides of an edge
        A numeric feature of which no edge has them gets no edges, as in LightGBM
        (``feature_pre_filter``): no split of it leaves enough rows in both leaves. It is used only
        if edges are chosen on all rows, and for features without missing values.
    forced : dict, feature → ascending edges that its bins must have
    """
    if isinstance(X, SampledTable):
        (table, n_rows, any_missing), n_features = X, X.table.shape[1]
        drawn = np.arange(len(table.array), dtype=np.uint32)
    else:
        table = split_columns(X, bundles=False)
        n_rows, n_features = table.shape
        any_missing = np.empty(n_features, bool)
        any_missing[table.dense_columns] = find_missing(table.array, workers)[table.dense_columns]
        any_missing[table.sparse_columns] = find_sparse_missing(table)
        drawn = sample_rows(n_rows, sample)
    by_feature = None if np.ndim(max_bin) == 0 else max_bin
    most = int(np.max(max_bin))
    in_leaf = min_in_leaf if n_rows <= sample else 0
    limits = EdgeLimits(most, min_in_bin, in_leaf, by_feature, forced or {})
    edges_or_codes = [None] * n_features
    find_sparse_bins(table, drawn, categorical, any_missing, limits, workers, edges_or_codes)
    find_dense_bins(table, drawn, categorical, any_missing, limits, workers, edges_or_codes)
    nothing = np.empty(0)
    high_cardinality, codes = {}, [None] * n_features
    for f in np.flatnonzero(categorical).tolist():
        room = limits.max_bin_of(f) - 1
        if len(edges_or_codes[f]) > room:
            high_cardinality[f] = edges_or_codes[f]
        codes[f], edges_or_codes[f] = edges_or_codes[f][:room], nothing
    own = count_each(edges_or_codes) + 1
    for f in np.flatnonzero(categorical).tolist():
        own[f] = len(codes[f])
    missing = np.where(any_missing | categorical, own, -1)
    return Binner(tuple(edges_or_codes), tuple(codes), missing, high_cardinality)


def choose_bins(f, values, counts, is_categorical, has_missing, limits):
    """Return the edges of a numeric feature, or the codes of a categorical one.

    Parameters
    ----------
    f : int, the feature
    values, counts : from `runs_of`
    """
    if is_categorical:
        return frequent_codes(values, counts)
    room = limits.max_bin_of(f) - int(has_missing)
    values = values.astype(np.float64, copy=False)  # avoids compiling for float32 as well
    if f in limits.forced:
        return edges_with_forced(values, counts, limits.forced[f], room, limits.min_in_bin)
    edges = edges_of_runs(values, counts, room, limits.min_in_bin)
    must_divide = limits.min_in_leaf > 1 and not has_missing and len(edges)
    if must_divide and not divides_rows(values, counts, edges, limits.min_in_leaf):
        return edges[:0]
    return edges


def find_sparse_bins(table, drawn, categorical, any_missing, limits, workers, edges_or_codes):
    """Write the edges or codes of a table's sparse columns."""
    features = table.sparse_columns
    if not len(features):
        return
    is_categorical, has_missing = categorical[features], any_missing[features]
    others = is_categorical | limits.are_own(features)
    chosen = choose_column_edges(table, drawn, others, has_missing, limits, workers)
    for f, edges in zip(features.tolist(), chosen.as_list(), strict=True):
        edges_or_codes[f] = edges

    def find(j):
        values = chosen.entries_of(j).astype(table.read_as, copy=False)
        n_zeros = 0 if np.isnan(table.absent) else len(drawn) - len(values)
        runs = runs_of(values, n_zeros)
        return choose_bins(features[j], *runs, is_categorical[j], has_missing[j], limits)

    others = chosen.left_out
    for j, bins in zip(others, workers.each(find, others), strict=True):
        edges_or_codes[features[j]] = bins


def find_dense_bins(table, drawn, categorical, any_missing, limits, workers, edges_or_codes):
    """Write the edges or codes of a table's dense columns."""

    def find(feature_and_values):
        f, values = feature_and_values
        if categorical[f]:
            return codes_by_frequency(values)
        return choose_bins(f, *runs_of(values), categorical[f], any_missing[f], limits)

    step = columns_at_once(len(drawn), workers)
    for first in range(0, len(table.dense_columns), step):
        features = table.dense_columns[first : first + step]
        columns = take_columns(table, features, drawn, workers)
        others = range(len(features))
        if len(drawn) <= MAX_ENTRIES:
            known = categorical, any_missing, limits
            chosen = choose_dense_edges(columns, features, *known, workers)
            for f, edges in zip(features, chosen.as_list(), strict=True):
                edges_or_codes[f] = edges
            others = chosen.left_out
        pairs = [(features[j], columns[j]) for j in others]
        for (f, _), bins in zip(pairs, workers.each(find, pairs), strict=True):
            edges_or_codes[f] = bins


def columns_at_once(n_sampled, workers):
    """Return how many columns of so many sampled rows are transposed together."""
    fewest = LINE * -(-2 * workers.threads // LINE)
    return max(fewest, VALUES_AT_ONCE // max(n_sampled, 1) // LINE * LINE)


def choose_dense_edges(columns, features, categorical, any_missing, limits, workers):
    """Return the `ColumnEdges` of dense columns of few rows, which are sorted.

    Categorical columns and those with limits of their own are left out.

    Parameters
    ----------
    columns : (n_columns, n) float32 or float64
    features : int64 (n_columns,)
    """
    columns.sort(axis=1)
    n_columns, n = columns.shape
    start = np.arange(n_columns) * n
    others = categorical[features] | limits.are_own(features)
    given = others, any_missing[features], limits, workers
    return choose_edges(columns.ravel(), start, start + n, -1, *given)


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
    values, counts, room, min_in_bin : as in `edges_of_runs`
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
    ordered[:-1].sort()  # NumPy uses vector instructions: a quarter of the time of a radix sort
    counts = np.empty(len(ordered), np.int64)
    n_runs = count_runs(ordered, len(values), counts, n_zeros)
    return ordered[:n_runs], counts[:n_runs]


def find_missing(X, workers):
    """Return which columns have missing values, bool (n_features,)."""
    has_nan = np.zeros((-(-len(X) // ROWS_A_SHARE), X.shape[1]), bool)

    def scan(first, last):
        for part in range(first, last):
            rows = X[part * ROWS_A_SHARE : (part + 1) * ROWS_A_SHARE]
            has_nan[part] = np.isnan(rows).any(axis=0)

    workers.share(scan, len(has_nan))
    return has_nan.any(axis=0)


def find_sparse_missing(table):
    """Return which sparse columns have missing values, bool (n_sparse,)."""
    few = np.isnan(table.absent) & (table.sparse.counts < table.shape[0])
    return table.sparse.has_missing | few


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


def codes_by_frequency(values):
    """Return `frequent_codes` of the values of a dense column, without sorting small codes."""
    known = values[values >= 0]
    if known.max(initial=0.0) >= len(values) + MAX_BINS:
        return frequent_codes(*runs_of(values))
    counts = np.bincount(known.astype(np.int64))
    codes = np.flatnonzero(counts)
    return codes[np.argsort(-counts[codes], kind="stable")]


@timed_phase(BINNING)
def bin_table(
    X,
    binner,
    monotone,
    groups,
    workers,
    layout=NO_BUNDLES,
    number=IN_ORDER[0],
    *,
    keeps_columns=True,
):
    """Return the `Bins` of a table; other parameters are those of `find_bins`.

    Parameters
    ----------
    monotone : int64 (n_features,): −1, 0, 1
    groups : uint64 (n_features, n_words), bit sets of interaction groups
    layout : Layout
        Options for bundled and sparse columns.
    number : uint32 (n_rows,), row at each position; (0,) if rows are not reordered
        Only for tables without sparse columns.
    keeps_columns : whether bins are stored in column-major order as well, as in `bin_dense`
    """
    table = split_columns(X, bundles=False)
    rows, columns = bin_dense(table, binner, workers, number, keeps_columns=keeps_columns)
    if not len(table.sparse_columns):
        return dense_bins(rows, columns, binner, monotone, groups)
    entries = bin_sparse(table, binner, workers)
    del rows
    rows, columns, places, sparse_columns = lay_out(
        table, columns, entries, binner, layout, workers
    )
    given = monotone, groups, places, sparse_columns, rows.reshape(-1)
    return Bins(rows, columns, *binner_fields(binner), *given)


def dense_bins(rows, columns, binner, monotone, groups):
    """Return the `Bins` of a table without sparse columns; parameters are those of `bin_table`.

    Parameters
    ----------
    rows, columns : from `bin_dense`
    """
    n_features = len(binner.counts)
    every, ones = np.arange(n_features), np.ones(n_features, np.int64)
    starts = np.arange(n_features + 1)
    places = FeatureLayout(every, 0 * ones, -ones, starts, every, 0 * ones, binner.counts)
    given = monotone, groups, places, no_sparse_columns(n_features), rows.reshape(-1)
    return Bins(rows, columns, *binner_fields(binner), *given)


def binner_fields(binner):
    """Return the fields of `Bins` that a `Binner` determines: count, … sizes."""
    is_categorical = np.array([c is not None for c in binner.codes], np.int64)
    sizes = np.ones((len(is_categorical) if is_categorical.any() else 0, MAX_BINS), np.int32)
    return binner.counts, binner.missing, is_categorical, sizes


def bin_dense(table, binner, workers, number, *, keeps_columns=True):
    """Return the bins of the dense columns, (n_rows, n_dense) and (n_dense, n_rows), both uint8.

    With ``keeps_columns=False`` the second array is (0, n_rows), and columns must not be
    categorical or sparse.
    """
    X, features = table.array, table.dense_columns
    n_rows, n_columns = len(X), len(features)
    if not n_columns:
        return np.empty((n_rows, 0), np.uint8), np.empty((0, n_rows), np.uint8)
    rows = np.empty((n_rows, n_columns), np.uint8)
    columns = np.empty((n_columns if keeps_columns else 0, n_rows), np.uint8)
    padded, indptr = pad_edges([binner.edges[f] for f in features], table)
    codes = [binner.codes[f] for f in features]
    missing = np.where([c is None for c in codes], binner.missing[features], -1)

    def fill(first, last):
        first, last = first * ROWS_A_SHARE, min(last * ROWS_A_SHARE, n_rows)
        at, values = np.empty(ROWS_AT_ONCE, np.uint64), np.empty(ROWS_AT_ONCE, X.dtype)
        edges = padded, indptr, missing
        if keeps_columns:
            bin_rows(X, features, number, *edges, rows, columns, at, values, first, last)
            return
        own_columns = np.empty((n_columns, ROWS_A_SHARE), np.uint8)
        for start in range(first, last, ROWS_A_SHARE):
            own = slice(start, min(start + ROWS_A_SHARE, last))
            source, places = (X, number[own]) if len(number) else (X[own], number)
            given = source, features, places, *edges, rows[own], own_columns, at, values
            bin_rows(*given, 0, own.stop - start)

    workers.share(fill, -(-n_rows // ROWS_A_SHARE))
    for j, own in enumerate(codes):
        if own is not None:
            bins = bins_of_codes(X[:, features[j]], own)
            columns[j] = bins[number] if len(number) else bins
            rows[:, j] = columns[j]
    return rows, columns


def bin_sparse(table, binner, workers):
    """Return the `Entries` of the sparse columns that are not in their default bins."""
    features = table.sparse_columns
    codes = [binner.codes[f] for f in features]
    missing = binner.missing[features]
    default = missing.copy()
    own_edges = [binner.edges[f] for f in features]
    if not np.isnan(table.absent):
        default = count_negative(own_edges)
    for j, own in enumerate(codes):
        if own is not None:
            default[j] = bins_of_codes(np.array([table.absent]), own)[0]
    edges, begin = pad_edges(own_edges, table)
    ways = Edges(edges, begin, codes, missing, default)
    start, counts, kept, bins = table.sparse.bin(ways, workers)
    return Entries(start, start + counts, kept, bins, default).of(features, table.shape[1])


def count_negative(edges):
    """Return how many of each feature's edges are below zero, int64 (n_features,)."""
    column = np.repeat(np.arange(len(edges)), count_each(edges))
    is_negative = np.concatenate([*edges, np.empty(0)]) < 0.0
    return np.bincount(column[is_negative], minlength=len(edges))


def pad_edges(edges, table):
    """Return all edges in the dtype of a table's values, and the start of each feature's edges.

    The edges of a feature are padded to a power of two minus one. Edges are rounded down to
    float32: a float32 x ≤ t if and only if x ≤ the largest float32 that is not above t.
    """
    dtype = table.read_as
    counts = count_each(edges)
    room = (1 << np.frexp(counts)[1].astype(np.int64)) - 1
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
