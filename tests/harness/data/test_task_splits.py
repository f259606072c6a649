"""Tests of the splits of OpenML tasks: read from ARFF, checked, planned and used by a run."""

import gzip

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import RepeatedKFold

import harness
from harness.config.experiment import load_experiment, parse_experiment
from harness.core.errors import ConfigError, DataError
from harness.core.model import Dataset, Split, Table, Task, trial_from_json
from harness.data import split_notes, split_rows
from harness.data.task_splits import read_task_splits, task_splits
from harness.planning.plan import make_plan
from harness.plugins.registry import load_registry
from harness.runs.run import surroundings

HEAD = """% splits of a task
@RELATION mine_splits

@ATTRIBUTE type {TRAIN,TEST}
@ATTRIBUTE rowid INTEGER
@ATTRIBUTE repeat INTEGER
@ATTRIBUTE fold INTEGER
"""
SAMPLE = "@ATTRIBUTE sample INTEGER\n"


def write(path, lines, head=HEAD):
    path.write_text(f"{head}\n@DATA\n" + "".join(f"{line}\n" for line in lines))
    return str(path)


def lines_of(parts):
    """Return the lines of splits given as (repeat, fold) → (train, test)."""
    return [
        f"{kind},{row},{repeat},{fold}"
        for (repeat, fold), sides in parts.items()
        for kind, side in zip(("TRAIN", "TEST"), sides, strict=True)
        for row in side
    ]


def folds_of(rows, folds=3, repeats=2):
    drawn = RepeatedKFold(n_splits=folds, n_repeats=repeats, random_state=0).split(np.zeros(rows))
    return {divmod(i, folds): (t.tolist(), s.tolist()) for i, (t, s) in enumerate(drawn)}


def table_of(rows, **more):
    return Table(pd.DataFrame({"a": np.arange(rows, dtype=float)}), np.arange(float(rows)), **more)


@pytest.mark.parametrize("order", ["as written", "shuffled"])
def test_splits_are_those_of_the_file(tmp_path, order):
    parts = folds_of(10)
    lines = lines_of(parts)
    if order == "shuffled":
        np.random.default_rng(0).shuffle(lines)
    splits = task_splits(write(tmp_path / "s.arff", lines), "mine", 10, None)
    assert [(s.scheme, s.folds, s.repeat, s.fold) for s in splits] == [
        ("openml", 3, repeat, fold) for repeat in range(2) for fold in range(3)
    ]
    for split in splits:
        train, test = split_rows(split, table_of(10), Task.REGRESSION)
        assert train.dtype == test.dtype == np.int64
        assert (train.tolist(), test.tolist()) == parts[split.repeat, split.fold]
        assert split.test_share == pytest.approx(len(test) / 10)


def test_label_depends_on_the_content_and_not_on_the_place(tmp_path):
    (tmp_path / "other").mkdir()
    one = task_splits(write(tmp_path / "a.arff", lines_of(folds_of(10))), "mine", 10, None)
    same = task_splits(write(tmp_path / "other/b.arff", lines_of(folds_of(10))), "mine", 10, None)
    other = task_splits(write(tmp_path / "c.arff", lines_of(folds_of(10, 5))), "mine", 10, None)
    assert [s.label for s in one] == [s.label for s in same]
    assert len({s.label for s in one}) == 6
    assert one[0].label.startswith("openml-")
    assert one[0].label != other[0].label


def test_packed_file_with_quotes_blanks_and_columns_in_another_order(tmp_path):
    text = (
        "@relation x\n@attribute 'fold' NUMERIC\n@attribute repeat NUMERIC\n"
        "@attribute rowid NUMERIC\n@attribute type {TRAIN,TEST}\n@data\n"
        "0, 0, 0, 'TRAIN'\n0, 0, 1, TEST\n% a comment\n0.0,0,2,train\n"
    )
    path = tmp_path / "s.arff.gz"
    path.write_bytes(gzip.compress(text.encode()))
    (split,) = task_splits(str(path), "mine", 3, None)
    train, test = split_rows(split, table_of(3), Task.REGRESSION)
    assert (train.tolist(), test.tolist()) == ([0, 2], [1])


@pytest.fixture
def curve(tmp_path):
    """A learning curve: two samples of growing size in each of two folds."""
    lines = []
    for fold, test in enumerate((range(4), range(4, 8))):
        rest = [row for row in range(8) if row not in test]
        for sample, train in enumerate((rest[:2], rest)):
            lines += [f"TRAIN,{row},0,{fold},{sample}" for row in train]
            lines += [f"TEST,{row},0,{fold},{sample}" for row in test]
    return write(tmp_path / "curve.arff", lines, HEAD + SAMPLE)


