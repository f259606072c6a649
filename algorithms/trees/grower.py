"""Growth of a tree: allocates the kernels' arrays, extends them, and uses threads for big nodes."""

from dataclasses import dataclass

import numpy as np

from algorithms.runtime.interrupt_flag import interrupt_flag
from algorithms.trees import categorical_growth
from algorithms.trees.kernels import tree_arrays
from algorithms.trees.kernels.batch import Batch
from algorithms.trees.kernels.category_order import order_lists
from algorithms.trees.kernels.grow import grow
from algorithms.trees.kernels.partition import partition_features
from algorithms.trees.kernels.presort import UNUSED, pick_rows
from algorithms.trees.kernels.rank import BUCKETS, FEW, PASSES
from algorithms.trees.kernels.search import search_features
from algorithms.trees.kernels.unsorted_search import CELLS, SPARE
from algorithms.trees.tree import Tree

FIRST_ROOM = 2047  # initial capacity in nodes, or half the rows: untouched pages take no memory
FIRST_BYTES = 1 << 27  # limit of the initial values, which are large with many classes
BIG = 1 << 17  # minimum number of a node's list entries for which several threads are used
MAX_SUBTREE_ROWS = tree_arrays.MAX_SUBTREE_ROWS
CODE_BITS = 32
TWO = 2
NO_FLOATS = np.empty(0)
NO_INTEGERS = np.empty(0, np.int64)
ALONE = Batch(
    seeds=NO_INTEGERS,
    columns=np.empty((0, 0), np.int64),
    drawn=np.empty((0, 0), np.int32),
    codes=NO_INTEGERS,
    y=NO_FLOATS,
    counts=NO_INTEGERS,
    place=np.empty(0, np.uint32),
    sizes=np.empty((0, 2), np.int64),
)


@dataclass(frozen=True)
class Target:
    """Training target of a tree, with row weights; shared by all trees on the same data.

    ``codes`` are class codes 0 … n_classes − 1, or None for regression with its ``y``. Integer
    weights in classification are summed as integers, so that their sums are exact.
    """

    n_classes: int  # 0: regression
    codes: np.ndarray | None = None  # integers (n_rows,)
    y: np.ndarray | None = None  # float64 (n_rows,)
    weight: np.ndarray | None = None  # float64 (n_rows,); None: every row weighs 1

    def pick(self, used):
        """Return new arrays mark, target and weight of `tree_arrays.Rows`, for used rows or all."""
        weight = None if self.weight is None else rows_of(self.weight, used)
        if self.codes is None:
            unit = weight is None or bool((weight == 1.0).all())
            return NO_INTEGERS, rows_of(self.y, used), NO_FLOATS if unit else weight
        codes = rows_of(self.codes, used)
        two = self.n_classes == TWO  # the code is then stored as a 0/1 target
        if weight is None:
            return np.add(codes, 1 << CODE_BITS, dtype=np.int64), NO_FLOATS, NO_FLOATS
        if is_integer(weight):
            counts = weight.astype(np.int64)
            return (counts << CODE_BITS) + (counts * codes if two else codes), NO_FLOATS, NO_FLOATS
        return codes.astype(np.int64, copy=False), codes.astype(np.float64), weight


def rows_of(array, used):
    """Return a new array of the selected entries, or of all if ``used`` is None."""
    return array.copy() if used is None else array[used]


def is_integer(weight):
    """Return whether weights are integers ≥ 0 whose sums fit the kernels' 32 bits."""
    return bool((weight >= 0).all() and weight.sum() < 1 << 31 and (weight == weight.round()).all())


