"""Oracle of the scores of splits under monotone constraints."""

import numpy as np
import pytest

from algorithms.symmetric.kernels.monotone_scan import scan_monotone
from algorithms.symmetric.kernels.split_scores import COSINE, L2, scan_features

N_LEAVES, STRIDE, BINS, LAMBDA = 4, 8, np.array([5, 8]), 3.0
STEP, NO_NOISE = np.array([0.01, 0.5]), np.empty(0)


def random_planes(seed):
    """Return histograms ΣG and ΣW of the leaves for two columns."""
    rng = np.random.default_rng(seed)
    planes = np.zeros((N_LEAVES, 1, 2, 2 * STRIDE), np.int64)
    for f, count in enumerate(BINS):
        planes[:, 0, 0, f * STRIDE : f * STRIDE + count] = rng.integers(-90, 90, (N_LEAVES, count))
        planes[:, 0, 1, f * STRIDE : f * STRIDE + count] = rng.integers(0, 9, (N_LEAVES, count))
    return planes


def scanned(planes, signs, kind):
    """Return the best score and bin of each column."""
    score, best = np.empty(2), np.empty(2, np.int64)
    scratch = np.empty((N_LEAVES, 2, STRIDE)), np.empty((2, 2 * N_LEAVES))
    given = planes, N_LEAVES, BINS, 0, 2, signs, STRIDE, LAMBDA, STEP, kind, NO_NOISE
    scan_monotone(*given, np.uint32(0), *scratch, score, best)
    return score, best


@pytest.mark.parametrize("kind", [L2, COSINE])
def test_scores_without_constraints_are_the_usual_ones(kind):
    for seed in range(5):
        planes, score, best = random_planes(seed), np.empty(2), np.empty(2, np.int64)
        given = planes, N_LEAVES, BINS, 0, 2, STRIDE, LAMBDA, STEP, kind, NO_NOISE, np.uint32(0)
        scan_features(*given, np.empty((4, STRIDE)), score, best)
        found = scanned(planes, np.zeros((2, 3), np.int64), kind)
        np.testing.assert_allclose(found[0], score)
        np.testing.assert_array_equal(found[1], best)


@pytest.mark.parametrize("kind", [L2, COSINE])
@pytest.mark.parametrize("sign", [-1, 1])
def test_sides_in_the_wrong_order_get_their_average(sign, kind):
    signs = np.array([[0, 0, sign], [0, 0, 0]])
    for seed in range(5):
        planes = random_planes(seed)
        score, best = scanned(planes, signs, kind)
        own = planes[:, 0, :, : BINS[0]] * STEP[:, None]
        scores = []
        for b in range(BINS[0] - 1):
            top = bottom = 0.0
            for g, w in own:
                sides = [(g[: b + 1].sum(), w[: b + 1].sum()), (g[b + 1 :].sum(), w[b + 1 :].sum())]
                means = [x / (y + LAMBDA) for x, y in sides]
                if (means[1] - means[0]) * sign < 0:
                    means = [g.sum() / (w.sum() + 2 * LAMBDA)] * 2
                top += sum(m * x for m, (x, _) in zip(means, sides, strict=True))
                bottom += sum(m * m * y for m, (_, y) in zip(means, sides, strict=True))
            scores.append(top / np.sqrt(bottom) if kind == COSINE else top)
        assert best[0] == np.argmax(scores)
        np.testing.assert_allclose(score[0], max(scores))


def test_earlier_splits_are_respected():
    """With a constraint on the first split only, the averages of its pairs are in order."""
    planes = random_planes(0)
    free, held = (scanned(planes, np.array([[s, 0, 0]] * 2), L2)[0] for s in (0, 1))
    assert (held <= free).all()
    assert (held < free).any()
