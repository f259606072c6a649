"""Tests of the report in a real browser: nothing is loaded, nothing overflows, everything works."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from browser import CHROMIUM, WHY_NOT, Browser

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason=WHY_NOT)
KINDS = ("typical", "all_sections", "empty", "one_trial", "one_dataset", "only_failures", "index")
KINDS += ("history", pytest.param("large", marks=pytest.mark.slow))
OPENED = "for (const d of document.querySelectorAll('details')) d.open = true;"
# Elements wider than the page, except scrollable ones.
WIDE = """
  const root = document.documentElement;
  const wide = [...document.querySelectorAll("main *, header *, footer *")].filter((e) =>
    !e.closest(".scroll, pre, nav") && e.getBoundingClientRect().right > root.clientWidth + 1);
  return { scroll: root.scrollWidth, client: root.clientWidth,
           wide: wide.map((e) => `${e.tagName}: ${e.textContent.slice(0, 60)}`).slice(0, 5) };
"""
# Tables and cells that leave the page on one side, and the width of the scroll bar of the sections.
HIDDEN_COLUMNS = """
  const beyond = (e) => e.checkVisibility() && e.getBoundingClientRect().right > innerWidth + 1;
  const tables = [...document.querySelectorAll(`${scope} .scroll:has(> table)`)];
  const cut = tables.filter((e) =>
    e.scrollWidth > e.clientWidth + 1 || [...e.querySelectorAll("td, th")].some(beyond));
  const labels = tables.flatMap((e) => [...e.querySelectorAll("tr")].flatMap((row) =>
    [...row.querySelectorAll("td")].map((cell) => [cell.dataset.label,
      e.querySelectorAll("thead th")[cell.cellIndex].textContent])));
  const list = document.querySelector("nav ul");
  return { tables: tables.length, cut: cut.map((e) => e.textContent.slice(0, 60)).slice(0, 5),
           unlabeled: labels.filter(([label, title]) => label !== title).slice(0, 5),
           bar: getComputedStyle(list).scrollbarWidth };
"""
# Sorts, filters and saves the leaderboard as a reader would.
TABLE = """
  const block = [...document.querySelectorAll("div.table")].find(
    (b) => b.dataset.name === "leaderboard-binary");
  const rows = () => [...block.querySelectorAll("tbody tr")];
  const first = () => rows()[0].cells[0].querySelector("code").textContent;
  const before = first();
  const heading = block.querySelectorAll("thead button")[1];
  heading.click(); const up = first();
  heading.click(); const down = first();
  const sorted = heading.parentElement.getAttribute("aria-sort");
  let blob; URL.createObjectURL = (b) => { blob = b; return "#saved"; };
  block.querySelector(".tools button").click();
  const csv = await blob.text();
  const box = block.querySelector("input");
  box.value = "bagging"; box.dispatchEvent(new Event("input"));
  const left = rows().filter((r) => !r.hidden).length;
  return { before, up, down, sorted, csv, left, told: block.querySelector("output").textContent };
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    one = Browser(str(CHROMIUM))
    yield one
    one.close()


@pytest.fixture
def file_of(page_of: Callable[[str], str], tmp_path: Path) -> Callable[..., Path]:
    """Return a function from a kind of run to the file of its report."""

    def write(kind: str, extra: str = "") -> Path:
        path = tmp_path / "report.html"
        path.write_text(page_of(kind).replace("</body>", f"{extra}</body>"), encoding="utf-8")
        return path

    return write


@pytest.mark.parametrize("kind", KINDS)
def test_page_requests_only_itself_and_logs_no_error(browser, file_of, kind) -> None:
    path = file_of(kind)
    with browser.page(path) as page:
        page.evaluate(OPENED)
        assert page.requests == [path.as_uri()]
        assert page.complaints == []
        made = (
            "return document.querySelectorAll('main :is(img, script, iframe, style, a[href^=j])')"
        )
        assert page.evaluate(f"{made}.length;") == 0, "no name became an element"


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_overflows_a_phone_or_a_wide_screen(browser, file_of, kind) -> None:
    with browser.page(file_of(kind), width=390) as page:
        page.evaluate(OPENED)
        for width in (390, 900, 1440):
            page.resize(width, 900)
            values = page.evaluate(WIDE)
            assert values["client"] == width
            assert values["scroll"] <= width, values["wide"]
            assert values["wide"] == []


@pytest.mark.parametrize("kind", ["typical", "all_sections", "index"])
def test_no_column_of_a_table_is_hidden_on_a_phone(browser, file_of, kind) -> None:
    with browser.page(file_of(kind), width=390) as page:
        page.evaluate(OPENED)
        found = page.evaluate(HIDDEN_COLUMNS.replace("${scope}", "main"))
    assert found.pop("tables") > 3
    assert found == {"cut": [], "unlabeled": [], "bar": "none"}


def test_first_screen_on_a_phone_needs_no_script(browser, file_of) -> None:
    with browser.page(file_of("typical"), width=390, script=False) as page:
        found = page.evaluate(HIDDEN_COLUMNS.replace("${scope}", "#summary"))
    assert found == {"tables": 1, "cut": [], "unlabeled": [], "bar": "none"}


