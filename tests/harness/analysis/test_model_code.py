"""Tests of the code for a recommended algorithm."""

from harness.analysis.model_code import code_of
from harness.analysis.recommendation import answers_of
from harness.analysis.run_view import Cell, RunView
from harness.core.model import Outcome, Split, Status, Task, Trial

TUNE = {"tune": {"configurations": [{"max_depth": 2}, {"max_depth": 6}]}}


def tuned_outcome(fold: int, depth: int) -> Outcome:
    split = Split("kfold", 3, fold)
    trial = Trial("ours", TUNE, "native", "mine", split, 0, 1, "c", f"{fold}", Task.REGRESSION)
    facts = {"train_rows": 90, "test_rows": 10, "tuned": {"params": {"max_depth": depth}}}
    return Outcome(trial, Status.DONE, facts=facts)


def test_code_has_the_params_that_the_search_chose_most_often() -> None:
    outcomes = tuple(tuned_outcome(fold, depth) for fold, depth in enumerate((2, 6, 6)))
    scores = {"rmse": (1.0, 1.1, 0.9)}
    seconds = {"fit": 1.0, "predict": 0.1}
    cell = Cell(
        "ours", TUNE, "native", "mine", "regression", outcomes, scores, (False,) * 3, seconds, 0
    )
    view = RunView(
        run={"id": "r", "config": {"files": [{"name": "mine", "path": "mine.csv"}]}},
        cells=(cell,),
        accuracy=(),
        speed=(),
        duels=(),
        algorithms={"ours": {"estimators": ("package.Classifier", "package.Regressor")}},
        datasets={"mine": {"rows": 100, "source": "file"}},
        metrics={"rmse": {"primary": True, "lower_is_better": True}},
        predictions=lambda _: {},
    )
    (answer,) = answers_of(view)
    assert "model = Regressor(max_depth=6, random_state=0)" in code_of(view, answer)
