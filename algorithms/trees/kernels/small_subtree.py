"""Growth of a whole subtree of few rows by one call, on sorted lists.

Most nodes of a fully grown tree have few rows. Their time goes to per-node and per-feature
overhead, such as mispredicted ends of short loops. So the sorted lists of a subtree of at most
`MAX_SUBTREE_ROWS` rows are not partitioned: a node is a bit set of positions in each list. Features
are scanned side by side, one row of each at a time.

The nodes are the same bit for bit as those of `grow`: features are drawn from the same stream, and
sums whose order matters are added in the same order.
"""

import numpy as np

from algorithms.runtime.intrinsics import first_bit
from algorithms.runtime.jit import inner_kernel, linked_kernel
from algorithms.trees.kernels.criteria import proxy_of_pair
from algorithms.trees.kernels.feature_sampling import (
    draw_feature,
    end_draws,
    may_draw,
    place_feature,
    start_draws,
)
from algorithms.trees.kernels.node import (
    LEFT,
    RIGHT,
    push_task,
    stays_leaf,
    write_node,
    write_sides,
    write_split,
    write_value,
)
from algorithms.trees.kernels.rank import value_of
from algorithms.trees.kernels.scan_classes import class_of
from algorithms.trees.kernels.search import is_perfect
from algorithms.trees.kernels.tree_arrays import (
    COUNT,
    DISTINCT,
    EXACT,
    GINI,
    ROW,
    SQUARED_ERROR,
    VISITS,
    WAITING,
)

SIGN = np.uint32(31)
PAIR = 2
EXACT_SQUARES = 2.0**26  # integer weights up to this sum have exact sums of squares
ZERO = np.uint64(0)
ONE = np.uint64(1)


@inner_kernel
def allows_small_subtrees(table, rows, rules, small):
    """Return whether this kernel supports the rules and columns, and has memory.

    Parameters
    ----------
    table : Table
    rows : Rows
    rules : Rules
    small : SmallSubtree
    """
    if (
        len(small.starts) == 0
        or rules.max_leaf_nodes > 0
        or rules.by_ratio != 0
        or rules.ordered != 0
        or rules.filtered == 0
        or len(rules.monotonic) > 0
        or rules.min_samples_leaf > 1
        or rules.min_weight_leaf > 0.0
    ):
        return False
    if rules.criterion != SQUARED_ERROR and (
        rules.criterion != GINI or len(rows.weight) > 0 or rules.total_weight > EXACT_SQUARES
    ):
        return False
    for f in range(len(rows.columns)):
        c = rows.columns[f]
        if table.missing[c] > 0 or (table.kind[c] != EXACT and table.kind[c] != DISTINCT):
            return False
    return True


@linked_kernel
def grow_small_subtree(table, rows, rules, growth, scratch):
    """Make all nodes of the next task's subtree; return False if the general kernel must do it.

    Parameters
    ----------
    table : Table
    rows : Rows
    rules : Rules
    growth : Growth, whose ``nodes`` have room for the subtree; written
    scratch : Scratch
    """
    state = growth.state
    base = state[WAITING] - 1
    first, end = growth.todo[base]["start"], growth.todo[base]["end"]
    if not start_subtree(table, rows, scratch.small, first, end):
        return False
    for i in range(end - first):
        if rules.criterion == SQUARED_ERROR:
            y = rows.target[first + i]
            w = rows.weight[first + i] if len(rows.weight) else 1.0
            scratch.small.y[i] = y
            scratch.small.weighted[i] = w * y
        else:
            k, w = class_of(rows, first + i, rules.n_classes)
            scratch.small.code[i] = k
        scratch.small.weight[i] = w
    while state[WAITING] > base:
        make_small_node(table, rows, rules, growth, scratch, first, base)
    return True


