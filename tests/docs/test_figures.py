"""Tests of the tables on the algorithms' pages, which are made from stored runs."""

import importlib.util
import math
from pathlib import Path

import pytest
from pages import DOCS

from harness.analysis.run_view import Accuracy, Interval, Parity, Speed
from harness.config.experiment import load_experiment
from harness.core.model import DuelOutcome, Outcome, Status
from harness.plugins.registry import load_registry
from harness.runs.run import Request, config_of, plan_request, planned_matches
from harness.store import Store

SPEC = importlib.util.spec_from_file_location("write_figures", DOCS / "figures/write.py")
write = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(write)


def test_every_algorithm_has_its_table_on_one_page():
    pages = {page: page.read_text() for page in (DOCS / "algorithms").glob("*.md")}
    for name in write.PAGES:
        (page,) = [p for p, text in pages.items() if f"figures/{name}.md" in text]
        assert f"algorithms/{name}.py" in pages[page]
        assert (write.TABLES / f"{name}.md").is_file()


@pytest.mark.parametrize("name", ["speed", "parity"])
def test_experiments_name_existing_algorithms(name):
    experiment = load_experiment(str(DOCS / f"figures/{name}.toml"))
    known = load_registry(strangers=False).names("algorithm")
    requested = {a if isinstance(a, str) else a.name for a in experiment.algorithms}
    assert requested <= set(known)
    assert set(write.PAGES) <= requested


def test_ratio_shows_its_bounds_if_it_has_any():
    assert write.ratio(Interval(1.5, 2.0, 3.0, n=8)) == "2.00 (1.50 to 3.00)"
    assert write.ratio(Interval(0.0, 2.0, math.inf, level=1.0, n=1)) == "2.00"
    assert write.ratio(None) == write.NONE


def test_verdict_is_given_in_shares_of_the_gap():
    difference = Interval(-0.01, 0.0, 0.02, n=5)
    one = Accuracy("a", "b", "iris", "log_loss", "inconclusive", difference, 0.01, gap=0.5)
    assert write.accuracy_row(one) == ["iris", "b", "inconclusive", "-2.00 % to +4.00 %"]


def test_contaminated_duel_has_a_star():
    def speed(phase, *notes):
        ratio = Interval(1.0, 2.0, 3.0, n=8)
        return Speed("a", "b", "iris", phase, ratio, "launch", (1, 2), memory=ratio, notes=notes)

    (quiet,) = write.speed_rows([speed("train"), speed("predict")])
    assert quiet == ["iris", "b", *["2.00 (1.00 to 3.00)"] * 2, write.NONE, "2.00 (1.00 to 3.00)"]
    for note in ("busy machine: a guess", "contaminated: a note of an older version"):
        (doubted,) = write.speed_rows([speed("train", note)])
        assert doubted[0] == "iris *"


def test_parity_level_gives_its_mode_and_why_nothing_was_compared():
    params = ({"parity": "xgboost"}, {})
    one = Parity("a", "b", "iris", params, "native", "raw", "", "L3", {}, None, reason="no trees")
    assert write.parity_row(one) == ["xgboost", "b", "iris", "none", "no trees"]


def test_table_cells_are_escaped():
    assert write.table(["x"], [["a | b"]]).splitlines()[-1] == "| a \\| b |"
    with pytest.raises(write.IncompleteError, match="would have no rows"):
        write.table(["x"], [])


@pytest.mark.parametrize(("gap", "high"), [(0.0, 0.02), (0.5, math.inf)])
def test_verdict_without_a_gap_or_bounds_has_no_shares(gap, high):
    difference = Interval(-0.01, 0.0, high, n=5)
    one = Accuracy("a", "b", "iris", "log_loss", "inconclusive", difference, 0.01, gap=gap)
    assert write.accuracy_row(one) == ["iris", "b", "inconclusive", write.NONE]


# ------------------------------------------------------------------ runs

PLUGIN = """
from harness import Algorithm, Task, hookimpl


@hookimpl
def register_algorithms(register):
    only = frozenset({Task.REGRESSION})
    register(Algorithm("ours", object, only, reference="lib"))
    register(Algorithm("lib", object, only, origin="reference"))
"""
SMALL, LARGE = "friedman1:rows=100", "friedman1:rows=200"
EXPERIMENT = f"""
algorithms = ["ours", "lib"]
datasets = ["{SMALL}", "{LARGE}"]
[splits]
folds = 2
[duels]
datasets = ["{SMALL}", "{LARGE}"]
launches = 8
[parity]
datasets = ["*"]
"""
BUILTIN = [
    "harness.data.providers.generators",
    "harness.executors.local",
    "harness.plugins.metrics",
]


@pytest.fixture(scope="module")
def kit(tmp_path_factory):
    """Return the file of an experiment called speed, and a registry of its names."""
    folder = tmp_path_factory.mktemp("kit")
    (folder / "both.py").write_text(PLUGIN)
    for name in ("speed", "parity"):
        (folder / f"{name}.toml").write_text(f'name = "{name}"\n{EXPERIMENT}')
    return str(folder / "speed.toml"), load_registry([folder / "both.py"], modules=BUILTIN)


