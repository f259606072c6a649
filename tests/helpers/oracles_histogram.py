"""Oracles of the kernels of the histogram booster."""

import numpy as np

HALF = 1 << 32


def unpack(records):
    """Return g and h of packed gradients, with Python integers."""
    h = records % HALF
    return (records - h) // HALF, h


def histogram(bins, records, rows, n_bins):
    """Return Σg and Σh of each feature and bin, int64 (n_features, n_bins)."""
    g, h = unpack(records[rows])
    values = np.zeros((2, bins.shape[1], n_bins), np.int64)
    for f in range(bins.shape[1]):
        np.add.at(values[0, f], bins[rows, f], g)
        np.add.at(values[1, f], bins[rows, f], h)
    return values


def side(g, h, ridge):
    return g * g / (h + ridge)


def numeric_splits(column, n_bins, missing_bin):
    """Yield (bin, missing_left, which rows go left) of a column of bins."""
    missing = column == missing_bin
    values = n_bins - 1 if missing_bin >= 0 else n_bins
    for missing_left in range(2 if missing.any() else 1):
        last = values if missing.any() and not missing_left else values - 1
        for b in range(last):
            yield b, missing_left, np.where(missing, bool(missing_left), column <= b)


def best_split(bins, g, h, counts, missing, *, ridge, min_rows, min_h):
    """Return (gain, feature, bin, missing_left, left) of rows whose derivatives are given."""
    best = (0.0, -1, 0, 0, None)
    least = max(min_h, (min_rows - 0.5) * h.sum() / len(g))
    for f in range(bins.shape[1]):
        for b, missing_left, left in numeric_splits(bins[:, f], counts[f], missing[f]):
            if not least <= h[left].sum() or not least <= h[~left].sum():
                continue
            gain = side(g[left].sum(), h[left].sum(), ridge)
            gain += side(g[~left].sum(), h[~left].sum(), ridge) - side(g.sum(), h.sum(), ridge)
            if gain > best[0] * (1 + 1e-12) and gain > 1e-12:
                best = (gain, f, b, missing_left, left)
    return best


def grow(bins, g, h, counts, missing, *, num_leaves, **rules):
    """Return the splits of a leaf-wise tree, in order: (feature, bin, missing_left, rows)."""
    leaves = [np.arange(len(g))]
    results = [best_split(bins, g, h, counts, missing, **rules)]
    splits = []
    while len(leaves) < num_leaves:
        at = int(np.argmax([f[0] for f in results]))
        gain, feature, last, missing_left, left = results[at]
        if gain <= 0:
            break
        splits.append((feature, last, missing_left, len(leaves[at])))
        sides = [leaves[at][left], leaves[at][~left]]
        leaves[at] = sides[0]
        leaves.append(sides[1])
        for place, rows in ((at, sides[0]), (len(leaves) - 1, sides[1])):
            new = best_split(bins[rows], g[rows], h[rows], counts, missing, **rules)
            results[place : place + 1] = [new]
    return splits, leaves


def loss(name, a, score, y):
    """Return the loss of the derivatives, float64 (n,)."""
    if name == "TWEEDIE":
        return -y * np.exp((1 - a) * score) / (1 - a) + np.exp((2 - a) * score) / (2 - a)
    return {
        "L2": 0.5 * (score - y) ** 2,
        "POISSON": np.exp(score) - y * score,
        "GAMMA": y * np.exp(-score) + score,
        "LOGISTIC": np.log1p(np.exp(score)) - y * score,
    }[name]
