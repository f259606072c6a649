"""Tests of the gains of tuning and ensembling over datasets."""

import pytest

from harness.analysis.search_gains import search_gains

DATASETS = [f"d{i}" for i in range(8)]


def losses_of(**tracks):
    """Return the losses of an algorithm: track → loss on dataset i, from a function of i."""
    return {track: {d: of(i) for i, d in enumerate(DATASETS)} for track, of in tracks.items()}


def both(a, b):
    return {(name, track): own for name, given in (("a", a), ("b", b))
            for track, own in given.items()}  # fmt: skip


GAPS = dict.fromkeys(DATASETS, 2.0)


def test_lower_losses_of_the_later_track_are_positive_shares_of_the_gap():
    a = losses_of(default=lambda i: 1.0 + 0.01 * i, tuned=lambda i: 0.8, ensembled=lambda i: 0.9)
    gains = {
        (g.algorithm, g.track, g.before): g.test for g in search_gains(both(a, {}), GAPS, 0.01)
    }
    assert set(gains) == {("a", "tuned", "default"), ("a", "ensembled", "tuned")}
    tuned, ensembled = gains["a", "tuned", "default"], gains["a", "ensembled", "tuned"]
    assert tuned.difference.value == pytest.approx((0.2 + 0.035) / 2)
    assert 0 < tuned.difference.low < tuned.difference.high
    assert (tuned.wins, tuned.ties, tuned.losses) == (8, 0, 0)
    assert ensembled.difference.value == pytest.approx(-0.05)
    assert (ensembled.wins, ensembled.ties, ensembled.losses) == (0, 0, 8)


def test_mean_over_the_algorithms_comes_first_and_uses_common_datasets():
    a = losses_of(default=lambda i: 1.0, tuned=lambda i: 0.8)
    b = losses_of(default=lambda i: 1.0, tuned=lambda i: 1.0)
    del b["tuned"]["d0"]
    gains = search_gains(both(a, b), GAPS, 0.01)
    assert [(g.algorithm, g.test.difference.n) for g in gains] == [("", 7), ("a", 8), ("b", 7)]
    assert gains[0].test.difference.value == pytest.approx(0.05)
    assert gains[1].test.holm == pytest.approx(2 * gains[1].test.p), "adjusted over two algorithms"


def test_datasets_without_a_gap_and_algorithms_without_a_search_are_left_out():
    a = losses_of(default=lambda i: 1.0, tuned=lambda i: 0.8)
    b = losses_of(default=lambda i: 1.0)
    gains = search_gains(both(a, b), dict.fromkeys(DATASETS[:3], 2.0) | {"d4": 0.0}, 0.01)
    assert [(g.algorithm, g.test.difference.n) for g in gains] == [("a", 3)]
    assert search_gains(both(b, b), GAPS, 0.01) == ()
    assert search_gains(both(a, b), {}, 0.01) == ()
