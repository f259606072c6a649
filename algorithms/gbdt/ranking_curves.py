"""Areas under curves of a ranking, as XGBoost computes them.

Rows of equal scores are one step. With TP and FP the weights of the positive and the other rows up
to a step, ROC draws lines between the points (FP, TP). Between two points of precision and recall
FP grows evenly with TP (Davis, Goadrich: The relationship between precision-recall and ROC curves.
ICML 2006), so with r = TP / P the precision is r / (a r + b), whose integral is

    r / a − b / a² log(a r + b)         a = 1 + ΔFP / ΔTP,  b = (FP − ΔFP / ΔTP · TP) / P

Where there are many classes each is held against the rest. Their areas are averaged, those of ROC
by the weight of the class.
"""

import numpy as np


def steps_of(is_positive, score, weight):
    """Return TP and FP after each step, float64 (n_steps + 1,), from zeros on."""
    order = np.argsort(-score, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(score[order])), len(score) - 1)
    own, weight = is_positive[order], weight[order]
    sums = (np.cumsum(weight * side)[ends] for side in (own, 1.0 - own))
    return tuple(np.concatenate([[0.0], sum_]) for sum_ in sums)


def roc_area(tp, fp):
    """Return the area under the ROC curve."""
    return np.sum(np.diff(fp) * (tp[1:] + tp[:-1])) / (2.0 * tp[-1] * fp[-1])


def precision_area(tp, fp):
    """Return the area under the curve of precision and recall."""
    moves = np.flatnonzero(np.diff(tp) > 0.0)
    first, last = tp[moves] / tp[-1], tp[moves + 1] / tp[-1]
    slope = np.diff(fp)[moves] / np.diff(tp)[moves]
    a, b = 1.0 + slope, fp[moves] / tp[-1] - slope * first
    bent = b != 0.0  # where it is 0 the precision is 1 / a all along
    log = np.log((a * last + b)[bent] / (a * first + b)[bent])
    area = (last - first) / a
    area[bent] -= b[bent] / a[bent] ** 2 * log
    return np.sum(area)


def area(curve, y, found, weight):
    """Return the area under a curve; NaN where all rows are on one side.

    Parameters
    ----------
    curve : `roc_area` or `precision_area`
    y : (n_rows,) float64, class codes, or shares of the positive class
    found : (n_rows, n_classes) probabilities, or (n_rows,) of the positive class
    weight : (n_rows,) float64, or None
    """
    weight = np.ones(len(y)) if weight is None else weight
    if found.ndim == 1:
        sides = [(y, found)]
    else:
        first = 1 if found.shape[1] == 2 else 0  # two classes are one question
        sides = [(y == k, found[:, k]) for k in range(first, found.shape[1])]
    areas, sizes = [], []
    for own, score in sides:
        tp, fp = steps_of(own.astype(np.float64), score, weight)
        areas.append(curve(tp, fp) if min(tp[-1], fp[-1]) > 0.0 else np.nan)
        sizes.append(tp[-1])
    return float(np.average(areas, weights=sizes if curve is roc_area and any(sizes) else None))
