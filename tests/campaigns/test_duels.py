"""Hundreds of duels with a known true ratio, under changing load of the machine.

``SOAK_DUELS`` (6; 200 in full) duels of an algorithm against itself, half as many against one that
burns 10 % of each call's own time on top, and ``SOAK_REPLAYS`` (2000) replays of launches on the
real schedule of interim analyses, all drawn from ``SOAK_SEED`` (1). If ``SOAK_DUEL_LOG`` names a
file, each duel is appended to it as a line of JSON.
"""

import json
import math
import os
import random
import time
from dataclasses import replace
from pathlib import Path

import pytest
from duel_kit import EVERY_REAL, changing_load, duel_of, duel_runner, until_decided
from scipy.stats import binomtest

from harness.analysis.interim_analysis import INTERIM_LAUNCHES, stop_reason
from harness.analysis.speed import contamination, ratio_of, speeds_of
from harness.core.model import Status, to_json

DUELS = int(os.environ.get("SOAK_DUELS", "6"))
REPLAYS = int(os.environ.get("SOAK_REPLAYS", "2000"))
SEED = int(os.environ.get("SOAK_SEED", "1"))
ALPHA = 0.01  # of a duel of 8 launches, whose 99 % interval is to hold the true ratio
LOOKS_ALPHA = 0.05  # of a duel with four interim analyses
BURN = 0.1
FEW_BLOCKS, MANY_BLOCKS = 2, 12  # a call is short beside the start of a launch
SECONDS = 120  # in which a slowdown is to be found
FOUND, COVERED = 0.8, 0.9  # shares of duels
ENOUGH = 50  # duels from which on a share is held against its limit as it is


def campaign(folder, kind, number, the_duel):
    """Run duels under load and return their outcomes, in order."""
    outcomes, log = [], os.environ.get("SOAK_DUEL_LOG")
    with changing_load(SEED), duel_runner(folder) as run:
        for n in range(number):
            began = time.monotonic()
            real = n % EVERY_REAL == EVERY_REAL - 1
            outcome = run(the_duel, real=real)
            assert outcome.status is Status.DONE, outcome.failure
            outcome.facts["seconds"] = time.monotonic() - began
            outcomes.append(outcome)
            if log:
                with Path(log).open("a") as file:
                    file.write(json.dumps([kind, real, to_json(outcome)]) + "\n")
    return outcomes


def holds(interval, ratio):
    return interval.low <= ratio <= interval.high


def share(count, n):
    """Return a sentence with a share and its exact 95 % interval."""
    low, high = bounds(count, n)
    return f"{count} of {n} ({count / n:.1%}, Clopper-Pearson {low:.1%} to {high:.1%})"


def bounds(count, n):
    result = binomtest(count, n).proportion_ci(0.95, "exact")
    return result.low, result.high


def reaches(count, n, limit):
    """Return True if a share reaches its nominal value, or is consistent with it for few duels."""
    return count >= limit * n if n >= ENOUGH else bounds(count, n)[1] >= limit


def print_results(*lines):
    print("", *lines, sep="\n", flush=True)  # noqa: T201 - the figures of the campaign


