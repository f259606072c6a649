"""Tests that the algorithm of the ten-minute guide is short and follows the contract."""

import pytest
from pages import DOCS, blocks

from harness.conformance.checks import cases
from harness.plugins.registry import load_registry
from harness.testing import run_check

PAGE = (DOCS / "ten-minutes.md").read_text()
(SOURCE,) = blocks(PAGE, "python")


def test_page_has_fewer_than_forty_lines():
    assert len([line for line in SOURCE.splitlines() if line.strip()]) < 40


def test_every_statement_holds(tmp_path):
    file = tmp_path / "histogram_bayes.py"
    file.write_text(SOURCE)
    registry = load_registry([file], modules=[])
    held = 0
    for check, subject in cases(registry, "histogram-bayes"):
        try:
            run_check(check, subject)
        except pytest.skip.Exception:
            continue
        held += 1
    assert held > 20


def test_removed_line_has_the_described_effect(tmp_path):
    line = "        check_classification_targets(y)\n"
    assert SOURCE.count(line) == 1
    file = tmp_path / "histogram_bayes.py"
    file.write_text(SOURCE.replace(line, ""))
    registry = load_registry([file], modules=[])
    (named,) = {
        check.name
        for check, subject in cases(registry, "histogram-bayes")
        if check.run(subject).state == "failed"
    }
    assert "check_estimator" in named
