"""Speed ratios of duels: intervals from their blocks, noise floor, and notes on reliability.

Drift cancels inside a block (ABBA or ABA), so a block is one log ratio: the mean of log(wall of B)
minus the mean of log(wall of A). Blocks of one launch share its memory layout and
processor state; so the unit is the launch if there are enough of them, and otherwise a note
names the variance that the interval leaves out (Kalibera & Jones 2013).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from statistics import fmean, median

from harness.analysis.run_view import Interval, Speed
from harness.analysis.stats import geometric_mean, hodges_lehmann, smallest_signed_rank, transformed
from harness.core.ids import digest
from harness.core.model import JSON, Block, Duel, DuelOutcome, Job, Sample, Status

LEVEL = 0.95
INTERIM_LEVEL = 0.98  # of a duel that may end early; see `harness.analysis.interim_analysis`
TRAIN = "train"  # native form and fit together, the time that a user waits
WAITING = 0.8  # a call with less CPU time than this share of its wall time has waited
OTHERS = 0.5  # threads that may run on average while both sides rest
WAITED_CALLS = 0.1  # share of such calls above which a duel has a note
BUSY_NOTES = (
    "busy machine",
    "contaminated",
)  # first words of these notes, now and in older results
SHORTEST = 1e-3  # seconds; below it the resolution of the clocks disturbs that share


def speeds_of(outcome: DuelOutcome) -> tuple[Speed, ...]:
    """Return the speed of each phase of a duel, and of ``train`` = ``native`` + ``fit``.

    Only complete blocks count. A duel that ended early gives a note and the speeds of its blocks.

    Parameters
    ----------
    outcome
        A duel's outcome; without blocks there are no speeds.
    """
    phases: dict[str, list[Block]] = defaultdict(list)
    for block in (*outcome.blocks, *train_blocks(outcome.blocks)):
        if min(s.wall for s in (*block.a, *block.b)) > 0:
            phases[block.phase].append(block)
    memory = memory_ratio(outcome), memory_interval(outcome)
    stopped = outcome.facts.get("stopped", "")
    doubts = (*early_end(outcome), *contamination(outcome), *([stopped] if stopped else []))
    return tuple(
        _speed(outcome.duel, phase, blocks, memory, doubts) for phase, blocks in phases.items()
    )


def _speed(
    duel: Duel,
    phase: str,
    blocks: Sequence[Block],
    memory: tuple[float | None, Interval | None],
    doubts: tuple[str, ...],
) -> Speed:
    ratio, unit, notes = ratio_of(blocks, INTERIM_LEVEL if duel.stop else LEVEL)
    return Speed(
        algorithm=duel.a.trials[0].algorithm,
        reference=duel.b.trials[0].algorithm,
        dataset=duel.a.dataset.name,
        phase=phase,
        ratio=ratio,
        unit=unit,
        seconds=(
            median(s.wall for b in blocks for s in b.a),
            median(s.wall for b in blocks for s in b.b),
        ),
        memory_ratio=memory[0],
        memory=memory[1],
        notes=(*notes, *doubts),
        environments=(duel.a.environment.name, duel.b.environment.name),
        params=(duel.a.trials[0].params, duel.b.trials[0].params),
        subject=digest([duel.a.trials[0].cell, duel.b.trials[0].cell, duel.a.dataset.digest]),
    )


def ratio_of(
    blocks: Sequence[Block], level: float = LEVEL
) -> tuple[Interval, str, tuple[str, ...]]:
    """Return time of B over time of A with its interval, the unit, and notes on the unit.

    The ratio is exp of the Hodges-Lehmann estimate over the units' log ratios.
    """
    notes: tuple[str, ...] = ()
    launches: dict[int, list[float]] = defaultdict(list)
    for block in blocks:
        launches[block.launch].append(log_ratio(block))
    if len(launches) >= smallest_signed_rank(level):
        unit, values = "launch", [fmean(v) for v in launches.values()]
    else:
        unit, values = "block", [v for found in launches.values() for v in found]
        few = "one launch" if len(launches) == 1 else f"{len(launches)} launches"
        notes = (f"{few}: between-process variance not included",)
    ratio = transformed(hodges_lehmann(values, level), math.exp)
    return ratio, unit, (*notes, *filter(None, [ratio.note]))


def log_ratio(block: Block) -> float:
    """Return log(time of B / time of A) of a block, from the calls of each side."""
    a, b = ([math.log(s.wall) for s in side] for side in (block.a, block.b))
    return fmean(b) - fmean(a)


def train_blocks(blocks: Iterable[Block]) -> list[Block]:
    """Return blocks of the phase ``train``: the sum of native form and fit of each call."""
    fits = {(b.launch, b.index): b for b in blocks if b.phase == "fit"}
    natives = [b for b in blocks if b.phase == "native" and (b.launch, b.index) in fits]
    return [_added(native, fits[native.launch, native.index]) for native in natives]


def _added(native: Block, fit: Block) -> Block:
    def add(calls: tuple[Sample, ...], others: tuple[Sample, ...]) -> tuple[Sample, ...]:
        return tuple(
            Sample(TRAIN, x.wall + y.wall, x.cpu + y.cpu, max(x.peak, y.peak))
            for x, y in zip(calls, others, strict=True)
        )

    return replace(fit, phase=TRAIN, a=add(native.a, fit.a), b=add(native.b, fit.b))


def memory_ratio(outcome: DuelOutcome) -> float | None:
    """Return the peak of B's fit over that of A's, or None if one is unknown.

    The peak of a side is the median over launches.
    """
    peaks = fit_peaks(outcome)
    if not peaks:
        return None
    a, b = (median(side) for side in zip(*peaks, strict=True))
    return b / a if a > 0 and b > 0 else None


def memory_interval(outcome: DuelOutcome) -> Interval | None:
    """Return the same ratio with its interval over launches; None if one is unknown."""
    logs = [math.log(b / a) for a, b in fit_peaks(outcome) if a > 0 and b > 0]
    return transformed(hodges_lehmann(logs, LEVEL), math.exp) if logs else None


def fit_peaks(outcome: DuelOutcome) -> list[tuple[int, int]]:
    """Return the peak of the untimed first ``fit`` of A and of B in each launch, bytes.

    Only before this call was no large memory allocated. Later ones may reuse memory that the
    allocator has kept, or be counted together with the previous model.
    """
    launches = outcome.facts.get("launches", ())
    return [(first_peak(launch, "a"), first_peak(launch, "b")) for launch in launches]


def first_peak(launch: JSON, side: str) -> int:
    """Return the peak of ``fit`` among the untimed first calls of a side; 0: not known."""
    cold = launch.get(side, {}).get("cold", ())
    return next((int(call["peak"]) for call in cold if call["phase"] == "fit"), 0)


# ------------------------------------------------------------------ doubts


def early_end(outcome: DuelOutcome) -> tuple[str, ...]:
    """Return the note on a duel that ended early."""
    if outcome.status is Status.DONE:
        return ()
    reason = outcome.failure.message if outcome.failure else outcome.status.value
    return (f"ended early: {reason}",)


def contamination(outcome: DuelOutcome) -> tuple[str, ...]:
    """Return notes on other load of the machine during a duel.

    A call that waits has more wall than CPU time. Both sides rest before each call, so that
    nothing should run then; if the system does not report this, the load average is used, which
    should not exceed the threads of a side and covers a minute.
    """
    notes = []
    for job, side in ((outcome.duel.a, "a"), (outcome.duel.b, "b")):
        share = waited_share(s for block in outcome.blocks for s in getattr(block, side))
        if share > WAITED_CALLS:
            notes.append(
                f"busy machine: {share:.0%} of the calls of {job.name} waited for the processor "
                "(other programs, input and output, or child processes)"
            )
    launches = outcome.facts.get("launches", ())
    others = _others(launches)
    notes += _load(launches, outcome.duel) if others is None else others
    return tuple(dict.fromkeys(notes))  # both sides of an A/A duel give the same note


def _others(launches: Sequence[JSON]) -> list[str] | None:
    """Return a note on threads of other programs while both sides rested; None if unknown."""
    threads = [launch["others"] for launch in launches if "others" in launch]
    if not threads:
        return None
    if max(threads) <= OTHERS:
        return []
    note = f"busy machine: other programs kept {max(threads):.1f} threads busy"
    return [f"{note} on average while both sides rested"]


def _load(launches: Sequence[JSON], duel: Duel) -> list[str]:
    """Return a note on the load average if it is higher than a side can cause."""
    loads = [load for launch in launches for load in launch["load"]]
    threads = max(duel.a.threads, duel.b.threads)
    if not loads or max(loads) <= threads + 0.5:
        return []
    many = "s" if threads > 1 else ""
    note = f"busy machine: load average up to {max(loads):.1f} while {threads} thread{many}"
    return [f"{note} ran the calls"]


def waited_share(samples: Iterable[Sample]) -> float:
    """Return the share of sufficiently long calls that waited."""
    waited = [s.cpu < WAITING * s.wall for s in samples if s.wall >= SHORTEST]
    return sum(waited) / len(waited) if waited else 0.0


# ------------------------------------------------------------------ noise floor


def is_self_duel(duel: Duel) -> bool:
    """Return whether both sides are the same: an A/A duel, whose true ratio is 1."""
    return _side_key(duel.a) == _side_key(duel.b)


def _side_key(job: Job) -> tuple[object, ...]:
    trial = job.trials[0]
    key = (job.algorithm, dict(trial.params), trial.preparation, job.dataset, job.threads)
    return (*key, trial.split, trial.seed, job.environment.python, job.environment.root)


def noise_floors(outcomes: Iterable[DuelOutcome]) -> dict[tuple[str, str], float]:
    """Return (dataset, phase) → largest distance from 1 that A/A duels' intervals reach.

    0.03 means that on this machine a ratio between 1/1.03 and 1.03 is not a measurable difference.
    """
    floors: dict[tuple[str, str], float] = {}
    for outcome in outcomes:
        for speed in speeds_of(outcome) if is_self_duel(outcome.duel) else ():
            reach = max(speed.ratio.high, 1 / speed.ratio.low) if speed.ratio.low else math.inf
            if math.isfinite(reach):
                key = (speed.dataset, speed.phase)
                floors[key] = max(floors.get(key, 0.0), reach - 1)
    return floors


def with_floor(speed: Speed, floors: dict[tuple[str, str], float]) -> Speed:
    """Return a speed with its workload's noise floor, and a note if it is within the floor."""
    floor = floors.get((speed.dataset, speed.phase))
    if floor is None:
        return speed
    notes = speed.notes
    if 1 / (1 + floor) <= speed.ratio.value <= 1 + floor:
        notes = (*notes, f"no measurable difference: the A/A duel reaches ±{floor:.1%}")
    return replace(speed, floor=floor, notes=notes)


