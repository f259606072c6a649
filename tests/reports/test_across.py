"""Tests of the section across datasets: its statements, omissions, and hostile names."""

import re
from dataclasses import replace

import pytest

from harness.analysis.run_view import RunView
from reports import Page, markdown_summary
from reports.blocks.blocks import MAX_CHOICES, Choice, Switch
from reports.charts.ranks import critical_difference
from reports.page.build import ASSETS
from reports.page.render import Renderer
from reports.page.subsets import dataset_subsets
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


def on_tracks(view: RunView) -> RunView:
    """Return a view whose first pair has verdicts on two tracks."""
    first = view.accuracy[0]
    pair = [a for a in view.accuracy if (a.algorithm, a.reference) == pair_of(first)]
    accuracy = [replace(a, track=track) for track in ("default", "tuned") for a in pair]
    return replace(view, accuracy=tuple(accuracy))


def pair_of(verdict) -> tuple[str, str]:
    return verdict.algorithm, verdict.reference


def test_declared_pair_on_two_tracks_is_named_by_the_track_and_has_a_command(typical) -> None:
    view = on_tracks(typical)
    algorithm, reference = pair_of(view.accuracy[0])
    fragment = across.build(Page(view))
    (panel,) = (b for b in fragment.blocks if getattr(b, "title", "") == "Declared pairs")
    (table,) = panel.blocks
    assert [(row[0].value, row[0].note) for row in table.rows] == [
        (algorithm, f"against {reference}, {track} track") for track in ("default", "tuned")
    ]
    assert table.again.splitlines()[0] == f"# {algorithm} against {reference}"
    assert f"-a {algorithm} -a {reference} --fresh" in table.again
    assert len(table.again.splitlines()) == 2


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


def test_ranks_are_given_for_each_subset_of_the_datasets(typical) -> None:
    facts = {
        "breast_cancer": {"rows": 569, "columns": 30, "categorical": 0},
        "wine": {"rows": 178, "columns": 13, "categorical": 10},
        "digits": {"rows": 1797, "columns": 64, "categorical": 3},
        "diabetes": {"rows": 20_000, "columns": 10, "categorical": 0},
    }
    view = replace(
        typical, datasets={name: {**typical.datasets[name], **facts[name]} for name in facts}
    )
    page = Page(view)
    assert dataset_subsets(page) == {
        "all datasets": list(page.by_dataset),
        "task: multiclass": ["wine", "digits"],
        "rows: up to 1\N{NARROW NO-BREAK SPACE}000": ["breast_cancer", "wine"],
        "categorical columns: none": ["breast_cancer", "diabetes"],
    }
    panel = next(b for b in across.build(page).blocks if getattr(b, "title", "") == "Ranks")
    switch, table = panel.blocks
    assert [choice.title.rpartition(" (")[0] for choice in switch.choices] == list(
        dataset_subsets(page)
    )
    figure = switch.choices[1].blocks[0]
    assert figure.again.endswith("-d wine -d digits --fresh")
    shown = page.losses(["wine", "digits"])
    complete = [name for name, losses in shown.items() if len(losses) == 2]
    by_hand = {
        name: sum(
            1 + sum(shown[other][d] < shown[name][d] for other in complete)
            for d in ("wine", "digits")
        )
        / 2
        for name in complete
    }
    assert {row[0].value: row[1].value for row in figure.table.rows} == by_hand
    assert table.rows[1][2].value == min(by_hand, key=lambda name: (by_hand[name], name))


def many_datasets(view: RunView) -> RunView:
    """Return a view of twelve datasets; on the last six, which have more rows, another one wins."""
    cells = [cell for cell in view.cells if cell.dataset == "breast_cancer"]
    (metric, _), *_ = cells[0].scores.items()
    made = []
    for number in range(12):
        for place, cell in enumerate(cells):
            better = place == (number >= 6)
            scores = {metric: tuple(0.1 if better else 0.2 for _ in cell.outcomes)}
            made.append(replace(cell, dataset=f"d{number}", scores=scores))
    facts = {f"d{i}": {"rows": 100 if i < 6 else 9000, "columns": 5} for i in range(12)}
    return replace(view, cells=tuple(made), datasets=facts, accuracy=())


def test_tree_of_metafeatures_predicts_the_winner_of_ten_datasets_or_more(typical) -> None:
    page = html_of(across.build(Page(many_datasets(typical))))
    assert "Which metafeatures predict the winner" in page
    assert "names the winner of 12 of 12 datasets" in page
    assert "do not predict the winner reliably" not in page
    assert "|--- rows" in page
    assert "Which metafeatures" not in html_of(across.build(Page(typical)))


def test_without_subsets_there_is_no_switch(typical) -> None:
    view = replace(typical, datasets={name: {} for name in typical.datasets})
    cells = tuple(replace(cell, task="binary") for cell in typical.cells)
    page = Page(replace(view, cells=cells))
    assert list(dataset_subsets(page)) == ["all datasets"]
    panel = next(b for b in across.build(page).blocks if getattr(b, "title", "") == "Ranks")
    assert panel.blocks[0].kind == "figure"


def test_switch_has_no_more_choices_than_the_style_sheet_has_rules() -> None:
    choices = [Choice(str(i), []) for i in range(MAX_CHOICES)]
    css = (ASSETS / "report.css").read_text(encoding="utf-8")
    assert css.count(":checked) > div:nth-of-type(") == MAX_CHOICES
    assert Switch("many", choices).choices == choices
    with pytest.raises(ValueError, match="at most 12"):
        Switch("too many", [*choices, Choice("one more", [])])