def stored(results, experiment, registry, status="done", lacking="", **settings):
    """Store a run in which one kind of measurement is missing on the larger dataset."""
    request = Request(load_experiment(experiment, changes=settings))
    plan = plan_request(request, registry)
    with Store.open(results, write=True) as store:
        name, config = request.experiment.name, config_of(request, plan.declared)
        run = store.begin_run(name, config, "", machine={})
        store.plan_trials(run, plan.trials())
        for trial in plan.trials():
            ended = (lacking, trial.dataset) == ("end of a trial", LARGE)
            if (lacking, trial.dataset) != ("trial", LARGE):
                store.record(run, Outcome(trial, Status.CRASHED if ended else Status.DONE))
        for duel in plan.duels:
            ended = (lacking, duel.a.dataset.name) == ("end of a duel", LARGE)
            if (lacking, duel.a.dataset.name) != ("duel", LARGE):
                store.record_duel(run, DuelOutcome(duel, Status.TIMEOUT if ended else Status.DONE))
        for match in planned_matches(request, registry, plan):
            if (lacking, match.a.dataset.name) != ("comparison", LARGE):
                result = {"splits": {}, "comparison": None, "split": "", "reason": "made up"}
                store.record_parity(run, match.what, Status.SKIPPED, result)
        store.finish_run(run, status)
    return run


def test_tables_come_from_the_newest_finished_run(tmp_path, kit):
    with Store.open(tmp_path, write=True):
        pass
    with pytest.raises(write.IncompleteError, match="no finished run of speed in"):
        write.newest(tmp_path, *kit)
    stored(tmp_path, *kit, "interrupted")
    with pytest.raises(write.IncompleteError, match=r"no finished run of speed.*\(1 unfinished\)"):
        write.newest(tmp_path, *kit)
    stored(tmp_path, *kit, lacking="trial")
    run = stored(tmp_path, *kit)
    stored(tmp_path, *kit, "interrupted", lacking="duel")
    assert write.newest(tmp_path, *kit).run["id"] == run


@pytest.mark.parametrize(
    ("lacking", "message"),
    [
        ("trial", ["2 of 2 trials of ours on", "2 of 2 trials of lib on"]),
        ("end of a trial", ["2 of 2 trials of ours on", "2 of 2 trials of lib on"]),
        ("duel", ["the duel of ours with lib on"]),
        ("end of a duel", ["the duel of ours with lib on"]),
        ("comparison", ["the comparison of ours in default mode with lib on"]),
    ],
)
def test_missing_parts_of_a_finished_run_are_named(tmp_path, kit, lacking, message):
    stored(tmp_path, *kit)
    run = stored(tmp_path, *kit, lacking=lacking)
    with pytest.raises(write.IncompleteError) as caught:
        write.newest(tmp_path, *kit)
    first, *lines = str(caught.value).splitlines()
    assert first == f"no table was written: run {run} of speed lacks"
    assert lines == [f"  {line} {LARGE}" for line in message]


@pytest.mark.parametrize(
    ("narrowed", "message"),
    [
        ({"datasets": [SMALL]}, f"2 of 2 trials of ours on {LARGE}"),
        ({"duels.datasets": [SMALL]}, f"the duel of ours with lib on {LARGE}"),
        ({"duels.launches": 2}, f"the duel of ours with lib on {SMALL}"),
        ({"splits.folds": 3}, f"2 of 2 trials of ours on {SMALL}"),
    ],
)
def test_narrowed_run_is_checked_against_the_whole_experiment(tmp_path, kit, narrowed, message):
    stored(tmp_path, *kit, **narrowed)
    with pytest.raises(write.IncompleteError) as caught:
        write.newest(tmp_path, *kit)
    assert f"  {message}" in str(caught.value).splitlines()


def test_tables_are_written_all_or_none(tmp_path, kit, monkeypatch):
    experiment, registry = kit
    monkeypatch.setattr(write, "EXPERIMENTS", Path(experiment).parent)
    monkeypatch.setattr(write, "load_registry", lambda **_: registry)
    monkeypatch.setattr(write, "PAGES", ("ours", "other"))
    results, tables = tmp_path / "results", tmp_path / "tables"
    stored(results, experiment, registry)
    stored(results, experiment.replace("speed", "parity"), registry, lacking="comparison")
    with pytest.raises(write.IncompleteError, match="of parity lacks"):
        write.write(results, tables)
    assert not tables.exists()
    stored(results, experiment.replace("speed", "parity"), registry)
    texts = {"ours": "of ours"}
    monkeypatch.setattr(write, "page", lambda *args: texts[args[0]])
    with pytest.raises(KeyError):
        write.write(results, tables)
    assert not tables.exists()
    texts["other"] = "of other"
    write.write(results, tables)
    assert {p.name: p.read_text() for p in tables.iterdir()} == {
        "ours.md": "of ours",
        "other.md": "of other",
    }


def test_page_that_would_lack_a_table_is_not_written(tmp_path, kit):
    stored(tmp_path, *kit)
    seen = write.newest(tmp_path, *kit)
    with pytest.raises(write.IncompleteError, match="would have no rows"):
        write.page("unheard of", seen, seen)


def test_command_gives_the_reason(tmp_path, monkeypatch):
    monkeypatch.setattr(write.sys, "argv", ["write.py", str(tmp_path / "nowhere")])
    monkeypatch.setattr(write, "load_registry", lambda **_: None)
    with pytest.raises(SystemExit, match="nowhere"):
        write.main()
