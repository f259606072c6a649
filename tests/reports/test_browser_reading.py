"""Tests of the report's accessibility: contrast in both themes, names, headings, and axe."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import CHROMIUM, WHY_NOT, Browser

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason=WHY_NOT)
AXE = os.environ.get("AXE_CORE", "")  # path of axe.min.js, of the npm package axe-core
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
KINDS = ("typical", "all_sections", "one_trial", "one_dataset", "only_failures", "empty", "index")
KINDS += ("history",)
OPENED = "for (const d of document.querySelectorAll('details')) d.open = true;"
# The contrast of every text with what lies behind it, by WCAG 2's relative luminance.
CONTRAST = """
  const parse = (c) => c.match(/[\\d.]+/g).map(Number);
  const channel = (v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const behind = (e) => {
    for (; e; e = e.parentElement) {
      const found = parse(getComputedStyle(e).backgroundColor);
      if (found.length < 4 || found[3] === 1) return found;
    }
    return [255, 255, 255];
  };
  const poor = [];
  let seen = 0;
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const e = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim() || !e.checkVisibility()) continue;
    if (e.closest("[aria-hidden], .anchor, script, style")) continue;
    seen += 1;
    const style = getComputedStyle(e);
    const ink = parse(e.closest("svg") ? style.fill : style.color);
    const [a, b] = [light(ink), light(behind(e))].sort((x, y) => y - x);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    const ratio = (a + 0.05) / (b + 0.05);
    const told = `${ratio.toFixed(2)} ${e.tagName}: ${e.textContent.slice(0, 40)}`;
    if (ratio < (large ? 3 : 4.5)) poor.push(told);
  }
  return { seen, poor: [...new Set(poor)].slice(0, 5) };
"""
# Contrast of every chart color with the background: 3 to 1 for marks with a meaning.
INKS = """
  const parse = (c) => c.match(/[\\d.]+/g).map(Number);
  const channel = (v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const paper = light(parse(getComputedStyle(document.body).backgroundColor));
  const dark = getComputedStyle(document.body).backgroundColor === "rgb(20, 23, 26)";
  const names = ["ink", "muted", "blue", "orange", "green", "purple", "amber", "sky"];
  return Object.fromEntries(names.map((name) => {
    const value = getComputedStyle(document.documentElement).getPropertyValue("--" + name);
    const picked = value.match(/#[0-9a-f]{6}/g)[dark ? 1 : 0];
    const ink = light([1, 3, 5].map((i) => parseInt(picked.slice(i, i + 2), 16)));
    const [a, b] = [ink, paper].sort((x, y) => y - x);
    return [name, (a + 0.05) / (b + 0.05)];
  }));
"""
NAMES = """
  const labeled = (e) => (e.getAttribute("aria-labelledby") ?? "").split(" ")
    .map((id) => document.getElementById(id)?.textContent ?? "").join("");
  const name = (e) => (e.getAttribute("aria-label") || labeled(e) || e.labels?.[0]?.textContent
    || e.textContent).trim();
  const all = "a, button, input, summary, [role=img], [role=group], table, nav, section";
  const nameless = [...document.querySelectorAll(all)].filter((e) => !name(e));
  const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
  const scrolling = [...document.querySelectorAll(".scroll, pre")];
  const levels = [...document.querySelectorAll("h1, h2, h3, h4")].map((h) => Number(h.tagName[1]));
  return {
    lang: document.documentElement.lang,
    title: document.title !== "",
    nameless: nameless.map((e) => e.outerHTML.slice(0, 80)),
    jumps: levels.filter((l, i) => l > (levels[i - 1] ?? 0) + 1).length,
    unscoped: document.querySelectorAll("th:not([scope])").length,
    heads: [...document.querySelectorAll("table")].every((t) => t.tHead?.rows.length === 1),
    twice: ids.filter((id, i) => ids.indexOf(id) !== i),
    order: document.querySelectorAll("[tabindex]:not([tabindex='0'], [tabindex='-1'])").length,
    unreachable: scrolling.filter((e) => e.tabIndex < 0).length,
    landmarks: ["header", "nav", "main", "footer"].map((s) => document.querySelectorAll(s).length),
  };
"""
AUDIT = """
  const found = await axe.run(document, { runOnly: %s, resultTypes: ["violations"] });
  return found.violations.map((v) => `${v.id}: ${v.help}: ${v.nodes[0].html.slice(0, 200)}`);
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    one = Browser(str(CHROMIUM))
    yield one
    one.close()


@pytest.fixture
def file_of(page_of, tmp_path):
    """Return a function from a kind of run to the file of its report."""

    def write(kind: str) -> Path:
        path = tmp_path / "report.html"
        path.write_text(page_of(kind), encoding="utf-8")
        return path

    return write


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("kind", ["all_sections", "index", "history"])
def test_every_text_contrasts_with_its_background(browser, file_of, kind, dark) -> None:
    with browser.page(file_of(kind), dark=dark) as page:
        page.evaluate(OPENED)
        values = page.evaluate(CONTRAST)
    assert values["seen"] > (1000 if kind == "all_sections" else 50)
    assert values["poor"] == []


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_every_mark_of_a_chart_contrasts_with_the_background(browser, file_of, dark) -> None:
    with browser.page(file_of("empty"), dark=dark) as page:
        inks = page.evaluate(INKS)
    assert len(inks) == 8
    assert {name: ratio for name, ratio in inks.items() if ratio < 3} == {}


@pytest.mark.parametrize("kind", KINDS)
def test_every_element_has_a_name_and_a_focus_order(browser, file_of, kind) -> None:
    with browser.page(file_of(kind)) as page:
        values = page.evaluate(NAMES)
    assert values["lang"] == "en"
    assert values["title"]
    assert values["nameless"] == []
    assert values["jumps"] == 0, "no heading leaves out a level"
    assert values["unscoped"] == 0
    assert values["heads"]
    assert values["twice"] == []
    assert values["order"] == 0, "the order of the keyboard is that of the page"
    assert values["unreachable"] == 0, "what scrolls can be scrolled with the keyboard"
    assert values["landmarks"] == [1, 1, 1, 1]


@pytest.mark.slow
@pytest.mark.skipif(not AXE, reason="AXE_CORE names no axe.min.js (npm package axe-core)")
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("kind", KINDS)
def test_axe_reports_nothing(browser, file_of, kind, dark) -> None:
    with browser.page(file_of(kind), dark=dark) as page:
        page.evaluate(OPENED)
        page.evaluate(Path(AXE).read_text(encoding="utf-8"))
        assert page.evaluate(AUDIT % RULES) == []
