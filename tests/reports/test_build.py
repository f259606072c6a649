import base64
import hashlib
import re
import textwrap
from dataclasses import replace

import pytest

import reports
from harness import Section
from harness.core.errors import StoreError
from harness.plugins.registry import load_registry
from reports import (
    Badge,
    Callout,
    Cell,
    Code,
    Column,
    Details,
    Facts,
    Figure,
    Fragment,
    Items,
    Link,
    Panel,
    Paragraph,
    Sides,
    Strong,
    Table,
    Tile,
    Tiles,
    Verbatim,
    build_report,
    write_report,
)
from reports.page.render import soft
from reports.text.format import plain

KINDS = ("typical", "all_sections", "empty", "one_trial", "only_failures")
KINDS += (pytest.param("large", marks=pytest.mark.slow),)
LIMITS = {"large": 8_000_000}  # bytes; of the others 3 MB


def only(view, *blocks):
    """Return the page of one section with these blocks."""
    return build_report(view, [Section("only", "Only", 0, lambda _: Fragment(blocks))])


@pytest.fixture
def view(views):
    return views["one_trial"]()


# ------------------------------------------------------------------ every kind of page


@pytest.mark.parametrize("kind", KINDS)
def test_page_is_well_formed(page_of, parse, kind) -> None:
    page = parse(page_of(kind))
    ids = [a["id"] for _, a in page.tags if "id" in a]
    assert len(ids) == len(set(ids)), "ids are unique"
    assert len(page.all("h1")) == 1
    assert page.all("html")[0]["lang"] == "en"
    assert "This section failed" not in page.text
    for labeled in ("aria-labelledby",):
        assert {a[labeled] for _, a in page.tags if labeled in a} <= set(ids)


@pytest.mark.parametrize("kind", KINDS)
def test_every_link_has_a_target(page_of, parse, kind) -> None:
    page = parse(page_of(kind))
    ids = {a["id"] for _, a in page.tags if "id" in a}
    for link in page.all("a"):
        assert link["href"].startswith("#")
        assert link["href"][1:] in ids


@pytest.mark.parametrize("kind", KINDS)
def test_page_loads_nothing(page_of, parse, kind) -> None:
    page = parse(page_of(kind))
    assert {"img", "iframe", "object", "embed", "base", "form", "image", "use"}.isdisjoint(
        tag for tag, _ in page.tags
    )
    assert page.all("link") == [{"rel": "icon", "href": "data:,"}]
    for tag, attributes in page.tags:
        assert not {"src", "srcset", "action", "style", "xlink:href"} & set(attributes), tag
        assert not [name for name in attributes if name.startswith("on")], tag
    assert not re.search(r"url\((?!#)|@import", page_of(kind))


@pytest.mark.parametrize("kind", KINDS)
def test_policy_allows_our_own_script_and_style_only(page_of, parse, kind) -> None:
    page = parse(page_of(kind))
    policies = [m["content"] for m in page.all("meta") if "Content-Security-Policy" in m.values()]
    assert len(policies) == 1
    expected = {"default-src 'none'", "img-src data:", "base-uri 'none'", "form-action 'none'"}
    for tag in ("script", "style"):
        assert len(page.all(tag)) == 1
        text = "".join(page.inside[tag])
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        expected.add(f"{tag}-src 'sha256-{digest}'")
    assert set(policies[0].split("; ")) == expected
    places = [tag for tag, a in page.tags if tag in ("script", "style") or "http-equiv" in a]
    assert places[0] == "meta", "the policy stands before what it governs"


@pytest.mark.parametrize("kind", KINDS)
def test_page_has_no_invisible_characters(page_of, kind) -> None:
    text = page_of(kind)
    assert plain(text, lines=True) == text
    text.encode()


@pytest.mark.parametrize("kind", KINDS)
def test_page_stays_small(page_of, kind) -> None:
    assert len(page_of(kind).encode()) < LIMITS.get(kind, 3_000_000)


@pytest.mark.parametrize("kind", KINDS)
def test_figures_and_tables_are_accessible(page_of, parse, kind) -> None:
    page = parse(page_of(kind))
    figures = len(page.all("figure"))
    assert figures == len(page.all("figcaption"))
    charts = [svg for svg in page.all("svg") if svg.get("role") == "img"]
    assert len(charts) == figures, "every chart could be drawn"
    assert all(svg["aria-label"] for svg in charts)
    assert all(svg.get("aria-hidden") for svg in page.all("svg") if svg not in charts)
    assert all(th["scope"] in ("col", "row") for th in page.all("th"))
    drawings = sum("tree" in svg["class"] for svg in charts)  # these stand as text below
    assert len(page.all("table")) >= figures - drawings, "behind every chart stands its table"


def test_hostile_names_are_shown_as_text(page_of, parse, hostile_names) -> None:
    text = parse(page_of("all_sections")).text
    for name in hostile_names.values():
        assert " ".join(plain(name)[:50].split()) in text


def test_same_run_gives_the_same_page(views, sections) -> None:
    make = views["one_trial"]
    assert build_report(make(), sections) == build_report(make(), sections)


# ------------------------------------------------------------------ sections


