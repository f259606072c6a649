"""Draw a Vega-Lite specification as a static SVG that is safe in the page.

vl-convert draws without a browser and, as it is called here, without a network. What it
returns is rebuilt from an allow-list of elements and attributes: no script, no link, no image,
no style attribute, so that it needs nothing from the page's content security policy. Colors stay
as attributes, legible without any style sheet; the page's style sheet maps each of
``PALETTE`` to a variable of the light or the dark theme.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any
from xml.etree import ElementTree as ET

from markupsafe import Markup, escape

from reports.text.format import plain, short
from reports.text.palette import LABEL, PALETTE

_AXIS = {
    "labelColor": PALETTE["ink"],
    "titleColor": PALETTE["muted"],
    "gridColor": PALETTE["line"],
    "domain": False,
    "ticks": False,
    "labelPadding": 6,
    "labelFontSize": 12,
    "titleFontSize": 12,
    "titleFontWeight": "normal",
    # Vega may cut a long label inside a surrogate pair, which its text engine rejects:
    # names are shortened before.
    "labelLimit": 0,
    "titleLimit": 0,
}
_HEADING = {"labelLimit": 0, "titleLimit": 0, "labelColor": PALETTE["ink"]}
CONFIG = {
    "aria": False,  # no labels of single marks: the figure has a title and a table
    "background": None,
    "padding": {"left": 12, "right": 12, "top": 6, "bottom": 4},
    "view": {"stroke": None},
    "axis": _AXIS,
    "legend": _HEADING | {"titleColor": PALETTE["muted"]},
    "header": _HEADING | {"titleColor": PALETTE["muted"]},
    "title": {"color": PALETTE["ink"], "limit": 0, "fontWeight": "normal"},
    "text": {"color": PALETTE["ink"], "limit": 0, "fontSize": 12},
}

_SVG = "{http://www.w3.org/2000/svg}"
_ELEMENTS = frozenset({"g", "path", "line", "rect", "circle", "text", "tspan", "defs", "clipPath"})
_ATTRIBUTES = frozenset(
    {"width", "height", "transform", "d", "x", "y", "x1", "y1", "x2", "y2", "cx", "cy", "r"}
    | {"dx", "dy", "fill", "stroke", "opacity", "fill-opacity", "stroke-opacity", "stroke-width"}
    | {"stroke-dasharray", "stroke-linecap", "stroke-miterlimit", "text-anchor", "font-size"}
    | {"font-weight", "font-style", "clip-path", "id"}
)
_DEFAULTS = {("opacity", "1"), ("stroke-width", "1"), ("stroke-miterlimit", "10")}
_LOCAL = re.compile(r"url\(#([\w-]+)\)")
_NUMBER = re.compile(r"-?\d+\.\d{2,}(?:e-?\d+)?")


def draw(spec: Mapping[str, Any], title: str, prefix: str) -> Markup:
    """Return the chart as an ``<svg>`` element.

    Parameters
    ----------
    spec
        A Vega-Lite specification, its data inline.
    title
        Title of the chart for screen readers.
    prefix
        Prefix of all ids, so that they are unique in a page.

    Raises
    ------
    ValueError
        If Vega-Lite rejects the specification, or it refers to external data.
    """
    import vl_convert

    whole = {**_clean(spec), "config": CONFIG | dict(spec.get("config", {}))}
    text = vl_convert.vegalite_to_svg(whole, allowed_base_urls=[])
    root = ET.fromstring(text)  # noqa: S314 - from our own renderer, not from a stranger
    parts = "".join(_rebuilt(root, prefix))
    width, height = (float(root.attrib[key]) for key in ("width", "height"))
    name = "chart wide" if width > 520 else "chart"
    return Markup(  # noqa: S704 - every part below was escaped where it was made
        f'<svg xmlns="http://www.w3.org/2000/svg" class="{name}" role="img" '
        f'aria-label="{escape(plain(title))}" viewBox="{escape(root.attrib["viewBox"])}" '
        f'width="{width:g}" height="{height:g}">{parts}</svg>'
    )


def _clean(value: Any, *, data: bool = False) -> Any:
    """Return a specification without control characters, which crash the renderer."""
    if isinstance(value, str):
        return short(value, LABEL) if data else plain(value)
    if isinstance(value, Mapping):
        inside = {key: data or key in ("values", "sort", "domain") for key in value}
        return {plain(key): _clean(part, data=inside[key]) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_clean(part, data=data) for part in value]
    return value


def _rebuilt(parent: ET.Element, prefix: str) -> Iterator[str]:
    """Yield the allowed children of an element as text, without invisible ones."""
    for element in parent:
        tag = element.tag.removeprefix(_SVG)
        if tag not in _ELEMENTS or element.get("display") == "none":
            continue
        content = str(escape(element.text or "")) if tag in ("text", "tspan") else ""
        content += "".join(_rebuilt(element, prefix))
        attributes = "".join(_attributes(element, prefix))
        if tag in ("g", "text", "defs") and (not content or element.get("opacity") == "0"):
            continue
        if tag == "path" and not _has_ink(element):
            continue
        if tag == "g" and not attributes:
            yield content
        else:
            yield f"<{tag}{attributes}>{content}</{tag}>" if content else f"<{tag}{attributes}/>"


def _has_ink(path: ET.Element) -> bool:
    painted = any(
        path.get(key, "none") not in ("none", "transparent") for key in ("fill", "stroke")
    )
    return (bool(path.get("d")) and painted) or path.get("clip-path") is not None


def _attributes(element: ET.Element, prefix: str) -> Iterator[str]:
    for name, value in element.attrib.items():
        if name not in _ATTRIBUTES or (name, value) in _DEFAULTS:
            continue
        if name == "transform" and value == "translate(0,0)":
            continue
        if name == "id":
            kept = f"{prefix}{value}"
        elif local := _LOCAL.fullmatch(value):
            kept = f"url(#{prefix}{local[1]})"
        elif "url(" in value:
            continue
        else:
            kept = _NUMBER.sub(lambda number: f"{float(number[0]):.1f}".removesuffix(".0"), value)
        yield f' {name}="{escape(kept)}"'
