"""Oracles of the kernels of the Newton booster."""

import numpy as np


def shrink(g, reg_alpha):
    return np.sign(g) * max(abs(g) - reg_alpha, 0.0)


def weigh(g, h, rules, lower=-np.inf, upper=np.inf):
    """Return the value of a leaf."""
    value = -shrink(g, rules.reg_alpha) / (h + rules.reg_lambda)
    if rules.max_delta_step > 0:
        value = np.clip(value, -rules.max_delta_step, rules.max_delta_step)
    return np.clip(value, lower, upper)


def side(g, h, value, rules):
    """Return twice the decrease of the objective by a leaf with a value."""
    return -2 * (g * value + rules.reg_alpha * abs(value)) - (h + rules.reg_lambda) * value**2


def splits(x, g, h, rules, sign=0, bounds=(-np.inf, np.inf)):
    """Yield (score, last value on the left, first on the right, missing left) of all splits."""
    missing = np.isnan(x)
    values = np.unique(x[~missing])
    total_g, total_h = g.sum(), h.sum()
    passed, target = 0.0, rules.step * h[~missing].sum()
    for i, low in enumerate(values):
        high = values[i + 1] if i + 1 < len(values) else np.inf
        if high == np.inf and not missing.any():
            continue
        passed = h[x <= low].sum()
        if high < np.inf and passed < target:
            continue
        target = passed + rules.step * h[~missing].sum()
        for missing_left in (False, True) if missing.any() else (True,):
            left = (x <= low) | (missing & missing_left)
            sums = g[left].sum(), h[left].sum()
            rest = total_g - sums[0], total_h - sums[1]
            if min(sums[1], rest[1]) < rules.least_h:
                continue
            one, two = weigh(*sums, rules, *bounds), weigh(*rest, rules, *bounds)
            if sign * (two - one) < 0:
                continue
            yield side(*sums, one, rules) + side(*rest, two, rules), low, high, missing_left


def best_score(*arguments, **options):
    """Return the best score of a column, or −inf."""
    return max((result[0] for result in splits(*arguments, **options)), default=-np.inf)


def edges(x, h, room):
    """Return the largest value of each weighted-quantile bin but the last."""
    values = np.unique(x)
    if len(values) <= room:
        return values[:-1].tolist()
    step = h.sum() / room
    results, target = [], step
    for value in values[:-1]:
        passed = h[x <= value].sum()
        if passed >= target and len(results) < room - 1:
            results.append(value)
            target = max(target + step, step * np.ceil(passed / step))
    return results


def sketch_cells(x, size, fewest, large):
    """Return the values of each cell, closed when it is full and before a large value."""
    results = [[]]
    for value in np.unique(x):
        own = size[x == value].sum()
        full = size[np.isin(x, results[-1])].sum() >= fewest
        if results[-1] and (full or own >= large):
            results.append([])
        results[-1].append(value)
    return results


def walk(nodes, x):
    """Return the nodes on a row's path, the leaf at the end."""
    path = [0]
    while nodes["left"][path[-1]] >= 0:
        node = nodes[path[-1]]
        value = x[node["feature"]]
        left = node["missing_left"] if np.isnan(value) else value < node["threshold"]
        path.append(int(node["left"] if left else node["right"]))
    return path


def prune(nodes, gamma, at=0):
    """Return the splits under a node that remain after pruning from below."""
    if nodes["left"][at] < 0:
        return set()
    below = prune(nodes, gamma, nodes["left"][at]) | prune(nodes, gamma, nodes["right"][at])
    return below | {at} if below or nodes["gain"][at] >= gamma else set()
