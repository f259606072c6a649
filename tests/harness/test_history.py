"""Tests of the history of fake runs: steps, charts, and asv results."""

import json
import os
import subprocess
import sys
from dataclasses import replace

import click
import numpy as np
import pytest
from scratch_project import git, new_project

from harness.analysis.series import NoAsvError, Point, Step, by_commit, find_steps
from harness.cli import harness as command_line
from harness.core.errors import ConfigError, DataError, StoreError
from harness.core.model import Outcome, Sample, Split, Status, Task, Trial
from harness.core.outcome_files import write_arrays
from harness.history.asv_export import export_asv
from harness.history.commits import asv_series, read_history
from harness.plugins.registry import load_registry
from harness.store import Store

pytest.importorskip("asv", reason="asv is not installed")

RUNS, AT, FOLDS = 12, 6, 2
SLOW = 1.3
NAMES = "steady", "stepping<i>"


@pytest.fixture(scope="module")
def registry():
    return load_registry(modules=["harness.plugins.metrics"])


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A repository of some commits, and a store with a run of each; <evil> is an ordinary name."""
    folder = tmp_path_factory.mktemp("history")
    project = new_project(folder / "project")
    rng = np.random.default_rng(0)
    with Store.open(folder / "results", write=True) as store:
        for n in range(RUNS):
            git(project, "commit", "--quiet", "--allow-empty", "--message", f"number {n}")
            commit = git(project, "rev-parse", "--short=12", "HEAD")
            store_run(store, folder, commit, SLOW if n >= AT else 1.0, rng)
        store_run(store, folder, f"{commit}+", 9.0, rng)
        store_run(store, folder, "other", 9.0, rng, {"against": {}})  # a gate is no measurement
    return folder


def store_run(store, folder, commit, seconds, rng, config=None, names=NAMES, params=()):
    machine = {"id": "m1", "revision": commit, "cpu": "c", "python": "CPython 3.11.7"}
    run = store.begin_run("quick", config or {}, "settings", machine=machine)
    for name in names:
        wall = seconds if name == "stepping<i>" else 2.0
        for fold in range(FOLDS):
            split = Split(folds=FOLDS, fold=fold)
            ids = f"{name}{fold}{dict(params)}"
            messages = name, dict(params), "native", "made"
            trial = Trial(*messages, split, 0, 1, ids, ids, Task.REGRESSION)
            path = folder / "arrays.npz"
            y = np.arange(20.0)
            write_arrays(path, {"output": y + 1, "y": y, "scale": np.float64(2.0)})
            fit = Sample("fit", wall * (1 + 0.01 * rng.normal()), wall)
            arrays = {"predictions": str(path)}
            store.record(run, Outcome(trial, Status.DONE, (fit,), arrays=arrays))
    store.finish_run(run, "done")


def by_name(series):
    return {(s.algorithm, s.measure): s for s in series}


def test_step_of_the_store_is_found_with_its_commit(place, registry):
    history = read_history(place / "results", registry)
    result = by_name(history.series)
    assert set(result) == {(n, m) for n in ("steady", "stepping<i>") for m in ("fit", "loss")}
    (step,) = result["stepping<i>", "fit"].steps[:1]
    commits = git(place / "project", "rev-list", "--reverse", "HEAD").split()[1:]
    points = result["stepping<i>", "fit"].points
    assert points[step.index].commit == commits[AT][:8]
    assert step.share == pytest.approx(SLOW - 1, abs=0.05)
    assert result["steady", "fit"].steps == result["steady", "loss"].steps == ()
    assert points[-1].commit == f"{commits[-1][:8]}+"  # an edited tree is a separate point
    assert len(points) == RUNS + 1


def test_alarm_of_the_newest_value_gives_exit_code_1(place, tmp_path, capsys):
    to = ("--results", str(place / "results"), "--output", str(tmp_path / "page.html"))
    alarms = ("--alarm", "fit=t-test:0.999", "--alarm", "loss=percentage")
    assert run(capsys, "history", "-a", "steady", *alarms, *to)[0] == 0
    code, out, _ = run(capsys, "history", *alarms, "--json", *to)
    assert code == 1  # the edited tree takes 9 seconds
    (sentence,) = json.loads(out)["alarms"]
    assert "stepping<i>" in sentence
    assert "is above" in (tmp_path / "page.html").read_text()


def test_alarms_are_written_as_a_comment_and_removed_without_one(place, tmp_path, capsys):
    file, link = tmp_path / "alarm.md", "https://example.org/runs/history.html"
    to = ("--results", str(place / "results"), "--output", str(tmp_path / "page.html"))
    more = (*to, "--markdown", str(file), "--link", link)
    assert run(capsys, "history", "--alarm", "fit=t-test:0.999", *more)[0] == 1
    text = file.read_text()
    assert text.startswith("### History: 1 alarm\n")
    (row,) = [line for line in text.splitlines() if "stepping" in line]
    assert "stepping\\<i\\>" in row
    newest, limit, share = (row.split(" | ")[n].split()[0] for n in (1, 3, 4))
    assert 100 * float(newest) / float(limit) == pytest.approx(int(share[:-1]), rel=0.01)
    assert int(share[:-1]) > 100
    assert f"[The figures](<{link}>)" in text
    assert run(capsys, "history", "-a", "steady", "--alarm", "fit=t-test:0.999", *more)[0] == 0
    assert not file.exists()
    with pytest.raises(click.UsageError, match="without blanks"):
        run(capsys, "history", "--link", "a b")
    missing = ("--markdown", str(tmp_path / "no" / "alarm.md"))
    with pytest.raises(StoreError, match=r"alarm\.md cannot be written: No such file"):
        run(capsys, "history", "--alarm", "fit=percentage", *to, *missing)


def test_history_of_a_branch_has_only_its_commits(place, registry, monkeypatch):
    monkeypatch.chdir(place / "project")
    commits = git(place / "project", "rev-list", "--reverse", "HEAD").split()[1:]
    git(place / "project", "branch", "--force", "early", commits[4])
    (fit, _) = read_history(
        place / "results", registry, algorithms=["steady"], branch="early"
    ).series
    assert [point.commit for point in fit.points] == [commit[:8] for commit in commits[:5]]
    with pytest.raises(ConfigError, match="there is no revision 'nowhere'"):
        read_history(place / "results", registry, branch="nowhere")


def test_history_of_one_item_can_be_selected(place, registry):
    history = read_history(place / "results", registry, algorithms=["st*y"], threshold=9.0)
    assert {s.algorithm for s in history.series} == {"steady"}
    assert not read_history(place / "results", registry, datasets=["other"]).series
    assert not read_history(place / "nowhere", registry).series


def test_trials_are_converted_to_asv_results_and_back(place, registry, tmp_path):
    (tmp_path / "benchmarks.json").write_text('{"version": 2, "fit": {"name": "fit"}}')
    written = export_asv(place / "results", tmp_path, registry, place / "project")
    assert (len(written.commits), written.left_out) == (RUNS, 1)
    known = json.loads((tmp_path / "benchmarks.json").read_text())
    assert set(known) == {"version", "fit", "trials.time_fit", "trials.track_loss"}
    results = {(s.algorithm, s.measure): s for s in asv_series(tmp_path)[0]}
    ours = by_name(read_history(place / "results", registry).series)
    for name in NAMES:
        there = results[name, "trials.time_fit"]
        assert there.dataset == "made"
        assert [p.value for p in there.points] == pytest.approx(
            [p.value for p in ours[name, "fit"].points[:-1]]
        )
    again = export_asv(place / "results", tmp_path, registry, place / "project")
    assert again == written
    assert export_asv(place / "results", tmp_path, registry, tmp_path).commits == ()


@pytest.mark.parametrize("params", [{}, {"depth": 3}], ids=["again", "with other params"])
def test_all_runs_of_a_commit_and_the_newest_of_an_item_are_shown(registry, tmp_path, params):
    project = new_project(tmp_path / "project")
    commit = git(project, "rev-parse", "HEAD")
    rng = np.random.default_rng(0)
    with Store.open(tmp_path / "results", write=True) as store:
        store_run(store, tmp_path, commit, 1.0, rng)
        store_run(store, tmp_path, commit, 3.0, rng, names=NAMES[1:], params=params)
    written = export_asv(tmp_path / "results", tmp_path / "asv", registry, project)
    assert written.commits == (commit,)
    result = by_name(asv_series(tmp_path / "asv")[0])
    times = [result[name, "trials.time_fit"].points[0].value for name in NAMES]
    assert times == pytest.approx([2.0, 3.0], rel=0.05)


def test_asv_reads_the_exported_results(place, registry, tmp_path):
    from asv.results import iter_results

    export_asv(place / "results", tmp_path, registry, place / "project")
    results = list(iter_results(str(tmp_path)))
    assert {r.commit_hash for r in results} <= set(
        git(place / "project", "rev-list", "HEAD").split()
    )
    params = results[0].get_result_params("trials.time_fit")
    assert params == [["'steady'", "'stepping<i>'"], ["'made'"]]


DAMAGED_LISTS = [
    b"",
    b"{",
    b"[]",
    b'"text"',
    b"\xff",
    b"[" * 100_000,
    b'{"fit": {"param_names": 3}}',
]


@pytest.mark.parametrize("damaged", DAMAGED_LISTS, ids=range(len(DAMAGED_LISTS)))
def test_damaged_benchmark_list_is_reported_and_kept(place, registry, tmp_path, damaged):
    (tmp_path / "benchmarks.json").write_bytes(damaged)
    with pytest.raises(DataError, match="asv run --bench just-discover"):
        asv_series(tmp_path)
    with pytest.raises(DataError, match="asv run --bench just-discover"):
        export_asv(place / "results", tmp_path, registry, place / "project")
    assert [path.name for path in tmp_path.iterdir()] == ["benchmarks.json"]
    assert (tmp_path / "benchmarks.json").read_bytes() == damaged


def test_damaged_asv_result_loses_only_its_commit(place, registry, tmp_path):
    export_asv(place / "results", tmp_path, registry, place / "project")
    cut, list_instead, *_ = sorted(tmp_path.glob("*/*-harness.json"))
    cut.write_bytes(cut.read_bytes()[:-20])
    list_instead.write_text("[]")
    series, notes = asv_series(tmp_path)
    assert {len(s.points) for s in series} == {RUNS - 2}
    for path, note in zip([cut, list_instead], notes, strict=True):
        assert note.startswith("left out: ")
        assert str(path) in note
    assert set(notes) <= set(read_history(tmp_path / "none", registry, asv=tmp_path).notes)


def run(capsys, *arguments):
    code = command_line.main(list(arguments), standalone_mode=False)
    return code or 0, *capsys.readouterr()


def test_history_commands(place, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(place / "project")
    results = ["--results", str(place / "results")]
    code, _, err = run(capsys, "export", "--format", "asv", "--output", str(tmp_path), *results)
    assert code == 0
    assert err.splitlines()[0].count(", ") == RUNS - 1
    assert "of no commit known here: 1" in err
    code, out, err = run(capsys, "history", "--asv", str(tmp_path), *results)
    assert code == 0
    assert "stepping<i>  made     trials.time_fit" in out
    assert "+3" in out
    page = (place / "results" / "history.html").read_text()
    assert "stepping&lt;i&gt;" in page
    assert "stepping<i>" not in page
    assert "://" not in page.replace("http://www.w3.org/2000/svg", "")  # nothing is fetched
    assert "Content-Security-Policy" in page
    target = tmp_path / "page.html"
    code, out, _ = run(capsys, "history", "--json", "--output", str(target), *results)
    data = json.loads(out)
    assert len(data["series"]) == 4
    assert target.is_file()
    assert run(capsys, "history", "--results", str(tmp_path / "none"))[0] == 4
    with pytest.raises(DataError, match=r"benchmarks\.json is missing"):
        run(capsys, "history", "--asv", str(place), *results)


def test_without_asv_there_is_a_history_without_steps(place, registry, monkeypatch):
    for name in ("asv", "asv.step_detect", "asv.results"):
        monkeypatch.setitem(sys.modules, name, None)
    history = read_history(place / "results", registry)
    assert len(history.series) == 4
    assert not any(s.steps for s in history.series)
    assert any("pip install asv asv-runner virtualenv" in note for note in history.notes)
    with pytest.raises(NoAsvError):
        export_asv(place / "results", place / "asv", registry, place / "project")


def test_steps_go_both_ways_and_small_ones_are_ignored():
    points = [Point(f"c{i}", f"2026-01-{i + 1:02}", v) for i, v in enumerate([4.0] * 8 + [2.0] * 8)]
    (step,) = find_steps(points)
    assert (step, step.share) == (Step(8, 4.0, 2.0), -0.5)
    assert find_steps(points, threshold=0.6) == ()
    assert find_steps(points[:1]) == ()
    assert Step(1, -0.5, -0.4).share == pytest.approx(0.2)  # a worse score is a rise


def test_commit_is_one_point_and_points_are_ordered_by_time():
    points = [Point("b", "2", 3.0), Point("a", "1", 1.0), Point("b", "3", 5.0)]
    points.append(replace(points[0], value=float("nan")))
    assert by_commit(points) == (Point("a", "1", 1.0), Point("b", "2", 4.0))


@pytest.mark.slow
def test_asv_publishes_the_exported_results(place, registry, tmp_path):
    """`asv publish` draws every commit of a case, and finds the simulated step."""
    export_asv(place / "results", tmp_path / "results", registry, place / "project")
    places = {"results_dir": "results", "html_dir": "html", "env_dir": "env"}
    about = {"version": 1, "project": "made", "repo": str(place / "project"), "branches": ["main"]}
    (tmp_path / "asv.conf.json").write_text(json.dumps({**about, **places, "dvcs": "git"}))
    done = subprocess.run(
        [sys.executable, "-m", "asv", "publish"],
        cwd=tmp_path,
        env={**os.environ, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    index = json.loads((tmp_path / "html/index.json").read_text())
    assert set(index["benchmarks"]) == {"trials.time_fit", "trials.track_loss"}
    assert index["benchmarks"]["trials.time_fit"]["params"] == [
        ["'steady'", "'stepping<i>'"],
        ["'made'"],
    ]
    (drawn,) = (tmp_path / "html/graphs").rglob("machine-harness-m1/**/trials.time_fit.json")
    points = json.loads(drawn.read_text())
    assert len(points) == RUNS
    assert points[-1][1] == pytest.approx([2.0, SLOW], rel=0.05)
    data = json.loads((tmp_path / "html/regressions.json").read_text())
    assert ["stepping<i>" in one[0] for one in data["regressions"]] == [True]