# ------------------------------------------------------------------ over datasets


def pool_speeds(speeds: Iterable[Speed]) -> tuple[Speed, ...]:
    """Return the geometric mean ratio of each pair and phase with two or more datasets.

    ``dataset`` is ``""`` and the unit "dataset"; seconds of different datasets have no meaningful
    mean, so there are none.
    """
    grouped: dict[tuple[str, str, str, tuple[str, str]], list[Speed]] = defaultdict(list)
    for speed in speeds:
        key = (speed.algorithm, speed.reference, speed.phase, speed.environments)
        grouped[key].append(speed)
    pooled = []
    for (algorithm, reference, phase, environments), members in grouped.items():
        if len({speed.dataset for speed in members}) < 2:
            continue
        ratio = geometric_mean([speed.ratio.value for speed in members], LEVEL)
        known = [speed.memory_ratio for speed in members if speed.memory_ratio]
        memory = geometric_mean(known, LEVEL) if known else None
        pooled.append(
            Speed(
                algorithm=algorithm,
                reference=reference,
                dataset="",
                phase=phase,
                ratio=ratio,
                unit="dataset",
                seconds=(math.nan, math.nan),
                memory_ratio=memory.value if memory else None,
                memory=memory,
                notes=(f"geometric mean over {len(members)} datasets",),
                environments=environments,
            )
        )
    return tuple(pooled)