@inner_kernel
def start_subtree(table, rows, small, first, end):
    """Write the positions of a subtree's rows in all lists.

    Return False if two different values are at most `table.close` apart.
    """
    n_rows = np.uint64(end - first)
    start = np.uint64(first)
    for f in range(np.uint64(len(rows.columns))):
        c = rows.columns[f]
        is_distinct = table.kind[c] == DISTINCT
        starts = ZERO
        before = np.uint32(0)
        for i in range(n_rows):
            entry = rows.lists[f, start + i]
            is_apart = (entry >> SIGN) != 0 or (is_distinct and (before >> SIGN) != 0)
            if is_distinct and not is_apart and i > ZERO:
                here = value_of(table, rows, c, entry & ROW)
                last = value_of(table, rows, c, before & ROW)
                is_apart = here > last + table.close
                if not is_apart and here != last:
                    return False
            before = entry
            starts |= np.uint64(is_apart) << i
            row = np.uint64(entry & ROW) - start
            small.row_at[i, f] = np.uint8(row)
            small.bit_of[row, f] = np.uint32(ONE << i)
        small.starts[f] = np.uint32(starts)
        small.positions[0, f] = np.uint32((ONE << n_rows) - ONE)
    return True


@inner_kernel
def make_small_node(table, rows, rules, growth, scratch, first, base):
    """Make the next node of a subtree, and a task of each side if it is split.

    Parameters
    ----------
    first : the subtree's first row
    base : index of the subtree's root in ``growth.todo``
    """
    state, small = growth.state, scratch.small
    state[WAITING] -= 1
    task = growth.todo[state[WAITING]]
    start, end = task["start"], task["end"]
    slot = np.uint64(state[WAITING] - base)
    feature = np.uint64(growth.nodes[task["parent"]]["feature"])
    sum_positions(rules, small, small.positions[slot, feature], feature, growth.totals)
    h, weight = task["impurity"], growth.totals[0]
    number = state[COUNT]
    write_node(growth, task, number, weight)
    write_value(rules, growth, number, task["lower"], task["upper"])
    if stays_leaf(rules, task["depth"], end - start, weight, h):
        return
    n_constants = draw_small_node(rules, growth, small, slot, task["n_constants"])
    best, cut = search_small_node(rows, rules, growth, scratch, slot, end - start)
    if best < 0:
        return
    feature = np.uint64(growth.visit[best])
    split = growth.splits[0]
    split["node"] = number
    split["depth"] = task["depth"]
    split["n_constants"] = n_constants
    split["lower"] = task["lower"]
    split["upper"] = task["upper"]
    split["feature"] = feature
    here = np.uint64(small.positions[slot, feature])
    left = here & (np.uint64(cut) - ONE)
    n_left, below = sum_positions(rules, small, left, feature, scratch.sums[LEFT])
    sum_positions(rules, small, here & ~left, feature, scratch.sums[RIGHT])
    write_sides(rules, growth, scratch, split, h)
    if split["is_leaf"]:
        return
    c = rows.columns[feature]
    above = np.int64(small.row_at[np.uint64(first_bit(here & ~left)), feature])
    low = value_of(table, rows, c, first + below)
    high = value_of(table, rows, c, first + above)
    split["threshold"] = np.float64(low) / 2.0 + np.float64(high) / 2.0
    split["missing_left"] = n_left > end - start - n_left
    write_split(growth, split)
    depth, n_right = task["depth"] + 1, end - start - n_left
    if stays_leaf(
        rules, depth, n_left, split["weight_left"], split["impurity_left"]
    ) and stays_leaf(rules, depth, n_right, split["weight_right"], split["impurity_right"]):
        small.positions[slot + ONE, feature] = np.uint32(left)
        small.positions[slot, feature] = np.uint32(here & ~left)
    else:
        split_positions(small, slot, left, feature)
    push_task(rules, growth, split, start + n_left, end, False, split["impurity_right"])
    push_task(rules, growth, split, start, start + n_left, True, split["impurity_left"])


