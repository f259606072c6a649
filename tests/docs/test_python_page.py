"""Tests that the code on the page about Python runs; slow calls are shortened."""

import ast
import inspect

import numpy as np
import pandas as pd
import pytest
from pages import DOCS, blocks

import harness

CODE = blocks((DOCS / "python.md").read_text(), "python")
# Additional arguments that shorten the calls on the page from minutes to seconds.
SHORT = {
    "run": {
        "algorithms": ["decision_tree"],
        "overrides": {"splits.folds": 2, "capacity.trees": 2, "duels.datasets": []},
    },
    "duel": {"launches": 1, "blocks": 1, "capacity": {"trees": 2}},
    "parity": {},
}


def calls():
    """Yield each call of a function of harness."""
    for block in CODE:
        for node in ast.walk(ast.parse(block)):
            if isinstance(node, ast.Call) and ast.unparse(node.func).startswith("harness."):
                yield pytest.param(node, id=ast.unparse(node)[:60])


@pytest.mark.parametrize("call", list(calls()))
def test_each_call_matches_its_function(call):
    function = getattr(harness, call.func.attr)
    named = {keyword.arg: None for keyword in call.keywords}
    inspect.signature(function).bind(*call.args, **named)


def shortened(name):
    """Return a function of harness with the same result type and less work."""
    real = getattr(harness, name)

    def ask(*given, **named):
        more = dict(SHORT[name])
        if name == "run" and "overrides" in more:
            more["overrides"] = {**named.get("overrides", {}), **more["overrides"]}
        return real(*given, **{**named, **more})

    return ask


@pytest.mark.slow
def test_code_runs_from_top_to_bottom(tmp_path, monkeypatch):
    monkeypatch.setenv("HARNESS_RESULTS", str(tmp_path / "results"))
    monkeypatch.chdir(tmp_path)
    for name in SHORT:
        monkeypatch.setattr(harness, name, shortened(name))
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    y = X[:, 0] + rng.normal(size=120)
    names = {"X": X, "y": y, "frame": pd.DataFrame(X, columns=[*"abc"]).assign(price=y)}
    names["frame"].assign(id=range(120)).to_csv(tmp_path / "houses.csv", index=False)
    for block in CODE:
        exec(compile(block, "python.md", "exec"), names)
    assert names["result"].report().is_file()
    assert names["duel"].to_frame()["ratio"].notna().all()
    assert names["parity"].reaches("L3")
    assert len(names["result"].to_frame()) >= 2
