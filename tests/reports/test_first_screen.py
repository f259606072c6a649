"""Tests of the first screen: the matrix of verdicts, the recommendation, the changes."""

import math
from dataclasses import replace

import pytest

from harness import Section
from harness.analysis.compare import OutcomeChange, RunComparison, Seconds
from reports import Page
from reports.page.build import build_report
from reports.page.verdict_matrix import as_accurate, overall, pair_cell, same_trees
from reports.sections import changes, summary


@pytest.fixture
def view(views):
    return views["typical"]()


def text_of(words) -> str:
    """Return the text of words."""
    if isinstance(words, str):
        return words
    return words.text if hasattr(words, "text") else "".join(map(text_of, words))


def heads(table) -> list[str]:
    return [column.title for column in table.columns]


# ------------------------------------------------------------------ the matrix


def test_pair_has_a_row_with_all_four_answers(view) -> None:
    table = overall(Page(view))
    assert heads(table)[:4] == ["Algorithm", "Same trees", "As accurate", "Difference of loss"]
    assert heads(table)[4:] == ["Train", "Predict", "Predict one row", "Fit memory"]
    assert [row[0].value for row in table.rows] == ["decision_tree", "bagging"]
    assert "margin ±1 % of the gap" in table.caption
    assert pair_cell(Page(view).pairs[0]).note == "against sklearn_decision_tree"


def test_matrix_links_to_its_evidence(view) -> None:
    def links(view) -> list[str]:
        notes = [
            b.words for b in summary.build(Page(view)).blocks if getattr(b, "role", "") == "note"
        ]
        return [word.href for words in notes for word in words if hasattr(word, "href")]

    assert links(view) == ["#verdicts", "#parity", "#duels"]
    assert links(replace(view, parity=(), speed=(), duels=())) == ["#verdicts"]


def test_missing_measurements_have_no_column(view) -> None:
    assert len(heads(overall(Page(replace(view, speed=(), duels=()))))) == 4


def test_parity_level_below_the_claim_is_highlighted(view) -> None:
    unsure = tuple(replace(p, verdict="inconclusive") for p in view.parity)
    undecided = [row[1] for row in overall(Page(replace(view, parity=unsure))).rows]
    assert [(text_of(cell.text), cell.tone) for cell in undecided] == [("trees differ", "")] * 2
    cells = [row[1] for row in overall(Page(view)).rows]
    assert [text_of(cell.text) for cell in cells] == ["no parity level"] * 2
    assert all(cell.tone == "bad" for cell in cells), "it claims L3"
    good = tuple(replace(p, parity_level="L3") for p in view.parity)
    mixed = (*good, replace(good[0], params=({"parity": "scikit-learn"}, {}), parity_level="L2"))
    first, second = (row[1] for row in overall(Page(replace(view, parity=mixed))).rows)
    assert text_of(first.text) == "L3 identical trees L2 same trees", "a badge a mode"
    assert (text_of(second.text), second.tone) == ("L3 identical trees", "")
    bare = overall(Page(replace(view, parity=()))).rows[0][1]
    assert text_of(bare.text) == "not compared"
    assert bare.note == "claims L3\N{NO-BREAK SPACE}(scikit-learn)"


def test_equal_trees_are_those_of_the_best_mode(view) -> None:
    assert same_trees(Page(view)) == ("0 of 2", "2\N{NO-BREAK SPACE}pairs compared tree by tree")
    other = replace(view.parity[0], params=({"parity": "scikit-learn"}, {}), parity_level="L3")
    assert same_trees(Page(replace(view, parity=(*view.parity, other))))[0] == "1 of 2"
    assert same_trees(Page(replace(view, parity=())))[0] == ""


def test_better_counts_as_accurate_and_undecided_does_not(view) -> None:
    pooled = [a for a in view.accuracy if not a.dataset]
    messages = (replace(pooled[0], verdict="better"), replace(pooled[1], verdict="inconclusive"))
    result, words = as_accurate(Page(replace(view, accuracy=messages)))
    assert result == "1 of 2"
    assert "1 better" in words
    assert "1 inconclusive" in words


# ------------------------------------------------------------------ the recommendation


def test_first_screen_recommends_an_algorithm(view) -> None:
    boxes = {box.title: box for box in summary.build(Page(view)).blocks[-1].blocks}
    (items,) = boxes["What to use"].blocks
    assert "What could change this" in " ".join(map(text_of, items.items))


def test_without_scores_nothing_is_recommended(views) -> None:
    for name in ("empty", "only_failures"):
        boxes = summary.build(Page(views[name]())).blocks[-1].blocks
        assert "What to use" not in [box.title for box in boxes]


