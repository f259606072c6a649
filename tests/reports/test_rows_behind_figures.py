"""Tests that every dot and bar of a figure is in the table behind it, complete."""

import math
from collections.abc import Iterator
from dataclasses import fields, is_dataclass

import pytest

from reports import Figure, Fragment, Page, Table
from reports.blocks.tables import csv_text
from reports.charts.plot import Boxes, Dots, Lines, Plot

GUIDES = ("muted", "ink", "paper")  # colors of marker lines, which show no number
# Sections whose bars are shares of their rows, and those whose bars are roots of shares.
SHARES = {"phases", "predictions"}
ROOTS = "Share of the gains"


def parts(block: object) -> Iterator[Figure | Table]:
    """Yield every figure of a fragment, and every table outside of figures."""
    if isinstance(block, (Figure, Table)):
        yield block
    elif isinstance(block, (list, tuple)):
        for part in block:
            yield from parts(part)
    elif is_dataclass(block) and not isinstance(block, type):
        for field in fields(block):
            yield from parts(getattr(block, field.name))


def figures(block: object) -> list[Figure]:
    return [part for part in parts(block) if isinstance(part, Figure)]


def tables(block: object) -> list[Table]:
    return [part for part in parts(block) if isinstance(part, Table)]


def numbers(*tables: Table | None) -> set[float]:
    """Return every number in the rows, to six digits."""
    cells = (cell for table in tables if table for row in table.rows for cell in row)
    values = (getattr(cell, "value", None) for cell in cells)
    return {rounded(v) for v in values if isinstance(v, (int, float)) and math.isfinite(v)}


def rounded(value: float) -> float:
    return float(f"{value:.6g}")


def drawn(figure: Figure) -> Iterator[tuple[float, float]]:
    """Yield every point that shows a number: dots, or the corners of labeled lines."""
    assert isinstance(figure.spec, Plot)
    for panel in figure.spec.panels:
        dots = [m for m in panel.marks if isinstance(m, Dots)]
        lines = [m for m in panel.marks if isinstance(m, Lines) and m.color not in GUIDES]
        for dot in dots:
            yield from dot.points
        for mark in lines if not dots else ():
            for line in mark.lines:
                yield from line


@pytest.fixture(scope="module", params=["typical", "all_sections"])
def figures_of_sections(request, views, sections):
    """Return (section, figure) of all figures of a run."""
    page = Page(views[request.param]())
    built = [(section.name, section.build(page)) for section in sections]
    return [(n, f) for n, fragment in built if isinstance(fragment, Fragment)
            for f in figures(fragment)]  # fmt: skip


def test_every_section_with_charts_is_checked(figures_of_sections) -> None:
    assert {"datasets", "predictions", "quality", "speed", "tradeoff"} <= {
        n for n, _ in figures_of_sections
    }
    assert len(figures_of_sections) > 20


def test_every_dot_is_in_a_row(figures_of_sections) -> None:
    lacking = []
    for section, figure in figures_of_sections:
        known = numbers(figure.table, figure.points)
        for x, y in drawn(figure):
            values = {x, y, x * x, y * y} if figure.title.startswith(ROOTS) else {x, y}
            if not known & {rounded(v) for v in values}:
                lacking.append((section, figure.title[:60], x, y))
    assert lacking == []


def test_every_bar_is_a_share_of_its_row(figures_of_sections) -> None:
    bars = [(n, f) for n, f in figures_of_sections if n in SHARES and any(
        isinstance(m, Boxes) for p in f.spec.panels for m in p.marks)]  # fmt: skip
    assert {n for n, _ in bars} == SHARES
    for _, figure in bars:
        rows = [[c.value for c in row[1:] if isinstance(getattr(c, "value", None), (int, float))]
                for row in figure.table.rows]  # fmt: skip
        for panel in figure.spec.panels:
            for x0, _, x1, _ in (b for m in panel.marks if isinstance(m, Boxes) for b in m.boxes):
                share = x1 - x0
                assert any(_is_share(share, row) for row in rows), (figure.title, share)


def _is_share(share: float, row: list[float]) -> bool:
    """Return True if a number of a row is this share of some sum of its neighbors."""
    values = [v for v in row if math.isfinite(v) and v >= 0]
    sums = [sum(values[i:j]) for i in range(len(values)) for j in range(i + 1, len(values) + 1)]
    return any(s > 0 and abs(v / s - share) < 1e-6 for v in values for s in sums)


def test_points_are_listed_individually(figures_of_sections) -> None:
    for section, figure in figures_of_sections:
        if figure.points is not None and section in ("predictions", "timings"):
            dots = sum(len(m.points) for p in figure.spec.panels for m in p.marks
                       if isinstance(m, Dots))  # fmt: skip
            assert len(figure.points.rows) == dots, figure.title
        if figure.points is not None:
            lines = csv_text(figure.points).splitlines()
            assert len(lines) == len(figure.points.rows) + 1


def test_every_figure_shows_its_command_if_there_is_one(views, sections) -> None:
    page = Page(views["typical"]())
    for section in sections:
        for figure in figures(section.build(page)):
            assert figure.again.startswith("python -m harness "), (section.name, figure.title)


# Tables of what was set or found, not measured; and those whose command stands beside them.
SETTINGS = {"environment", "parameters"}
BESIDE = {"changes", "failures", "history", "parity"}


@pytest.mark.parametrize(
    ("kind", "unnameable"),
    [("typical", set()), ("all_sections", {"leaderboard-multiclass", "leaderboard-regression"})],
)
def test_every_measured_table_shows_its_command(kind, unnameable, views, sections) -> None:
    """Datasets with names that no shell accepts are excluded."""
    page = Page(views[kind]())
    built = {s.name: s.build(page) for s in sections if s.name not in SETTINGS | BESIDE}
    results = {t.name: t.again.splitlines() for b in built.values() for t in tables(b)}
    lacking = {name for name, lines in results.items() if not lines}
    lacking -= {name for name in lacking if name.endswith("-unanswered")}
    assert lacking == unnameable | {"accuracy"}  # its pairs are those of the matrix above it
    for name, lines in results.items():
        assert all(x.startswith(("python -m harness ", "# ")) for x in lines), name


def test_commands_of_pairs_name_both_sides_and_the_dataset(views, sections) -> None:
    page = Page(views["typical"]())
    results = {t.name: t.again for s in sections for t in tables(s.build(page))}
    pair = page.pairs[0]
    assert f"-a {pair.algorithm} -a {pair.reference} " in results["verdicts"]
    for verdict in page.accuracy(pair):
        named = f"# {pair.algorithm} against {pair.reference} on {verdict.dataset}\n"
        line = results["verdict-matrix"].split(named)[1].splitlines()[0]
        assert f"-d {verdict.dataset} " in line
    assert "-a decision_tree -d wine -d digits" in results["leaderboard-multiclass"]


def test_single_duel_has_its_own_rerun_command(views, sections) -> None:
    page = Page(views["typical"]())
    page.view.run["config"]["command"] = "duel"
    results = {t.name: t.again for s in sections for t in tables(s.build(page))}
    duel_ids = [d.duel.id for d in page.view.duels]
    assert all(f"duel --again {id_} --fresh" in results["verdicts"] for id_ in duel_ids)
    assert results["leaderboard-binary"] == ""
