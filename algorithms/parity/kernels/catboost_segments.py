"""Split scores of ordered boosting with CatBoost's noise."""

import math

import numpy as np

from algorithms.parity.kernels.catboost_random import WARM_UP, next_normal, set_seed
from algorithms.runtime.jit import kernel
from algorithms.symmetric.kernels.segment_scores import PACK, sum_candidate
from algorithms.symmetric.kernels.split_scores import COSINE


@kernel
def scan_noisy_segments(
    candidates, leaf_rows, segment_rows, kind, masks, noise, seeds, state, n_leaves, sides,
    planes, first, last, scores, best_score, best_split,
):  # fmt: skip
    """Write the best split of each usable candidate of first … last − 1 by scores with noise.

    Parameters
    ----------
    candidates, leaf_rows, segment_rows, n_leaves, planes, scores : as in `scan_segments`
    kind : L2 or COSINE
    masks : uint8 (n_candidates,): 0 for a candidate that is not used; the usable bits of a pack
    noise : standard deviation of the noise of a score
    seeds : uint64 (n_candidates,), seed of the generator of each candidate
    state : uint64 (4,), scratch space
    sides : int64 (n_candidates,), ``side`` of `scan_segments`
    best_score : float64 (n_candidates,), written, without noise
    best_split : int64 (n_candidates,), written
    """
    for f in range(first, last):
        if masks[f] == 0:
            continue
        sum_candidate(
            candidates, leaf_rows, segment_rows, kind, n_leaves, sides[f], planes, f, scores
        )
        set_seed(seeds[f], WARM_UP, state)
        best = best_score[f] = -np.inf
        best_split[f] = 0
        for b in range(candidates.n_splits[f]):
            if candidates.kinds[f] == PACK and (masks[f] >> b) & 1 == 0:
                continue
            score = scores[0, b] / math.sqrt(scores[1, b]) if kind == COSINE else scores[0, b]
            noisy = score
            if noise > 0.0:
                noisy += next_normal(state) * noise
            if noisy > best:
                best, best_score[f], best_split[f] = noisy, score, b
