"""Tests of scaling lines through duels that differ only in size."""

from dataclasses import replace

import pytest
from sized_duels import duel

from harness.analysis.diagnostics.sizes import lines_of
from harness.core.model import Status


def by_algorithm(duels):
    return {(line.algorithm, line.axis): line for line in lines_of(duels)}


def test_duels_of_several_sizes_make_a_line_for_each_side():
    lines = by_algorithm([duel(1000), duel(2000, launches=3)])
    assert lines.keys() == {("ours", "rows"), ("theirs", "rows")}
    ours = lines["ours", "rows"]
    assert ours.x == (800, 800, 1600, 1600, 1600)
    assert ours.seconds == pytest.approx((1e-3,) * 2 + (2e-3,) * 3)
    assert lines["theirs", "rows"].seconds == pytest.approx((2e-3,) * 2 + (4e-3,) * 3)
    assert (ours.dataset, ours.duels) == ("cloud", ("duel1000-1", "duel2000-1"))


def test_threads_make_their_own_line():
    lines = by_algorithm([duel(1000), duel(1000, threads=2, factor=0.5)])
    assert lines.keys() == {("ours", "threads"), ("theirs", "threads")}
    assert lines["ours", "threads"].x == (1, 1, 2, 2)


def test_duels_that_differ_otherwise_too_make_no_line():
    assert lines_of([duel(1000), duel(2000, threads=2)]) == []
    assert lines_of([duel(1000, noise=1), duel(2000, noise=2)]) == []
    assert lines_of([duel(1000)]) == []


def test_failed_duels_and_duels_without_facts_do_not_count():
    failed = replace(duel(2000), status=Status.FAILED)
    silent = replace(duel(4000), facts={})
    assert lines_of([duel(1000), failed, silent]) == []
