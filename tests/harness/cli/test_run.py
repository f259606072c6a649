"""Tests of the main path: a run on a real file, its report, a rerun, a duel."""

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from command_line import run_command

from harness.store import Store

PLUGIN = textwrap.dedent(
    '''
    """A plugin's algorithm: predicts the mean, or the class frequencies."""
    from sklearn.dummy import DummyClassifier, DummyRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from harness import ALL_TASKS, Algorithm, estimator_adapter, hookimpl

    def build(spec):
        dummy = DummyClassifier() if spec.task.is_classification else DummyRegressor()
        return make_pipeline(StandardScaler(), dummy)  # a copy of the table: a peak of memory

    def broken(spec):
        raise RuntimeError("this algorithm always fails")

    @hookimpl
    def register_algorithms(register):
        register(Algorithm("prior", estimator_adapter(build), ALL_TASKS,
                           reference="sklearn.decision_tree", summary="the prior"))
        register(Algorithm("broken", broken, ALL_TASKS))
    '''
)


def harness_process(folder, *arguments):
    return subprocess.run(
        [sys.executable, "-m", "harness", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=500,
        env={**os.environ, "COLUMNS": "200", "HARNESS_RESULTS": "results"},
        check=False,
    )


def write_file(folder: Path) -> None:
    rows = ["age,city,empty,income"]
    rows += [
        f"{20 + i % 50 if i % 9 else ''},{'ABC'[i % 3]}town,,{1000 + 37 * (i % 50) + 100 * (i % 3)}"
        for i in range(120)
    ]
    (folder / "people.csv").write_text("\n".join(rows) + "\n")
    (folder / "plugin.py").write_text(PLUGIN)


@pytest.fixture(scope="module")
def walked(tmp_path_factory):
    """A folder after one run of three algorithms, one of which fails, on a user's file."""
    folder = tmp_path_factory.mktemp("walk")
    write_file(folder)
    arguments = ["run", "--data", "people.csv", "--target", "income", "--plugin", "plugin.py"]
    arguments += ["-a", "prior", "-a", "broken", "--set", "splits.folds=2", "--json"]
    arguments += ["--set", "duels.blocks=2"]
    return folder, arguments, harness_process(folder, *arguments)


def test_run_prints_what_it_read_and_ends_with_the_failures(walked):
    folder, _, done = walked
    assert done.returncode == 3, done.stderr
    assert "Traceback" not in done.stderr
    assert "this algorithm always fails" in done.stderr
    assert "city" in done.stderr
    assert "empty" in done.stderr
    data = json.loads(done.stdout)
    assert data["outcomes"]["failed"] == 2
    assert data["outcomes"]["done"] == 4  # two trials of two algorithms
    assert "4 trials done, 2 failed" in done.stderr
    page = (folder / data["report"]).read_text()
    assert "prior" in page
    assert "this algorithm always fails" in page
    assert "sklearn.decision_tree" in page


def test_rerun_reuses_everything_including_failures(walked):
    folder, arguments, _ = walked
    again = run_command(folder, *arguments)
    data = json.loads(again.stdout)
    assert again.returncode == 3
    assert data["reused"] == 6
    assert "(2 failed then; --retry-failed runs them again)" in again.stderr


def test_dry_run_writes_nothing_and_reports_stored_trials(walked):
    folder, arguments, _ = walked
    before = (folder / "results" / "harness.db").read_bytes()
    plain = [a for a in arguments if a != "--json"]
    done = run_command(folder, *plain, "--dry-run")
    assert done.returncode == 0, done.stderr
    assert "0 of 2 trials to run" in done.stdout
    assert "threads are requested" not in done.stdout
    many = run_command(folder, *plain, "--dry-run", "--threads", "1000")
    assert "warning: 1,000 threads are requested, but this process may use" in many.stdout
    assert (folder / "results" / "harness.db").read_bytes() == before


def test_report_is_written_again_in_every_format(walked):
    folder, _, _ = walked
    page = run_command(folder, "report")
    assert page.returncode == 0, page.stderr
    assert Path(folder, page.stdout.strip()).is_file()
    markdown = run_command(folder, "report", "--markdown")
    assert "prior" in markdown.stdout
    verdicts = json.loads(run_command(folder, "report", "--json").stdout)
    assert "prior" in json.dumps(verdicts)


def test_outcomes_are_exported(walked):
    folder, _, _ = walked
    done = run_command(folder, "export")
    header, *lines = done.stdout.splitlines()
    assert {"rmse_sd", "fit_seconds", "fit_peak_bytes"} <= set(header.split(","))
    assert len(lines) == 6


def test_list_show_explain_and_clean(walked):
    folder, _, _ = walked
    runs = json.loads(run_command(folder, "list", "runs", "--json").stdout)["runs"]
    assert runs[0]["status"] == "done"
    assert "config" not in run_command(folder, "list", "runs").stdout
    assert "prior" in run_command(folder, "list", "algorithms", "--plugin", "plugin.py").stdout
    shown = run_command(folder, "show", "prior", "--plugin", "plugin.py")
    assert "sklearn.decision_tree" in shown.stdout
    assert "function" not in run_command(folder, "show", "sklearn.bagging").stdout
    missed = run_command(folder, "show", "sklearn.baging")
    assert (
        missed.stderr == "harness: unknown name 'sklearn.baging': did you mean 'sklearn.bagging'?\n"
    )
    assert "bytes" in run_command(folder, "clean", "--json").stdout


@pytest.mark.slow
def test_duel_prints_a_ratio_with_its_interval(tmp_path):
    write_file(tmp_path)
    done = run_command(
        tmp_path, "duel", "prior", "sklearn.decision_tree", "-d", "iris",
        "--launches", "1", "--blocks", "6", "--plugin", "plugin.py", "--json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    data = json.loads(done.stdout)
    assert (data["train_rows"], data["test_rows"]) == (120, 30)
    speeds = {s["phase"]: s for s in data["speeds"]}
    assert {"fit", "predict", "train"} <= set(speeds)
    with Store.open(tmp_path / "results") as store:
        config = store.run("latest")["config"]  # the report without the plugin
    assert [Path(file).name for file in config["plugin_files"]] == ["plugin.py"]
    assert config["declared"]["algorithms"]["prior"]["summary"] == "the prior"
    assert json.loads(run_command(tmp_path, "report", "--json").stdout)["speed"]
    ratio = speeds["fit"]["ratio"]
    assert ratio["low"] <= ratio["value"] <= ratio["high"]
    duel = json.loads(done.stdout)["duel"]
    assert json.loads(run_command(tmp_path, "show", duel[:8], "--json").stdout)["id"] == duel
    why = json.loads(run_command(tmp_path, "explain", duel, "--json").stdout)["lines"]
    assert why[0] == f"prior against sklearn.decision_tree on iris (duel {duel})"
    assert why[1].startswith("known: timed on")


SERIES = """
algorithms = ["prior", "sklearn.decision_tree"]
datasets = ["digits"]
splits = {{ folds = 2 }}

[duels]
datasets = [{duelled}]
pairs = [["sklearn.decision_tree", "prior"]]
launches = 1
blocks = 1
"""


@pytest.mark.slow
def test_series_is_run_file_by_file_and_ends_with_a_table(tmp_path):
    (tmp_path / "plugin.py").write_text(PLUGIN)
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "a.toml").write_text(SERIES.format(duelled='"digits"'))
    (folder / "b.toml").write_text(SERIES.format(duelled=""))
    done = run_command(tmp_path, "run", "mine", "--plugin", "plugin.py", "--no-report")
    assert done.returncode == 0, done.stderr
    assert "time of the fastest rival" in done.stdout
    assert " of 1; the least " in done.stdout
    lines = done.stdout.splitlines()
    rows = [line.split() for line in lines if line.startswith("a ")]
    assert {tuple(row[1:3]) for row in rows[:-1]} == {("sklearn.decision_tree", "prior")}
    assert rows[-1][3] == "MiB"  # the last table is of memory
    assert "a: sklearn.decision_tree or prior bins inside fit" in done.stderr
    counts = lines[lines.index(next(line for line in lines if line.startswith("accuracy: "))) :]
    assert counts[-1].split() == ["prior", "sklearn.decision_tree", "2", "0", "0", "0", "2"]


def test_dry_run_on_user_data_prints_what_was_detected(tmp_path):
    lines = [
        "size,color,price",
        *(f"{i}.5,{'red' if i % 3 else 'blue'},{i * i}.25" for i in range(60)),
    ]
    (tmp_path / "houses.csv").write_text("\n".join(lines))
    done = run_command(tmp_path, "run", "--data", "houses.csv", "--target", "price", "--dry-run")
    assert done.returncode == 0, done.stderr
    assert "60 rows" in done.stdout
    assert "target 'price': regression" in done.stdout
    assert "'color'" in done.stdout


@pytest.mark.parametrize("task", ["binary", "regression"])
def test_task_is_given_by_its_documented_name(tmp_path, task):
    rows = "".join(f"{number},{number % 2}\n" for number in range(30))
    (tmp_path / "mine.csv").write_text(f"a,y\n{rows}")
    options = ["--data", "mine.csv", "--target", "y", "--task", task, "--dry-run"]
    done = run_command(tmp_path, "run", *options)
    assert done.returncode == 0, done.stderr
    assert task in done.stdout.splitlines()[1]
