"""Tests of the section Tuning."""

from dataclasses import replace

from reports import Page
from reports.blocks.blocks import Figure
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
    return [b for panel in fragment.blocks[1:] for b in panel.blocks if isinstance(b, Figure)]


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


def test_a_run_without_searches_has_no_such_section(views):
    assert tuning.build(Page(views["typical"]())) is None


def test_the_section_is_drawn_with_hostile_names(views, sections):
    page = build_report(searched(views["hostile"]()), sections)
    assert "This section failed" not in page
    assert 'id="tuning"' in page
    assert "<script>alert" not in page
