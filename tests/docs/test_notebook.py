"""Tests that the notebook runs from top to bottom and displays its results."""

import ast
import json

import pytest
from pages import DOCS

NOTEBOOK = json.loads((DOCS / "notebooks/first_verdict.ipynb").read_text(encoding="utf-8"))


def sources(kind):
    return ["".join(c["source"]) for c in NOTEBOOK["cells"] if c["cell_type"] == kind]


def run_cell(source, names):
    """Run a cell's lines; return the value of the last line if it is an expression."""
    body = ast.parse(source).body
    last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
    exec(compile(ast.Module(body, []), "cell", "exec"), names)
    return eval(compile(ast.Expression(last.value), "cell", "eval"), names) if last else None


def test_notebook_is_stored_without_outputs():
    for cell in NOTEBOOK["cells"]:
        assert cell.get("outputs", []) == []
        assert cell.get("execution_count") is None
    assert len({cell["id"] for cell in NOTEBOOK["cells"]}) == len(NOTEBOOK["cells"])


def test_every_cell_is_python():
    for source in sources("code"):
        ast.parse(source)


@pytest.mark.slow
def test_notebook_runs_and_every_result_is_displayed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HARNESS_RESULTS", str(tmp_path / "results"))
    names = {}
    shown = [run_cell(source, names) for source in sources("code")]
    verdicts = dict(next(s for s in shown if isinstance(s, list)))
    assert verdicts["iris"] == "equivalent"
    assert {p.parity_level for p in names["same"].verdicts} == {"L3"}
    for name in ("found", "same", "duel"):
        page = names[name]._repr_html_()
        assert "<table" in page
        assert "decision_tree" in page
    assert len(names["frame"]) == 12
    assert (tmp_path / "results" / shown[-1]).is_file()
