"""No reader may raise anything but a one-line error, hang, or write outside its folder.

The suite tries some examples of each; `FUZZ_SECONDS=600 pytest -m slow tests/harness/data/
test_fuzz.py` goes on for so many seconds with new ones.
"""

import importlib.util
import os
import time
from pathlib import Path

import hypothesis
import pytest
from hypothesis import HealthCheck, given, settings

spec = importlib.util.spec_from_file_location("fuzz_kit", Path(__file__).with_name("fuzz_kit.py"))
kit = importlib.util.module_from_spec(spec)
spec.loader.exec_module(kit)

RELAXED = {
    "suppress_health_check": [HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    "deadline": None,
}
FEW = settings(max_examples=60, **RELAXED)


@given(case=kit.files, target=kit.targets)
@FEW
def test_damaged_files(case, target, monkeypatch):
    kit.file_case(case, target, monkeypatch)


@given(case=kit.texts, target=kit.targets)
@FEW
def test_odd_texts(case, target, monkeypatch):
    kit.file_case(case, target, monkeypatch)


@given(content=kit.cards)
@FEW
def test_damaged_cards(content, monkeypatch):
    kit.card_case(content, monkeypatch)


@given(change=kit.changes)
@FEW
def test_odd_manifests(change, monkeypatch):
    kit.mirror_case(change, monkeypatch)


@given(name=kit.names)
@FEW
def test_odd_names(name):
    kit.name_case(name)


CAMPAIGN = {
    "files": (kit.file_case, {"case": kit.files, "target": kit.targets}),
    "texts": (kit.file_case, {"case": kit.texts, "target": kit.targets}),
    "cards": (kit.card_case, {"content": kit.cards}),
    "manifests": (kit.mirror_case, {"change": kit.changes}),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", CAMPAIGN)
def test_campaign(kind, monkeypatch):
    """Try new examples of one kind for its share of ``FUZZ_SECONDS`` (60 where it is not said)."""
    case, strategies = CAMPAIGN[kind]
    until = time.monotonic() + float(os.environ.get("FUZZ_SECONDS", "60")) / len(CAMPAIGN)
    seed = time.time_ns()
    while time.monotonic() < until:

        @hypothesis.seed(seed)
        @settings(max_examples=200, database=None, **RELAXED)
        @given(**strategies)
        def attempt(**drawn):
            case(**drawn, monkeypatch=monkeypatch)

        attempt()
        seed += 1
