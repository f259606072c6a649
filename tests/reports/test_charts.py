import json
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

import reports
from reports import _specs
from reports._charts import PALETTE, draw

CSS = (Path(reports.__file__).parent / "assets" / "report.css").read_text()


def bars(names, **mark):
    values = [{"name": name, "value": 1 + i} for i, name in enumerate(names)]
    y = {"field": "name", "type": "nominal"}
    x = {"field": "value", "type": "quantitative"}
    return {
        "data": {"values": values},
        "mark": {"type": "bar", **mark},
        "encoding": {"x": x, "y": y},
    }


def test_every_colour_of_the_palette_follows_the_theme() -> None:
    for colour in PALETTE.values():
        for paint in ("fill", "stroke"):
            assert re.search(rf'\[{paint}="{colour}"\] {{ {paint}: var\(--\w+\)', CSS), colour


def test_a_chart_is_an_image_with_a_name() -> None:
    svg = ET.fromstring(draw(bars(["a", "b"]), 'bars of "a" & <b>', "c1-"))
    assert svg.attrib["role"] == "img"
    assert svg.attrib["aria-label"] == 'bars of "a" & <b>'
    assert {"a", "b"} <= {element.text for element in svg.iter() if element.tag.endswith("text")}


def test_hostile_names_are_text_in_a_chart(hostile_names) -> None:
    # A control character in a label would end the whole process inside the renderer.
    text = str(draw(bars(list(hostile_names.values())), "hostile", "c1-"))
    svg = ET.fromstring(text)
    tags = {element.tag.split("}")[1] for element in svg.iter()}
    assert tags <= {"svg", "g", "path", "line", "rect", "text", "tspan", "defs", "clipPath"}
    labels = {element.text for element in svg.iter() if element.tag.endswith("text")}
    assert "</script><script>alert(1)</script>"[:24] in {(label or "")[:24] for label in labels}
    assert len(labels) >= len(hostile_names), "no two names became one"


def test_a_chart_carries_no_style_script_link_or_image() -> None:
    spec = {
        "data": {"values": [{"x": 1, "u": "https://example.org/a.png"}]},
        "mark": {"type": "image", "width": 9, "height": 9, "cursor": "pointer"},
        "encoding": {
            "x": {"field": "x", "type": "quantitative"},
            "url": {"field": "u"},
            "tooltip": {"field": "u"},
        },
    }
    text = str(draw(spec, "an image", "c1-"))
    assert "<image" not in text
    assert "example.org" not in text
    assert not re.search(r"(?:style|href|class|on\w+)=", text.split(">", 1)[1])


def test_a_chart_fetches_nothing(tmp_path) -> None:
    (tmp_path / "secret.csv").write_text("name,value\nsecret,1\n")
    for url in ("https://example.org/x.csv", "x.csv"):
        with pytest.raises(ValueError, match="not allowed"):
            draw({**bars([]), "data": {"url": url}}, "fetched", "c1-")
    local = {**bars([]), "data": {"url": f"file://{tmp_path}/secret.csv"}}
    assert "secret" not in draw(local, "fetched", "c1-")


def test_ids_of_two_charts_differ() -> None:
    texts = [str(draw(bars(["a"], clip=True), "clipped", prefix)) for prefix in ("c1-", "c2-")]
    found = [set(re.findall(r'id="([^"]+)"', text)) for text in texts]
    assert found[0]
    assert found[0].isdisjoint(found[1])
    for text, ids in zip(texts, found, strict=True):
        assert set(re.findall(r"url\(#([^)]+)\)", text)) <= ids


def test_a_specification_that_makes_no_sense_is_an_error() -> None:
    with pytest.raises(ValueError, match="conversion failed"):
        draw({"mark": "no such mark"}, "nothing", "c1-")


# ------------------------------------------------------------------ our own specifications


@given(st.lists(st.floats(1e-9, 1e9), max_size=20))
def test_a_log_axis_spans_its_values_with_few_ticks(values) -> None:
    (low, high), ticks = _specs.log_scale(values)
    assert all(low <= v <= high for v in values)
    assert ticks == sorted(ticks)
    assert all(low <= tick <= high for tick in ticks)
    assert 1 <= len(ticks) <= 7


def test_log_scale_ignores_what_a_log_axis_cannot_show() -> None:
    assert _specs.log_scale([0.0, -1.0, float("inf"), 2.0, 20.0]) == (
        [1.6, 25.0],
        [2, 3, 5, 10, 20],
    )


def test_an_unbounded_interval_reaches_to_the_edge() -> None:
    row = {"name": "a", "kind": "undecided", "low": 0.0, "value": 2.0, "high": float("inf")}
    spec = _specs.forest([row])
    json.dumps(spec, allow_nan=False)
    shown = spec["data"]["values"][0]
    (low, high), _ = _specs.log_scale([2.0, 1.0])
    assert (shown["low"], shown["high"]) == (low, high)


def test_strips_go_logarithmic_where_one_value_would_squash_the_others() -> None:
    def scale(values):
        rows = [{"name": str(v), "kind": "from scratch", "score": v} for v in values]
        view = _specs.strips(rows, [("score", "log_loss", "loss")])["hconcat"][0]
        return view["layer"][0]["encoding"]["x"]["scale"].get("type", "linear")

    assert scale([0.1, 0.2, 0.3]) == "linear"
    assert scale([0.1, 0.2, 15.0]) == "log"
    assert scale([-0.1, 0.2, 15.0]) == "linear"


def test_legends_name_only_what_is_drawn() -> None:
    assert [key.text for key in _specs.keys(_specs.SPEEDS, ["slower"])] == ["slower"]
    for meanings in (_specs.ORIGINS, _specs.SPEEDS, _specs.PHASES):
        symbols, shapes, colours = zip(*meanings.values(), strict=True)
        assert len(set(symbols)) == len(set(shapes)) == len(set(colours)) == len(meanings)
        assert set(colours) <= set(PALETTE)
