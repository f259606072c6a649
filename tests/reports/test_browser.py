"""The report in a real browser: nothing is blocked, nothing overflows, everything works.

A probe is put into the page, allowed by its own hash beside ours, so that the policy under test
stays in force. What it finds it writes into the document, which the browser then prints.
"""

import base64
import hashlib
import html
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
BROWSER = next(filter(None, map(shutil.which, NAMES)), None)
pytestmark = pytest.mark.skipif(BROWSER is None, reason=f"no browser on PATH: {', '.join(NAMES)}")
OPTIONS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--disable-extensions"),
    *("--disable-dev-shm-usage", "--virtual-time-budget=20000", "--dump-dom"),
)
DARK = "--blink-settings=preferredColorScheme=0"

EARLY = """
window.found = { violations: [], errors: [] };
addEventListener("securitypolicyviolation", (e) => found.violations.push(e.effectiveDirective));
addEventListener("error", (e) => found.errors.push(String(e.message)));
"""
LATE = """
addEventListener("load", async () => {
  try {
    await new Promise((resolve) => setTimeout(resolve, 100)); // violations are told a task later
    Object.assign(found, await (async () => { %s })());
  } catch (error) { found.errors.push(String(error)); }
  parent.postMessage(JSON.stringify(found), "*");
});
"""
# A window of a headless browser is 500 pixels wide at least; a frame may be narrower.
FRAME = """<!DOCTYPE html><iframe src="report.html" width="%d" height="1200"></iframe><script>
addEventListener("message", (e) => {
  const out = document.createElement("pre");
  out.id = "found";
  out.textContent = e.data;
  document.body.append(out);
});
</script>"""
# Opens what is folded, then measures what sticks out of the page.
LAYOUT = """
  for (const d of document.querySelectorAll("details")) d.open = true;
  const root = document.documentElement;
  const wide = [...document.querySelectorAll("main *")].filter((e) =>
    !e.closest(".scroll, pre, nav") && e.getBoundingClientRect().right > root.clientWidth + 1);
  const paper = getComputedStyle(document.body).backgroundColor;
  return { scroll: root.scrollWidth, client: root.clientWidth, paper,
           wide: wide.map((e) => e.tagName + "." + e.className).slice(0, 5),
           resources: performance.getEntriesByType("resource").map((r) => r.name),
           injected: root.dataset.injected ?? null };
"""
# Sorts, filters and saves the leaderboard as a reader would, and changes the theme.
USE = """
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
  const told = block.querySelector("output").textContent;
  const button = document.getElementById("theme");
  const theme = [getComputedStyle(document.body).backgroundColor];
  button.click();
  theme.push(getComputedStyle(document.body).backgroundColor, button.textContent);
  location.hash = "#dataset-wine";
  return { before, up, down, sorted, csv, left, told, theme };
"""


def digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def look(
    page: str, folder: Path, script: str, *options: str, width: int = 1280, extra: str = ""
) -> dict:
    """Open a page with a probe and return what the probe found."""
    late = LATE % script
    allowed = " ".join(f"'sha256-{digest(s)}'" for s in (EARLY, late))
    probed = page.replace("; script-src ", f"; script-src {allowed} ", 1)
    probed = probed.replace("<title>", f"<script>{EARLY}</script><script>{late}</script><title>", 1)
    probed = probed.replace("</body>", f"{extra}</body>")
    (folder / "report.html").write_text(probed, encoding="utf-8")
    path = folder / "frame.html"
    path.write_text(FRAME % width)
    command = [BROWSER, *OPTIONS, f"--user-data-dir={folder / 'profile'}", *options]
    done = subprocess.run(
        [*command, path.as_uri()], capture_output=True, text=True, timeout=120, check=False
    )
    written = re.search(r'<pre id="found">(.*?)</pre>', done.stdout, re.DOTALL)
    assert written, f"the probe wrote nothing; the browser said: {done.stderr[-2000:]}"
    return json.loads(html.unescape(written[1]))


@pytest.mark.parametrize("kind", ["typical", "hostile", "empty"])
def test_a_narrow_page_has_no_error_no_request_and_no_overflow(page_of, tmp_path, kind) -> None:
    found = look(page_of(kind), tmp_path, LAYOUT, width=390)
    assert 370 < found["client"] <= 390
    assert found["scroll"] <= found["client"], found["wide"]
    assert found["wide"] == []
    assert found["violations"] == []
    assert found["errors"] == []
    assert found["resources"] == []


def test_the_policy_blocks_what_is_injected(page_of, tmp_path) -> None:
    injected = "<script>document.documentElement.dataset.injected = 1</script>"
    found = look(page_of("empty"), tmp_path, LAYOUT, DARK, extra=injected)
    assert found["injected"] is None
    assert found["violations"] == ["script-src-elem"]
    assert found["paper"] == "rgb(20, 23, 26)", "the system's dark theme is taken over"


def test_tables_sort_filter_and_save_and_the_theme_changes(page_of, tmp_path) -> None:
    found = look(page_of("typical"), tmp_path, USE)
    assert found["errors"] == []
    assert found["violations"] == []
    assert found["up"] == found["before"], "it came sorted by rank"
    assert found["down"] != found["up"]
    assert found["sorted"] == "descending"
    lines = found["csv"].splitlines()
    assert lines[0].startswith('"Algorithm","Mean rank","Wins","breast_cancer (log_loss)"')
    assert len(lines) == 9
    assert float(lines[1].split(",")[1].strip('"')) == 8
    assert found["left"] == 2
    assert found["told"] == "2 of 8 rows"
    light, dark, label = found["theme"]
    assert (light, dark) == ("rgb(251, 251, 249)", "rgb(20, 23, 26)")
    assert label == "Light theme"


def test_a_formula_is_saved_as_text(page_of, tmp_path) -> None:
    save = """
      const texts = [];
      URL.createObjectURL = (b) => { texts.push(b.text()); return "#saved"; };
      for (const b of document.querySelectorAll(".tools button")) b.click();
      return { csv: (await Promise.all(texts)).join("") };
    """
    found = look(page_of("hostile"), tmp_path, save)
    assert found["errors"] == []
    assert "\"'=cmd|' /C calc'!A0\"" in found["csv"]
    assert not re.search(r'(?:^|,)"[=+@]', found["csv"], re.MULTILINE)
    assert re.search(r',"-\d', found["csv"]), "a negative number stays a number"
