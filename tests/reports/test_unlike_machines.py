"""Tests that seconds of trials from another kind of machine are not drawn."""

from dataclasses import replace

import pytest

from reports import Page
from reports.sections import datasets, variants


@pytest.mark.parametrize(("machines", "drawn"), [({"": 9}, True), ({"other": 9, "": 1}, False)])
def test_seconds_of_another_machine_are_left_out(views, machines, drawn):
    """The trials of this view do not record their machine."""
    page = Page(replace(views["typical"](), machines=machines))
    name, cell = next(iter(page.by_dataset.values()))[0]
    dots = datasets._dots(page, name, cell)
    assert dots
    assert all((dot["fit"] is not None) == drawn for dot in dots)
    assert all(dot["score"] is not None for dot in dots)
    assert bool(variants._variant(page, name, cell, cell).ratios) == drawn
