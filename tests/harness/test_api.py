"""Tests of runs, duels and comparisons from Python, with real workers and a plugin's algorithms."""

import textwrap

import numpy as np
import pandas as pd
import pytest

import harness
from harness.cli import harness as command_line
from harness.core.errors import ConfigError, DataError
from harness.core.model import Status
from harness.data.in_memory import dataset_from_given
from harness.results import RunResult
from harness.store import Store

PLUGIN = textwrap.dedent(
    '''
    """The mean, and what always fails."""
    from sklearn.dummy import DummyClassifier, DummyRegressor
    from harness import ALL_TASKS, Algorithm, estimator_adapter, hookimpl

    def mean(spec):
        return DummyClassifier() if spec.task.is_classification else DummyRegressor()

    def fails(spec):
        raise RuntimeError("<b>this was planted</b>")

    @hookimpl
    def register_algorithms(register):
        register(Algorithm("mean", estimator_adapter(mean), ALL_TASKS, reference="prior"))
        register(Algorithm("prior", estimator_adapter(mean), ALL_TASKS, origin="reference"))
        register(Algorithm("fails", fails, ALL_TASKS))
    '''
)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("api")
    (folder / "plugin.py").write_text(PLUGIN)
    return folder


@pytest.fixture(scope="module")
def options(place):
    return {"plugins": [place / "plugin.py"], "results": place / "results"}


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"age": rng.integers(20, 60, 80), "town": ["a<i>", "b"] * 40})
    return table.assign(income=1000.0 + 30 * table["age"] + rng.normal(size=80))


@pytest.fixture(scope="module")
def run(options, frame):
    experiment = {
        "datasets": ["diabetes"],
        "splits": {"folds": 2},
        "duels": {"pairs": []},
        "gate": [{"kind": "accuracy", "algorithm": "mean"}],
    }
    return harness.run(
        experiment, algorithms=["mean", "fails"], data=frame, target="income", **options
    )


def test_run_of_a_table_in_memory(run, options, capfd):
    assert capfd.readouterr() == ("", "")  # no terminal, no noise
    result = run.to_frame()
    (name,) = set(result["dataset"])
    assert name.startswith("table-")
    assert set(result["algorithm"]) == {"mean", "prior", "fails"}
    assert result[result["algorithm"] == "mean"]["status"].tolist() == ["done", "done"]
    assert run.tally.ends["trial"] == {Status.DONE: 4, Status.FAILED: 2}
    judged = {v.dataset: v for v in run.verdicts}
    assert judged[name].verdict == "equivalent"
    assert (run.gates.state, run.path) == ("pass", options["results"])
    page = run.report()
    assert page.parent == options["results"]
    assert "this was planted" in page.read_text()
    assert run.run in repr(run)


def test_command_line_finds_results_stored_from_python(run, options, capsys):
    arguments = ["list", "runs", "--results", str(options["results"])]
    command_line.main(arguments, standalone_mode=False)
    assert run.run in capsys.readouterr().out


def test_run_has_an_escaped_and_colored_notebook_display(run, options, frame):
    html = run._repr_html_()
    assert "≈ equivalent" in html
    assert f"run {run.run}: 4 trials done, 2 failed" in html
    assert "<script" not in html
    assert "background" not in html  # those of the page, light or dark
    evil = RunResult("<script>\x1b", run.path, run.registry, run.experiment, run.tally)
    object.__setattr__(evil, "view", run.view)
    assert "run &lt;script&gt;\\x1b" in evil._repr_html_()
    again = harness.run(
        {"datasets": ["iris"], "splits": {"folds": 2}, "duels": {"pairs": []}},
        data=frame,
        target="income",
        algorithms=["mean"],
        **options,
    )
    assert again.tally.reused == 4  # the same bytes are the same dataset
    assert len(list((options["results"] / "tables").iterdir())) == 1


def test_duel_of_arrays(options):
    X, y = np.arange(60.0).reshape(30, 2), np.arange(30.0)
    result = harness.duel("mean", "prior", (X, y), launches=1, blocks=2, **options)
    assert (result.status, result.failure) == (Status.DONE, None)
    table = result.to_frame().set_index("phase")
    assert {"native", "fit", "train", "predict"} <= set(table.index)
    assert (table["low"] <= table["ratio"]).all()
    assert [v.phase for v in result.verdicts] == list(table.index)
    assert "mean (A) against prior (B) on table-" in result._repr_html_()
    with Store.open(options["results"]) as store:
        assert len(store.duels(result.run)) == 1
    assert result.report().is_file()


def test_failing_duel_names_the_side(options):
    result = harness.duel("mean", "fails", "diabetes", launches=1, **options)
    assert result.status is Status.FAILED
    assert "side b (fails)" in result.failure.message
    assert "&lt;b&gt;this was planted&lt;/b&gt;" in result._repr_html_()
    assert result.to_frame().empty


def test_parity_on_names_and_tables(options):
    plain = {"max_depth": 2}
    result = harness.parity(
        "sklearn.decision_tree", "sklearn.decision_tree", datasets=["iris"], folds=2,
        both_params=plain, **options
    )  # fmt: skip
    assert result.reaches("L3")
    columns = ["dataset", "parity_level", "splits"]
    assert result.to_frame().loc[0, columns].tolist() == ["iris", "L3", 2]
    assert "the same bits from raw data" in result._repr_html_()
    with pytest.raises(ConfigError, match="has no reference"):
        harness.parity("fails", **options)


def test_mistakes_are_reported_in_one_line(options, frame):
    with pytest.raises(harness.HarnessError, match="did you mean 'quick'"):
        harness.run("quik", **options)
    with pytest.raises(harness.HarnessError, match="did you mean 'iris'"):
        harness.duel("mean", "prior", "irs", **options)
    with pytest.raises(DataError, match="needs a target"):
        harness.run(data=frame, **options)
    with pytest.raises(ConfigError, match="target and task need your own data"):
        harness.run(target="income", **options)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ((np.zeros((3, 2)), np.zeros(4)), r"X has 3 rows; y has the shape \(4,\)"),
        ((np.zeros(3), np.zeros(3)), "two dimensions"),
        ((1, 2, 3), "not as 3 values"),
        (pd.DataFrame({"a": [{1: 2}, {}], "y": [1, 2]}), "Parquet|nested"),
    ],
)
def test_input_that_is_no_table_is_refused(tmp_path, data, message):
    with pytest.raises(DataError, match=message):
        dataset_from_given(data, tmp_path, target="y")


def test_tables_keep_their_columns(tmp_path, frame):
    X, y = frame[["age", "town"]], frame["income"]
    pair = dataset_from_given((X, y), tmp_path)
    whole = dataset_from_given(frame, tmp_path, target="income")
    assert pair.digest == whole.digest
    assert (pair.rows, pair.columns, pair.categorical) == (80, 2, 1)
    clash = dataset_from_given((frame, y), tmp_path)  # a column has the name of y already
    assert clash.columns == 3
    path = tmp_path / "tables.csv"
    frame.to_csv(path, index=False)
    assert dataset_from_given(path, tmp_path, target="income").rows == 80
