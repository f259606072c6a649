"""Tests of our own plots: axes, marks, names and contents."""

import itertools
import math
import re
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from reports.charts import axes, legends
from reports.charts.forest import Estimate, differences, ratios
from reports.charts.plot import Boxes, Dots, Label, Lines, Panel, Plot, position, width_of
from reports.charts.point_labels import label_points
from reports.charts.strips import strips
from reports.sections.tradeoff import front
from reports.text.palette import PALETTE

ALLOWED = {"svg", "g", "path", "text"}


def parsed(plot: Plot, title: str = "a plot") -> ET.Element:
    return ET.fromstring(plot.svg(title))


def texts(root: ET.Element) -> list[str]:
    return [e.text or "" for e in root.iter() if e.tag.endswith("text")]


def numbers(root: ET.Element) -> list[float]:
    """Return every number of the outlines."""
    paths = (e.get("d", "") for e in root.iter())
    return [float(x) for d in paths for x in re.findall(r"-?\d+(?:\.\d+)?", d)]


# ------------------------------------------------------------------ axes


@given(st.lists(st.floats(1e-9, 1e9), max_size=20))
def test_log_axis_spans_its_values_with_few_ticks(values) -> None:
    (low, high), ticks = axes.log_scale(values)
    assert all(low <= v <= high for v in values)
    assert ticks == sorted(ticks)
    assert all(low <= tick <= high for tick in ticks)
    assert 1 <= len(ticks) <= 7


def test_log_scale_ignores_nonpositive_values() -> None:
    assert axes.log_scale([0.0, -1.0, float("inf"), 2.0, 20.0]) == (
        [1.6, 25.0],
        [2, 3, 5, 10, 20],
    )


@given(st.lists(st.floats(-1e9, 1e9), max_size=20), st.integers(2, 8))
@example([1 / 3], 4)
def test_linear_axis_spans_its_values_with_few_round_ticks(values, most) -> None:
    axis = axes.linear(values, most=most)
    assert all(axis.low <= v <= axis.high for v in values)
    assert len(axis.ticks) == len(axis.labels) <= most + 1
    assert all(axis.low <= t <= axis.high for t in axis.ticks)
    assert all(0 <= axis.share(v) <= 1 for v in values)


def test_nonfinite_values_move_no_axis() -> None:
    assert axes.linear([1.0, math.inf, math.nan, 2.0]) == axes.linear([1.0, 2.0])
    assert axes.linear([0.0, 1.0], zero=True).low == 0.0


def test_axis_of_zeros_has_room_above_them() -> None:
    axis = axes.linear([0.0, 0.0], zero=True)
    assert axis.low == 0.0 < axis.high
    assert axis.share(0.0) == 0.0
    assert axis.ticks[0] == 0.0


def test_rows_are_drawn_from_the_top() -> None:
    axis = axes.rows(["a", "b", "c"])
    assert axis.share(0) > axis.share(1) > axis.share(2)
    assert axis.labels == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("value", "label"), [(0.0, "0"), (0.25, "0.25"), (-3.0, "−3"), (1e6, "1e6"), (2e-5, "2e−5")]
)
def test_tick_labels_are_short(value, label) -> None:
    assert axes.number(value) == label


def test_times_and_ratios_have_their_units() -> None:
    assert [axes.brief_seconds(v) for v in (2e-5, 0.03, 5)] == ["20 µs", "30 ms", "5 s"]
    assert axes.brief_ratio(0.5) == "×0.5"


# ------------------------------------------------------------------ the image


def a_panel(**rest) -> Panel:
    x, y = axes.linear([0, 10], "x title"), axes.linear([0, 1], "y title")
    marks = [
        Boxes([(1, 0.2, 3, 0.4)]),
        Lines([[(0, 0), (10, 1)]]),
        Dots([(5, 0.5), (math.nan, 0.5)][:1]),
        Label((2, 0.5), "beside"),
    ]
    return Panel(x, y, marks, **rest)


