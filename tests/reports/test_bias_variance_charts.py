"""Tests of the curves of bias and variance: the param on the axis, and the names of panels."""

from dataclasses import replace

import numpy as np
import pytest

from harness.analysis.diagnostics import Diagnostic, bias_variance
from harness.core.model import to_json
from reports import Details, Page
from reports.charts.bias_variance import bias_variance_figures, params_text, varied
from reports.charts.plot import Lines
from reports.sections import diagnostics

RNG = np.random.default_rng(0)


def answer(algorithm, size, **params):
    f = RNG.uniform(size=30)
    result = bias_variance.of_values(f + RNG.normal(size=(3, 30)), f + RNG.normal(size=30), f)
    record = {**to_json(result), "train_rows": size, "apart": True}
    return Diagnostic("bias_variance", algorithm, "blobs", params, about=str(size), found=record)


@pytest.fixture(scope="module")
def axes_of():
    tree = [answer("tree", n, depth=d, kind="x") for d in (1, 2, None) for n in (50, 100)]
    boost = [
        answer("boost", n, rounds=m, rate=r)
        for m in (1, 10, 100)
        for r in (0.1, 1.0)
        for n in (50, 100)
    ]
    return [*tree, *boost]


def test_only_differing_params_are_shown(axes_of):
    assert varied(axes_of)[0] == {"depth": 1}
    assert varied(axes_of)[-1] == {"rounds": 100, "rate": 1.0}
    nested = {"estimator": {"algorithm": "tree", "params": {"depth": 3}}, "rate": 0.5}
    assert params_text(nested) == "estimator tree (depth 3), rate 0.5"


def test_each_axis_has_a_chart_and_each_family_a_panel(axes_of):
    (details,) = bias_variance_figures(axes_of)
    by_axis = {figure.table.columns[1].title: figure for figure in details.blocks}
    assert list(by_axis) == ["depth", "rounds", "training rows"]
    assert [len(figure.spec.panels) for figure in by_axis.values()] == [2, 4, 2]
    # an unlimited depth has no position on the axis
    lines = [m for p in by_axis["depth"].spec.panels for m in p.marks if isinstance(m, Lines)]
    assert {x for m in lines for line in m.lines for x, _ in line} == {1, 2}
    assert [p.x.log for p in by_axis["rounds"].spec.panels] == [True] * 4
    assert not any(p.x.log for p in by_axis["depth"].spec.panels)
    assert len(by_axis["rounds"].table.rows) == 12
    for figure in by_axis.values():
        assert "<svg" in figure.spec.svg(figure.title)


def test_classes_have_no_noise_part(views):
    codes = np.array([0, 1, 0, 1])
    result = bias_variance.of_classes(np.tile(codes, (3, 1)), codes[::-1], 2)
    one = answer("tree", 50, depth=1)
    record = {**to_json(result), "train_rows": 50, "apart": False}
    page = Page(replace(views["typical"](), diagnostics=(replace(one, found=record),)))
    (panel,) = diagnostics.build(page).blocks
    (row,) = panel.blocks[1].rows
    assert row[2].note.endswith("with rows in common")
    assert (row[4].note, row[4].text, row[7].text) == ("counts as bias", "–", "–")
    assert row[6].note == "0 − 0"
    assert not any(isinstance(block, Details) for block in panel.blocks)