@pytest.mark.parametrize(("sample", "rows"), [(None, 4), (1, 4), (0, 2)])
def test_one_sample_of_a_learning_curve_is_used(curve, sample, rows):
    splits = task_splits(curve, "mine", 8, sample)
    assert [s.fold for s in splits] == [0, 1]
    for split in splits:
        train, test = split_rows(split, table_of(8), Task.REGRESSION)
        assert (len(train), len(test)) == (rows, 4)
        assert split.label.endswith("-s1") is (sample != 0)


def test_missing_sample_is_an_error(curve):
    with pytest.raises(ConfigError, match=r"splits.sample is 2.*has the samples 0 to 1 only"):
        task_splits(curve, "mine", 8, 2)


GOOD = lines_of(folds_of(6))


@pytest.mark.parametrize(
    ("lines", "rows", "message"),
    [
        (GOOD, 5, r"has the row 5, but mine has 5 rows \(the first one is 0\).*another dataset"),
        (GOOD, 7, "has 6 different rows, but mine has 7.*another version"),
        ([*GOOD, "TRAIN,3,0,0", "TEST,3,0,0"], 6, "row 3 is "),
        (["TRAIN,0,0,0", "TEST,0,0,0"], 1, "row 0 is both in training and in test of repeat 0"),
        (["TRAIN,0,0,0", "TRAIN,0,0,0"], 1, "row 0 is twice in training of repeat 0, fold 0"),
        (["TEST,0,0,0", "TEST,0,0,0"], 1, "row 0 is twice in test"),
        (["TRAIN,0,0,0", "TRAIN,1,0,0"], 2, "repeat 0, fold 0, sample 0 has no test rows"),
        (["TEST,0,0,0", "TEST,1,0,0"], 2, "repeat 0, fold 0, sample 0 has no training rows"),
        (["VALID,0,0,0"], 1, "type is 'VALID' in row 1 below @data, not TRAIN or TEST"),
        (["TRAIN,-1,0,0"], 1, "rowid is '-1' in row 1 below @data, not a whole number from 0"),
        (["TRAIN,0,0,0", "TEST,0.5,0,0"], 1, "rowid is '0.5' in row 2"),
        (["TRAIN,0,x,0"], 1, "repeat is 'x' in row 1"),
        (["TRAIN,0,0,99999999999"], 1, "fold is '99999999999'"),
        (["TRAIN,0,0,inf"], 1, "fold is 'inf'"),
        (["TRAIN,0,0"], 1, "fold is 'nan' in row 1"),
        (["TRAIN,0,0,0,0"], 1, "is not an ARFF file of splits"),
        ([], 1, "(is not an ARFF file of splits|has no line below @data)"),
    ],
)
def test_one_clear_error(tmp_path, lines, rows, message):
    path = write(tmp_path / "s.arff", lines)
    with pytest.raises(DataError, match=message) as error:
        task_splits(path, "mine", rows, None)
    assert str(error.value).startswith(path)
    assert "\n" not in str(error.value).strip()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"type,rowid\nTRAIN,0\n", "it has no line @data"),
        (HEAD.replace("rowid", "row").encode() + b"@DATA\nTRAIN,0,0,0\n", "has no column rowid"),
        (b"\x1f\x8b" + bytes(50), "corrupt"),
    ],
)
def test_other_files_are_refused(tmp_path, content, message):
    path = tmp_path / "s.arff"
    path.write_bytes(content)
    with pytest.raises(DataError, match=message):
        read_task_splits(str(path))


def test_missing_file_is_named(tmp_path):
    with pytest.raises(DataError, match=r"no file .*nowhere.arff; check the path"):
        read_task_splits(str(tmp_path / "nowhere.arff"))


def test_file_that_changes_after_planning_is_refused(tmp_path):
    path = tmp_path / "s.arff"
    (split, *_) = task_splits(write(path, lines_of(folds_of(10))), "mine", 10, None)
    write(path, lines_of(folds_of(10, 5)))
    with pytest.raises(DataError, match="has changed since the run was planned; run it again"):
        split_rows(split, table_of(10), Task.REGRESSION)
    write(path, lines_of(folds_of(10)))
    with pytest.raises(DataError, match="has 10 different rows, but the table has 11"):
        split_rows(split, table_of(11), Task.REGRESSION)


