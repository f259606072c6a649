"""Tests that every run command on a page can be planned."""

import re
import shlex

import numpy as np
import pandas as pd
import pytest
from pages import DOCS, blocks, pages

from harness.cli import main

RUN = re.compile(r"^(?:python -m )?harness (run \w?.*)$", re.MULTILINE)
INSTALLED = {"examples.md"}  # its plugin is: tests/test_installed.py runs its commands


def commands():
    """Return each command with its page, as a shell would split it."""
    results = []
    for page in pages():
        text = (DOCS / page).read_text().replace("\\\n", " ")
        shown = "\n".join([*blocks(text, "sh"), *blocks(text, "text")])
        for line in RUN.findall(shown) if str(page) not in INSTALLED else ():
            words = shlex.split(line, comments=True)
            results.append(pytest.param(words, id=f"{page} {' '.join(words)[:60]}"))
    return results


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Create a reader's folder with the files that the pages mention."""
    (source,) = blocks((DOCS / "ten-minutes.md").read_text(), "python")
    (tmp_path / "histogram_bayes.py").write_text(source)
    (tutorial,) = blocks((DOCS / "tutorial.md").read_text(), "toml")
    (tmp_path / "forests.toml").write_text(tutorial)
    rng = np.random.default_rng(0)
    houses = pd.DataFrame({"area": rng.normal(size=50), "price": rng.normal(size=50)})
    houses.to_csv(tmp_path / "houses.csv", index=False)
    monkeypatch.setenv("HARNESS_RESULTS", str(tmp_path / "results"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("words", [*commands(), pytest.param(["run", "forests.toml"], id="file")])
def test_experiments_can_be_planned(folder, words, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["harness", *words, "--dry-run"])
    assert main() == 0, capsys.readouterr().err
    assert capsys.readouterr().out


def test_pages_mention_runs():
    assert len(commands()) > 6