def draw_rows(table, target, columns, workers, *, keep, searched=None):
    """Return the `tree_arrays.Rows` of a tree: all rows whose weight is not zero.

    Parameters
    ----------
    columns : (n_features,) int64, the table's column of each feature
    keep : whether the table must not change; otherwise the tree may take over its lists
    searched : maximum number of features searched in a node; by default all
    """
    n_rows = table.values.shape[1]
    used = None if target.weight is None else np.flatnonzero(target.weight)
    if used is not None and len(used) == n_rows:
        used = None
    source = np.arange(n_rows, dtype=np.uint32) if used is None else used.astype(np.uint32)
    mark, y, weight = target.pick(used)
    if len(table.ranks):
        wanted = len(columns) if searched is None else min(searched, len(columns))
        lists = np.empty((wanted, len(source)), np.uint32)
        return tree_arrays.Rows(lists, columns, source, mark, y, weight)
    if used is None and not keep:
        return tree_arrays.Rows(table.order, columns, source, mark, y, weight)
    lists = np.empty((len(columns), len(source)), np.uint32)
    place = np.full(n_rows, UNUSED, np.uint32)
    place[source] = np.arange(len(source), dtype=np.uint32)

    def pick(first, last):
        pick_rows(table.order, table.kind, columns, place, lists, first, last)

    workers.share_steps(pick, len(columns), 1)
    return tree_arrays.Rows(lists, columns, source, mark, y, weight)


def grow_tree(table, rows, rules, seed, workers, counts=None):
    """Return the grown `Tree`.

    Parameters
    ----------
    rows : tree_arrays.Rows, updated
    seed : state of the random stream, an integer below 2³¹
    workers : Workers, which share the work on big nodes
    counts : (n_features,) int64, optional
        Number of codes of each feature, 0 for a numeric feature; requires sorted columns.
    """
    m = len(rows.source)
    big = BIG // len(rows.columns) + 1 if workers.threads > 1 else 0
    rules = rules._replace(big=big, ordered=int(counts is not None))
    growth = new_growth(m, rules, len(rows.columns), seed)
    ranked = len(table.ranks) > 0
    scratch = new_scratch(m, rules, len(rows.columns), ranked=ranked)
    categories = None if counts is None else categorical_growth.new_categories(counts, rules)
    while (action := grow(table, rows, rules, growth, scratch, ALONE)) != tree_arrays.DONE:
        if action == tree_arrays.MORE_ROOM:
            extend_growth(growth, 2 * len(growth.nodes))
        elif action == tree_arrays.ORDER:
            order_lists(table, rows, rules, growth, scratch.entries, categories)
        elif action == tree_arrays.SEARCH:
            search_in_threads(table, rows, rules, growth, workers)
        elif action == tree_arrays.INTERRUPTED:
            raise KeyboardInterrupt
        else:
            partition_in_threads(table, rows, growth, scratch, workers)
    count, depth = growth.state[[tree_arrays.COUNT, tree_arrays.DEPTH]].tolist()
    extend_growth(growth, count)
    return Tree(
        growth.nodes,
        growth.values,
        n_features=len(rows.columns),
        is_classifier=rules.n_classes > 0,
        max_depth=depth,
        sets=None
        if counts is None
        else categorical_growth.find_sets(table, rows, growth.nodes, counts),
    )


def search_in_threads(table, rows, rules, growth, workers):
    """Search the features of the next node in several threads."""
    task = growth.todo[growth.state[tree_arrays.WAITING] - 1]
    bounds = tuple(task[name].item() for name in ("start", "end", "lower", "upper"))

    def search(first, last):
        ranked = len(table.ranks) > 0
        scratch = new_scratch(bounds[1] - bounds[0] if ranked else 0, rules, ranked=ranked)
        search_features(table, rows, rules, growth, scratch, bounds, first, last)

    workers.share(search, int(growth.state[tree_arrays.VISITS]))


def partition_in_threads(table, rows, growth, scratch, workers):
    """Partition the lists of the current node in several threads.

    ``scratch`` is that of the growing kernel, which is not running; the first thread uses it.
    """
    split = growth.splits[growth.state[tree_arrays.SLOT]]
    start, end, n_left = (split[name].item() for name in ("start", "end", "n_left"))

    def part(first, last):
        spare = np.empty(end - start + 1, np.uint32) if first else scratch.entries
        partition_features(
            table, rows, start, start + n_left, end, growth.place, spare, first, last
        )

    workers.share(part, len(rows.columns))


def max_nodes(m, rules):
    """Return the maximum number of nodes of a tree on m rows."""
    most = min(2 * m - 1, 2 ** min(rules.max_depth + 1, 40) - 1)
    return min(most, 2 * rules.max_leaf_nodes - 1) if rules.max_leaf_nodes else most


