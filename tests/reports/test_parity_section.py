"""Tests of the section on equal and different trees."""

from dataclasses import replace

import pytest

from harness.analysis.difference import Line
from reports import Drawing, Fragment, Page, Panel, Sides, Table
from reports.charts.tree_drawing import draw_tree
from reports.sections import parity


@pytest.fixture
def typical(views):
    return views["typical"]()


@pytest.fixture
def section(typical):
    return lambda **changes: parity.build(Page(replace(typical, **changes)))


def blocks_of(block, kind):
    """Yield the blocks of a kind in a block and below it."""
    if isinstance(block, kind):
        yield block
    for name in ("blocks", "items"):
        for part in getattr(block, name, ()) if not isinstance(block, kind) else ():
            yield from blocks_of(part, kind)


def panels(fragment):
    return [block for block in fragment.blocks if isinstance(block, Panel)]


def test_run_without_parity_has_no_such_section(section):
    assert section(parity=()) is None


def test_matrix_has_a_row_per_dataset_and_a_column_per_pair(typical, section):
    fragment = section()
    assert isinstance(fragment, Fragment)
    matrix = next(b for b in fragment.blocks if isinstance(b, Table))
    assert len(matrix.rows) == len({p.dataset for p in typical.parity})
    assert len(matrix.columns) == 1 + len({(p.algorithm, p.reference) for p in typical.parity})
    first = matrix.rows[0][1]
    assert first.text[0].text == "no parity level"
    assert "claims L3" in first.note
    assert first.tone == "bad"


@pytest.mark.parametrize(
    ("level", "claimed", "tone"),
    [("L3", "L3", ""), ("L3", "L2", ""), ("L2", "L3", "bad"), ("", "", ""), ("", "L0", "bad")],
)
def test_parity_level_lower_than_claimed_is_highlighted(typical, section, level, claimed, tone):
    one = replace(typical.parity[0], parity_level=level, claimed=claimed)
    matrix = next(b for b in section(parity=(one,)).blocks if isinstance(b, Table))
    assert matrix.rows[0][1].tone == tone
    assert matrix.rows[0][1].value == level


def test_differing_trees_are_drawn_with_both_gains(typical, section):
    one = typical.parity[0]
    panel = section(parity=(one,)).blocks[-1]
    assert panel.title == f"{one.algorithm} and {one.reference} on {one.dataset}"
    assert not panel.folded
    (sides,) = blocks_of(panel, Sides)
    assert [type(drawn) for drawn in sides.blocks] == [Drawing, Drawing]
    assert [d.lines for d in sides.blocks] == list(one.comparison.differences[0].drawing)
    gains = next(blocks_of(panel, Table))
    assert [cell.value for cell in gains.rows[0][1:3]] == [0.5, 0.25]
    assert gains.rows[1][1].text == "0.500000000"


def test_many_panels_are_folded_and_equal_trees_are_omitted(typical, section):
    one = typical.parity[0]
    same = replace(one, parity_level="L3", comparison=replace(one.comparison, differences=()))
    assert panels(section(parity=(same, same))) == []
    assert [p.folded for p in panels(section(parity=(one,) * 5))] == [True] * 5


def test_missing_comparison_gives_the_reason(typical, section):
    one = replace(typical.parity[0], comparison=None, reason="mine: trees not exported: <b>")
    panel = section(parity=(one,)).blocks[-1]
    assert "Not compared: mine: trees not exported: <b>" in panel.blocks[0].words[0]


# ------------------------------------------------------------------ the drawing

LINES = (
    Line(0, "", "age <= 30", 100, "split"),
    Line(1, "left", "leaf 1", 40, "leaf"),
    Line(1, "right", "x < 2", 60, "split", marked=True),
    Line(2, "left", "…", 20, "more"),
)


def test_drawing_has_a_line_per_node_and_a_branch_per_child(parse):
    page = parse(str(draw_tree(LINES, "a tree")))
    svg = page.all("svg")[0]
    assert (svg["role"], svg["aria-label"]) == ("img", "a tree")
    paths = [a["d"] for a in page.all("path")]
    assert len(paths) == 3 + 1  # branches, and the mark
    assert paths[2].startswith("M32,67V86H54")  # from the line of its parent, not of its uncle
    assert len(page.all("text")) == len(LINES)
    assert [len(page.all(tag)) for tag in ("circle", "rect")] == [2, 1]
    assert "right: x < 2 (60)" in page.text


def test_only_the_marked_node_has_its_shape_and_color(parse):
    page = parse(str(draw_tree(LINES, "a tree")))
    orange = [tag for tag, a in page.tags if a.get("fill") == "#d55e00"]
    assert orange == ["path"]
    assert [a["font-weight"] for a in page.all("tspan") if "font-weight" in a] == ["700"]


def test_drawing_belongs_to_its_algorithm(parse, hostile_names):
    name = hostile_names["attribute"]
    (group,) = parse(str(draw_tree(LINES, "a tree", name))).all("g")
    assert group == {"data-a": name}


def test_drawing_needs_no_style_and_hides_no_text(parse, hostile_names):
    lines = [
        Line(i % 3 and 1, "left", name, 1, "split") for i, name in enumerate(hostile_names.values())
    ]
    page = parse(str(draw_tree(lines, hostile_names["attribute"])))
    assert {tag for tag, _ in page.tags} <= {"svg", "path", "circle", "rect", "text", "tspan"}
    assert not any("style" in a or any(k.startswith("on") for k in a) for _, a in page.tags)
    width = float(page.all("svg")[0]["width"])
    assert width < 1000
    assert page.all("svg")[0]["viewbox"].split()[2] == f"{width:.0f}"