def test_sections_are_in_order_and_empty_ones_are_omitted(view, parse) -> None:
    def section(name, order, fragment):
        return Section(name, name.title(), order, lambda _: fragment)

    shown = Fragment([Paragraph("words")], badge="7")
    given = [section("b", 20, shown), section("none", 15, None), section("a", 10, shown)]
    page = parse(build_report(view, given))
    assert [s["id"] for s in page.all("section")] == ["a", "b"]
    assert [a["href"] for a in page.all("a")][1:3] == ["#a", "#b"]
    assert "A 7" in page.text
    assert "No section has anything to show" in parse(build_report(view, [])).text


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda _: 1 / 0, "ZeroDivisionError: division by zero"),
        (lambda _: "<b>no</b>", "ruin must return a reports.Fragment or None, not a str"),
        (lambda _: Fragment([object()]), "object is not a block of a report"),
        (lambda _: Fragment([Paragraph([7])]), "int is not a block of a report"),
        (lambda page: page.no_such_thing, "has no attribute 'no_such_thing'"),
        (
            lambda _: Fragment([Table([Column("a")], [["x", "y"]], "c", "n")]),
            "zip() argument 2 is shorter",
        ),
    ],
)
def test_failing_section_affects_only_itself(view, parse, build, message) -> None:
    good = Section("good", "Good", 2, lambda _: Fragment([Paragraph("still here")]))
    text = parse(build_report(view, [Section("ruin", "Ruin", 1, build), good])).text
    assert "This section failed: ruin" in text
    assert message in text
    assert "still here" in text


def test_plugin_section_is_shown_beside_ours(view, parse, tmp_path) -> None:
    # The example of the package's own docstring, loaded from a file as --plugin would.
    example = reports.__doc__.split("::\n\n")[1].split("\n\n``page.view``")[0]
    plugin = tmp_path / "threads.py"
    plugin.write_text(textwrap.dedent(example))
    (section,) = load_registry([plugin], modules=[], strangers=False).all("section")
    text = parse(build_report(view, [section])).text
    assert "Threads of each trial" in text
    assert "decision_tree" in text


def test_every_block_is_rendered(view, parse) -> None:
    table = Table(
        [Column("T1"), Column("T2", numeric=True)], [["row", Cell("1.2", 1.23)]], "cap", "n"
    )
    mark = {"data": {"values": [{"a": 1}]}, "mark": "point", "encoding": {"x": {"field": "a"}}}
    blocks = [
        Paragraph(
            [
                "plain ",
                Code("code"),
                Strong("strong"),
                Link("link", "#only"),
                Badge("b", "bad", "!"),
            ]
        ),
        Items(["item"]),
        Tiles([Tile("label", "value", "small")]),
        Facts([("term", "fact")]),
        Sides([Callout("callout", [Paragraph("inside")])]),
        Details("more", [Verbatim("a\n  b", "lines")]),
        Panel("panel", [Paragraph("open")], "p"),
        Panel("folded", [Paragraph("closed")], "p", folded=True, note="aside"),
        Figure(mark, "title", "finding", table),
    ]
    html = only(view, *blocks)
    text = parse(html).text
    assert "This section failed" not in text
    for word in [
        "code",
        "strong",
        "link",
        "item",
        "label",
        "value",
        "small",
        "term",
        "fact",
        "callout",
        "inside",
        "more",
    ]:
        assert word in text
    for word in [
        "lines",
        "panel",
        "open",
        "folded",
        "closed",
        "aside",
        "finding",
        "cap",
        "T1",
        "T2",
    ]:
        assert word in html
    assert 'data-v="1.23"' in html
    assert 'id="p-2"' in html, "an anchor that is taken gets a number"
    assert "a\n  b" in html


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("2026-11-22 00:27:49 UTC", "2026-11-22 00:27:49 UTC"),
        ("sklearn.gradient_boosting", "sklearn.<wbr>gradient_<wbr>boosting"),
        ("synthetic:rows=1000", "synthetic:<wbr>rows=<wbr>1000"),
        ("log_loss", "log_loss"),
        ("1234567890.5 seconds", "1234567890.5 seconds"),
    ],
)
def test_long_names_may_wrap_and_numbers_may_not(name, shown) -> None:
    assert soft(name) == shown


def test_chart_that_cannot_be_drawn_keeps_its_table(view, parse) -> None:
    table = Table([Column("A")], [["the numbers"]], "caption", "name")
    page = parse(only(view, Figure({"mark": "no such mark"}, "title", "finding", table)))
    assert "This chart could not be drawn" in page.text
    assert "the numbers" in page.text
    assert [d for d in page.all("details") if "open" in d], "the table stands open in its place"


def test_links_lead_to_anchors_or_https_only() -> None:
    with pytest.raises(ValueError, match="#anchor or https"):
        Link("x", "javascript:alert(1)")


def test_public_names_can_be_imported() -> None:
    for name in reports.__all__:
        assert getattr(reports, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = reports.nothing


# ------------------------------------------------------------------ the file


def test_report_is_written_atomically(view, sections, tmp_path) -> None:
    path = tmp_path / "new" / "folder" / "report.html"
    write_report(view, sections, path)
    assert path.read_text(encoding="utf-8") == build_report(view, sections)
    assert [p.name for p in path.parent.iterdir()] == ["report.html"]
    assert path.stat().st_mode & 0o044, "others may read it, as far as the umask allows"


def test_failed_write_keeps_the_old_report(view, tmp_path) -> None:
    path = tmp_path / "report.html"
    path.write_text("old")
    bad = replace(view, run={**view.run, "name": Unprintable()})
    with pytest.raises(RuntimeError, match="never a text"):
        write_report(bad, [], path)
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]


class Unprintable:
    def __str__(self) -> str:
        raise RuntimeError("never a text")


def test_unwritable_place_is_reported(view, tmp_path) -> None:
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(StoreError, match=r"cannot write the report .*report\.html"):
        write_report(view, [], tmp_path / "file" / "report.html")
