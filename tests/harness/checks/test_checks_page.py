"""Tests that the page explains every check code and nothing else."""

import re
from pathlib import Path

import pytest

from harness.checks.result_checks import RESULT_CHECKS
from harness.checks.table_checks import TABLE_CHECKS

PAGE = (Path(__file__).resolve().parents[3] / "docs/checks.md").read_text()
CHECKS = [*TABLE_CHECKS, *RESULT_CHECKS]


def entry(code: str) -> str:
    """Return the text between the heading of a code and the next heading."""
    return re.split(r"^#+ .*$", PAGE.split(f"### {code}\n", 1)[1], maxsplit=1, flags=re.MULTILINE)[
        0
    ]


def test_every_heading_is_the_code_of_a_check() -> None:
    assert re.findall(r"^### (\S+)$", PAGE, re.MULTILINE) == [check.code for check in CHECKS]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.code)
def test_every_check_is_explained(check) -> None:
    text = " ".join(entry(check.code).split())
    assert text.startswith(f"**{check.title}.** ")
    assert "Why it matters:" in text
    assert "What to do:" in text


def test_every_skore_check_is_named_once() -> None:
    rows = re.findall(r"^\| (SKD\d{3}) .*\| (.*) \|$", PAGE, re.MULTILINE)
    assert [code for code, _ in rows] == [f"SKD{i:03d}" for i in range(1, 17)]
    known = {check.code for check in CHECKS}
    for _, where in rows:
        codes = re.findall(r"(?:DATA|RUN)\d{3}", where)
        assert {*codes} <= known
        assert codes or where.startswith("does not apply: ")
