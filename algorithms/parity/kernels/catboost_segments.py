"""Split scores of ordered boosting with CatBoost's noise."""

from algorithms.parity.kernels.catboost_scores import find_best
from algorithms.runtime.jit import kernel
from algorithms.symmetric.kernels.segment_scores import sum_candidate


@kernel
def scan_noisy_segments(
    candidates, leaf_rows, segment_rows, kind, noise, state, n_leaves, sides, planes, first, last,
    scores, best_score, best_split,
):  # fmt: skip
    """Write the best split of each of the candidates first … last − 1 by scores with noise.

    Parameters
    ----------
    candidates : Candidates; those with the mask 0 are left out
    leaf_rows, segment_rows, n_leaves, planes, scores : as in `scan_segments`
    kind : L2 or COSINE
    noise : Noise
    state : uint64 (4,), scratch space
    sides : int64 (n_candidates,), ``side`` of `scan_segments`
    best_score : float64 (n_candidates,), written, without noise
    best_split : int64 (n_candidates,), written
    """
    for f in range(first, last):
        if candidates.masks[f] == 0:
            continue
        sum_candidate(
            candidates, leaf_rows, segment_rows, kind, n_leaves, sides[f], planes, f, scores
        )
        find_best(candidates, f, kind, scores, noise, state, best_score, best_split)