@inner_kernel
def sum_positions(rules, small, positions, feature, totals):
    """Write the totals of the rows at some positions of a list.

    Parameters
    ----------
    rules : Rules
    small : SmallSubtree
    positions : uint32 or uint64, bits of the positions
    feature : uint64, feature of the list
    totals : float64, written; as in `Growth`

    Returns
    -------
    int : their number
    int : the last of them
    """
    positions = np.uint64(positions)
    count = last = np.int64(0)
    if rules.criterion == SQUARED_ERROR:
        n = s = q = 0.0
        while positions != ZERO:
            row = small.row_at[np.uint64(first_bit(positions)), feature]
            positions &= positions - ONE
            n += small.weight[row]
            s += small.weighted[row]
            q += small.weighted[row] * small.y[row]
            count += 1
            last = np.int64(row)
        totals[0], totals[1], totals[2] = n, s, q
        return count, last
    totals[:] = 0.0
    while positions != ZERO:
        row = small.row_at[np.uint64(first_bit(positions)), feature]
        positions &= positions - ONE
        totals[0] += small.weight[row]
        totals[1 + small.code[row]] += small.weight[row]
        count += 1
        last = np.int64(row)
    return count, last


@inner_kernel
def draw_small_node(rules, growth, small, slot, n_known):
    """Do the same as `draw_features` for a node of a small subtree.

    Parameters
    ----------
    rules : Rules
    growth : Growth, written
    small : SmallSubtree
    slot : uint64, row of the node in ``small.positions``
    n_known : number of features known to be constant; they come first in ``growth.features``
    """
    features = growth.features
    draws = start_draws(features, n_known)
    n_search = 0
    while may_draw(rules, draws):
        at, draws = draw_feature(growth.state, features, draws)
        if at < 0:
            continue
        feature = features[at]
        here = np.uint64(small.positions[slot, feature])
        lowest = here & (~here + ONE)
        later = np.uint64(small.starts[feature]) & ~(lowest | (lowest - ONE))
        constant = later == ZERO or here < (later & (~later + ONE))
        draws = place_feature(features, draws, at, constant)
        if not constant:
            growth.visit[n_search] = feature
            n_search += 1
    growth.state[VISITS] = n_search
    return end_draws(growth, draws)


@inner_kernel
def search_small_node(rows, rules, growth, scratch, slot, n_rows):
    """Return the index in ``visit`` of the best feature or -1, and the bit after its best split."""
    if rules.criterion == SQUARED_ERROR:
        return search_regression(rows, rules, growth, scratch.small, slot, n_rows)
    return search_classes(rows, rules, growth, scratch, slot, n_rows)


@inner_kernel
def search_regression(rows, rules, growth, small, slot, n_rows):
    """Do the same as `search_small_node` for regression."""
    n_visits = np.uint64(growth.state[VISITS])
    best = np.int64(-1)
    proxy = -np.inf
    is_pair = n_rows == PAIR  # the first feature that can be split is taken
    if not is_pair:
        scan_side_by_side(growth, small, slot, n_rows, ZERO, n_visits)
    for v in range(n_visits):
        if is_pair:
            scan_side_by_side(growth, small, slot, n_rows, v, v + ONE)
        if growth.proxy[v] > proxy:
            proxy = growth.proxy[v]
            best = np.int64(v)
        if is_perfect(rules, rows, proxy, n_rows):
            break
    return best, small.cut[best] if best >= 0 else np.uint32(0)


