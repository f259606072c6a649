"""Tests of the section Tuning."""

from dataclasses import replace

import pytest

from harness.analysis.search_gains import search_gains
from reports import Page
from reports.blocks.blocks import Figure, Panel
from reports.page.build import build_report
from reports.sections import tuning


def searched(view, *, timed=True):
    """Return a view in which every outcome is a search of three configurations."""
    cells = []
    for number, cell in enumerate(view.cells):
        outcomes = []
        for fold, outcome in enumerate(cell.outcomes):
            losses = [0.5 + 0.1 * number + 0.01 * fold, 0.6, 0.3 + 0.1 * number]
            tried = [[i, 1.0, loss, 1.5 * (i + 1)] for i, loss in enumerate(losses)]
            fact = {"losses": losses, "chosen": 2, "params": {}, "inner_folds": 3}
            fact |= {"trajectory": tried} if timed else {}
            outcomes.append(replace(outcome, facts={**outcome.facts, "tuned": fact}))
        cells.append(replace(cell, tracks=("tuned",), outcomes=tuple(outcomes)))
    return replace(view, cells=tuple(cells))


def figures_of(view):
    fragment = tuning.build(Page(view))
    panels = [block for block in fragment.blocks if isinstance(block, Panel)]
    return [b for panel in panels for b in panel.blocks if isinstance(b, Figure)]


def test_each_dataset_has_curves_by_configurations_and_by_time(views):
    view = searched(views["typical"]())
    datasets = {cell.dataset for cell in view.cells}
    figures = figures_of(view)
    assert len(figures) == 2 * len(datasets)
    for figure in figures:
        assert figure.again.startswith("python -m harness run --again")
        assert figure.table.rows
    by_number = next(f for f in figures if "configurations" in f.title)
    assert "reached with configuration 3 of 3" in by_number.finding.replace("\u00a0", " ")
    assert any("reached after 4.50 s of 4.50 s" in f.finding.replace("\u00a0", " ")
               for f in figures if "time" in f.title)  # fmt: skip


def test_results_without_times_have_curves_by_configurations_only(views):
    view = searched(views["typical"](), timed=False)
    assert all("configurations" in figure.title for figure in figures_of(view))


def with_tracks(view, shift):
    """Return a view with a second, tuned cell for each cell, whose losses are lower by a shift."""
    plain = [replace(cell, tracks=("default",)) for cell in view.cells]
    later = [
        replace(
            cell,
            params={**cell.params, "tune": 1},
            tracks=("tuned",),
            scores={name: [x - shift for x in xs] for name, xs in cell.scores.items()},
        )
        for cell in searched(view).cells
        if page_lower_is_better(view, cell)
    ]
    return replace(view, cells=(*plain, *later))


def page_lower_is_better(view, cell):
    page = Page(view)
    return page.lower_is_better(page.metric(cell))


def gains_of(view):
    """Return the sentences and the table of the gains."""
    (panel,) = [b for b in tuning.build(Page(view)).blocks if getattr(b, "title", "") == "Gains"]
    return [b.words for b in panel.blocks[:-1]], panel.blocks[-1]


@pytest.mark.parametrize("shift", [0.05, -0.05])
def test_gains_of_tuning_are_a_table_over_the_datasets(views, shift):
    view = with_tracks(views["typical"](), shift)
    sentences, table = gains_of(view)
    assert {row[1] for row in table.rows} == {"tuned instead of default"}
    for row in table.rows:
        assert 0 < row[2].value <= len({cell.dataset for cell in view.cells})
        assert (row[3].value > 0) is (shift > 0)
    assert table.again.startswith("python -m harness run --again")
    (sentence,) = sentences
    assert "too few datasets for an interval of the change of the" in sentence


@pytest.mark.parametrize(
    ("losses", "expected"),
    [
        ([0.9 - 0.02 * i for i in range(8)], "Tuning lowers the loss of a by 17% (95% "),
        ([1.1 + 0.02 * i for i in range(8)], "Tuning raises the loss of a by 17% (95% "),
        (
            [0.9, 1.1] * 4,
            "Tuning: these datasets do not show whether the loss of a changes (95% interval ",
        ),
    ],
)
def test_gain_in_words(losses, expected):
    names = [f"d{i}" for i in range(8)]
    tracks = {
        ("a", "default"): dict.fromkeys(names, 1.0),
        ("a", "tuned"): dict(zip(names, losses, strict=True)),
    }
    (gain,) = search_gains(tracks, dict.fromkeys(names, 1.0), 0.01)
    sentence = tuning.gain_sentence(gain).replace("\u00a0", "")
    assert sentence.startswith(expected)
    assert sentence.endswith("of the gap, 8datasets).")


def test_a_run_without_searches_has_no_such_section(views):
    assert tuning.build(Page(views["typical"]())) is None


def test_the_section_is_drawn_with_hostile_names(views, sections):
    page = build_report(searched(views["hostile"]()), sections)
    assert "This section failed" not in page
    assert 'id="tuning"' in page
    assert "<script>alert" not in page


def test_ensembled_search_with_the_losses_of_the_tuned_one_is_drawn_once(views):
    view = searched(views["typical"]())
    twins = [replace(cell, tracks=("ensembled",)) for cell in view.cells]
    both = figures_of(replace(view, cells=(*view.cells, *twins)))
    for alone, figure in zip(figures_of(view), both, strict=True):
        assert len(figure.table.rows) == len(alone.table.rows)
    others = searched(replace(view, cells=view.cells[::-1]))  # the losses depend on the order
    others = [replace(cell, tracks=("ensembled",)) for cell in others.cells]
    different = figures_of(replace(view, cells=(*view.cells, *others)))
    assert len(different[0].table.rows) > len(both[0].table.rows)