def test_groups_and_times_that_the_file_divides_are_noted(tmp_path):
    lines = lines_of({(0, 0): ([0, 1, 4], [2, 3, 5])})
    (split,) = task_splits(write(tmp_path / "s.arff", lines), "mine", 6, None)
    table = table_of(6, group=np.array([0, 0, 0, 1, 2, 3]), order=np.arange(6))
    assert split_notes(split, table, Task.REGRESSION) == [
        "splits.files divides 1 group into training and test rows",
        "splits.files trains on rows that are not earlier than all test rows",
    ]
    kept = table_of(6, group=np.array([0, 0, 1, 1, 0, 2]), order=np.array([0, 0, 2, 2, 0, 5]))
    assert split_notes(split, kept, Task.REGRESSION) == []


# ------------------------------------------------------------------ experiments


def experiment_of(**splits):
    content = {"name": "x", "algorithms": ["*"], "datasets": ["mine"], "splits": splits}
    return parse_experiment(content, "here")


def plan(experiment, extra=None):
    dataset = extra or Dataset("mine", Task.REGRESSION, len, "d" * 64, rows=10, columns=1)
    registry = load_registry(modules=["harness.runs.noop_algorithm"])
    return make_plan(experiment, registry, surroundings(), [dataset])


def test_plan_uses_the_file_of_a_dataset(tmp_path):
    path = write(tmp_path / "s.arff", lines_of(folds_of(10)))
    trials = list(plan(experiment_of(files={"mine": path}, most_train_rows=4)).trials())
    splits = {trial.split for trial in trials}
    assert {(s.repeat, s.fold) for s in splits} == {(r, f) for r in range(2) for f in range(3)}
    for split in splits:
        train, test = split_rows(split, table_of(10), Task.REGRESSION)
        assert len(train) == 4
        assert not set(train) & set(test)
        assert split.label.endswith("-n4")


def test_relative_paths_are_relative_to_the_experiment_or_to_this_folder(tmp_path, monkeypatch):
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep/x.toml").write_text('datasets = ["m"]\n[splits.files]\nm = "s.arff"\n')
    monkeypatch.chdir(tmp_path)
    assert load_experiment("deep/x.toml").splits.files == {"m": "deep/s.arff"}
    given = load_experiment("deep/x.toml", overrides=["splits.files.m=t.arff"])
    assert given.splits.files == {"m": "t.arff"}


def test_file_of_a_dataset_that_does_not_exist_is_refused():
    with pytest.raises(ConfigError, match=r"unknown dataset of splits.files 'mein'.*did you mean"):
        plan(experiment_of(files={"mein": "s.arff"}))


def test_rankings_have_no_file():
    ranking = Dataset("mine", Task.RANKING, len, "d" * 64, rows=10, columns=1, grouped=True)
    with pytest.raises(ConfigError, match=r"mine is a ranking dataset: splits.files would divide"):
        plan(experiment_of(files={"mine": "s.arff"}), ranking)


def test_drawn_training_sets_and_files_exclude_each_other():
    with pytest.raises(ConfigError, match="training_sets draws the splits itself"):
        experiment_of(files={"mine": "s.arff"}, training_sets=2, training_rows=[5])


def test_trials_stored_before_this_option_are_read():
    old = {"scheme": "kfold", "folds": 5, "fold": 0, "repeat": 0, "seed": 0, "test_share": 0.25}
    trial = {
        "algorithm": "a", "params": {}, "preparation": "p", "dataset": "d", "seed": 0,
        "threads": 1, "cell": "c", "id": "i", "task": "regression", "split": old,
    }  # fmt: skip
    assert trial_from_json(trial).split == Split()


def test_run_scores_the_rows_of_the_file(tmp_path, monkeypatch):
    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path / "cache"))
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=40), "y": rng.normal(size=40)})
    frame.to_csv(tmp_path / "mine.csv", index=False)
    parts = folds_of(40)
    write(tmp_path / "s.arff", lines_of(parts))
    monkeypatch.chdir(tmp_path)
    result = harness.run(
        {"datasets": ["mine"], "splits": {"files": {"mine": "s.arff"}}},
        data=tmp_path / "mine.csv",
        target="y",
        algorithms=["sklearn.dummy.DummyRegressor"],
        results=tmp_path / "results",
    )
    (cell,) = result.view.cells
    assert result.view.run["config"]["experiment"]["splits"]["files"] == {"mine": "s.arff"}
    assert len(cell.outcomes) == 6
    for outcome, score in zip(cell.outcomes, cell.scores["rmse"], strict=True):
        train, test = parts[outcome.trial.split.repeat, outcome.trial.split.fold]
        errors = frame["y"][test] - frame["y"][train].mean()
        assert score == pytest.approx(np.sqrt((errors**2).mean()))
