"""Oracle of the kernels that follow scikit-learn's HistGradientBoosting."""

import heapq
import math

import numpy as np

MIN_H, TINY, SUPPORT = 1e-3, 1e-15, 10.0


def logistic(score, y, weight):
    """Return g and h of one row, in single precision."""
    if score <= -37.0:
        h = math.exp(score)
        return np.float32((h - y) * weight), np.float32(h * weight)
    e = math.exp(-score)
    g, h = ((1.0 - y) - y * e) / (1.0 + e), e / (1.0 + e) ** 2
    return np.float32(g * weight), np.float32(h * weight)


def softmax(scores, code, weight):
    """Return g and h of one row's classes, in single precision."""
    power, total = [math.exp(s - max(scores)) for s in scores], 0.0
    for one in power:
        total += one
    p = [one / total for one in power]
    g = [np.float32((one - (i == code)) * weight) for i, one in enumerate(p)]
    return g, [np.float32(one * (1.0 - one) * weight) for one in p]


class Node:
    """A leaf of the oracle's tree, ordered by the gain of its best split, largest first."""

    def __init__(self, rows, depth, g, h, value):
        self.rows, self.depth, self.g, self.h, self.value = rows, depth, g, h, value
        self.cells, self.best = None, None

    def __lt__(self, other):
        return self.best[0] > other.best[0]


class Oracle:
    """Grows a tree.

    Parameters
    ----------
    table : hgb_arrays.Table, read as Python reads it
    missing : the number of the bin for missing values
    g, h : (n_rows,) float32
    rules : hgb_arrays.Rules
    """

    def __init__(self, table, missing, g, h, rules):
        self.table, self.missing, self.rules = table, missing, rules
        self.g, self.h = g.astype(np.float64), h.astype(np.float64)

    def grow(self, total_g, total_h):
        """Return the splits (feature, members of the left side, rows of both), and leaf values."""
        root = Node(list(range(len(self.g))), 0, total_g, total_h, 0.0)
        heap, leaves, splits = [], [], []
        root.cells = self.cells_of(root.rows)
        self.file(root, heap, leaves)
        while heap:
            node = heapq.heappop(heap)
            sides = self.split(node, splits)
            count = len(leaves) + len(heap) + 2
            if count == self.rules.num_leaves:
                leaves += [*sides, *heap]
                break
            for side in sides:
                if node.depth + 1 == self.rules.max_depth:
                    leaves.append(side)
                else:
                    self.file(side, heap, leaves)
        return splits, sorted(leaf.value for leaf in leaves)

    def file(self, node, heap, leaves):
        """Push a node onto the heap, or onto the leaves if it may not be split."""
        if len(node.rows) >= 2 * self.rules.min_child_samples and node.h >= MIN_H * (
            node.depth == 0
        ):
            node.best = self.best_of(node)
            if node.best[0] > 0.0:
                heapq.heappush(heap, node)
                return
        leaves.append(node)

    def cells_of(self, rows):
        """Return Σg, Σh and the number of rows by feature and bin."""
        cells = np.zeros((len(self.table.counts), self.missing + 1, 3))
        for f, column in enumerate(self.table.columns):
            for i in rows:
                cells[f, column[i]] += self.g[i], self.h[i], 1.0
        return cells

    def split(self, node, splits):
        """Return both sides of a node's best split."""
        _, f, members, g, h = node.best
        column = self.table.columns[f]
        rows = [[i for i in node.rows if (column[i] in members) == s] for s in (True, False)]
        splits.append((f, len(rows[0]), len(rows[1])))
        sums = (g, h), (node.g - g, node.h - h)
        left, right = (
            Node(own, node.depth + 1, *own_sums, self.value(*own_sums))
            for own, own_sums in zip(rows, sums, strict=True)
        )
        small, large = (left, right) if len(left.rows) < len(right.rows) else (right, left)
        small.cells = self.cells_of(small.rows)
        large.cells = node.cells - small.cells
        return left, right

    def value(self, g, h):
        """Return the value of a side."""
        return -g / (h + self.rules.reg_lambda + TINY)

    def best_of(self, node):
        """Return the best split: gain, feature, bins that go left, and their g and h."""
        best = (-1.0, 0, set(), 0.0, 0.0)
        for f in range(len(self.table.counts)):
            for members, side, is_left in self.candidates(node, f):
                other = (node.g - side[0], node.h - side[1], len(node.rows) - side[2])
                left, right = (side, other) if is_left else (other, side)
                gain = node.g * node.value - left[0] * self.value(*left[:2])
                gain -= right[0] * self.value(*right[:2])
                least = min(side[2], other[2]) >= self.rules.min_child_samples
                if least and min(side[1], other[1]) >= MIN_H and gain > max(best[0], 0.0):
                    best = (gain, f, members, *left[:2])
        return best

    def candidates(self, node, f):
        """Yield bins that go left, the sums of the accumulated side, and whether it is the left."""
        cells, count = node.cells[f], int(self.table.counts[f])
        gaps = int(self.table.has_missing[f])
        if self.table.is_categorical[f]:
            yield from self.sets(node, cells, count, gaps)
            return
        for down in range(1 + gaps):
            sums = np.zeros(3)
            for i in range(count - 1 + (gaps and not down)):
                b = count - 1 - i if down else i
                sums = sums + cells[b]
                members = set(range(b if down else b + 1))
                yield members | ({self.missing} if down else set()), sums, not down

    def sets(self, node, cells, count, gaps):
        """Yield the candidates of a categorical feature."""
        per_h = len(node.rows) / node.h
        known = [*range(count), self.missing][: count + gaps]
        used = [b for b in known if cells[b, 1] * per_h >= SUPPORT]
        used.reverse()  # of equal scores the last comes first
        used.sort(key=lambda b: cells[b, 0] / (cells[b, 1] + SUPPORT))
        middle = (len(used) + 1) // 2
        for order, most in ((used, middle), (used[::-1], middle - 1)):
            sums = np.zeros(3)
            for i in range(most if len(used) > 1 else 0):
                sums = sums + cells[order[i]]
                yield set(order[: i + 1]), sums, True
