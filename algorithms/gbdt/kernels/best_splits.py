"""Find the best splits of the two newest leaves, and the leaf to split next.

For most leaves the threads divide the columns: each thread builds and scans the histograms of its
own columns, without waiting for the others. For large leaves the threads divide the rows, so that
the bins of a row are loaded once; then the histograms of the threads are added. Sums are integers,
so both ways give the same result. If the table has sparse columns, the threads divide the rows of
every leaf.
"""

import numpy as np

from algorithms.gbdt.kernels.booster_arrays import (
    FLUSHED,
    LEAVES,
    MAX_BINS,
    MAX_G,
    MAX_H,
    MIN_USEFUL_GAIN,
    NEXT,
    NO_FEATURE,
    PLANES,
    SPREAD,
    TILE,
    TOTAL_G,
    TOTAL_H,
)
from algorithms.gbdt.kernels.child_histograms import gather, keep_histogram, subtract
from algorithms.gbdt.kernels.column_scan import (
    scan_narrow_column,
    search_column,
    write_sides,
)
from algorithms.gbdt.kernels.forced_splits import force_next_split
from algorithms.gbdt.kernels.histogram import build_bounded, build_narrow, build_wide, sum_totals
from algorithms.gbdt.kernels.narrow_leaf import (
    factor_to_exceed,
    has_cumulative_sums,
    has_missing,
    score_limits,
    subtract_cells,
    take_cells,
    unpack_cells,
)
from algorithms.gbdt.kernels.sparse_columns import build_sparse_histogram
from algorithms.gbdt.kernels.split import (
    copy_best,
    is_better_split,
    may_split,
    node_stats,
    reset_split,
)
from algorithms.runtime.cell_lanes import take_sums
from algorithms.runtime.interrupts import is_interrupted
from algorithms.runtime.intrinsics import bits_of_double, double_of_bits
from algorithms.runtime.jit import inner_kernel
from algorithms.runtime.thread_team import barrier_wait, share_of

MANY_ROWS = 8192  # leaves with at least this many rows are divided by rows, not by columns
FEW_COLUMNS = 8  # with at most so many columns, reading a row costs as much as adding it to them
ROWS_OF_FEW = 1024  # MANY_ROWS of tables with few columns
MAX_ROWS_SMALL_TILE = 1024  # rereading so many rows costs less than cache misses
SMALL_TILE = 2048  # entries of histograms of few rows, which fit the first-level cache
# costs of scanning a column and a histogram entry for two leaves; adding a row to an entry costs 1
COLUMN_COST, ENTRY_COST = 100, 4


@inner_kernel
def find_best_splits(team, rank, bins, records, growth, scratch, rules, scale, small, large):
    """Find the best splits of two new leaves, and the leaf to split next.

    Rank 0 writes the result; the other threads may read it after another barrier.

    Parameters
    ----------
    small : the leaf whose histogram is built
    large : its sibling, whose slot holds their parent's histogram, or −1 for the root
    """
    min_useful_gain = double_of_bits(growth.state[MIN_USEFUL_GAIN])
    reset_split(scratch.best[rank, 0], min_useful_gain)
    reset_split(scratch.best[rank, 1], min_useful_gain)
    full = growth.state[LEAVES] == rules.num_leaves
    some = may_split(growth.leaves[small], rules)
    some = some or (large >= 0 and may_split(growth.leaves[large], rules))
    some = some and not full
    if some:
        build_and_scan(team, rank, bins, records, growth, scratch, rules, scale, small, large)
    barrier_wait(team)
    if rank == 0:
        if some and (large < 0 or growth.leaves[small]["wide"]):
            note_sums(team, bins, growth, scratch, scale, small, large)
        for which in range(2 if large >= 0 else 1):
            reduce_thread_best(team, growth, scratch, large if which else small, which)
        full = full or is_interrupted(team.flag)
        if full or not force_next_split(bins, records, growth, scratch, rules, scale):
            pick_next_leaf(growth, bins, full)
            raise_min_useful_gain(growth, rules)


@inner_kernel
def shares_rows(team, leaf, bins, n_columns):
    """Return whether the threads divide the rows of a leaf instead of the columns."""
    least = ROWS_OF_FEW if n_columns <= FEW_COLUMNS else MANY_ROWS
    many = n_columns <= TILE and leaf["end"] - leaf["start"] >= least
    return team.size > 1 and (many or n_columns < team.size or len(bins.sparse.cells) > 0)