# ------------------------------------------------------------------ changes


@pytest.fixture
def compared(view):
    single = [replace(a, reference="older") for a in view.accuracy if a.dataset][:3]
    words = ("worse", "better", "equivalent")
    return RunComparison(
        old={"id": "older", "name": "quick", "started": "2026-01-01T00:00:00+00:00"},
        new=view.run,
        matched=7,
        only_old=0,
        only_new=1,
        other_data=0,
        changes=tuple(replace(a, verdict=v) for a, v in zip(single, words, strict=True)),
        seconds=(Seconds("bagging", "wine", "fit", 0.5, 0.25, remeasured=True),),
        turns=(OutcomeChange("catboost", "wine", "kfold3-s0-r0-f0", "done", "timeout"),),
    )


def test_changes_are_listed_with_the_worst_first(view, compared) -> None:
    page = Page(replace(view, previous=compared))
    fragment = changes.build(page)
    table = next(b for b in fragment.blocks if getattr(b, "name", "") == "changes")
    assert [row[2].value for row in table.rows] == ["worse", "better", "equivalent"]
    assert fragment.badge == "2", "one worse, one that failed"
    texts = [text_of(b.title) for b in summary.build(page).blocks[-1].blocks]
    assert texts[-1] == "What changed"


def test_without_an_earlier_run_nothing_changed(view) -> None:
    assert changes.build(Page(view)) is None
    boxes = summary.build(Page(view)).blocks[-1].blocks
    assert "What changed" not in [box.title for box in boxes]


def test_rounding_difference_is_shown_as_none(view) -> None:
    pooled = next(a for a in view.accuracy if not a.dataset)
    tiny = replace(pooled, difference=replace(pooled.difference, value=-1.1e-17))
    row = overall(Page(replace(view, accuracy=(tiny,)))).rows[0]
    assert text_of(row[3].text) == "0\N{NO-BREAK SPACE}%"
    assert math.isclose(row[3].value, -1.1e-17), "the CSV file has the number itself"


def test_excluded_times_of_other_machines_are_reported(view) -> None:
    def cautions(view) -> str:
        return " ".join(text_of(line) for line in summary._cautions(Page(view)))

    assert "other kind" not in cautions(view)
    assert "3 on 1 other kind of machine" in cautions(replace(view, machines={"a": 9, "b": 3}))


# ------------------------------------------------------------------ own data


def test_report_on_own_data_begins_with_recommendation_and_leaderboard(view) -> None:
    config = {**view.run["config"], "files": [{"path": "/somewhere/mine.csv"}]}
    own = replace(view, run={**view.run, "config": config})
    blocks = summary.build(Page(own)).blocks
    assert [block.kind for block in blocks[:3]] == ["paragraph", "paragraph", "table"]
    assert "recommended on" in blocks[0].words or blocks[0].words.startswith("Use ")
    assert blocks[1].words.startswith("What could change this")
    assert blocks[2].name == "answer"
    assert len(blocks[2].rows) > 1
    assert [b.summary for b in blocks if b.kind == "details"] == [
        "Each algorithm against its reference"
    ]
    page = build_report(own, [Section("summary", "Summary", 0, summary.build)])
    assert "<h1>mine.csv</h1>" in page
    assert "/somewhere" not in page


def test_recommendation_names_the_own_file(view) -> None:
    config = {**view.run["config"], "files": [{"path": "/somewhere/mine.csv", "name": "wine"}]}
    cells = tuple(cell for cell in view.cells if cell.dataset == "wine")
    own = replace(view, run={**view.run, "config": config}, cells=cells)
    sentence = summary.build(Page(own)).blocks[0].words
    assert " for mine.csv: " in sentence
    assert "wine" not in sentence


def test_tiles_show_only_what_was_measured(view) -> None:
    def labels(view) -> list[str]:
        blocks = summary.build(Page(view)).blocks
        (tiles,) = (b for b in blocks if b.kind == "tiles" and b.role != "answers")
        return [tile.label for tile in tiles.tiles]

    names = ["Same trees", "As accurate as the reference", "Training speed against the reference"]
    assert labels(view) == [*names, "Failures"]
    assert labels(replace(view, parity=(), speed=(), duels=())) == [names[1], "Failures"]


def test_report_does_not_refer_to_itself(view) -> None:
    cells = [replace(c, dataset=f"{c.dataset}-{n}") for n in range(4) for c in view.cells]
    page = build_report(replace(view, cells=tuple(cells)), [Section("s", "S", 0, summary.build)])
    assert "is recommended on" in page
    assert "see the report" not in page
