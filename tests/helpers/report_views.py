"""Made-up results of every diagnostic, and run views with every kind of content."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from harness.analysis.compare import OutcomeChange, RunComparison, Seconds
from harness.analysis.compare_duels import ParityLevelChange, RatioChange
from harness.analysis.diagnostics import (
    Diagnostic,
    agreement,
    bias_variance,
    calibration,
    determinism,
    importance,
    margins,
    scaling,
    staged,
    strength,
)
from harness.analysis.run_view import FirstUse, Interval, Parity, RunView, Speed
from harness.analysis.series import Point, Series, Step
from harness.analysis.serving import ServingTimes
from harness.analysis.trends import Level, RunPoint
from harness.core.model import Finding, Severity, Status, to_json

RNG = np.random.default_rng(0)
P = RNG.uniform(size=200)
HIT = (RNG.random(200) < P).astype(np.int64)
VOTES = np.where(RNG.random((6, 200)) < 0.7, HIT, 1 - HIT)


def checks():
    base = np.array([0.5, 0.25])
    found = [
        determinism.check("seed", base, base.copy()),
        determinism.check("threads", base, np.nextafter(base, 1), "log_loss", np.sum),
        determinism.Check("rows", None, reason="it crashed"),
    ]
    return {"checks": [to_json(check) for check in found], "rows": 2}


def losses(output):
    return float(np.mean(output))


def decompose_models(noise, sets=4):
    f = RNG.uniform(size=50)
    models = f + RNG.normal(size=(sets, 50)) * 0.3
    decomposed = bias_variance.of_values(models, f + noise * RNG.normal(size=50), f)
    return {**to_json(decomposed), "train_rows": 100, "apart": True}


def diagnostic_results():
    """Return the result of each diagnostic on made-up models, by name."""
    stages = [np.full(4, v) for v in (3.0, 1.0, 2.0)]
    clock = ([1, 3], [0.1, 0.3])
    sides = {"train": VOTES, "test": VOTES}
    strong = strength.of_votes(VOTES, HIT, 2)
    return {
        "staged": to_json(staged.curves([1, 2, 3], stages, stages, "mse", (losses,) * 2, clock)),
        "determinism": checks(),
        "scaling": to_json(scaling.fit("rows", [1, 2, 4, 8], [1.0, 2.1, 3.9, 8.2])),
        "calibration": to_json(calibration.calibrate(np.column_stack([1 - P, P]), HIT)),
        "importance": to_json(importance.compare([1, 2, 3], [1, 3, 2])),
        "agreement": {**to_json(agreement.compare(P, np.nextafter(P, 1))), "scale": 1.0},
        "margins": {
            side: to_json(margins.distribution(margins.margins(votes, np.ones(6), HIT, 2)))
            for side, votes in sides.items()
        },
        "strength": {
            **to_json(strong),
            "law": {**to_json(strong.law), "deviation": strong.law.deviation},
        },
        "bias_variance": decompose_models(0.5),
    }


PAIRED = ("importance", "agreement")


def made_up_diagnostics(algorithm="ours", reference="theirs", dataset="blobs", params=None):
    """Return one diagnostic of each kind."""
    return tuple(
        Diagnostic(name, algorithm, dataset, params or {}, found=answer,
                   reference=reference * (name in PAIRED))
        for name, answer in diagnostic_results().items()
    )  # fmt: skip


def with_all_sections(view: RunView, names: list[str]) -> RunView:
    """Return a view with content for every section; names appear in every possible place."""
    cells = [replace(cell, tracks=("equal",)) for cell in view.cells]
    more = [
        replace(
            cell,
            params={"depth": i, names[0]: names[i]},
            scores={
                m: tuple(v * (1 + 0.1 * i * j) for j, v in enumerate(values))
                for m, values in cell.scores.items()
            },
        )
        for i in (1, 2)
        for cell in view.cells[:3]
    ]
    return replace(
        view,
        run={**view.run, "config": _config(view, names)},
        cells=tuple(cells + [replace(cell, tracks=("equal",)) for cell in more]),
        duels=tuple(_noisy(view)),
        diagnostics=tuple(_diagnostics(view, names)),
        first_uses=tuple(
            FirstUse(n, 1.5 + i, (names[i - 1],), 7 * i, environment=n) for i, n in enumerate(names)
        ),
        findings=tuple(
            Finding(f"DATA{i:03d}", severity, name, f"docs/checks.md#{name}", name)
            for i, name in enumerate(names)
            for severity in [(*Severity,)[i % 3]]
        ),
        previous=previous_run(view, names),
        course=tuple(run_point(i, names) for i in range(8)),
        serving=tuple(served(i, n, names) for i, n in enumerate(names)),
        algorithms={
            name: {**facts, "capacity": {names[i % 3]: {"name": names[i % 5], "match": match,
                                                        "note": names[i % 7]}}}
            for i, (name, facts) in enumerate(view.algorithms.items())
            for match in [("exact", "approximate", "impossible")[i % 3]]
        },
    )  # fmt: skip


def served(number: int, name: str, names: list[str]) -> ServingTimes:
    """Return the serving times of one of several models; the last one failed."""
    if number == len(names) - 1:
        return ServingTimes(name, names[0], 1, failure=name)
    times = [Interval(t / 1.1, t, t * 1.1) for t in (1e-5 * (number + 1), 1e-3, 0.1)]
    batches = dict(zip((1, 1000, 100_000), times, strict=True))
    launches = {rows: [t.value, 1.1 * t.value] for rows, t in batches.items()}
    quantiles = dict(zip((0.5, 0.99, 0.999), times, strict=True))
    return ServingTimes(
        name, names[0], 1 + number % 2, {names[1]: names[2]}, "", 1000, 5000, *[times[1]] * 4,
        quantiles, batches, batches, launches,
    )  # fmt: skip


def _config(view: RunView, names: list[str]):
    gates = [
        {"kind": "accuracy", "algorithm": "*"},
        {"kind": "speed", "algorithm": "*", "limit": 2.0},
        {"kind": "parity_level", "algorithm": names[0], "limit": "L2"},
    ]
    return {"experiment": {"name": "quick", "summary": names[3], "gate": gates}}


def _noisy(view: RunView):
    """Yield the duels, and one of an algorithm with itself."""
    yield from view.duels
    first = next(d for d in view.duels if d.status is Status.DONE)
    yield replace(first, duel=replace(first.duel, b=first.duel.a, id="f" * 16))


def _diagnostics(view: RunView, names: list[str]):
    for name in names[:3]:
        yield from made_up_diagnostics(name, names[1], name, {"depth": 3})
    for i, name in enumerate(names):
        yield Diagnostic("margins", name, names[i - 1], reason=name)
    for name in ("bias_variance", "importance"):
        answer = diagnostic_results()[name]
        if name == "importance":
            answer |= {"shares": [[0.75, 0.25, 0.0], [0.5, 0.5, 0.0]]}
        yield from (
            Diagnostic(name, names[0], names[0], {"depth": d, names[4]: names[4]}, found=answer,
                       reference=names[1] * (name == "importance"))
            for d in (1, 2, 4)
        )  # fmt: skip


def previous_run(view: RunView, names: list[str]) -> RunComparison:
    old = {"id": names[0], "name": names[1], "started": "2026-01-01T00:00:00+00:00"}
    return RunComparison(
        old,
        dict(view.run),
        matched=40,
        only_old=3,
        only_new=4,
        other_data=5,
        changes=tuple(replace(a, notes=(names[2],)) for a in view.accuracy if a.dataset),
        seconds=tuple(Seconds(n, n, "fit", 0.1, 0.2, remeasured=True) for n in names),
        turns=tuple(OutcomeChange(n, n, n, "done", "timeout") for n in names),
        ratios=tuple(
            RatioChange(n, n, n, "fit", Interval(1, 1.1, 1.2), Interval(0.5 + i, 0.6 + i, 0.7 + i))
            for i, n in enumerate(names)
        ),
        parity_levels=tuple(
            ParityLevelChange(n, n, n, n, "L3", f"L{i % 3}") for i, n in enumerate(names)
        ),
    )


def run_point(number: int, names: list[str], name: str = "quick") -> RunPoint:
    """Return one of several runs of an experiment, with a level and a speed per name."""
    run = {
        "id": f"20260101-000{number}-abcd",
        "name": name,
        "status": names[number % len(names)],
        "started": f"2026-01-0{number + 1}T00:00:00+00:00",
        "machine": {"revision": f"{number}" * 12},
        "config": {},
    }
    levels = [
        Level(n, f'{{"x": "{i}"}}', "native", names[i - 1], "log_loss", True,
              0.4 - 0.02 * i - 0.05 * (number > 3), 0.1, failed=i % 2)
        for i, n in enumerate(names)
    ]  # fmt: skip
    ratio = 1.0 + (number > 3)
    speeds = [
        Speed(n, names[0], names[i - 1], "train", Interval(ratio / 1.1, ratio, ratio * 1.1),
              "launch", (0.1, 0.1 * ratio))
        for i, n in enumerate(names[1:])
    ]  # fmt: skip
    params = ({"parity": names[0]}, {})
    parity_levels = [
        Parity(n, names[0], names[i - 1], params, n, "raw", f"L{number % 4}", "", {}, None)
        for i, n in enumerate(names)
    ]
    return RunPoint(run, tuple(levels), tuple(speeds), 6, number % 2, 1, tuple(parity_levels))


def history_of(names: list[str]) -> list[Series]:
    """Return series with steps, for the page of a history."""
    values = [1.0, 1.1, 0.9, 1.0, 3.0, 3.1, 2.9, 3.0]
    points = tuple(
        Point(f"{names[i % len(names)][:9]}{i}", f"2026-01-0{i + 1}T00:00:00", v)
        for i, v in enumerate(values)
    )
    steps = (Step(4, 1.0, 3.0),)
    return [Series(n, n, n, n, n, points, steps) for n in names]