@inner_kernel
def build_and_scan(team, rank, bins, records, growth, scratch, rules, scale, small, large):
    """Build the smaller leaf's histogram and scan both leaves, for the columns of one thread."""
    leaf = growth.leaves[small]
    n_columns = len(growth.columns)
    start, end = leaf["start"], leaf["end"]
    by_rows = shares_rows(team, leaf, bins, n_columns)
    n_added = np.int64(0) if by_rows else end - start
    first = first_column(team, rank, bins, growth.columns, n_added)
    last = first_column(team, rank + 1, bins, growth.columns, n_added)
    begin, stop = share_of(team, rank, start, end) if by_rows else (start, end)
    if len(bins.sparse.cells) > 0:
        stride = growth.cells.shape[1] // len(bins.layout.length)
        build_sparse_histogram(
            bins.sparse,
            records,
            growth.rows,
            begin,
            stop,
            leaf["wide"],
            scratch.cells[rank],
            scratch.wide[rank],
            bins.rows.shape[1] * stride,
            scratch.sums[rank],
        )
    low, is_small = first, not by_rows and end - start <= MAX_ROWS_SMALL_TILE
    while True:  # threads without columns build, too
        high = tile_end(bins, growth.columns, low, last, is_small)
        if low == first or not by_rows:
            begins, ends = (np.int64(0), np.int64(n_columns)) if by_rows else (low, high)
            build(bins, records, growth, scratch, scale, rank, begin, stop, begins, ends, leaf)
            if low == first and large < 0 and scale.room:
                sum_totals(
                    bins, records, growth, scratch, rank, begin, stop, growth.columns[begins]
                )
            if by_rows:
                barrier_wait(team)
        scan_tile(team, rank, bins, growth, scratch, rules, scale, small, large, low, high, by_rows)
        low = high
        if low >= last:
            return


@inner_kernel
def tile_end(bins, columns, low, last, is_small):
    """Return the end of a tile, columns whose histograms are built together.

    Parameters
    ----------
    columns : int64, the columns to build and scan
    low, last : first position of the tile, and end of the thread's columns
    is_small : whether the tile should fit the first-level cache
    """
    high, most = low, min(low + TILE, last)
    if not is_small:
        return max(most, low)
    n_entries = np.int64(0)
    while high < most:
        n_entries += bins.layout.length[np.uint64(columns[np.uint64(high)])]
        if n_entries > SMALL_TILE and high > low:
            break
        high += 1
    return high


@inner_kernel
def first_column(team, rank, bins, columns, n_added):
    """Return the position of a thread's first column; the threads have about the same work.

    Parameters
    ----------
    rank : of the thread, or the number of threads for the end of the last one's columns
    columns : int64, the columns to build and scan
    n_added : number of rows that the thread adds to each of its columns
    """
    if rank == 0:
        return np.int64(0)
    if rank == team.size:
        return np.int64(len(columns))
    total = np.int64(0)
    for j in range(len(columns)):
        total += cost_of(bins, columns[j], n_added)
    before, place = np.int64(0), np.int64(0)
    while place < len(columns):
        work = cost_of(bins, columns[place], n_added)
        if (2 * before + work) * team.size > 2 * total * rank:  # its middle lies behind the border
            break
        before += work
        place += 1
    return place


@inner_kernel
def cost_of(bins, column, n_added):
    """Return the estimated work of a column: adding rows and scanning both leaves."""
    return n_added + COLUMN_COST + ENTRY_COST * bins.layout.length[column]


@inner_kernel
def build(bins, records, growth, scratch, scale, rank, first, last, low, high, leaf):
    """Add rows to a thread's histogram, for the dense columns at low … high − 1 of the list."""
    rows, columns = growth.rows, growth.columns
    stride = growth.cells.shape[1] // len(bins.layout.length)
    cells, planes, sums = scratch.cells[rank], scratch.wide[rank], scratch.sums[rank]
    while high > low and columns[high - 1] >= bins.rows.shape[1]:  # a sparse column
        high -= 1
    if high == low and len(bins.sparse.cells) > 0:
        sums[FLUSHED] = 0
        return
    if not leaf["wide"]:
        build_narrow(bins.rows, records, rows, first, last, columns, low, high, stride, cells)
        sums[FLUSHED] = 0
    elif scale.room:
        sums[FLUSHED] = build_bounded(
            bins.rows,
            records,
            rows,
            first,
            last,
            columns,
            low,
            high,
            stride,
            cells,
            planes,
            scale.room,
        )
    else:
        build_wide(
            bins.rows, records, rows, first, last, columns, low, high, stride, cells, planes, sums
        )