def test_plot_is_an_image_with_a_name_and_a_description() -> None:
    root = parsed(Plot([a_panel(title="first"), a_panel()]), 'a "plot" & <b>')
    assert root.get("role") == "img"
    assert root.get("aria-label") == 'a "plot" & <b>'
    assert {"first", "beside", "x title", "y title"} <= set(texts(root))
    assert {e.tag.split("}")[1] for e in root.iter()} <= ALLOWED


def test_everything_lies_within_the_image() -> None:
    root = parsed(Plot([a_panel() for _ in range(5)], across=2))
    width, height = float(root.get("width")), float(root.get("height"))
    for e in root.iter():
        for x, y in re.findall(r"[ML](-?[\d.]+),(-?[\d.]+)", e.get("d", "")):
            assert 0 <= float(x) <= width
            assert 0 <= float(y) <= height


def test_hostile_names_are_escaped(hostile_names) -> None:
    names = list(hostile_names.values())
    x, y = axes.linear([0, 1]), axes.rows(names)
    marks = [Label((0, i), name) for i, name in enumerate(names)]
    root = parsed(Plot([Panel(x, y, marks, title=names[0])]))
    assert {e.tag.split("}")[1] for e in root.iter()} <= ALLOWED
    assert len(set(texts(root)) & set(y.labels)) == len(names), "no two names became one"


def test_axis_labels_do_not_overlap() -> None:
    axis = axes.Axis(0, 1, (0.0, 0.01, 1.0), ("a long label", "another one", "end"))
    assert set(texts(parsed(Plot([Panel(axis, axes.linear([0, 1]), [])])))) >= {
        "a long label",
        "end",
    }
    assert "another one" not in texts(parsed(Plot([Panel(axis, axes.linear([0, 1]), [])])))


def test_every_point_has_a_label_and_no_label_covers_another() -> None:
    points = {f"name {i}": (0.5 + i * 1e-3, 0.5 + i * 4e-3) for i in range(30)}
    dots = [Dots(list(points.values()))]
    panel = Panel(axes.linear([0, 1]), axes.linear([0, 1]), dots, width=300, height=200)
    numbers = {name: i for i, name in enumerate(points, 1)}
    found = label_points(points, ["name 7"], numbers, panel)
    labels = [mark for mark in found.marks if isinstance(mark, Label)]
    assert {label.algorithm for label in labels} == set(points)
    assert found.numbered == set(points) - {"name 7"}, "the important one shows its name"
    assert all(label.text in (label.algorithm, str(numbers[label.algorithm])) for label in labels)
    boxes = []
    for label in labels:
        x, y = position(panel, label.point)
        wide = width_of(label.text)
        left = x + label.dx - wide * {"start": 0, "middle": 0.5, "end": 1}[label.anchor]
        boxes.append((left, y + label.dy - 11, left + wide, y + label.dy + 2))
    pairs = itertools.combinations(boxes, 2)
    assert not any(a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3] for a, b in pairs)
    assert any(isinstance(mark, Lines) for mark in found.marks), "far numbers have a leader line"
    spread = {"a": (0.1, 0.1), "b": (0.9, 0.9)}
    alone = label_points(spread, [], {"a": 1, "b": 2}, panel)
    assert [label.text for label in alone.marks] == ["a", "b"]
    assert not alone.numbered


@pytest.mark.parametrize("axis", [axes.linear([2.0, 9.0]), axes.logarithmic([2.0, 900.0])])
def test_value_of_a_share_is_the_inverse_of_the_share(axis) -> None:
    assert axis.value(axis.share(5.0)) == pytest.approx(5.0)


def test_estimated_label_width_is_an_upper_bound() -> None:
    # widths at 12 px of Liberation Sans and of DejaVu Sans, as a browser lays them out
    for text, thin, wide in (
        ("gradient_boosting", 97.4, 113.2),
        ("histogram_boosting", 104.0, 119.2),
        ("iiiiii", 16.0, 20.1),
        ("WWWW", 45.3, 47.5),
    ):
        assert wide * 0.98 <= width_of(text) <= thin * 1.5


