"""Tests that the plugins on the pages pass `harness plugin check`."""

import re

import pytest
from pages import DOCS, ROOT, blocks

from harness.conformance.checks import cases
from harness.plugins.registry import load_registry

PLUGINS = {"random-stumps": ROOT / "README.md", "shallow-lightgbm": DOCS / "plugins.md"}


@pytest.mark.parametrize("name", PLUGINS)
def test_every_statement_holds(tmp_path, name):
    page = PLUGINS[name].read_text()
    (saved,) = set(re.findall(rf"plugin check {name} --plugin (\S+)", page))
    file = tmp_path / saved
    file.write_text(blocks(page, "python")[0])
    registry = load_registry([file], modules=[])
    results = [check.run(subject) for check, subject in cases(registry, name)]
    assert [one for one in results if one.state == "failed"] == []
    assert [one.state for one in results].count("ok") > 12