@inner_kernel
def scan_tile(team, rank, bins, growth, scratch, rules, scale, small, large, low, high, by_rows):
    """Read the histograms of some columns, subtract them from the parent, and scan both leaves."""
    one, two = growth.leaves[small], growth.leaves[max(large, 0)]
    stride = growth.cells.shape[1] // len(bins.layout.length)
    threads = (0, team.size) if by_rows else (rank, rank + 1)
    was_wide = one["wide"]
    spread = sum_of(scratch, threads, SPREAD)
    g = one["g"] if large >= 0 else sum_of(scratch, threads, TOTAL_G)
    h = one["h"] if large >= 0 else sum_of(scratch, threads, TOTAL_H)
    wide = was_wide and is_wide(one, spread, h, scale)  # the same test as in `note_sums`
    scan_one, scan_two = may_split(one, rules), large >= 0 and may_split(two, rules)
    small_stats = node_stats(one, g, h, rules, scale)
    large_stats = node_stats(two, two["g"], two["h"], rules, scale)
    rest_wide = was_wide and is_wide(two, two["spread"] - spread, two["h"], scale)
    best = scratch.best[rank]
    limits = score_limits(small_stats), score_limits(large_stats)
    factor_one = factor_to_exceed(best[0], small_stats)
    factor_two = factor_to_exceed(best[1], large_stats)
    for j in range(np.uint64(low), np.uint64(high)):
        c = growth.columns[j]
        n_cells, by_sums = bins.layout.length[np.uint64(c)], has_cumulative_sums(bins, c)
        at = c * stride
        cells = growth.cells[one["slot"], at : at + n_cells] if scan_one else scratch.small[rank, 4]
        rest = growth.cells[two["slot"]]
        try_one, try_two = scan_one, scan_two
        if was_wide:
            scans, are_wide = (scan_one, scan_two), (wide, rest_wide)
            leaves = one, two
            take_wide_column(
                growth, scratch, rank, threads, leaves, scans, are_wide, at, n_cells, by_sums
            )
        elif scan_two and by_sums and not by_rows:
            own, cell, count = scratch.cells[rank], np.uint64(at), np.uint64(n_cells)
            better = take_sums(own, cell, count, cells, rest, limits, (factor_one, factor_two))
            if rules.plain and not rules.extra_trees:
                missing = bins.missing[np.uint64(first_feature(bins, c))]
                try_one = scan_one and (better[0] or has_missing(cells, missing))
                try_two = better[1] or has_missing(rest[at:], missing)
        else:
            take_cells(scratch, threads, at, n_cells, by_sums, cells)
            if scan_two:
                subtract_cells(rest, at, n_cells, cells)
        gain_one, gain_two = best[0]["gain"], best[1]["gain"]
        for which in range(
            0 if try_one else 1, 2 if try_two else 1
        ):  # as `reduce_thread_best` counts them
            leaf, stats = (large, large_stats) if which else (small, small_stats)
            given = leaf, was_wide, stats, rules, scale, scratch, rank, which
            scan_column(bins, growth, c, at, n_cells, *given)
        if best[0]["gain"] != gain_one:
            factor_one = factor_to_exceed(best[0], small_stats)
        if best[1]["gain"] != gain_two:
            factor_two = factor_to_exceed(best[1], large_stats)


@inner_kernel
def first_feature(bins, c):
    """Return the first feature of a column."""
    return bins.layout.features[np.uint64(bins.layout.start[np.uint64(c)])]


@inner_kernel
def take_wide_column(growth, scratch, rank, threads, leaves, scans, are_wide, at, n_cells, by_sums):
    """Take the sums of a column for the smaller leaf, and subtract them for the larger one.

    Parameters
    ----------
    threads : (first, last + 1), range of ranks
    leaves, scans, are_wide : the smaller and the larger leaf, and whether each is scanned and wide
    at : index of the column's first histogram entry
    n_cells : number of its entries
    by_sums : whether cumulative sums are stored
    """
    one, two = leaves
    buffers = scratch.small[rank]
    gather(scratch, threads, at, n_cells, buffers[0], buffers[1])
    if scans[1]:
        subtract(growth, two, at, n_cells, buffers[0], buffers[1], buffers[2], buffers[3])
        keep_histogram(growth, two, at, n_cells, are_wide[1], by_sums, buffers[2], buffers[3])
    if scans[0]:
        keep_histogram(growth, one, at, n_cells, are_wide[0], by_sums, buffers[0], buffers[1])


