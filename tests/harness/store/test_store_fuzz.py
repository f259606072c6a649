"""Random damage to the database file: queries are answered or raise StoreError."""

import os
import random
import time

import pytest

from harness.core.errors import HarnessError
from harness.store import DATABASE, Store


def run_every_query(folder, kit, write):
    """Run every query of a store; each may raise a HarnessError only."""
    try:
        store = Store.open(folder, write=write, wait=False)
    except HarnessError:
        return 0
    answered = 0
    with store:
        trial = kit.trial(0)
        questions = [
            store.runs,
            store.run,
            store.events,
            store.outcomes,
            store.duels,
            store.pending,
            store.counts,
            store.typical_seconds,
            lambda: store.counts("latest"),
            lambda: store.known([kit.trial(i).id for i in range(6)]),
            lambda: store.known_duels([kit.duel_outcome().duel.id]),
            lambda: store.history(trial.cell),
            lambda: store.find(trial.id[:3]),
            lambda: [store.artifact(a) for o, _ in store.outcomes() for a in o.arrays.values()],
        ]
        if write:
            questions.append(lambda: store.record(kit.begin(store), kit.outcome(77)))
        for question in questions:
            try:
                question()
            except HarnessError:
                continue
            answered += 1
    return answered


def damage(content, chance):
    """Return the bytes with a few flipped, overwritten, swapped or removed."""
    broken = bytearray(content)
    match chance.choice(["flip", "flip", "fill", "page", "cut"]):
        case "flip":
            for _ in range(chance.randint(1, 12)):
                broken[chance.randrange(len(broken))] = chance.randrange(256)
        case "fill":
            start, size = chance.randrange(len(broken)), chance.randint(1, 600)
            broken[start : start + size] = bytes([chance.randrange(256)]) * size
        case "page":
            one, other = (4096 * chance.randrange(len(broken) // 4096) for _ in "ab")
            broken[one : one + 4096] = content[other : other + 4096]
        case "cut":
            del broken[chance.randrange(len(broken)) :]
    return bytes(broken)


def fuzz(folder, kit, chance, go_on):
    """Damage a valid store repeatedly; return the numbers of answered and of all queries."""
    content = (folder / DATABASE).read_bytes()
    rounds = answered = 0
    while go_on(rounds):
        for file in folder.glob(f"{DATABASE}*"):
            file.unlink()
        (folder / DATABASE).write_bytes(damage(content, chance))
        answered += run_every_query(folder, kit, write=chance.random() < 0.3)
        rounds += 1
    return rounds, answered


def test_damaged_store_is_read_or_refused(full, kit):
    rounds, answered = fuzz(full, kit, random.Random(3), lambda rounds: rounds < 250)
    assert 0 < answered < rounds * 14


@pytest.mark.slow
def test_long_damage_campaign_finds_no_failure(full, kit):
    """``FUZZ_EACH`` seconds or else ``FUZZ_SECONDS`` long (600), from ``FUZZ_SEED``."""
    share = os.environ.get("FUZZ_SECONDS", "600")
    end = time.monotonic() + float(os.environ.get("FUZZ_EACH", share))
    seed = int(os.environ.get("FUZZ_SEED", "1"))
    rounds, answered = fuzz(full, kit, random.Random(seed), lambda _: time.monotonic() < end)
    print(f"\n{rounds} damaged stores, {answered} questions answered, the others refused")  # noqa: T201
    assert answered
