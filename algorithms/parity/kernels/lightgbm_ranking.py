"""LightGBM's gradients of lambdarank, in its own order of operations.

The formulas are those of `gbdt.kernels.ranking`. The logistic function is read from a table, as in
LightGBM. Each pair is added to the gradients of its two documents in single precision, pair by
pair. Logarithms are those of the C library.
"""

import math

import numpy as np

from algorithms.gbdt.kernels.ranking import sort_query
from algorithms.runtime.jit import inner_kernel, kernel

N_ENTRIES = 1 << 20  # of the table of the logistic function
RANGE = 50.0  # the table covers −25/σ … 25/σ
FLOOR = np.float64(np.float32(0.01))


@kernel
def write_logistic_table(slope, table):
    """Write 1 / (1 + e^(σ x)) for equally spaced x from −25/σ on; float64 (N_ENTRIES,)."""
    lowest = -RANGE / slope / 2.0
    per_entry = N_ENTRIES / (-lowest - lowest)
    for i in range(N_ENTRIES):
        table[i] = 1.0 / (1.0 + math.exp((i / per_entry + lowest) * slope))


@inner_kernel
def read_logistic(table, slope, x):
    """Return the table's value of 1 / (1 + e^(σ x))."""
    lowest = -RANGE / slope / 2.0
    if x <= lowest:
        return table[0]
    if x >= -lowest:
        return table[N_ENTRIES - 1]
    return table[int((x - lowest) * (N_ENTRIES / (-lowest - lowest)))]


@inner_kernel
def finish_query(start, n, total, weight, g, h):
    """Normalize the derivatives of a query, and multiply them by the weights of its rows."""
    if total > 0.0:
        scale = math.log2(1.0 + total) / total
        for i in range(start, start + n):
            g[i] = np.float32(g[i] * scale)
            h[i] = np.float32(h[i] * scale)
    if len(weight):
        for i in range(start, start + n):
            g[i] = np.float32(g[i] * weight[i])
            h[i] = np.float32(h[i] * weight[i])


@kernel
def differentiate_lambdarank_by_lightgbm(
    score,
    label,
    gain,
    weight,
    bounds,
    max_dcg,
    discount,
    level,
    slope,
    normalized,
    table,
    order,
    spare,
    g,
    h,
):
    """Write the derivatives of lambdarank.

    Parameters
    ----------
    score : (n_rows,) float64
    label : (n_rows,) float32
    gain : (n_labels,) float64
    weight : (n_rows,) float32, or (0,) where every row weighs 1
    bounds : (n_queries + 1,) int64, first rows of the queries
    max_dcg : (n_queries,) float64
    discount : (≥ longest query,) float64
    level, slope, normalized : truncation level, σ, and whether gradients are normalized
    table : from `write_logistic_table`
    order, spare : as in `gbdt.kernels.ranking.sort_query`
    g, h : (n_rows,) float32, written
    """
    for q in range(len(max_dcg)):
        start, n = bounds[q], bounds[q + 1] - bounds[q]
        sort_query(score, start, n, order, spare)
        for i in range(start, start + n):
            g[i] = h[i] = np.float32(0.0)
        per_dcg = 1.0 / max_dcg[q] if max_dcg[q] > 0.0 else max_dcg[q]
        best, worst = score[start + order[start]], score[start + order[start + n - 1]]
        total = 0.0
        for i in range(min(n - 1, level)):
            for j in range(i + 1, n):
                first, second = start + order[start + i], start + order[start + j]
                if label[first] == label[second]:
                    continue
                is_first = label[first] > label[second]
                high, low = (first, second) if is_first else (second, first)
                gap = gain[int(label[high])] - gain[int(label[low])]
                difference = score[high] - score[low]
                delta = gap * abs(discount[i] - discount[j]) * per_dcg
                if normalized and best != worst:
                    delta /= FLOOR + abs(difference)
                p = read_logistic(table, slope, difference)
                pair_h = p * (1.0 - p)
                pair = p * (-slope * delta)
                pair_h *= slope * slope * delta
                g[low] -= np.float32(pair)
                h[low] += np.float32(pair_h)
                g[high] += np.float32(pair)
                h[high] += np.float32(pair_h)
                total -= 2.0 * pair
        finish_query(start, n, total if normalized else 0.0, weight, g, h)
