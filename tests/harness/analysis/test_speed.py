"""Tests of speeds from simulated blocks: units, drift, train, memory, doubts, noise floor."""

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.analysis.speed import (
    contamination,
    fit_peaks,
    is_self_duel,
    log_ratio,
    memory_ratio,
    noise_floors,
    speeds_of,
    train_blocks,
    waited_share,
    with_floor,
)
from harness.core.model import (
    Block,
    DatasetRef,
    Duel,
    DuelOutcome,
    Environment,
    Failure,
    Job,
    Sample,
    Split,
    Status,
    Task,
    Trial,
)


def job(algorithm, seed=0, threads=1, environment=None):
    trial = Trial(
        algorithm, {}, "native", "wine", Split(), seed, threads, "c", "t", task=Task.MULTICLASS
    )
    dataset = DatasetRef("wine", "digest")
    where = environment or Environment()
    return Job(algorithm, "m", dataset, (trial,), threads=threads, environment=where)


def sample(wall, phase="fit", cpu=None, peak=0):
    return Sample(phase, wall, wall if cpu is None else cpu, peak)


def block(a, b, launch=0, index=0, phase="fit", **fields):
    pairs = [tuple(sample(w, phase, **fields) for w in side) for side in (a, b)]
    return Block(launch, index, phase, "ABBA", *pairs)


def outcome(blocks, sides=("ours", "theirs"), **fields):
    duel = Duel(job(sides[0]), job(sides[1]), id="d")
    return DuelOutcome(duel, fields.pop("status", Status.DONE), tuple(blocks), **fields)


def noisy(rng, launches, blocks, ratio=1.0, between=0.0, sides=("ours", "theirs")):
    """Blocks with skewed noise, a drift, and a bias of each launch of a side."""
    results = []
    for launch in range(launches):
        bias = np.exp(rng.normal(0, between, 2))
        for index in range(blocks):
            drift = 1 + 0.01 * (launch * blocks + index)
            a = drift * bias[0] * (1 + rng.exponential(0.02, 2))
            b = drift * bias[1] * ratio * (1 + rng.exponential(0.02, 2))
            results.append(block(a, b, launch, index))
    return outcome(results, sides)


def test_drift_cancels_within_a_block():
    # The machine slows by 10 % with each call, in the order A B B A.
    steps = 1.1 ** np.arange(4)
    assert log_ratio(block((steps[0], steps[3]), (2 * steps[1], 2 * steps[2]))) == pytest.approx(
        math.log(2)
    )


def test_one_launch_is_judged_by_its_blocks_and_says_so():
    speed = speeds_of(noisy(np.random.default_rng(0), launches=1, blocks=8, ratio=1.5))[0]
    assert (speed.unit, speed.ratio.n) == ("block", 8)
    assert "one launch: between-process variance not included" in speed.notes
    assert speed.ratio.low < 1.5 < speed.ratio.high
    assert speed.ratio.low > 1.4


def test_six_launches_are_units_and_five_are_not():
    rng = np.random.default_rng(1)
    six = speeds_of(noisy(rng, launches=6, blocks=3))[0]
    assert (six.unit, six.ratio.n, six.notes) == ("launch", 6, ())
    five = speeds_of(noisy(rng, launches=5, blocks=3))[0]
    assert (five.unit, five.ratio.n) == ("block", 15)
    assert five.notes[0].startswith("5 launches: between-process variance not included")


def test_too_few_blocks_have_no_bounds():
    speed = speeds_of(noisy(np.random.default_rng(2), launches=1, blocks=3))[0]
    assert (speed.ratio.low, speed.ratio.high) == (0.0, math.inf)
    assert any("n = 3" in note for note in speed.notes)


def test_launch_intervals_cover_if_processes_differ():
    rng = np.random.default_rng(3)
    repetitions = 250
    results = [
        speeds_of(noisy(rng, 8, 2, ratio=1.2, between=0.05))[0].ratio for _ in range(repetitions)
    ]
    covered = np.mean([r.low <= 1.2 <= r.high for r in results])
    assert covered == pytest.approx(results[0].level, abs=4 * math.sqrt(0.05 * 0.95 / repetitions))


def test_self_duels_give_few_false_alarms():
    rng = np.random.default_rng(4)
    repetitions = 250
    results = [speeds_of(noisy(rng, 8, 2, between=0.05))[0].ratio for _ in range(repetitions)]
    alarms = np.mean([r.low > 1 or r.high < 1 for r in results])
    assert alarms < 0.05 + 4 * math.sqrt(0.05 * 0.95 / repetitions)


@given(st.lists(st.tuples(*[st.floats(1e-6, 1e3)] * 4), min_size=6, max_size=10))
def test_swapped_sides_give_the_reciprocal(walls):
    one = outcome([block(w[:2], w[2:], index=i) for i, w in enumerate(walls)])
    other = outcome([block(w[2:], w[:2], index=i) for i, w in enumerate(walls)])
    a, b = speeds_of(one)[0], speeds_of(other)[0]
    assert a.ratio.value == pytest.approx(1 / b.ratio.value)
    assert a.ratio.low == pytest.approx(1 / b.ratio.high)
    assert a.seconds == b.seconds[::-1]


def test_train_adds_native_and_fit_of_the_same_call():
    blocks = [
        block((1.0, 2.0), (10.0, 20.0), phase="native", peak=5),
        block((3.0, 4.0), (30.0, 40.0), phase="fit", peak=7),
        block((1.0, 1.0), (1.0, 1.0), index=1, phase="native"),  # its fit is missing
    ]
    (train,) = train_blocks(blocks)
    assert [s.wall for s in (*train.a, *train.b)] == [4.0, 6.0, 40.0, 60.0]
    assert train.a[0].peak == 7
    speeds = {s.phase: s for s in speeds_of(outcome(blocks[:2]))}
    assert speeds["train"].ratio.value == pytest.approx(10.0)
    assert speeds["train"].seconds == (5.0, 50.0)


