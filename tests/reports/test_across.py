"""The section across datasets: what it says, what it leaves unsaid, and that it survives names."""

import re
from dataclasses import replace

import pytest

from harness.analysis.view import RunView
from reports import Page, across
from reports._ranks import critical_difference
from reports._render import Renderer


@pytest.fixture
def typical(views) -> RunView:
    return gapped(views["typical"]())


def gapped(view: RunView) -> RunView:
    return replace(view, accuracy=tuple(replace(a, gap=0.5) for a in view.accuracy))


def html_of(fragment) -> str:
    return str(Renderer().blocks(fragment.blocks)).replace("<wbr>", "")


def test_pairs_ranks_and_matrix_are_told(typical) -> None:
    page = html_of(across.build(Page(typical)))
    assert "p, Holm" in page
    assert "tests across them say little" in page
    assert "ranks first" in page
    assert "Improvability" in page
    assert "Elo" not in page  # four datasets
    assert "Everyone against everyone" in page
    assert "Left out, because they lack a dataset" in page  # catboost ran out of time on wine
    assert "which is not equality" in page


def test_ratings_appear_from_sixteen_datasets_on(views) -> None:
    view = views["large"]()
    page = html_of(across.build(Page(gapped(view))))
    assert "Elo" in page
    assert "Only" not in page.split("</p>")[0]


def test_one_dataset_makes_no_claim_across_them(views) -> None:
    assert across.build(Page(views["one_trial"]())) is None
    assert across.build(Page(views["empty"]())) is None
    assert across.build(Page(views["only_failures"]())) is None


def test_without_verdicts_there_are_ranks_and_no_matrix(typical) -> None:
    page = html_of(across.build(Page(replace(typical, accuracy=()))))
    assert "mean ranks" in page
    assert "Everyone against everyone" not in page
    assert "Declared pairs" not in page


def test_hostile_names_stay_names(views) -> None:
    found = across.build(Page(gapped(views["hostile"]())))
    assert found is not None
    assert "<script>alert" not in html_of(found)


def test_the_picture_is_drawn_for_any_groups() -> None:
    for groups in ([], [(0, 1)], [(0, 1), (1, 2)]):
        svg = critical_difference(["a", "b", "c"], [1.2, 1.9, 2.9], groups, 0.9).svg("ranks")
        assert ">critical distance<" in svg
        (bars,) = re.findall(r'<path d="([^"]*)"[^>]*stroke-width="4"', svg)
        assert bars.count("M") == len(groups) + 1
