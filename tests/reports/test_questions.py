"""Tests of the three answers at the top of the report."""

import re
from dataclasses import replace

import pytest

from harness.analysis.compare import RunComparison
from harness.analysis.compare_duels import RatioChange
from harness.analysis.run_view import Interval
from reports import Page
from reports.page.questions import question_tiles
from reports.sections import summary


@pytest.fixture
def view(views):
    return views["typical"]()


def answers(view) -> list[tuple[str, str, str]]:
    return [(t.value, t.note, t.tone) for t in question_tiles(Page(view)).tiles]


def test_first_algorithm_is_named_with_its_mean_rank(view) -> None:
    value, note, _ = answers(view)[0]
    assert value in {cell.algorithm for cell in view.cells}
    assert re.match(r"mean rank [\d.]+ of \d on 4\sdatasets; ", note)
    assert "do not differ significantly" in note


def test_one_dataset_has_a_ranking_without_a_test(view) -> None:
    page = Page(replace(view, cells=tuple(c for c in view.cells if c.dataset == "wine")))
    tile = question_tiles(page).tiles[0]
    assert tile.value == page.by_dataset["wine"][0][0]
    assert tile.note.endswith("on wine; a ranking without a test")


def test_worse_accuracy_and_broken_claims_are_named(view) -> None:
    names = {a.algorithm for a in view.accuracy}
    equal = tuple(replace(a, verdict="equivalent") for a in view.accuracy)
    claimed = tuple(replace(p, claimed="") for p in view.parity)
    sound = replace(view, accuracy=equal, parity=claimed)
    assert answers(sound)[1][0] == "Yes"
    open_yet = tuple(replace(a, verdict="inconclusive") for a in view.accuracy)
    assert answers(replace(sound, accuracy=open_yet))[1][0] == "No fault found"
    bad = tuple(
        replace(a, verdict="worse" if a.algorithm == "bagging" else "equivalent") for a in equal
    )
    value, note, tone = answers(replace(sound, accuracy=bad))[1]
    assert (value, tone) == ("Not this one", "bad")
    assert note == "less accurate than its reference: bagging"
    missed = tuple(replace(p, claimed="L3", parity_level="", verdict="worse") for p in view.parity)
    value, note, _ = answers(replace(sound, parity=missed))[1]
    assert value == "Not these 2"
    assert all(name in note for name in names)


def test_slower_duels_since_the_run_before_are_named(view) -> None:
    assert answers(view)[2][0] == "No earlier run"
    before = RunComparison({"id": "older"}, view.run, 7, 0, 0, 0, (), (), ())
    assert answers(replace(view, previous=before))[2][0] == "Not timed twice"
    old, low = Interval(1.8, 1.9, 2.0, 0.95, 8), Interval(1.0, 1.1, 1.2, 0.95, 8)
    same, slow = (RatioChange("bagging", "b", "wine", "fit", old, new) for new in (old, low))
    value, note, tone = answers(replace(view, previous=replace(before, ratios=(same,))))[2]
    assert (value, tone) == ("Nothing", "")
    value, note, tone = answers(replace(view, previous=replace(before, ratios=(same, slow))))[2]
    assert (value.replace("\N{NO-BREAK SPACE}", " "), tone) == ("1 of 2 ratios", "bad")
    assert note == "bagging on wine, fit (since run older)"


def test_answers_open_the_summary_and_link_to_sections(view, page_of) -> None:
    first = summary.build(Page(view)).blocks[0]
    assert first.role == "answers"
    html = page_of("typical")
    for tile in first.tiles:
        assert tile.href.startswith("#")
        assert f'id="{tile.href[1:]}"' in html


@pytest.mark.parametrize("kind", ["only_failures", "one_trial", "one_dataset", "hostile"])
def test_runs_of_every_kind_have_three_answers(views, kind) -> None:
    assert len(answers(views[kind]())) == 3