def new_growth(m, rules, n_features, seed, capacity=None):
    """Return the arrays of a tree on m rows, with its root as the first task.

    ``capacity`` is the number of nodes of the arrays; by default as many as most trees need.
    """
    leaves = rules.max_leaf_nodes
    if capacity is None:
        first = max(FIRST_ROOM, min(m // 2, FIRST_BYTES // (8 * max(rules.n_classes, 1))))
        capacity = max_nodes(m, rules) if leaves else min(max_nodes(m, rules), first)
    totals = 1 + rules.n_classes if rules.n_classes else 3
    growth = tree_arrays.Growth(
        nodes=np.empty(capacity, tree_arrays.NODE),
        values=np.empty((capacity, max(rules.n_classes, 1))),
        todo=np.empty(min(m, rules.max_depth) + 2, tree_arrays.TASK),
        splits=np.empty(capacity if leaves else 1, tree_arrays.SPLIT),
        heap=np.empty(capacity if leaves else 0, np.int64),
        state=np.zeros(tree_arrays.STATES, np.int64),
        totals=np.empty(totals),
        features=np.arange(n_features),
        constants=np.empty(n_features, np.int64),
        visit=np.empty(n_features, np.int64),
        proxy=np.empty(n_features),
        position=np.empty(n_features, np.int64),
        to_left=np.empty(n_features, np.int64),
        place=np.empty(m, np.uint32),
        flag=interrupt_flag(),
    )
    growth.state[tree_arrays.RANDOM] = seed
    growth.state[tree_arrays.BUDGET] = leaves - 1
    growth.state[tree_arrays.WAITING] = 1
    root = {"start": 0, "end": m, "parent": -1, "lower": -np.inf, "upper": np.inf}
    growth.todo[0] = tuple(root.get(name, 0) for name in tree_arrays.TASK.names)
    return growth


def new_scratch(m, rules, n_features=0, *, ranked=False):
    """Return scratch space for nodes of up to m rows, for a ranked or sorted table.

    ``n_features`` is the tree's number of features; 0: small subtrees are grown like others.
    """
    totals = 1 + rules.n_classes if rules.n_classes else 3
    wide = np.empty(m + 1, np.int64)
    n_features = 0 if ranked else n_features
    return tree_arrays.Scratch(
        block=np.empty((3, tree_arrays.BLOCK)),
        packed=np.empty(tree_arrays.BLOCK, np.int64),
        classes=np.empty((3, rules.n_classes)),
        sums=np.empty((3, totals)),
        # Shares memory with `wide`; they are never used at the same time.
        entries=wide.view(np.uint32)[: m + 1],
        wide=wide,
        items=np.empty((2, max(m, FEW) if ranked else 0), np.uint64),
        counts=np.empty((PASSES, BUCKETS if ranked else 0), np.uint32),
        few=np.empty(FEW if ranked else 0, np.uint32),
        cells=np.empty(CELLS + SPARE if ranked else 0, np.int64),
        open_cells=np.empty(CELLS if ranked else 0, np.uint8),
        small=tree_arrays.SmallSubtree(
            row_at=np.empty((MAX_SUBTREE_ROWS, n_features), np.uint8),
            bit_of=np.empty((MAX_SUBTREE_ROWS, n_features), np.uint32),
            starts=np.empty(n_features, np.uint32),
            positions=np.empty((MAX_SUBTREE_ROWS + 2, n_features), np.uint32),
            weight=np.empty(MAX_SUBTREE_ROWS),
            y=np.empty(MAX_SUBTREE_ROWS),
            weighted=np.empty(MAX_SUBTREE_ROWS),
            code=np.empty(MAX_SUBTREE_ROWS, np.int64),
            rest=np.empty(n_features, np.uint32),
            cut=np.empty(n_features, np.uint32),
            n_left=np.empty(n_features),
            s_left=np.empty(n_features),
        ),
    )


def extend_growth(growth, n_nodes):
    """Extend the growth arrays to so many nodes, in place, so that a tree is not held twice."""
    growth.nodes.resize(n_nodes, refcheck=False)
    growth.values.resize((n_nodes, growth.values.shape[1]), refcheck=False)
