"""Tests of the diagnostics section: a panel each, and reasons for missing results."""

from dataclasses import replace

import pytest
from report_views import made_up_diagnostics

from harness.analysis.diagnostics import Diagnostic
from reports import Details, Figure, Page, Panel, Table, build_report, verdicts_json
from reports.sections import diagnostics


@pytest.fixture(scope="module")
def text_of():
    shuffled = {
        "metric": "log_loss",
        "loss": 0.5,
        "columns": ("a", "b"),
        "mean": (0.2, 0.0),
        "low": (0.1, -0.1),
        "high": (0.3, 0.1),
    }
    return (*made_up_diagnostics(), Diagnostic("permutation", "ours", "blobs", {}, found=shuffled))


@pytest.fixture
def page_with(views):
    view = views["typical"]()
    return lambda *text_of: Page(replace(view, diagnostics=text_of))


def test_run_without_diagnostics_has_no_such_section(page_with):
    assert diagnostics.build(page_with()) is None


def test_every_diagnostic_has_a_panel_a_note_and_a_row_per_answer(page_with, text_of):
    fragment = diagnostics.build(page_with(*text_of))
    assert [p.title for p in fragment.blocks] == list(diagnostics.TITLES.values())
    for panel in fragment.blocks:
        assert isinstance(panel, Panel)
        (table,) = [b for b in panel.blocks if isinstance(b, Table)]
        assert all(len(row) == len(table.columns) for row in table.rows)
        assert len(table.rows) == 1
        assert panel.blocks[0].words


def rows_of(page_with, one):
    (panel,) = diagnostics.build(page_with(one)).blocks
    return next(b for b in panel.blocks if isinstance(b, Table)).rows


def test_difference_is_highlighted_with_its_size(page_with, text_of):
    one = next(d for d in text_of if d.name == "determinism")
    (row,) = rows_of(page_with, one)
    assert [cell.value for cell in row[2:]] == ["same", "differs", "unknown"]
    assert row[3].note.startswith("1 float64 step, log_loss by")
    assert row[4].note == "it crashed"


@pytest.mark.parametrize(("load", "note"), [(0.5, ""), (7.5, "doubtful: load 7.50 on 2")])
def test_times_under_load_are_marked(page_with, text_of, load, note):
    one = next(d for d in text_of if d.name == "scaling")
    busy = replace(one, found={**one.found, "load": load, "processors": 2})
    (row,) = rows_of(page_with, busy)
    assert row[4].note.startswith(note)
    assert bool(row[4].note) == bool(note)


def test_both_sides_of_a_pair_are_named(page_with, text_of):
    one = next(d for d in text_of if d.name == "agreement")
    (row,) = rows_of(page_with, one)
    assert row[0].note == "against theirs"
    assert row[-1].text == "–"  # a regression has no labels


def test_curves_and_reliability_are_drawn_per_dataset(page_with, text_of):
    drawn = {d.name: d for d in text_of if d.name in ("staged", "calibration")}
    more = [replace(d, dataset="moons") for d in drawn.values()]
    panels = diagnostics.build(page_with(*drawn.values(), *more)).blocks
    figures = {
        panel.title: [f for b in panel.blocks if isinstance(b, Details) for f in b.blocks]
        for panel in panels
    }
    assert [len(f) for f in figures.values()] == [4, 2]
    assert all(isinstance(f, Figure) for several in figures.values() for f in several)
    by_members = figures["Round by round"][0]
    assert len(by_members.table.rows) == 6


def test_without_seconds_there_is_one_chart(page_with, text_of):
    one = next(d for d in text_of if d.name == "staged")
    silent = replace(one, found={**one.found, "seconds": None})
    (panel,) = diagnostics.build(page_with(silent)).blocks
    assert len(panel.blocks[-1].blocks) == 1
    assert panel.blocks[1].rows[0][-1].text == "–"


def test_missing_answer_gives_the_reason(page_with):
    silent = Diagnostic("margins", "ours", "blobs", reason="it is a single tree")
    (panel,) = diagnostics.build(page_with(silent)).blocks
    details = panel.blocks[-1]
    assert details.summary == "1\N{NO-BREAK SPACE}diagnostic could not be computed"
    assert details.blocks[0].rows[0][-1] == "it is a single tree"


def test_whole_page_is_built_with_diagnostics_and_hostile_names(
    page_with, text_of, sections, hostile_names, parse
):
    hostile = [
        replace(d, algorithm=name, dataset=name, reference=name)
        for d, name in zip(text_of * 2, hostile_names.values(), strict=False)
    ]
    own = [section for section in sections if section.name == "diagnostics"]
    html = build_report(page_with(*text_of, *hostile).view, own)
    assert "This section failed" not in html
    assert "Reliability diagrams" in parse(html).text


def test_json_has_every_answer(page_with, text_of):
    given = verdicts_json(page_with(*text_of).view)["diagnostics"]
    assert [d["name"] for d in given] == [d.name for d in text_of]
    assert given[0]["found"]["best"] == 2