@inner_kernel
def scan_column(
    bins, growth, c, at, n_cells, leaf, was_wide, stats, rules, scale, scratch, rank, which
):
    """Scan the features of a column of a leaf.

    Parameters
    ----------
    at, n_cells : as in `take_wide_column`
    was_wide : whether the sums are in the thread's buffers
    """
    g, h = scratch.small[rank, 2 * which], scratch.small[rank, 2 * which + 1]
    groups, weight = growth.groups[leaf], growth.leaf_weight[which]
    given = groups, weight, stats, rules, scale, scratch, rank, which
    if not was_wide:
        cells = growth.cells[growth.leaves[leaf]["slot"], at : at + n_cells]
        if not bins.is_categorical[first_feature(bins, c)]:
            scan_narrow_column(bins, c, cells, *given)
            return
        unpack_cells(cells, n_cells, g, h)
    search_column(bins, c, g, h, *given)


@inner_kernel
def sum_of(scratch, threads, what):
    """Return the sum of one entry of `Scratch.sums` over a range of threads."""
    total = 0
    for thread in range(threads[0], threads[1]):
        total += scratch.sums[thread, what]
    return total


@inner_kernel
def note_sums(team, bins, growth, scratch, scale, small, large):
    """Store the sums of both children, which are known after the histogram of the small one."""
    one = growth.leaves[small]
    by_rows = shares_rows(team, one, bins, len(growth.columns))
    threads = (0, team.size) if by_rows else (0, 1)
    one["spread"] = sum_of(scratch, threads, SPREAD)
    if large >= 0:
        two = growth.leaves[large]
        two["spread"] -= one["spread"]
        two["wide"] = is_wide(two, two["spread"], two["h"], scale)
        if not is_wide(one, one["spread"], one["h"], scale):
            growth.state[PLANES] -= 1  # release its plane, the one allocated last
    else:
        one["g"] = sum_of(scratch, threads, TOTAL_G)
        one["h"] = sum_of(scratch, threads, TOTAL_H)
        growth.nodes[0]["h"] = one["h"] * scale.h
    one["wide"] = is_wide(one, one["spread"], one["h"], scale)


@inner_kernel
def is_wide(leaf, spread, h, scale):
    """Return whether packed histogram entries of a leaf with these sums could overflow."""
    if scale.room:
        return leaf["end"] - leaf["start"] > scale.room
    return spread > MAX_G or h > MAX_H


@inner_kernel
def reduce_thread_best(team, growth, scratch, leaf, which):
    """Store the best of all threads' splits of a leaf."""
    best = 0
    for rank in range(1, team.size):
        split = scratch.best[rank, which]
        if is_better_split(split["gain"], split["feature"], scratch.best[best, which]):
            best = rank
    copy_best(growth.best[leaf], scratch.best[best, which])
    if growth.best[leaf]["feature"] == NO_FEATURE:
        growth.best[leaf]["gain"] = 0.0
    if growth.best[leaf]["is_categorical"]:
        for b in range(MAX_BINS):
            growth.left_bins[leaf, b] = scratch.left_bins[best, which, b]


@inner_kernel
def raise_min_useful_gain(growth, rules):
    """Raise the gain that a split of a new leaf must exceed.

    If n splits remain, only the n leaves with the largest gains can still be split. A new leaf must
    exceed the lowest of these gains.
    """
    n_left = rules.num_leaves - growth.state[LEAVES]
    min_useful_gain = double_of_bits(growth.state[MIN_USEFUL_GAIN])
    while growth.state[LEAVES] > n_left > 0:
        n_above, n_lowest, lowest = 0, 0, np.inf
        for leaf in range(np.uint64(growth.state[LEAVES])):
            gain = growth.best[leaf]["gain"]
            if gain > min_useful_gain:
                n_above += 1
                n_lowest = n_lowest + 1 if gain == lowest else n_lowest
                lowest, n_lowest = (gain, 1) if gain < lowest else (lowest, n_lowest)
        if n_above - n_lowest < n_left:
            break
        min_useful_gain = lowest
    growth.state[MIN_USEFUL_GAIN] = bits_of_double(min_useful_gain)


@inner_kernel
def pick_next_leaf(growth, bins, full):
    """Select the leaf with the largest gain, and write which of its bins go left."""
    splits = growth.best
    at = NO_FEATURE
    top = 0.0
    for leaf in range(0 if full else growth.state[LEAVES]):
        if splits[leaf]["gain"] > top:
            top = splits[leaf]["gain"]
            at = leaf
    growth.state[NEXT] = at
    if at < 0:
        return
    node = growth.leaves[at]["node"]
    write_sides(bins, splits[at], growth.left_bins[at], growth.goes_left[node])
