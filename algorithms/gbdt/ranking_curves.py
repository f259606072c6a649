"""Areas under the ROC and precision-recall curves, as XGBoost computes them.

Rows of equal score form one step. TP and FP are the weights of the positive and the negative rows
up to a step. The ROC curve is linear between the points (FP, TP). Between two points of the
precision-recall curve FP is linear in TP (Davis, Goadrich: The relationship between
precision-recall and ROC curves. ICML 2006), so with r = TP / P the precision is r / (a r + b),
whose integral is

    r / a − b / a² log(a r + b)         a = 1 + ΔFP / ΔTP,  b = (FP − ΔFP / ΔTP · TP) / P

With more than two classes, each class is compared with the rest, and the areas are averaged (for
ROC weighted by the weight of the class).
"""

import numpy as np


def steps_of(is_positive, score, weight):
    """Return TP and FP after each step, float64 (n_steps + 1,), starting with zeros."""
    order = np.argsort(-score, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(score[order])), len(score) - 1)
    positive, weight = is_positive[order], weight[order]
    sums = (np.cumsum(weight * side)[ends] for side in (positive, 1.0 - positive))
    return tuple(np.concatenate([[0.0], sum_]) for sum_ in sums)


def roc_area(tp, fp):
    """Return the area under the ROC curve."""
    return np.sum(np.diff(fp) * (tp[1:] + tp[:-1])) / (2.0 * tp[-1] * fp[-1])


def precision_area(tp, fp):
    """Return the area under the precision-recall curve."""
    moves = np.flatnonzero(np.diff(tp) > 0.0)
    first, last = tp[moves] / tp[-1], tp[moves + 1] / tp[-1]
    slope = np.diff(fp)[moves] / np.diff(tp)[moves]
    a, b = 1.0 + slope, fp[moves] / tp[-1] - slope * first
    bent = b != 0.0  # if b is 0 the precision is constant, 1 / a
    log = np.log((a * last + b)[bent] / (a * first + b)[bent])
    area = (last - first) / a
    area[bent] -= b[bent] / a[bent] ** 2 * log
    return np.sum(area)


def area(curve, y, found, weight):
    """Return the area under a curve; NaN if all rows are positive or all negative.

    Parameters
    ----------
    curve : `roc_area` or `precision_area`
    y : (n_rows,) float64, class codes, or fractions of the positive class
    found : (n_rows, n_classes) probabilities, or (n_rows,) of the positive class
    weight : (n_rows,) float64, or None
    """
    weight = np.ones(len(y)) if weight is None else weight
    if found.ndim == 1:
        sides = [(y, found)]
    else:
        first = 1 if found.shape[1] == 2 else 0  # with two classes only the second one
        sides = [(y == k, found[:, k]) for k in range(first, found.shape[1])]
    areas, sizes = [], []
    for is_positive, score in sides:
        tp, fp = steps_of(is_positive.astype(np.float64), score, weight)
        areas.append(curve(tp, fp) if min(tp[-1], fp[-1]) > 0.0 else np.nan)
        sizes.append(tp[-1])
    return float(np.average(areas, weights=sizes if curve is roc_area and any(sizes) else None))
