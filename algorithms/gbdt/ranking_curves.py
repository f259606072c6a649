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


def average_precision(tp, fp):
    """Return the mean of the precision at each step, weighted by its positive rows."""
    size = tp[1:] + fp[1:]
    return np.sum(np.diff(tp) * tp[1:] / np.where(size > 0.0, size, 1.0)) / tp[-1]


def area_mu(y, score, weight, costs):
    """Return the mean area over all pairs of classes (Kleiman, Page: AUCμ. ICML 2019).

    Two classes i, j are ranked by the distance of a row's raw scores from the plane that separates
    them, given the costs A of mistakes: v = A_i − A_j, distance (v_i − v_j) v · score.

    Parameters
    ----------
    y : (n_rows,) class codes
    score : (n_rows, n_classes) raw scores; (n_rows, 1) for two classes
    weight : (n_rows,) float64, or None
    costs : n_classes² numbers, row by row, or None: 0 for the right class and 1 for others
    """
    if score.shape[1] == 1:
        score = np.column_stack([np.zeros(len(score)), score])
    k = score.shape[1]
    if costs is None or len(costs) == 0:
        costs = 1.0 - np.eye(k)
    elif len(costs) != k * k:
        raise ValueError(f"auc_mu_weights has {len(costs)} numbers; {k} classes need {k * k}")
    else:
        costs = np.array(costs, np.float64).reshape(k, k)
        np.fill_diagonal(costs, 0.0)
    weight = np.ones(len(y)) if weight is None else weight
    total = 0.0
    for i in range(k):
        for j in range(i + 1, k):
            rows = (y == i) | (y == j)
            v = costs[i] - costs[j]
            distance = (v[i] - v[j]) * (score[rows] @ v)
            steps = steps_of((y[rows] == i).astype(np.float64), distance, weight[rows])
            total += roc_area(*steps) if min(steps[0][-1], steps[1][-1]) > 0.0 else 0.0
    return total / (k * (k - 1) / 2)


def area(curve, y, found, weight):
    """Return the area under a curve; NaN if all rows are positive or all negative.

    The average precision is 1 if all rows are positive.

    Parameters
    ----------
    curve : `roc_area`, `precision_area` or `average_precision`
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
        is_defined = tp[-1] > 0.0 and (fp[-1] > 0.0 or curve is average_precision)
        areas.append(curve(tp, fp) if is_defined else np.nan)
        sizes.append(tp[-1])
    return float(np.average(areas, weights=sizes if curve is roc_area and any(sizes) else None))
