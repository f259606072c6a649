import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

import reports
from reports.charts.vega import draw
from reports.text.palette import PALETTE

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


def test_every_color_of_the_palette_follows_the_theme() -> None:
    for color in PALETTE.values():
        for paint in ("fill", "stroke"):
            assert re.search(rf'\[{paint}="{color}"\] {{ {paint}: var\(--\w+\)', CSS), color


def test_chart_is_an_image_with_a_name() -> None:
    svg = ET.fromstring(draw(bars(["a", "b"]), 'bars of "a" & <b>', "c1-"))
    assert svg.attrib["role"] == "img"
    assert svg.attrib["aria-label"] == 'bars of "a" & <b>'
    assert {"a", "b"} <= {element.text for element in svg.iter() if element.tag.endswith("text")}


def test_hostile_names_are_escaped_in_a_chart(hostile_names) -> None:
    # A control character in a label would end the whole process inside the renderer.
    text = str(draw(bars(list(hostile_names.values())), "hostile", "c1-"))
    svg = ET.fromstring(text)
    tags = {element.tag.split("}")[1] for element in svg.iter()}
    assert tags <= {"svg", "g", "path", "line", "rect", "text", "tspan", "defs", "clipPath"}
    labels = {element.text for element in svg.iter() if element.tag.endswith("text")}
    assert "</script><script>alert(1)</script>"[:24] in {(label or "")[:24] for label in labels}
    assert len(labels) >= len(hostile_names), "no two names became one"


def test_chart_has_no_style_script_link_or_image() -> None:
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


def test_chart_loads_nothing(tmp_path) -> None:
    (tmp_path / "secret.csv").write_text("name,value\nsecret,1\n")
    for url in ("https://example.org/x.csv", "x.csv"):
        with pytest.raises(ValueError, match="not allowed"):
            draw({**bars([]), "data": {"url": url}}, "fetched", "c1-")
    local = {**bars([]), "data": {"url": f"file://{tmp_path}/secret.csv"}}
    assert "secret" not in draw(local, "fetched", "c1-")


def test_ids_of_two_charts_differ() -> None:
    texts = [str(draw(bars(["a"], clip=True), "clipped", prefix)) for prefix in ("c1-", "c2-")]
    results = [set(re.findall(r'id="([^"]+)"', text)) for text in texts]
    assert results[0]
    assert results[0].isdisjoint(results[1])
    for text, ids in zip(texts, results, strict=True):
        assert set(re.findall(r"url\(#([^)]+)\)", text)) <= ids


def test_invalid_specification_is_an_error() -> None:
    with pytest.raises(ValueError, match="conversion failed"):
        draw({"mark": "no such mark"}, "nothing", "c1-")
