"""Small made-up runs for the checks of sections: empty, of one trial, with hostile names."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness.analysis.run_view import Accuracy, Cell, Interval, RunView, Speed
from harness.core.model import Failure, Outcome, Sample, Split, Status, Task, Trial

METRIC = {"log_loss": {"lower_is_better": True, "primary": True, "summary": "mean negative log"}}
PHASES = ("import", "preparation", "native", "fit", "predict")
MARK = "planted-by-a-name"
HOSTILE = f"</script><b id={MARK}>\"'& | **x** \x00\u202e{{{{ 7 * 7 }}}}" + "long " * 400


def empty() -> RunView:
    """Return a run without measurements."""
    return _view("empty", (), (), ())


def one() -> RunView:
    """Return a run of one algorithm and its reference, on one split of one dataset."""
    cells = tuple(_cell(name, "iris", [_done(name, "iris", 0)]) for name in ("ours", "theirs"))
    return _view("one", cells, (_verdict("ours", "theirs", "iris"),), ())


def hostile() -> RunView:
    """Return a run with markup in names, with non-finite numbers, and with failed trials."""
    names = (f"ours {HOSTILE}", f"theirs {HOSTILE}")
    data = f"data {HOSTILE}"
    mine = [_done(names[0], data, 0, seconds=0.0), _failed(names[0], data, 1)]
    theirs = [_failed(names[1], data, fold) for fold in (0, 1)]
    cells = (_cell(names[0], data, mine), _cell(names[1], data, theirs))
    odd = Interval(0.0, float("inf"), float("inf"), 1.0, 1, HOSTILE)
    speed = Speed(*names, data, "train", odd, "block", (0.0, float("nan")), notes=(HOSTILE,))
    return _view(HOSTILE, cells, (_verdict(*names, data),), (speed,))


def _trial(name: str, dataset: str, fold: int) -> Trial:
    split = Split(folds=2, fold=fold)
    values = (name, {"note": name}, "native", dataset, split, 0, 1)
    return Trial(*values, cell=f"c{fold}", id=f"t{len(name)}-{fold}", task=Task.BINARY)


def _done(name: str, dataset: str, fold: int, seconds: float = 0.5) -> Outcome:
    samples = tuple(Sample(phase, seconds, seconds, 1000) for phase in PHASES)
    facts = {"train_rows": 100, "test_rows": 50, "versions": {"numpy": "2"}, "notes": [name]}
    return Outcome(_trial(name, dataset, fold), Status.DONE, samples, facts=facts)


def _failed(name: str, dataset: str, fold: int) -> Outcome:
    failure = Failure("RuntimeError", name, name)
    return Outcome(_trial(name, dataset, fold), Status.FAILED, failure=failure)


def _cell(name: str, dataset: str, outcomes: list[Outcome]) -> Cell:
    done = [o for o in outcomes if o.status is Status.DONE]
    scores = {"log_loss": tuple(0.3 if o in done else float("nan") for o in outcomes)}
    seconds = {s.phase: s.wall for o in done for s in o.samples}
    fresh = (False,) * len(outcomes)
    params = outcomes[0].trial.params
    values = (tuple(outcomes), scores, fresh, seconds, 1000)
    return Cell(name, params, "native", dataset, str(Task.BINARY), *values)


def _verdict(name: str, reference: str, dataset: str) -> Accuracy:
    unknown = Interval(float("-inf"), 0.0, float("inf"), 1.0, 1, HOSTILE)
    values = (name, reference, dataset, "log_loss", "inconclusive", unknown, 0.01)
    return Accuracy(*values, advice="more repeats", splits=1)


def _view(
    name: str, cells: tuple[Cell, ...], accuracy: tuple[Accuracy, ...], speed: tuple[Speed, ...]
) -> RunView:
    algorithms: dict[str, dict[str, Any]] = {
        c.algorithm: {"origin": "scratch", "reference": None, "summary": name, "parity_levels": {}}
        for c in cells
    }
    datasets: dict[str, dict[str, Any]] = {
        c.dataset: {"task": "binary", "rows": 150, "columns": 4, "n_classes": 2, "summary": name}
        for c in cells
    }
    run = {
        "id": "20260102T030405-ab12cd",
        "name": name,
        "config": {"experiment": {"name": name}},
        "started": "2026-01-02T03:04:05+00:00",
        "ended": "2026-01-02T03:06:45+00:00",
        "status": "done",
        "machine": {"cpu": name},
        "environments": [],
    }
    values = (run, cells, accuracy, speed, (), algorithms, datasets, METRIC if cells else {})
    return RunView(*values, _predictions)


def _predictions(_: Outcome) -> dict[str, np.ndarray]:
    """Return four test rows of any outcome."""
    share = np.array([0.1, 0.4, 0.6, 0.9])
    output = np.stack([1 - share, share], axis=1)
    rows = np.arange(4)
    return {"output": output, "y": rows % 2, "rows": rows, "scale": np.array(1.0)}
