"""Oracle of the kernels that follow LightGBM."""

import math

import numpy as np

EPSILON = float(np.float32(1e-15))


def draw(seed, n, expected):
    """Return the rows that LightGBM's generator draws, ascending."""
    x, chosen = seed % 2**32, []
    if expected > 1 and expected > n / math.log2(expected):
        for i in range(n):
            x = (214013 * x + 2531011) % 2**32
            if (x // 2**16) % 2**15 / 2**15 < (expected - len(chosen)) / (n - i):
                chosen.append(i)
        return chosen
    for row in range(n - expected, n):
        x = (214013 * x + 2531011) % 2**32
        other = x % 2**31 % (row + 1)
        chosen.append(row if other in chosen else other)
    return sorted(chosen)


def edges(values, counts, room, least):
    """Return edges between distinct values, without the end of the last bin."""
    total = sum(counts)
    if len(values) <= room:
        ends, rows = [], 0
        for i in range(len(values) - 1):
            rows += counts[i]
            if rows >= least:
                ends.append(i)
                rows = 0
    else:
        ends = ends_of_many_values(counts, max(1, min(room, total // least)), total)
    results = [np.nextafter((values[i] + values[i + 1]) / 2.0, np.inf) for i in ends]
    kept = results[:1]
    for edge in results[1:]:
        kept += [edge] if edge > np.nextafter(kept[-1], np.inf) else []
    return kept


def ends_of_many_values(counts, room, total):
    """Return the last value of each bin but the last, for more values than bins."""
    big = [count >= total / room for count in counts]
    rest = total - sum(c for c, is_big in zip(counts, big, strict=True) if is_big)
    others = np.float64(room - sum(big))
    ends, rows = [], 0
    with np.errstate(divide="ignore", invalid="ignore"):
        size = rest / others
        for i in range(len(counts) - 1):
            rest -= 0 if big[i] else counts[i]
            rows += counts[i]
            if big[i] or rows >= size or (big[i + 1] and rows >= max(1.0, size / 2.0)):
                ends.append(i)
                if len(ends) >= room - 1:
                    break
                rows = 0
                if not big[i]:
                    others -= 1
                    size = rest / others
    return ends


def logistic(score, y, weight):
    """Return g and h of one row, in single precision."""
    label = 1.0 if y > 0 else -1.0
    r = -label / (1.0 + math.exp(label * score))
    return np.float32(r * weight), np.float32(abs(r) * (1.0 - abs(r)) * weight)


def softmax(scores, code, weight):
    """Return g and h of one row's classes, in single precision."""
    power = [math.exp(s - max(scores)) for s in scores]
    k = len(scores)
    p = [one / running_sum(power) for one in power]
    g = [np.float32((one - 1.0 if i == code else one) * weight) for i, one in enumerate(p)]
    h = [np.float32(k / (k - 1.0) * one * (1.0 - one) * weight) for one in p]
    return g, h


def running_sum(values):
    """Return the sum, added up from the first to the last."""
    total = 0.0
    for value in values:
        total += value
    return total


class Leaf:
    """A leaf of the oracle's tree: its rows, sums, and the histograms of its features."""

    def __init__(self, rows, g, h, value):
        self.rows, self.g, self.h, self.value = rows, g, h, value
        self.cells, self.usable, self.best = {}, set(), None


class Oracle:
    """Grows a tree of numeric features without missing values, `most_freq_bin` 0.

    Parameters
    ----------
    columns : (n_features, n_rows) bins
    counts : bins of each feature
    g, h : (n_rows,) float32
    rules : lightgbm_arrays.Rules without reg_alpha, max_delta_step and path_smooth
    """

    def __init__(self, columns, counts, g, h, rules):
        self.columns, self.counts, self.rules = columns, counts, rules
        self.g, self.h = g.astype(np.float64), h.astype(np.float64)

    def grow(self):
        """Return the splits (feature, bin, rows left, rows right) in their order, and values."""
        rows = list(range(len(self.g)))
        total_g, total_h = running_sum(self.g), running_sum(self.h)
        root = Leaf(rows, total_g, total_h, -total_g / (total_h + self.rules.reg_lambda))
        root.usable = set(range(len(self.counts)))
        self.search(root, None)
        leaves, splits = [root], []
        while len(leaves) < self.rules.num_leaves:
            k = max(
                range(len(leaves)),
                key=lambda i: (leaves[i].best[0], -leaves[i].best[1], -i),
            )
            if not leaves[k].best[0] > 0.0:
                break
            splits.append(self.split(leaves, k))
        return splits, [leaf.value for leaf in leaves]

    def split(self, leaves, k):
        """Split a leaf, and search both sides; return the split."""
        parent = leaves[k]
        _, f, b, left_g, left_h = parent.best
        left = [i for i in parent.rows if self.columns[f, i] <= b]
        right = [i for i in parent.rows if self.columns[f, i] > b]
        h = parent.h + 2 * EPSILON
        reg_lambda = self.rules.reg_lambda
        value = -(parent.g - left_g) / (h - left_h + reg_lambda)
        one = Leaf(left, left_g, left_h - EPSILON, -left_g / (left_h + reg_lambda))
        other = Leaf(right, parent.g - left_g, h - left_h - EPSILON, value)
        leaves[k], one.best, other.best = one, (-np.inf, f), (-np.inf, f)
        leaves.append(other)
        if max(len(left), len(right)) >= 2 * self.rules.min_child_samples:
            small, large = (one, other) if len(left) < len(right) else (other, one)
            small.usable, large.usable = set(parent.usable), set(parent.usable)
            self.search(small, None)
            self.search(large, (parent, small))
        return f, b, len(left), len(right)

    def search(self, leaf, relatives):
        """Find a leaf's best split; the larger sibling's histogram comes from subtraction."""
        leaf.best = (-np.inf, 0)
        for f in sorted(leaf.usable):
            if relatives is None:
                cells = np.zeros((self.counts[f], 2))
                for i in leaf.rows:
                    cells[self.columns[f, i]] += self.g[i], self.h[i]
            else:
                cells = relatives[0].cells[f] - relatives[1].cells[f]
            leaf.cells[f] = cells
            result, usable = self.best_of(leaf, f, cells)
            if not usable:
                leaf.usable.discard(f)
            if result[0] > leaf.best[0]:
                leaf.best = result

    def best_of(self, leaf, f, cells):
        """Return the best split of a leaf by a feature, and whether any has a gain."""
        rules, n = self.rules, len(leaf.rows)
        h = leaf.h + 2 * EPSILON
        shift = leaf.g * leaf.g / (h + rules.reg_lambda) + rules.min_split_gain
        best, usable, top = (-np.inf, f), False, -np.inf
        right_g, right_h, right_n = 0.0, EPSILON, 0
        for b in range(len(cells) - 1, 0, -1):
            right_g += cells[b, 0]
            right_h += cells[b, 1]
            right_n += int(cells[b, 1] * (n / h) + 0.5)
            left_g, left_h, left_n = leaf.g - right_g, h - right_h, n - right_n
            if (
                min(left_n, right_n) < rules.min_child_samples
                or min(left_h, right_h) < rules.min_child_weight
            ):
                continue
            gain = left_g * left_g / (left_h + rules.reg_lambda)
            gain += right_g * right_g / (right_h + rules.reg_lambda)
            usable |= gain > shift
            if gain > shift and gain > top:
                best, top = (gain - shift, f, b - 1, left_g, left_h), gain
        return best, usable
