"""Fuzzing of readers: only one-line errors, no hang, no write outside the folder.

The suite tries some examples of each; `FUZZ_EACH=600 pytest -m slow -s tests/harness/data/
test_fuzz.py` goes on for so many seconds with each parser; `FUZZ_SECONDS` (60) are shared by all.
"""

import importlib.util
import os
import time
from pathlib import Path

import hypothesis
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

spec = importlib.util.spec_from_file_location("fuzz_kit", Path(__file__).with_name("fuzz_kit.py"))
kit = importlib.util.module_from_spec(spec)
spec.loader.exec_module(kit)

RELAXED = {
    "suppress_health_check": [HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    "deadline": None,
}
FEW = settings(max_examples=50, **RELAXED)


@given(case=kit.files, target=kit.targets)
@FEW
def test_damaged_files(case, target, monkeypatch):
    kit.file_case(case, target, monkeypatch)


@given(case=kit.texts, target=kit.targets)
@FEW
def test_random_texts(case, target, monkeypatch):
    kit.file_case(case, target, monkeypatch)


@given(content=kit.cards)
@FEW
def test_damaged_cards(content, monkeypatch):
    kit.card_case(content, monkeypatch)


@given(**kit.topics)
@FEW
def test_damaged_topic_files(rows, topics, monkeypatch):
    kit.topics_case(rows, topics, monkeypatch)


@given(change=kit.changes)
@FEW
def test_random_manifests(change, monkeypatch):
    kit.mirror_case(change, monkeypatch)


@given(name=kit.names)
@FEW
def test_random_names(name):
    kit.name_case(name)


CAMPAIGN = {
    name: (kit.file_case, {"case": st.tuples(st.just(name), kit.bytes_of(name)),
                           "target": kit.targets})
    for name in sorted(kit.VALID)
} | {
    "cards": (kit.card_case, {"content": kit.cards}),
    "topics": (kit.topics_case, kit.topics),
    "manifests": (kit.mirror_case, {"change": kit.changes}),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("kind", CAMPAIGN)
def test_campaign(kind, monkeypatch):
    """Try new examples of one kind for ``FUZZ_EACH`` seconds or a share of ``FUZZ_SECONDS``."""
    case, strategies = CAMPAIGN[kind]
    share = float(os.environ.get("FUZZ_SECONDS", "60")) / len(CAMPAIGN)
    until = time.monotonic() + float(os.environ.get("FUZZ_EACH", share))
    seed = first = time.time_ns()
    while time.monotonic() < until:

        @hypothesis.seed(seed)
        @settings(max_examples=100, database=None, **RELAXED)
        @given(**strategies)
        def attempt(**drawn):
            case(**drawn, monkeypatch=monkeypatch)

        attempt()
        seed += 1
    print(f"\n{kind}: {100 * (seed - first)} examples")  # noqa: T201
    assert seed > first