@inner_kernel
def search_classes(rows, rules, growth, scratch, slot, n_rows):
    """Do the same as `search_small_node` for classes."""
    small, totals = scratch.small, growth.totals
    best = np.int64(-1)
    proxy = -np.inf
    cut = np.uint32(0)
    squares = 0.0
    for k in range(rules.n_classes):
        squares += totals[1 + k] * totals[1 + k]
    for v in range(np.uint64(growth.state[VISITS])):
        feature = np.uint64(growth.visit[v])
        here = np.uint64(small.positions[slot, feature])
        left = scratch.classes[0]
        score, place = scan_squares(small, here, feature, left, totals, squares, proxy)
        if score > proxy:
            proxy = score
            best = np.int64(v)
            cut = np.uint32(place)
        if is_perfect(rules, rows, proxy, n_rows):
            break
    return best, cut


@inner_kernel
def scan_side_by_side(growth, small, slot, n_rows, first, last):
    """Write the best proxy of the features visit[first … last − 1], and the bit after its split."""
    n, s = growth.totals[0], growth.totals[1]
    rest, cut = small.rest, small.cut
    n_left, s_left, best = small.n_left, small.s_left, growth.proxy
    for v in range(first, last):
        rest[v] = small.positions[slot, np.uint64(growth.visit[v])]
        n_left[v] = 0.0
        s_left[v] = 0.0
        best[v] = -np.inf
    for _ in range(n_rows - 1):
        for v in range(first, last):
            feature = np.uint64(growth.visit[v])
            here = np.uint64(rest[v])
            row = small.row_at[np.uint64(first_bit(here)), feature]
            later = here & (here - ONE)
            after = later & (~later + ONE)
            between = (after << ONE) - ((here ^ later) << ONE)
            is_apart = (np.uint64(small.starts[feature]) & between) != ZERO
            n_left[v] += small.weight[row]
            s_left[v] += small.weighted[row]
            proxy = proxy_of_pair(SQUARED_ERROR, s_left[v], n_left[v], s, n)
            is_better = is_apart & (proxy > best[v])
            best[v] = proxy if is_better else best[v]
            cut[v] = np.uint32(after) if is_better else cut[v]
            rest[v] = np.uint32(later)


@inner_kernel
def scan_squares(small, here, feature, left, totals, squares, best):
    """Return the best proxy of a feature above ``best``, and the bit of the position after it.

    The sums of squares are integers, so they are exact in any order.

    Parameters
    ----------
    here : bits of the node's positions
    left : float64 (n_classes,), scratch
    squares : sum of the squares of the classes' weights
    """
    left[:] = 0.0
    n = totals[0]
    n_left = left_squares = 0.0
    right_squares = squares
    starts = np.uint64(small.starts[feature])
    cut = ZERO
    later = here & (here - ONE)
    while later != ZERO:
        row = small.row_at[np.uint64(first_bit(here)), feature]
        after = later & (~later + ONE)
        k, w = small.code[row], small.weight[row]
        own = left[k]
        left_squares += w * (2.0 * own + w)
        right_squares -= w * (2.0 * (totals[1 + k] - own) - w)
        left[k] = own + w
        n_left += w
        n_right = n - n_left
        if starts & ((after << ONE) - ((here ^ later) << ONE)) != ZERO:
            h_left = 1.0 - left_squares / (n_left * n_left)
            h_right = 1.0 - right_squares / (n_right * n_right)
            proxy = -n_right * h_right - n_left * h_left
            if proxy > best:
                best = proxy
                cut = after
        here = later
        later = here & (here - ONE)
    return best, cut


@inner_kernel
def split_positions(small, slot, left, feature):
    """Write the positions of both sides of a split in all lists.

    Parameters
    ----------
    slot : of the node, and then of its right side; the next one is for its left side
    left : positions of the left side in the list of ``feature``
    """
    n_features = np.uint64(len(small.starts))
    here, other = small.positions[slot], small.positions[slot + ONE]
    for f in range(n_features):
        other[f] = 0
    while left != ZERO:
        bits = small.bit_of[np.uint64(small.row_at[np.uint64(first_bit(left)), feature])]
        left &= left - ONE
        for f in range(n_features):
            other[f] |= bits[f]
    for f in range(n_features):
        here[f] &= ~other[f]