# Choose two algorithms; return the names of the marks and rows that stay, and of the gray marks.
CHOOSE = """
  const selects = [...document.querySelectorAll(".choose select")];
  const names = ["bagging", "catboost"];
  if (!location.hash) {
    location.hash = "speed";
    await new Promise((resolve) => setTimeout(resolve, 50));
    selects.forEach((select, i) => { select.value = names[i]; });
    selects[0].dispatchEvent(new Event("change"));
  }
  const marks = [...document.querySelectorAll("svg [data-a]")];
  const rows = [...document.querySelectorAll("[data-name=leaderboard-binary] tbody tr")];
  const is = (off) => (e) => e.classList.contains("off") === off;
  const gray = (all, name, off) => [...new Set(all.filter(is(off)).map(name))].sort();
  return { hash: location.hash, chosen: selects.map((select) => select.value),
           bright: gray(marks, (e) => e.dataset.a, false),
           gray: gray(marks, (e) => e.dataset.a, true),
           rows: gray(rows, (e) => e.cells[0].querySelector("code").textContent, false) };
"""


def test_two_algorithms_stay_in_color_and_the_address_keeps_them(browser, file_of) -> None:
    path = file_of("typical")
    with browser.page(path) as page:
        found = page.evaluate(CHOOSE)
        page.evaluate("setTimeout(() => location.reload(), 50);")
        time.sleep(1)  # a script that the navigation interrupts is an error
        page.evaluate("for (let i = 0; document.readyState !== 'complete' && i < 99; i++)"
                      " await new Promise((resolve) => setTimeout(resolve, 50));")  # fmt: skip
        assert page.evaluate(CHOOSE) == found
        assert page.complaints == []
    assert found["hash"] == "#speed~bagging~catboost"
    assert found["chosen"] == found["rows"] == ["bagging", "catboost"]
    assert {"bagging", "catboost"} <= set(found["bright"])
    assert {"decision_tree", "lightgbm_gbdt", "xgboost_hist"} <= set(found["gray"])
    assert not {"bagging", "catboost"} & set(found["gray"])


# Choose each option of a switch; return the parts that are visible after each choice.
SWITCH = """
  const [box] = document.querySelectorAll("fieldset.switch");
  const shown = () => [...box.querySelectorAll(":scope > div")].map((e) => e.checkVisibility());
  const texts = [...box.querySelectorAll("label")].map((e) => e.textContent.trim());
  const found = [];
  for (const input of box.querySelectorAll("input")) { input.click(); found.push(shown()); }
  return { found, texts, named: box.querySelector("legend").textContent };
"""


# Choose one algorithm; return the titles of the charts in which no mark is gray.
UNCHANGED = """
  for (const d of document.querySelectorAll("details")) d.open = true;
  const [select] = document.querySelectorAll(".choose select");
  select.value = "catboost";
  select.dispatchEvent(new Event("change"));
  const charts = [...document.querySelectorAll("figure svg[role=img]")];
  return { charts: charts.length, unchanged: charts.filter((svg) => !svg.querySelector(".off"))
    .map((svg) => svg.getAttribute("aria-label")) };
"""


def test_every_chart_turns_gray_but_for_the_chosen_algorithm(browser, file_of) -> None:
    with browser.page(file_of("typical")) as page:
        found = page.evaluate(UNCHANGED)
    assert found["charts"] > 15
    assert found["unchanged"] == []


def test_ranks_of_a_subset_are_chosen_without_a_script(browser, file_of) -> None:
    with browser.page(file_of("all_sections"), script=False, width=390) as page:
        found = page.evaluate(SWITCH)
    n = len(found["texts"])
    assert found["named"] == "Rank the algorithms on"
    assert found["texts"][0] == "all datasets (6)"
    assert n > 1
    assert found["found"] == [[i == j for j in range(n)] for i in range(n)]


def test_without_script_no_algorithm_can_be_chosen(browser, file_of) -> None:
    with browser.page(file_of("typical"), script=False) as page:
        assert not page.evaluate("return document.querySelector('.choose').checkVisibility();")


def test_policy_blocks_injected_content(browser, file_of) -> None:
    injected = (
        "<script>document.documentElement.dataset.injected = 1</script>"
        "<p onclick='document.documentElement.dataset.clicked = 1' id='trap'>x</p>"
        "<img src='https://example.org/x.png' id='remote'>"
        "<style>main { display: none }</style>"
    )
    with browser.page(file_of("all_sections", injected)) as page:
        values = page.evaluate("""
          document.getElementById("trap").click();
          const main = getComputedStyle(document.querySelector("main")).display;
          return { ...document.documentElement.dataset, main };
        """)
        assert values == {"main": "block"}, "neither script nor handler ran, and no style was taken"
        message = " ".join(page.complaints)
        for directive in ("script-src", "img-src", "style-src"):
            assert directive in message
        assert [a for a in page.answered if a.startswith("http")] == []