def test_memory_is_the_median_launch_of_the_untimed_first_fit():
    def launch(a, b):
        calls = [
            {"phase": "native", "peak": 900},
            {"phase": "fit"},
            {"phase": "predict", "peak": 1},
        ]
        sides = zip("ab", (a, b), strict=True)
        return {
            side: {"cold": [{**c, "peak": c.get("peak", p)} for c in calls]} for side, p in sides
        }

    def duel_with(*launches):
        return outcome([block((1.0, 1.0), (1.0, 1.0), peak=7)], facts={"launches": launches})

    result = duel_with(launch(10, 30), launch(20, 40), launch(500, 40))
    assert fit_peaks(result) == [(10, 30), (20, 40), (500, 40)]
    assert memory_ratio(result) == 40 / 20
    assert memory_ratio(duel_with(launch(0, 40))) is None
    assert memory_ratio(duel_with({"load": [0.1, 0.1]})) is None
    assert memory_ratio(duel_with()) is None


def test_waiting_side_is_named():
    waited = [block((1.0, 1.0), (1.0, 1.0), index=i, cpu=0.5) for i in range(8)]
    notes = contamination(outcome(waited))
    assert len(notes) == 2
    assert "100% of the calls of ours waited for the processor" in notes[0]
    busy = [block((1.0, 1.0), (1.0, 1.0), index=i, cpu=0.95) for i in range(8)]
    assert contamination(outcome(busy)) == ()
    assert waited_share([sample(1e-4, cpu=0.0)]) == 0  # too short to measure


def test_loaded_machine_is_reported():
    blocks = [block((1.0, 1.0), (1.0, 1.0))]
    calm = outcome(blocks, facts={"launches": [{"load": [0.1, 1.2]}]})
    loaded = outcome(blocks, facts={"launches": [{"load": [0.1, 1.0]}, {"load": [3.4, 2.0]}]})
    assert contamination(calm) == ()
    (note,) = contamination(loaded)
    assert "load average up to 3.4 while 1 thread ran" in note
    assert note in speeds_of(loaded)[0].notes


def test_processor_use_during_rests_takes_precedence_over_load_average():
    blocks = [block((1.0, 1.0), (1.0, 1.0))]
    alone = outcome(blocks, facts={"launches": [{"load": [3.4, 2.0], "others": 0.1}]})
    loaded = [{"load": [0.1, 0.1], "others": 0.0}, {"load": [0.1, 0.1], "others": 1.25}]
    assert contamination(alone) == ()
    (note,) = contamination(outcome(blocks, facts={"launches": loaded}))
    assert "kept 1.2 threads busy on average while both sides rested" in note


def test_speed_has_the_params_of_both_sides():
    deep = dataclasses.replace(job("ours").trials[0], params={"depth": 3})
    sides = dataclasses.replace(job("ours"), trials=(deep,)), job("theirs")
    duel_with = DuelOutcome(Duel(*sides, id="d"), Status.DONE, (block((1.0, 1.0), (2.0, 2.0)),))
    (speed,) = speeds_of(duel_with)
    assert speed.params == ({"depth": 3}, {})


def test_duel_that_ended_early_gives_the_reason():
    result = outcome(
        [block((1.0, 1.0), (2.0, 2.0))],
        status=Status.TIMEOUT,
        failure=Failure("timeout", "side b (theirs): no end"),
    )
    assert "ended early: side b (theirs): no end" in speeds_of(result)[0].notes


def test_calls_of_zero_length_are_left_out():
    blocks = [block((0.0, 1.0), (1.0, 1.0)), block((1.0, 1.0), (2.0, 2.0), index=1)]
    assert speeds_of(outcome(blocks))[0].ratio.n == 1
    assert speeds_of(outcome(blocks[:1])) == ()


def test_self_duel_has_equal_sides():
    same = Duel(job("ours"), job("ours"), id="d")
    assert is_self_duel(same)
    assert not is_self_duel(dataclasses.replace(same, b=job("theirs")))
    assert not is_self_duel(dataclasses.replace(same, b=job("ours", seed=1)))
    there = Environment("base", root="/elsewhere")
    assert not is_self_duel(dataclasses.replace(same, b=job("ours", environment=there)))


def test_noise_floor_is_the_largest_self_duel_bound():
    rng = np.random.default_rng(5)
    selves = [noisy(rng, 1, 8, sides=("ours", "ours")) for _ in range(3)]
    pair = noisy(rng, 1, 8, ratio=3.0)
    floors = noise_floors([*selves, pair])
    reach = [max(r.high, 1 / r.low) - 1 for r in (speeds_of(s)[0].ratio for s in selves)]
    assert floors == {("wine", "fit"): pytest.approx(max(reach))}
    fast = with_floor(speeds_of(pair)[0], floors)
    assert fast.floor == floors["wine", "fit"]
    assert not any("no measurable difference" in note for note in fast.notes)
    equal = with_floor(speeds_of(selves[0])[0], floors)
    assert any("no measurable difference" in note for note in equal.notes)
    assert with_floor(fast, {}) == fast


def test_self_duel_without_bounds_gives_no_floor():
    assert noise_floors([noisy(np.random.default_rng(6), 1, 3, sides=("ours", "ours"))]) == {}
