"""Tests of the recommendation of a run and its sentences."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from harness.analysis.recommendation import (
    answer_text,
    answers_of,
    caution,
    recommendation,
    to_data,
)
from harness.analysis.run_view import Cell, RunView
from harness.core.model import Finding, Outcome, Severity, Split, Status, Task, Trial

METRICS = {
    "log_loss": {"primary": True, "lower_is_better": True},
    "auc": {"primary": False, "lower_is_better": False},
}


def outcome(name: str, fold: int, folds: int, dataset: str, size: int) -> Outcome:
    split = Split("kfold", folds, fold)
    trial = Trial(
        name, {}, "native", dataset, split, 0, 1, f"{name}{fold}", f"{name}{fold}", Task.BINARY
    )
    facts = {"train_rows": 90, "test_rows": 10, "model_bytes": size}
    return Outcome(trial, Status.DONE, facts=facts)


def cell(name: str, losses, fit: float = 1.0, dataset: str = "mine", size: int = 1000) -> Cell:
    outcomes = tuple(outcome(name, i, len(losses), dataset, size) for i in range(len(losses)))
    scores = {"log_loss": tuple(losses), "auc": tuple(1 - x for x in losses)}
    seconds = {"native": 0.0, "fit": fit, "predict": 0.1}
    alone = (False,) * len(losses)
    return Cell(name, {}, "native", dataset, "binary", outcomes, scores, alone, seconds, 0)


def view(*cells: Cell, metrics=METRICS, experiment=None, budget=None) -> RunView:
    return RunView(
        run={"id": "r", "config": {"experiment": experiment or {"tracks": ["default"]}}},
        cells=cells,
        accuracy=(),
        speed=(),
        duels=(),
        algorithms={},
        datasets={"mine": {"rows": 100, "source": "file"}},
        metrics=metrics,
        predictions=lambda _: {},
        budget=budget or {},
    )


NOISE = np.array([0.0, 0.02, -0.02, 0.01, -0.01])


def test_smallest_loss_is_recommended_if_others_are_clearly_worse():
    (answer,) = answers_of(
        view(cell("good", 0.2 + NOISE, fit=9.0), cell("bad", 0.3 + NOISE, fit=0.1))
    )
    assert (answer.recommended, answer.best, answer.alike) == ("good", "good", ())
    assert recommendation(answer) == "Use good for mine: it has the lowest log_loss 0.2."


def test_much_faster_algorithm_is_recommended_if_its_loss_is_indistinguishable():
    swapped = NOISE[::-1]
    (answer,) = answers_of(
        view(cell("slow", 0.2 + NOISE, fit=9.0), cell("fast", 0.2005 + swapped, fit=1.0))
    )
    assert (answer.best, answer.recommended) == ("slow", "fast")
    assert "9 times as fast" in recommendation(answer)
    assert "slow cannot be distinguished from the best on 5 splits" in caution(answer)


@pytest.mark.parametrize(
    ("loss", "fit", "why"),
    [
        (0.2005, 5.0, "it is not twice as fast"),
        (0.2030, 1.0, "its loss is more than 1 % larger"),
    ],
)
def test_slightly_faster_algorithm_is_not_recommended(loss, fit, why):
    (answer,) = answers_of(
        view(cell("slow", 0.2 + NOISE, fit=9.0), cell("fast", loss + NOISE[::-1], fit=fit))
    )
    assert answer.recommended == "slow", why


def test_within_one_percent_but_clearly_worse_is_not_recommended():
    (answer,) = answers_of(
        view(cell("slow", 0.2 + NOISE, fit=9.0), cell("fast", 0.2005 + NOISE, fit=1.0))
    )
    assert (answer.recommended, answer.alike) == ("slow", ())


def test_algorithm_lacking_a_split_is_not_recommended():
    losses = [0.1, 0.1, 0.1, 0.1, float("nan")]
    (answer,) = answers_of(view(cell("partly", losses), cell("whole", 0.2 + NOISE)))
    assert answer.recommended == "whole"
    shown = answer_text([answer])
    assert shown is not None
    assert "(4 of 5 splits)" in shown.rows[-1][2], "and stands last"


def test_another_metric_may_decide_and_be_higher_is_better():
    metrics = {name: {**facts, "primary": name == "auc"} for name, facts in METRICS.items()}
    (answer,) = answers_of(
        view(cell("good", 0.2 + NOISE), cell("bad", 0.4 + NOISE), metrics=metrics)
    )
    assert (answer.metric, answer.lower_is_better, answer.recommended) == ("auc", False, "good")
    assert "the highest auc 0.8" in recommendation(answer)


@pytest.mark.parametrize(("losses", "low"), [([0.001, 0.2, 0.001], 0.0), ([0.2], -np.inf)])
def test_interval_of_a_loss_ends_at_its_lowest_value(losses, low):
    metrics = {name: {**facts, "bounds": (0.0, np.inf)} for name, facts in METRICS.items()}
    (answer,) = answers_of(view(cell("one", losses), metrics=metrics))
    score = answer.standing("one").score
    assert (score.low, score.value) == (low, pytest.approx(np.mean(losses)))
    (free,) = answers_of(view(cell("one", losses)))
    assert free.standing("one").score.low < 0.0


def test_budget_is_shown_with_the_recommendation():
    words = "To fit into the time budget of 10 min 0 s, 3 of 10 splits were run."
    (answer,) = answers_of(view(cell("a", 0.2 + NOISE), budget={"words": words}))
    shown = answer_text([answer])
    assert shown is not None
    assert words in " ".join(shown.sentences)


def test_several_datasets_take_a_line_each():
    answers = answers_of(
        view(
            *(cell("a", 0.2 + NOISE, dataset=name) for name in ("mine", "other")),
            *(cell("b", 0.5 + NOISE, dataset=name) for name in ("mine", "other")),
        )
    )
    shown = answer_text(answers)
    assert shown is not None
    assert [row[:2] for row in shown.rows] == [["mine", "a"], ["other", "a"]]
    assert shown.sentences[0] == "a is recommended on 2 of 2 datasets."


def test_leaderboard_has_at_most_ten_lines_including_the_recommended():
    cells = [cell(f"a{i:02}", 0.2 + i * 1e-6 + NOISE[::-1], fit=9.0) for i in range(14)]
    fast = cell("fast", 0.2001 + NOISE, fit=0.1)
    (answer,) = answers_of(view(*cells, fast))
    shown = answer_text([answer])
    assert shown is not None
    assert len(shown.rows) == 10
    assert [row[1] for row in shown.rows if row[0]] == ["fast"]


def test_without_a_score_nothing_is_recommended():
    assert answer_text(answers_of(view())) is None
    assert answers_of(view(cell("a", [float("nan")] * 3))) == []


def test_json_has_scores_and_sentences():
    (data,) = to_data(answers_of(view(cell("a", 0.2 + NOISE, size=123))))
    assert data["recommended"] == "a"
    assert data["standings"][0]["score"]["value"] == pytest.approx(0.2)
    assert data["standings"][0]["model_bytes"] == 123
    assert data["recommendation"].startswith("Only a has a result")


def test_caution_begins_with_a_problem_that_the_checks_found():
    leak = Finding("DATA002", Severity.PROBLEM, "'alive' alone predicts y; drop it", "p", "mine")
    other = [
        Finding("DATA002", Severity.PROBLEM, "s", "p", "another table"),
        Finding("DATA010", Severity.NOTE, "s", "p", "mine"),
    ]
    run = view(cell("good", 0.2 + NOISE), cell("bad", 0.3 + NOISE))
    (answer,) = answers_of(replace(run, findings=(leak, *other)))
    problem = "all scores may be worthless, because 'alive' alone predicts y (DATA002)"
    assert caution(answer).startswith(f"What could change this: {problem}")
    (answer,) = answers_of(replace(run, findings=tuple(other)))
    assert "worthless" not in caution(answer)
