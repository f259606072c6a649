"""Tests that the code on the page about moving from other libraries runs."""

import pytest
from pages import DOCS, blocks

CODE = blocks((DOCS / "moving.md").read_text(), "python")


@pytest.mark.filterwarnings("ignore:The argument 'eval_set' is deprecated")
def test_blocks_run_from_top_to_bottom(capsys):
    names = {}
    for block in CODE:
        exec(compile(block, "docs/moving.md", "exec"), names)
    printed = capsys.readouterr().out
    assert "has no parameter 'num_leafs'; did you mean 'num_leaves'?" in printed
    assert len(names["leaves"]) == 200