# ------------------------------------------------------------------ the charts


def test_unbounded_interval_reaches_the_edge() -> None:
    plot = ratios([Estimate("a", "undecided", 0.0, 2.0, math.inf)])
    (panel,) = plot.panels
    (line,) = [m for m in panel.marks if isinstance(m, Lines) and m.dash == "1 4" and m.lines]
    assert line.lines == [[(panel.x.low, 0), (panel.x.high, 0)]]
    assert all(map(math.isfinite, numbers(parsed(plot))))


def test_very_wide_interval_does_not_compress_the_others() -> None:
    near = Estimate("near", "equivalent", -0.004, 0.001, 0.005, (-0.003, 0.004))
    far = Estimate("far", "inconclusive", -5.0, 0.01, 5.0, (-4.0, 4.0))
    (panel,) = differences([near, far], 0.01, "difference").panels
    assert panel.x.high < 0.1
    band = next(m for m in panel.marks if isinstance(m, Boxes))
    assert band.boxes == [(-0.01, -0.5, 0.01, 1.5)]


def test_strips_are_logarithmic_if_one_value_would_compress_the_others() -> None:
    def log(values):
        results = [{"name": str(v), "kind": "from scratch", "score": v} for v in values]
        return strips(results, [("score", "log_loss", "loss")]).panels[0].x.log

    assert not log([0.1, 0.2, 0.3])
    assert log([0.1, 0.2, 15.0])
    assert not log([-0.1, 0.2, 15.0])


def test_row_without_a_value_keeps_its_place() -> None:
    results = [
        {"name": "a", "kind": "from scratch", "score": None},
        {"name": "b", "kind": "from scratch", "score": 1.0},
    ]
    (panel,) = strips(results, [("score", "loss", "loss")]).panels
    assert panel.y.labels == ["a", "b"]
    dots = [p for m in panel.marks if isinstance(m, Dots) for p in m.points]
    assert dots == [(1.0, 1)]


def test_pareto_front_has_only_undominated_points() -> None:
    points = [(1.0, 5.0), (2.0, 5.0), (3.0, 1.0), (4.0, 2.0), (math.nan, 0.0), (5.0, 0.5)]
    assert front(points) == [0, 2, 5]
    rng = np.random.default_rng(0)
    some = [tuple(p) for p in rng.random((40, 2))]
    beaten = {i for i, p in enumerate(some) if any(q[0] < p[0] and q[1] < p[1] for q in some)}
    assert set(front(some)) == set(range(40)) - beaten


def test_legends_name_only_drawn_items() -> None:
    assert [key.text for key in legends.keys(legends.SPEEDS, ["slower"])] == ["slower"]
    for meanings in (legends.ORIGINS, legends.SPEEDS, legends.VERDICTS):
        symbols, shapes, colors = zip(*meanings.values(), strict=True)
        assert len(set(symbols)) == len(set(shapes)) == len(set(colors)) == len(meanings)
        assert set(colors) <= set(PALETTE)
    assert [k.text for k in legends.series_keys(["a", "b"])] == ["a", "b"]
    assert len({(color, dash) for color, dash, _ in legends.SERIES}) == len(legends.SERIES)


def test_bars_of_a_row_belong_to_its_algorithm() -> None:
    boxes = [Boxes([(0, -0.3, 1, 0.3), (0, 0.7, 1, 1.3)], "blue"), Boxes([(0, -0.5, 1, 1.5)])]
    svg = Plot([Panel(axes.linear([0, 1]), axes.rows(["a", "b"]), boxes)]).svg("bars")
    bars, band = re.findall(r'<g fill="#0072b2">(.*?)</g><g fill="#eeeeee">(.*?)</g>', svg)[0]
    assert re.findall(r'data-a="(\w)"', bars) == ["a", "b"]
    assert "data-a" not in band, "a band over all rows has no owner"
