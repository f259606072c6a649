"""Tests that every planted fault of a run is found, and that a clean run raises nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Any

import numpy as np
import pytest

from harness.analysis.build_view import findings_of
from harness.analysis.diagnostics import Diagnostic
from harness.analysis.run_view import Cell, RunView
from harness.checks.during_run import WIDTH, format_findings, in_order
from harness.checks.result_checks import RESULT_CHECKS, check_results
from harness.core.model import (
    Failure,
    Finding,
    Outcome,
    Sample,
    Severity,
    Split,
    Status,
    Task,
    Trial,
    finding_from_json,
    to_json,
)

SPLITS = 12
TREES = {"trees": {"name": "n_estimators"}}
BOOSTER = {**TREES, "rate": {"name": "learning_rate"}, "depth": {"name": "max_depth"}}
SPACE = {
    "max_depth": [2, 4, 6, 8],
    "learning_rate": {"low": 0.01, "high": 0.3, "log": True},
}


@dataclass
class Model:
    """A model of a fake run: its losses, training losses and facts."""

    name: str
    loss: float | Sequence[float]
    train: float | None = None
    seconds: float | Sequence[float] = 0.2
    params: Mapping[str, Any] = field(default_factory=dict)
    capacity: Mapping[str, Any] = field(default_factory=dict)
    tracks: tuple[str, ...] = ()
    failed: int = 0
    chosen: Sequence[Mapping[str, Any]] = ()


def view_of(*models: Model, splits: int = SPLITS, constant: float = 0.69) -> RunView:
    """Return the view of a run of these models on one dataset."""
    return RunView(
        run={},
        cells=tuple(cell_of(model, splits, constant) for model in models),
        accuracy=(),
        speed=(),
        duels=(),
        algorithms={m.name: {"capacity": m.capacity, "space": SPACE} for m in models},
        datasets={},
        metrics={
            "log_loss": {"lower_is_better": True, "primary": True},
            "accuracy": {"lower_is_better": False, "primary": False},
        },
        predictions=lambda _: {},
    )


def cell_of(model: Model, splits: int, constant: float) -> Cell:
    losses = np.broadcast_to(model.loss, splits).astype(float)
    seconds = np.broadcast_to(model.seconds, splits).astype(float)
    done = [i >= model.failed for i in range(splits)]
    outcomes = tuple(outcome_of(model, i, splits, seconds[i], done=done[i]) for i in range(splits))
    scores = tuple(float(loss) if ok else np.nan for loss, ok in zip(losses, done, strict=True))
    return Cell(
        algorithm=model.name,
        params=model.params,
        preparation="native",
        dataset="mine",
        task="binary",
        outcomes=outcomes,
        scores={"log_loss": scores, "accuracy": tuple(1 - s for s in scores)},
        reused=(False,) * splits,
        seconds={"fit": median(seconds), "native": 0.0},
        peak=0,
        tracks=model.tracks,
        constant=(constant,) * splits,
    )


def outcome_of(model: Model, fold: int, splits: int, seconds: float, *, done: bool) -> Outcome:
    split = Split("kfold", splits, fold)
    trial = Trial(
        model.name, model.params, "native", "mine", split, 0, 1, "c", f"{fold}", Task.BINARY
    )
    if not done:
        return Outcome(trial, Status.FAILED, failure=Failure("ValueError", "no"))
    facts: dict[str, Any] = {"train_rows": 900, "test_rows": 100}
    if model.train is not None:
        facts["train_loss"] = model.train
    if model.chosen:
        facts["tuned"] = {"params": model.chosen[fold % len(model.chosen)]}
    return Outcome(trial, Status.DONE, (Sample("fit", seconds, seconds),), facts=facts)


def noisy(mean: float, spread: float, seed: int = 0) -> np.ndarray:
    random = np.random.default_rng(seed)
    values = random.normal(size=SPLITS)
    return mean + spread * (values - values.mean())


BEST = Model("best", noisy(0.40, 0.01), train=0.35, params={"n_estimators": 100}, capacity=TREES)
TUNED = Model(
    "tuned",
    noisy(0.42, 0.01, 1),
    train=0.37,
    params={"tune": {"configurations": [{"max_depth": 4, "learning_rate": 0.1},
                                        {"max_depth": 6, "learning_rate": 0.05}]}},
    capacity=BOOSTER,
    chosen=[{"max_depth": 4, "learning_rate": 0.1}, {"max_depth": 6, "learning_rate": 0.05}],
)  # fmt: skip


def findings_of_models(*models: Model, **options: Any) -> dict[str, Finding]:
    findings = check_results(view_of(*models, **options))
    assert all(f.page == f"docs/checks.md#{f.code.lower()}" for f in findings)
    assert len({f.code for f in findings}) == len(findings)
    return {f.code: f for f in findings}


def only(code: str, *models: Model, **options: Any) -> Finding:
    findings = findings_of_models(*models, **options)
    assert set(findings) == {code}
    return findings[code]


def test_clean_run_raises_nothing() -> None:
    assert findings_of_models(BEST, TUNED) == {}


def test_run_of_failures_only_raises_nothing() -> None:
    assert findings_of_models(Model("broken", 0.4, failed=SPLITS)) == {}


def test_codes_are_unique_and_in_order() -> None:
    codes = [check.code for check in RESULT_CHECKS]
    assert codes == [f"RUN{i:03d}" for i in range(1, len(codes) + 1)]
    assert len({check.title for check in RESULT_CHECKS}) == len(codes)


def test_model_no_better_than_a_constant_is_found() -> None:
    finding = only("RUN001", BEST, TUNED, Model("useless", 0.688, train=0.685))
    assert finding.severity is Severity.WARNING
    assert "'useless' is no better than a constant" in finding.sentence
    alone = findings_of_models(Model("a", 0.69), Model("b", 0.70))["RUN001"]
    assert alone.severity is Severity.PROBLEM
    assert alone.sentence.startswith("no model predicts better")


def test_overfitting_is_found() -> None:
    finding = only("RUN002", BEST, TUNED, Model("deep", noisy(0.55, 0.01, 2), train=0.05))
    assert "'deep' overfits" in finding.sentence
    assert finding.evidence["losses"]["deep"]["train"] == pytest.approx(0.05)


def test_forest_fitting_training_rows_and_predicting_best_does_not_overfit() -> None:
    assert findings_of_models(Model("forest", noisy(0.38, 0.01, 2), train=0.01), TUNED) == {}


def test_underfitting_is_found() -> None:
    finding = only("RUN003", BEST, TUNED, Model("shallow", noisy(0.56, 0.01, 2), train=0.55))
    assert "'shallow' underfits" in finding.sentence


def test_split_unlike_the_others_is_found() -> None:
    with_outlier = [0.4, 0.41, 0.39, 0.4, 0.42, 0.9, 0.4, 0.41, 0.4, 0.39, 0.4, 0.41]
    models = Model("a", with_outlier), Model("b", [loss + 0.05 for loss in with_outlier]), TUNED
    assert "RUN004" not in findings_of_models(Model("a", with_outlier), BEST, TUNED)
    finding = findings_of_models(*models[:2])["RUN004"]
    assert "kfold12-s0-r0-f5" in finding.sentence
    assert finding.evidence["factor"] > 1.9


def test_no_gain_over_a_strong_default_is_found() -> None:
    strong = Model("sklearn.hist_gradient_boosting", noisy(0.402, 0.02, 5))
    assert "not clearly better" in only("RUN005", BEST, TUNED, strong).sentence
    behind = Model("sklearn.hist_gradient_boosting", noisy(0.45, 0.005, 5))
    assert findings_of_models(BEST, TUNED, behind) == {}


def test_slow_model_that_is_no_better_is_found() -> None:
    slow = Model("slow", noisy(0.43, 0.01, 3), seconds=9.0, params={"n_estimators": 900},
                 capacity=TREES)  # fmt: skip
    finding = only("RUN006", BEST, TUNED, slow)
    assert finding.evidence == {"simpler": {"slow": "best"}}
    better = Model("slow", noisy(0.30, 0.01, 3), seconds=9.0, params={"n_estimators": 900},
                   capacity=TREES)  # fmt: skip
    assert findings_of_models(BEST, TUNED, better) == {}


@pytest.mark.parametrize(
    ("chosen", "param"),
    [
        ({"max_depth": 8, "learning_rate": 0.1}, "max_depth"),
        ({"max_depth": 4, "learning_rate": 0.011}, "learning_rate"),
        ({"max_depth": 4, "learning_rate": 0.29}, "learning_rate"),
    ],
)
def test_optimum_at_the_edge_is_found(chosen, param) -> None:
    configurations = [*TUNED.params["tune"]["configurations"], chosen]
    edge = Model("edge", noisy(0.42, 0.01, 1), params={"tune": {"configurations": configurations}},
                 capacity=BOOSTER, chosen=[chosen])  # fmt: skip
    assert [*only("RUN007", BEST, edge).evidence["params"]] == [f"{param} of edge"]


def test_search_without_the_learning_rate_is_found() -> None:
    configurations = [{"max_depth": d, "learning_rate": 0.1} for d in (4, 6)]
    narrow = Model(
        "narrow",
        noisy(0.42, 0.01, 1),
        params={"tune": {"configurations": configurations}},
        capacity=BOOSTER,
        chosen=configurations,
    )
    assert only("RUN008", BEST, narrow).evidence == {"missing": {"narrow": ["the learning rate"]}}


def test_run_without_tuning_is_reported() -> None:
    other = Model("other", noisy(0.42, 0.01, 1))
    assert only("RUN009", BEST, other).severity is Severity.NOTE


def test_unequal_budgets_are_found() -> None:
    def booster(name: str, rate: float, track: str = "equal") -> Model:
        params = {"n_estimators": 20, "learning_rate": rate}
        loss = noisy(0.42 if name == "slow" else 0.44, 0.01, len(name))
        return Model(name, loss, params=params, capacity=BOOSTER, tracks=(track,))

    finding = only("RUN010", BEST, TUNED, booster("slow", 0.1), booster("fast", 0.3))
    assert finding.evidence["budgets"] == {"slow (equal)": 2.0, "fast (equal)": 6.0}
    own_defaults = booster("slow", 0.1, "default"), booster("fast", 0.3, "default")
    assert findings_of_models(BEST, TUNED, *own_defaults) == {}
    other_track = booster("fast", 0.3, "other")
    assert findings_of_models(BEST, TUNED, booster("slow", 0.1), other_track) == {}


def test_few_trees_at_default_learning_rates_are_found() -> None:
    def booster(name: str, trees: int) -> Model:
        loss = noisy(0.42 if name == "a" else 0.44, 0.01, len(name))
        return Model(name, loss, params={"n_estimators": trees}, capacity=BOOSTER)

    finding = only("RUN010", BEST, TUNED, booster("a", 20), booster("bb", 20))
    assert finding.sentence.startswith("the boosters have 20 trees each")
    assert findings_of_models(BEST, TUNED, booster("a", 100), booster("bb", 100)) == {}
    finding = only("RUN010", BEST, TUNED, booster("a", 100), booster("bb", 1000))
    assert "the number of trees is 100 for a and 1000 for bb" in finding.sentence


def test_models_failing_on_some_splits_are_found() -> None:
    finding = only("RUN011", BEST, TUNED, Model("shaky", noisy(0.45, 0.01, 4), failed=2))
    assert finding.evidence == {"failed": {"shaky": [2, SPLITS]}}


def test_noisy_times_are_found() -> None:
    times = [1.0, 2.5, 0.5, 1.1, 3.0, 0.4] * 2
    assert only("RUN012", BEST, TUNED, Model("jumpy", noisy(0.45, 0.01, 4), seconds=times))
    steady = [1.0, 1.05, 0.98, 1.1, 3.0, 1.02] * 2
    assert (
        findings_of_models(BEST, TUNED, Model("steady", noisy(0.45, 0.01, 4), seconds=steady)) == {}
    )


def test_too_few_splits_are_found() -> None:
    models = Model("a", [0.40, 0.44, 0.42]), TUNED_ON_THREE
    assert findings_of_models(*models, splits=3)["RUN013"].evidence["splits"] == 3
    one = findings_of_models(Model("a", [0.40]), Model("b", [0.41]), splits=1)["RUN013"]
    assert one.sentence.startswith("one split cannot distinguish")


def test_columns_whose_shuffling_changes_nothing_are_found() -> None:
    def findings(high: list[float]) -> list[Finding]:
        importance = {
            "metric": "log_loss",
            "loss": 0.4,
            "columns": ["a", "b", "c"],
            "mean": [0.1, 0.0, -0.01],
            "low": [0.05, -0.02, -0.03],
            "high": high,
        }
        answer = Diagnostic("permutation", "best", "mine", found=importance)
        return check_results(replace(view_of(BEST, TUNED), diagnostics=(answer,)))

    (finding,) = findings([0.15, 0.0003, -0.001])
    assert (finding.code, finding.severity) == ("RUN014", Severity.NOTE)
    assert finding.evidence == {"columns": ["b", "c"], "algorithm": "best"}
    assert findings([0.15, 0.02, 0.01]) == []  # the interval does not exclude an importance


TUNED_ON_THREE = Model("tuned", [0.41, 0.42, 0.43], params=TUNED.params, capacity=BOOSTER,
                       chosen=TUNED.chosen)  # fmt: skip


# ------------------------------------------------------------------ findings


def test_findings_are_shown_by_severity_in_short_lines() -> None:
    findings = [
        Finding("DATA010", Severity.NOTE, "a note", "docs/checks.md#data010"),
        Finding("DATA002", Severity.PROBLEM, "a problem " * 30, "docs/checks.md#data002"),
    ]
    lines = format_findings(findings)
    assert lines[0].startswith("problem DATA002: a problem")
    assert all(len(line) <= WIDTH for line in lines)
    assert lines[-2:] == ["note DATA010: a note", "(docs/checks.md explains each code)"]
    assert format_findings([]) == []
    assert [f.code for f in in_order(findings)] == ["DATA002", "DATA010"]


def test_findings_survive_the_store() -> None:
    finding = Finding("DATA001", Severity.WARNING, "s", "p#a", "mine", {"columns": ["a"]})
    assert finding_from_json(to_json(finding)) == finding
    events = [{"kind": "finding", "data": to_json(finding)}, {"kind": "compiled", "data": {}}]
    assert findings_of(events) == (finding,)
