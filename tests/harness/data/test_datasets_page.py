"""Tests that the page about datasets names every key and variable."""

import re
from pathlib import Path

from harness.data import folders
from harness.data.cards import Card, every_card
from harness.data.reading import Reading

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs/datasets.md").read_text()


def keys(after):
    """Return the keys of the first table after a phrase."""
    table = PAGE[PAGE.index(after) :].split("\n\n| key |", 1)[1].split("\n\n", 1)[0]
    return {key for row in table.splitlines() for key in re.findall(r"`(\w+)`", row.split("|")[1])}


def test_every_card_key_is_explained():
    assert keys("## Cards") | {"keys"} >= set(Card.model_fields)
    page = PAGE[PAGE.index("Keys of `[read]`") :]
    table = page.split("\n\n", 2)[1]
    named = re.findall(r"^\| ([^|]+)\|", table, re.MULTILINE)
    results = {key for cell in named for key in re.findall(r"`(\w+)`", cell)}
    assert results == set(Reading.model_fields)


def test_every_variable_is_explained():
    source = Path(folders.__file__).read_text()
    assert set(re.findall(r"HARNESS_[A-Z_]+", source)) <= set(re.findall(r"HARNESS_[A-Z_]+", PAGE))


def test_every_suite_is_named():
    suites = {suite for _, card in every_card() for suite in card.suites} | {"generated"}
    assert {s for s in suites if f"`{s}`" not in PAGE} == set()
