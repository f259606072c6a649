"""Tests of the section across datasets: its statements, omissions, and hostile names."""

import re
from dataclasses import replace

import pytest

from harness.analysis.run_view import RunView
from reports import Page, markdown_summary
from reports.charts.ranks import critical_difference
from reports.page.render import Renderer
from reports.sections import across


@pytest.fixture
def typical(views) -> RunView:
    return gapped(views["typical"]())


def gapped(view: RunView) -> RunView:
    return replace(view, accuracy=tuple(replace(a, gap=0.5) for a in view.accuracy))


def html_of(fragment) -> str:
    return str(Renderer().blocks(fragment.blocks)).replace("<wbr>", "")


def test_pairs_ranks_and_matrix_are_shown(typical) -> None:
    page = html_of(across.build(Page(typical)))
    assert "p, Holm" in page
    assert "tests over so few have little power" in page
    assert "ranks first" in page
    assert "Improvability" in page
    assert "Elo" not in page  # four datasets
    assert "All pairs of algorithms" in page
    assert "Left out (no result on some dataset)" in page  # catboost ran out of time on wine
    assert "which does not show equality" in page


def worse_everywhere(view: RunView) -> RunView:
    """Return a view whose first pair is worse on every dataset, on the first one clearly."""
    first = view.accuracy[0]
    pair = [a for a in view.accuracy if a.dataset and a.reference == first.reference]
    pair = [a for a in pair if a.algorithm == first.algorithm]
    below = replace(first.difference, low=-3.0, value=-2.0, high=-1.0)
    judged = [
        replace(a, verdict="worse", difference=below, error=error, splits=5)
        for a, error in zip(pair, [0.01, *[0.65] * (len(pair) - 1)], strict=True)
    ]
    return replace(view, accuracy=tuple(judged))


def test_verdicts_are_counted_after_holm_and_datasets_are_named(typical) -> None:
    view = worse_everywhere(typical)
    page = html_of(across.build(Page(view)))
    first, *others = (a.dataset for a in view.accuracy)
    assert "Verdicts, counted" in page
    assert f"{first}; not significant after Holm: {others[0]}" in page
    counts = f"of {len(view.accuracy)} datasets 0 equivalent, 0 better, 1 worse"
    markdown = markdown_summary(view).replace("\N{NO-BREAK SPACE}", " ")
    assert f"{counts}, {len(others)} inconclusive after Holm" in markdown
    alone = replace(view, accuracy=view.accuracy[:1])
    assert "Verdicts, counted" not in html_of(across.build(Page(alone)))


def test_ratings_appear_from_sixteen_datasets_on(views) -> None:
    view = views["large"]()
    page = html_of(across.build(Page(gapped(view))))
    assert "Elo" in page
    assert "Only" not in page.split("</p>")[0]


def test_one_dataset_makes_no_claim_across_datasets(views) -> None:
    assert across.build(Page(views["one_trial"]())) is None
    assert across.build(Page(views["empty"]())) is None
    assert across.build(Page(views["only_failures"]())) is None


def test_without_verdicts_there_are_ranks_and_no_matrix(typical) -> None:
    page = html_of(across.build(Page(replace(typical, accuracy=()))))
    assert "mean ranks" in page
    assert "All pairs of algorithms" not in page
    assert "Declared pairs" not in page


def test_hostile_names_are_escaped(views) -> None:
    result = across.build(Page(gapped(views["hostile"]())))
    assert result is not None
    assert "<script>alert" not in html_of(result)


def test_diagram_is_drawn_for_any_groups() -> None:
    for groups in ([], [(0, 1)], [(0, 1), (1, 2)]):
        svg = critical_difference(["a", "b", "c"], [1.2, 1.9, 2.9], groups, 0.9).svg("ranks")
        assert ">critical distance<" in svg
        (bars,) = re.findall(r'<path d="([^"]*)"[^>]*stroke-width="4"', svg)
        assert bars.count("M") == len(groups) + 1
