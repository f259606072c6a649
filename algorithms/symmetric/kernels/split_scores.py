"""Integer histograms of all leaves of a level, and the scores of the splits of a feature.

The score of a symmetric split sums over both sides of all leaves. With G = Σg, W = Σw of a side and
a = G / (W + λ):

    L2        Σ a G
    Cosine    Σ a G / √(Σ a² W)
"""

import math

import numpy as np

from algorithms.gbdt.kernels.booster_arrays import HALF, LOW
from algorithms.gbdt.kernels.histogram import build_wide
from algorithms.runtime.jit import inner_kernel, kernel
from algorithms.runtime.math_functions import hash_of

L2, COSINE = 0, 1
MIN_DENOMINATOR = 1e-100
NOISE_BITS = 12  # of the index into the table of normal quantiles


@inner_kernel
def build_leaf(
    bins, records, rows, start, end, features, n_bins, low, high, stride, planes, work, sums
):
    """Write the sums of a leaf's rows for features low … high − 1, for all outputs."""
    for k in range(len(records)):
        for f in range(low, high):
            for i in range(f * stride, f * stride + n_bins[f]):
                planes[k, 0, i] = 0
                planes[k, 1, i] = 0
        build_wide(
            bins, records[k], rows, start, end, features, low, high, stride, work, planes[k], sums
        )
        for f in range(low, high):
            for i in range(f * stride, f * stride + n_bins[f]):
                cell = work[i]
                planes[k, 0, i] += cell >> HALF
                planes[k, 1, i] += cell & LOW
                work[i] = 0


@kernel
def build_level(
    bins, records, rows, starts, ends, n_before, features, n_bins, low, high, stride, planes, work,
    sums,
):  # fmt: skip
    """Write the histograms of all leaves for the features low … high − 1.

    Of each pair of sibling leaves only the smaller one is summed; the other is the difference to
    their parent.

    Parameters
    ----------
    bins : uint8 (n_rows, n_features)
    records : int64 (n_outputs, n_rows), packed gradients and weights
    rows : uint32, rows grouped by leaf
    starts, ends : int64, range of each leaf in ``rows``
    n_before : number of leaves before the last split; 0 at the root
    features : int64 (n_features,), 0 … n_features − 1
    n_bins : int64 (n_features,)
    low, high : range of features
    stride : number of entries of a feature, of which the first ``n_bins`` are written
    planes : int64 (n_leaves, n_outputs, 2, n_features · stride): ΣG and ΣW; written
    work : int64 (n_features · stride,), zeros; scratch space
    sums : int64 (4,), scratch space
    """
    if n_before == 0:
        build_leaf(
            bins, records, rows, starts[0], ends[0], features, n_bins, low, high, stride, planes[0],
            work, sums,
        )  # fmt: skip
        return
    for leaf in range(n_before):
        other = leaf + n_before
        is_true = ends[other] - starts[other] <= ends[leaf] - starts[leaf]
        small = other if is_true else leaf
        build_leaf(
            bins, records, rows, starts[small], ends[small], features, n_bins, low, high, stride,
            planes[other], work, sums,
        )  # fmt: skip
        for f in range(low, high):
            first = f * stride
            subtract(planes[leaf], planes[other], first, first + n_bins[f], is_true)


@inner_kernel
def subtract(parent, child, first, last, is_true):
    """Replace a parent's sums and its smaller child's by those of the false and true child."""
    for k in range(len(parent)):
        for plane in range(2):
            whole, part = parent[k, plane], child[k, plane]
            if is_true:
                for i in range(first, last):
                    whole[i] -= part[i]
            else:
                for i in range(first, last):
                    one = part[i]
                    part[i] = whole[i] - one
                    whole[i] = one


@kernel
def scan_features(
    planes, n_leaves, n_bins, low, high, stride, l2, step, kind, noise, seed, sums, best_score,
    best_bin,
):  # fmt: skip
    """Write the best split of each of the features low … high − 1.

    Parameters
    ----------
    planes : as in `build_level`
    n_leaves : int
    n_bins : int64 (n_features,)
    stride : number of entries of a feature
    l2 : λ, in the unit of the weights
    step : (2,) float64, quantization steps of gradients and weights
    kind : L2 or COSINE
    noise : float64 (2 ** NOISE_BITS,), quantiles of the noise; (0,): no noise
    seed : uint32, seed of the noise
    sums : (4, stride) float64, scratch space
    best_score : (n_features,) float64, written, without noise
    best_bin : (n_features,) int64, written: the last bin of the false side
    """
    for f in range(low, high):
        count = n_bins[f] - 1
        for b in range(count):
            sums[0, b] = 0.0
            sums[1, b] = MIN_DENOMINATOR
        for leaf in range(n_leaves):
            for k in range(planes.shape[1]):
                add_leaf(planes[leaf, k], f * stride, count, l2, step, sums)
        best_score[f], best_bin[f] = choose_bin(
            sums, count, kind, noise, seed, np.int64(f) * stride
        )


@inner_kernel
def choose_bin(sums, count, kind, noise, seed, first):
    """Return the score, without noise, and the bin that are best with noise; the first in a tie.

    Parameters
    ----------
    sums : (4, stride) float64, both sums of the score of the first ``count`` bins; row 2 is
        scratch space
    first : number of the feature's first entry, for the noise
    kind, noise, seed : as in `scan_features`
    """
    for b in range(count):
        sums[2, b] = sums[0, b] / math.sqrt(sums[1, b]) if kind == COSINE else sums[0, b]
    most = noise[len(noise) - 1] if len(noise) else 0.0  # quantiles ascend
    best, at, found = -np.inf, np.int64(0), -np.inf
    for b in range(count):
        score = sums[2, b]
        if not score + most > best:
            continue
        noisy = score
        if len(noise):
            index = hash_of(seed, first + b) >> np.uint32(32 - NOISE_BITS)
            noisy += noise[np.int64(index)]
        if noisy > best:
            best, at, found = noisy, b, score
    return found, at


@inner_kernel
def add_leaf(planes, first, count, l2, step, sums):
    """Add both sides of all splits of a leaf to the sums of the score."""
    own_g, own_w = planes[0, first:], planes[1, first:]
    g = w = np.int64(0)
    for b in range(np.uint64(count)):
        g += own_g[b]
        w += own_w[b]
        sums[2, b], sums[3, b] = np.float64(g) * step[0], np.float64(w) * step[1]
    g += own_g[count]
    w += own_w[count]
    if w > 0:
        add_terms(sums, count, np.float64(g) * step[0], np.float64(w) * step[1], l2)


@inner_kernel
def add_terms(sums, count, whole_g, whole_w, l2):
    """Add the terms of both sides of all splits of a leaf to the sums of the score.

    Parameters
    ----------
    sums : (4, stride) float64; rows 2 and 3 have Σg and Σw of the false sides
    count : number of splits
    whole_g, whole_w : sums of the leaf
    """
    for b in range(count):
        false_g, false_w = sums[2, b], sums[3, b]
        true_g, true_w = whole_g - false_g, whole_w - false_w
        a, c = false_g / (false_w + l2), true_g / (true_w + l2)
        sums[0, b] += a * false_g + c * true_g
        sums[1, b] += a * a * false_w + c * c * true_w