def test_everything_is_readable_without_javascript(browser, file_of) -> None:
    count = """
      const parts = ["figure svg", "table", "details", "section"];
      return parts.map((part) => document.querySelectorAll(part).length);
    """
    path = file_of("all_sections")
    with browser.page(path) as page:
        with_script = page.evaluate(count)
    with browser.page(path, script=False) as page:
        without = page.evaluate(count)
        assert without == with_script
        assert min(without) > 0
        shown = page.evaluate("""
          const seen = (e) => e.checkVisibility() && e.getBoundingClientRect().height > 0;
          const figures = [...document.querySelectorAll("figure svg[role=img]")];
          const chosen = (e) => !e.closest(".switch > div:not(:first-of-type)");
          const open = figures.filter((e) => !e.closest("details") && chosen(e));
          return { figures: open.every(seen), figuresSeen: open.length,
                   button: seen(document.getElementById("theme")),
                   tools: document.querySelectorAll(".tools").length };
        """)
        assert shown["figures"]
        assert shown["figuresSeen"] >= 8
        assert not shown["button"], "what needs a script is not offered"
        assert shown["tools"] == 0


def test_tables_sort_filter_and_save(browser, file_of) -> None:
    with browser.page(file_of("typical")) as page:
        values = page.evaluate(TABLE)
        assert page.complaints == []
    assert values["up"] == values["before"], "it came sorted by rank"
    assert values["down"] != values["up"]
    assert values["sorted"] == "descending"
    lines = values["csv"].splitlines()
    assert lines[0].startswith('"Algorithm","Mean rank","Wins","breast_cancer (log_loss)"')
    assert len(lines) == 9
    assert float(lines[1].split(",")[1].strip('"')) == 8
    assert values["left"] == 2
    assert values["told"] == "2 of 8 rows"


def test_formula_is_saved_as_text(browser, file_of) -> None:
    save = """
      const texts = [];
      URL.createObjectURL = (b) => { texts.push(b.text()); return "#saved"; };
      for (const b of document.querySelectorAll(".tools button")) b.click();
      return (await Promise.all(texts)).join("");
    """
    with browser.page(file_of("all_sections")) as page:
        csv = page.evaluate(save)
        assert page.complaints == []
    assert "\"'=cmd|' /C calc'!A0\"" in csv
    assert not re.search(r'(?:^|,)"[=+@]', csv, re.MULTILINE)
    assert re.search(r',"-\d', csv), "a negative number stays a number"


def test_theme_follows_the_system_until_the_reader_chooses(browser, file_of) -> None:
    paper = "return getComputedStyle(document.body).backgroundColor;"
    light, dark = "rgb(251, 251, 249)", "rgb(20, 23, 26)"
    with browser.page(file_of("empty"), dark=True) as page:
        assert page.evaluate(paper) == dark
        page.emulate(dark=False)
        assert page.evaluate(paper) == light
        label = page.evaluate(
            "const b = document.getElementById('theme'); b.click(); return b.textContent;"
        )
        assert label == "Light theme"
        assert page.evaluate(paper) == dark


def test_link_into_a_folded_panel_opens_it(browser, file_of) -> None:
    with browser.page(file_of("typical")) as page:
        opened = page.evaluate("""
          const inside = document.querySelector("details [id]");
          location.hash = inside.id;
          await new Promise((resolve) => setTimeout(resolve, 50));
          return inside.closest("details").open;
        """)
        assert opened


def test_keyboard_reaches_the_content_first(browser, file_of) -> None:
    active = "const e = document.activeElement; return [e.className, e.textContent];"
    with browser.page(file_of("typical")) as page:
        page.press("Tab")
        assert page.evaluate(active) == ["skip", "Skip to the content"]
        assert page.evaluate("return document.activeElement.getBoundingClientRect().x >= 0;")
        page.press("Enter")
        page.press("Tab")
        inside = "return document.querySelector('main').contains(document.activeElement);"
        assert page.evaluate(inside), "what comes next is in the content"


def test_page_can_be_printed(browser, file_of) -> None:
    hidden = """
      const parts = ["nav", "#theme", ".tools"].map((part) => document.querySelector(part));
      return parts.map((part) => getComputedStyle(part).display);
    """
    with browser.page(file_of("typical"), dark=True, media="print") as page:
        assert page.evaluate(hidden) == ["none"] * 3
        paper = "return getComputedStyle(document.body).color;"
        assert page.evaluate(paper) == "rgb(28, 33, 39)", "dark ink, whatever the screen prefers"
        assert page.pdf().startswith(b"%PDF")


def test_folded_panels_are_open_in_print(browser, file_of) -> None:
    height = """
      const panel = document.querySelector("details.panel");
      panel.open = false;
      const inside = panel.lastElementChild;
      return inside.checkVisibility({contentVisibilityAuto: true, opacityProperty: true});
    """
    for media, seen in (("screen", False), ("print", True)):
        with browser.page(file_of("all_sections"), media=media) as page:
            assert page.evaluate(height) is seen, media
