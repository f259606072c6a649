"""Tests of the errors of constructors: they list the fields that exist."""

import dataclasses

import pytest

import reports
from harness import Accepts, Metric, Section
from harness.core.errors import PluginError
from harness.plugins.registry import load_registry

CASES = [
    (lambda: Metric("x", nam="y"), "harness.Metric has no field 'nam' (did you mean 'name'?)"),
    (lambda: Metric("x"), "harness.Metric needs the fields 'tasks', 'score'; fields required:"),
    (lambda: Metric("x", (), len, lower=1), "optional: lower_is_better, primary, summary, bounds"),
    (lambda: Section("x", "y", 1), "harness.Section needs the field 'build'; fields required:"),
    (lambda: Section(1, 2, 3, 4, 5), "harness.Section takes at most 4 values, not 5;"),
    (lambda: Section("x", "y", 1, len, name="z"), "gets the field 'name' twice"),
    (lambda: Accepts(weight=True), "has no field 'weight' (did you mean 'weights'?)"),
    (lambda: reports.Column(titel="x"), "reports.Column has no field 'titel' (did you mean"),
]


@pytest.mark.parametrize(("construct", "message"), CASES)
def test_error_lists_the_fields(construct, message):
    with pytest.raises(TypeError) as error:
        construct()
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_replace_gives_the_same_error():
    with pytest.raises(TypeError, match="did you mean 'summary'"):
        dataclasses.replace(Metric("x", frozenset(), len), sumary="y")


def test_plugin_file_with_an_unknown_field_is_one_line_with_its_place(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(
        "from harness import Metric, hookimpl\n@hookimpl\ndef register_metrics(register):\n"
        "    register(Metric(nam='x', tasks=frozenset(), score=len))\n"
    )
    with pytest.raises(PluginError) as error:
        load_registry([path], modules=[])
    assert "mine.py:4 fails in its hook: TypeError: harness.Metric has no field" in str(error.value)
    assert "\n" not in str(error.value)
