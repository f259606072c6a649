"""Tests that the site builds without warnings and needs no network or foreign scripts."""

import re
import subprocess
import sys

import pytest
from pages import DOCS, ROOT, pages

pytest.importorskip("sphinx", reason="the pages' own tools: pip install tree-harness[docs]")
pytestmark = pytest.mark.slow
FOREIGN = re.compile(r"""<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)=["'](?:https?:)?//""")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "--fail-on-warning", "--keep-going", "-q"]
    done = subprocess.run(
        [*command, "-b", "html", "-d", str(folder / "doctrees"), str(DOCS), str(folder / "html")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return folder / "html"


def test_every_page_exists(site):
    for page in pages():
        assert (site / page.with_suffix(".html")).is_file(), page


def test_no_page_loads_anything(site):
    for page in site.rglob("*.html"):
        matches = FOREIGN.findall(page.read_text(encoding="utf-8"))
        assert matches == [], page.name


def test_formulas_are_mathml_and_code_is_the_source(site):
    page = (site / "algorithms/second-order-boosting.html").read_text(encoding="utf-8")
    assert page.count("<math ") > 10
    assert "$$" not in re.sub(r"<(pre|code).*?</\1>", "", page, flags=re.DOTALL)
    assert "inner_kernel" in page


def test_help_of_every_command_is_shown(site):
    page = (site / "commands.html").read_text(encoding="utf-8")
    for name in ("run", "duel", "parity", "gate", "plugin-check"):
        assert f'id="harness-{name}"' in page
