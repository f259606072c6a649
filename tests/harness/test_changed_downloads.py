"""Tests that a card without a checksum is pinned at the first fetch, and other bytes not reused."""

import hashlib
import json
from pathlib import Path

import pytest

import harness
from harness.core.errors import DataError
from harness.data import resolve
from harness.data.loading import table_of
from harness.data.remote import pin_of, place_of
from harness.planning.explain import explain
from harness.plugins.registry import load_registry
from harness.store import Store

URL = "https://example.org/mine.csv"
CARD = f"""
name = "mine"
task = "binary"
target = "y"
rows = 40
columns = 1
classes = 2
source = "url"
[[files]]
url = "{URL}"
"""
BYTES = {
    name: "a,y\n" + "".join(f"{i % step},{i % 2}\n" for i in range(40))
    for name, step in (("these", 7), ("those", 5))
}
SHA = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in BYTES.items()}
EXPERIMENT = {
    "datasets": ["mine"],
    "algorithms": ["sklearn.decision_tree"],
    "splits": {"folds": 2},
    "run": {"jobs": 1},
}
TREES = {"parity": {"pairs": [["sklearn.decision_tree"] * 2], "datasets": ["mine"]}}
DUELS = {
    "duels": {"pairs": [["sklearn.decision_tree"] * 2], "datasets": ["mine"]}
    | {"launches": 1, "blocks": 1}
}


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """Simulate a separate machine by its cache, with given downloaded bytes or none."""
    (tmp_path / "cards").mkdir()
    (tmp_path / "cards/mine.toml").write_text(CARD)
    monkeypatch.setenv("HARNESS_DATASETS", str(tmp_path / "cards"))
    monkeypatch.setenv("HARNESS_OFFLINE", "1")
    monkeypatch.delenv("HARNESS_MIRROR", raising=False)

    def become(name, content=None):
        monkeypatch.setenv("HARNESS_CACHE", str(tmp_path / name))
        if content is not None:
            place_of(URL).parent.mkdir(parents=True, exist_ok=True)
            place_of(URL).write_text(BYTES[content])

    return become


def measured(results, **more):
    """Run, and return the number of reused trials and their recorded digests."""
    result = harness.run(EXPERIMENT | more, results=results, progress=False)
    with Store.open(results) as store:
        pins = [outcome.facts.get("pins") for outcome, _ in store.outcomes(result.run)]
    assert len(pins) == 2
    (same,) = {json.dumps(pin) for pin in pins}
    return result.tally.reused, json.loads(same)[URL]


@pytest.mark.slow
def test_results_of_other_bytes_are_never_reused_or_mixed(machine, tmp_path):
    results = tmp_path / "results"
    machine("one", "these")
    assert measured(results, **TREES, **DUELS) == (0, SHA["these"])
    assert measured(results, **TREES, **DUELS) == (4, SHA["these"])
    machine("two", "those")
    with Store.open(results) as store:
        (outcome, _), *_ = store.outcomes()
        assert pin_of(URL) == ""
        table_of(
            resolve("mine", load_registry(modules=["harness.data.providers.cards"]))
        )  # pins it
        assert "on other data" in " ".join(explain(store, outcome.trial.id))
    assert measured(results, **TREES, **DUELS) == (0, SHA["those"])
    assert measured(results) == (2, SHA["those"])
    machine("one")
    assert measured(results) == (0, SHA["these"])


@pytest.mark.slow
def test_trees_of_other_bytes_are_grown_again(machine, tmp_path):
    results = tmp_path / "results"
    pair = ["sklearn.decision_tree"] * 2

    def grown_on():
        message = harness.parity(*pair, datasets=["mine"], folds=2, results=results, progress=False)
        with Store.open(results) as store:
            return {outcome.facts["pins"][URL] for outcome, _ in store.outcomes(message.run)}

    machine("one", "these")
    assert grown_on() == {SHA["these"]}
    machine("two", "those")
    table_of(resolve("mine", load_registry(modules=["harness.data.providers.cards"])))  # pins it
    assert grown_on() == {SHA["those"]}


def test_stored_version_is_fetched_next(machine, tmp_path):
    results = tmp_path / "results"
    machine("one", "these")
    measured(results)
    machine("empty")
    assert measured(results) == (2, SHA["these"]), "nothing need be fetched"
    assert pin_of(URL) == SHA["these"]
    machine("empty", "those")
    with pytest.raises(DataError, match=f"not the expected {SHA['these'][:16]}"):
        table_of(resolve("mine", load_registry(modules=["harness.data.providers.cards"])))


def test_parsed_table_belongs_to_the_pinned_bytes(machine, tmp_path):
    machine("one", "these")
    mine = resolve("mine", load_registry(modules=["harness.data.providers.cards"]))
    before = table_of(mine).X["a"].tolist()
    Path(tmp_path / "one/pins.json").unlink()
    machine("one", "those")  # the source has changed and is accepted
    assert table_of(mine).X["a"].tolist() != before