def noise(outcomes):
    """Return a summary of the load during the duels."""
    logs = [math.log(ratio_of(blocks)[0].value) for o in outcomes for blocks in by_launch(o)]
    logs.sort()
    low, high = logs[len(logs) // 20], logs[-1 - len(logs) // 20]
    doubted = sum(bool(contamination(o)) for o in outcomes)
    took = sorted(o.facts["seconds"] for o in outcomes)
    return (
        f"{len(logs)} launches: nine in ten ratios between {math.exp(low):.3f} and "
        f"{math.exp(high):.3f}; {doubted} of {len(outcomes)} duels called contaminated; "
        f"a duel took {took[len(took) // 2]:.0f} s, the longest {took[-1]:.0f} s"
    )


def by_launch(outcome):
    """Return the blocks of each launch."""
    numbers = dict.fromkeys(block.launch for block in outcome.blocks)
    return [[b for b in outcome.blocks if b.launch == number] for number in numbers]


def replayed(the_duel, launches):
    """Return True if a duel of these launches would call one side faster."""
    blocks = [replace(b, launch=n) for n, blocks in enumerate(launches) for b in blocks]
    for n_launches in INTERIM_LAUNCHES:
        reason = stop_reason(the_duel, [b for b in blocks if b.launch < n_launches])
        if reason.startswith("stopped"):
            return True
    return False


@pytest.mark.slow
def test_algorithm_is_not_reported_faster_than_itself(tmp_path):
    outcomes = campaign(tmp_path, "self", DUELS, duel_of(0, 0, blocks=FEW_BLOCKS))
    n = len(outcomes)
    alarms = sum(not holds(ratio_of(o.blocks, 1 - ALPHA)[0], 1) for o in outcomes)
    reported = sum(not holds(speeds_of(o)[0].ratio, 1) for o in outcomes)

    launches = [blocks for outcome in outcomes for blocks in by_launch(outcome)]
    looked = duel_of(0, 0, launches=INTERIM_LAUNCHES[-1], stop=until_decided(INTERIM_LAUNCHES))
    chance = random.Random(SEED)
    drawn = [chance.choices(launches, k=INTERIM_LAUNCHES[-1]) for _ in range(REPLAYS)]
    replays = sum(replayed(looked, some) for some in drawn)
    round_again = (
        launches * 2 if len(launches) >= INTERIM_LAUNCHES[-1] else launches * INTERIM_LAUNCHES[-1]
    )
    places = [chance.randrange(len(launches)) for _ in range(REPLAYS)]
    in_a_row = sum(replayed(looked, round_again[at : at + INTERIM_LAUNCHES[-1]]) for at in places)
    print_results(
        f"a duel against itself: {noise(outcomes)}",
        f"false alarms at alpha {ALPHA:g}: {share(alarms, n)}",
        f"95 % intervals that miss 1: {share(reported, n)}",
        f"replayed on the looks, alpha {LOOKS_ALPHA:g}: drawn launches: {share(replays, REPLAYS)}",
        f"launches in a row: {share(in_a_row, REPLAYS)}",
    )
    assert bounds(alarms, n)[0] <= ALPHA
    assert bounds(reported, n)[0] <= 0.05
    if n >= ENOUGH:  # a few launches have a mean of their own, which replays then find
        assert bounds(replays, REPLAYS)[0] <= LOOKS_ALPHA


@pytest.mark.slow
def test_slowdown_is_found_and_its_ratio_covered(tmp_path):
    rule = until_decided(INTERIM_LAUNCHES)
    the_duel = duel_of(0, BURN, launches=INTERIM_LAUNCHES[-1], blocks=MANY_BLOCKS, stop=rule)
    outcomes = campaign(tmp_path, "planted", max(1, DUELS // 2), the_duel)
    n = len(outcomes)
    ratios = [speeds_of(outcome)[0].ratio for outcome in outcomes]
    results = [r.low > 1 for r in ratios]
    in_time = sum(
        yes and o.facts["seconds"] <= SECONDS for yes, o in zip(results, outcomes, strict=True)
    )
    covered = sum(holds(r, 1 + BURN) for r in ratios)
    eight = [[b for b in o.blocks if b.launch < INTERIM_LAUNCHES[0]] for o in outcomes]
    first = [ratio_of(blocks)[0] for blocks in eight]
    print_results(
        f"a slowdown of {BURN:.0%}: {noise(outcomes)}",
        f"found within {SECONDS} s: {share(in_time, n)}",
        f"ended after {', '.join(f'{k} launches: {ended(outcomes, k)}' for k in INTERIM_LAUNCHES)}",
        f"reported intervals that cover it: {share(covered, n)}",
        f"95 % intervals of the first 8 launches: {share(sum(holds(r, 1.1) for r in first), n)}",
    )
    assert reaches(in_time, n, FOUND)
    assert reaches(covered, n, COVERED)


def ended(outcomes, launches):
    """Return the number of duels that ended after each number of launches."""
    return sum(len(o.facts["launches"]) == launches for o in outcomes)
