"""From a run on one's own file to a saved model and its predictions."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from harness.cli import harness
from harness.core.errors import DataError
from harness.worker.saved_model import load_model, read_rows


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    """Return the folder of a run on a file of one's own, and the file's rows."""
    folder = tmp_path_factory.mktemp("own")
    rng = np.random.default_rng(0)
    n = 200
    frame = pd.DataFrame({"a": rng.normal(size=n), "kind": rng.choice(["x", "y", "z"], n)})
    frame["kind_again"] = frame["kind"]  # a finding of the checks of tables (DATA018)
    frame["a"] = frame["a"].mask(rng.random(n) < 0.1)
    high = frame["a"].fillna(0) + (frame["kind"] == "x") + rng.normal(size=n) > 0.5
    frame["y"] = np.where(high, "yes", "no")
    frame.to_csv(folder / "mine.csv", index=False)
    asked = ["run", "--data", str(folder / "mine.csv"), "--target", "y", "--budget", "5m"]
    asked += ["-a", "sklearn.random_forest", "-a", "lightgbm.gbdt", "--set", "splits.folds=3"]
    result = CliRunner().invoke(harness, [*asked, "--results", str(folder / "results")])
    assert result.exit_code == 0, result.output
    return folder, frame, result


def invoke(*words):
    result = CliRunner().invoke(harness, [str(word) for word in words])
    assert result.exit_code == 0, result.output
    return result.stdout


def test_the_terminal_ends_with_an_answer_code_and_the_report(own):
    folder, _, result = own
    stdout = result.stdout
    assert "log_loss (lower is better)" in stdout
    assert "=>" in stdout
    assert "Use " in stdout
    assert "What could change this" in stdout
    assert "Everything fitted into the time budget of 5 min 0 s." in stdout
    assert "data = pd.read_csv('mine.csv'" in stdout
    assert stdout.rstrip().splitlines()[-1].endswith(".html")
    page = next((folder / "results").glob("report-*.html")).read_text()
    for words in ("Code to copy", "Confusion matrix", "Permutation importance", "predicted yes"):
        assert words in page


def test_a_run_within_a_budget_checks_the_table_and_the_results(own):
    folder, _, result = own
    page = next((folder / "results").glob("report-*.html")).read_text()
    for code in ("DATA018", "RUN013"):  # redundant columns, and three splits
        assert code in result.stderr
        assert code in page


def test_the_code_runs_as_it_is_printed(own, monkeypatch):
    folder, _, _ = own
    code = json.loads(invoke("best", "--results", folder / "results", "--json"))["code"]
    monkeypatch.chdir(folder)
    exec(compile(code, "pasted", "exec"), {})
    assert (folder / "model.joblib").is_file()


def test_a_saved_model_predicts_new_rows(own):
    folder, frame, _ = own
    path = folder / "model.pkl"
    invoke("best", "--results", folder / "results", "--save", path)
    new = frame.drop(columns="y").head(20).assign(more=1)
    new.loc[0, "kind"] = "never seen"
    new.to_csv(folder / "new.csv", index=False)
    found = invoke("predict", path, folder / "new.csv").splitlines()
    assert found[0] == "prediction,p_no,p_yes"
    assert len(found) == 21
    predicted = load_model(path).predict(frame)
    assert (predicted["prediction"] == frame["y"]).mean() > 0.8, "it has seen these rows"
    assert np.allclose(predicted["p_no"] + predicted["p_yes"], 1)
    invoke("predict", path, folder / "new.csv", "--output", folder / "out.csv")
    assert (folder / "out.csv").read_text().splitlines() == found


def test_rows_that_do_not_fit_are_refused(own):
    folder, frame, _ = own
    path = folder / "other.pkl"
    invoke("best", "--results", folder / "results", "--save", path)
    model = load_model(path)
    with pytest.raises(DataError, match="have no column 'kind'"):
        model.predict(frame[["a"]])
    with pytest.raises(DataError, match="was numeric in training and is text"):
        model.predict(frame.assign(a="text"))
    (folder / "bad.pkl").write_bytes(b"no pickle")
    with pytest.raises(DataError, match="is no model"):
        load_model(folder / "bad.pkl")
    with pytest.raises(DataError, match="no file"):
        read_rows(folder / "absent.csv")
