"""Tests of the ``[parity]`` table of an experiment: trees compared once within a run."""

import json
import textwrap
from pathlib import Path

import pytest

from harness.cli import harness
from harness.core.errors import ConfigError
from harness.execution import pool
from harness.measurement.tree_comparison import Comparisons
from harness.store import Store

PLUGIN = textwrap.dedent(
    '''
    """Two plugin algorithms: scikit-learn's tree with a mode that moves thresholds, and another."""
    from dataclasses import replace

    import numpy as np
    from sklearn.dummy import DummyClassifier
    from sklearn.tree import DecisionTreeClassifier

    from algorithms.reference._export_sklearn import export
    from harness import ALL_TASKS, Algorithm, EstimatorAdapter, Task, estimator_adapter, hookimpl

    class Twin(EstimatorAdapter):
        def export_trees(self):
            e = export(self.model)
            if self.spec.params.get("parity") == "moved":
                moved = np.where(e.left >= 0, np.nextafter(e.threshold, np.inf), e.threshold)
                return replace(e, threshold=moved)
            return e

    def fails(dataset):
        raise RuntimeError("this skip was never tried")

    @hookimpl
    def register_algorithms(register):
        tasks = frozenset({Task.MULTICLASS})
        tree = lambda spec: DecisionTreeClassifier(random_state=spec.seed)
        register(Algorithm("twin", lambda spec: Twin(tree, spec), tasks,
                           reference="sklearn.decision_tree", parity_levels={"default": "L3"}))
        dummy = estimator_adapter(lambda spec: DummyClassifier())
        # "reference": nothing is compiled
        register(Algorithm("opaque", dummy, tasks, "reference", reference="sklearn.decision_tree"))
        register(Algorithm("lost", dummy, tasks, "reference", skip=fails,
                           reference="sklearn.decision_tre"))
    '''
)
EXPERIMENT = """
name = "beside"
datasets = ["iris"]
algorithms = [
    "twin", { name = "twin", params = { parity = "moved" } },
    "opaque", "lost", "sklearn.decision_tree",
]
[splits]
folds = 2
[parity]
datasets = ["ir*"]
[[gate]]
kind = "parity_level"
algorithm = "twin"
datasets = ["iris"]
limit = "L2"
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("beside")
    (folder / "plugin.py").write_text(PLUGIN)
    (folder / "beside.toml").write_text(EXPERIMENT)
    return folder


@pytest.fixture
def call(place, capsys, monkeypatch):
    """Return a function that runs a command and returns exit code, stdout and stderr."""
    monkeypatch.chdir(place)

    def command(*arguments):
        more = ["--plugin", "plugin.py", "--results", "results"]
        code = harness.main([*arguments, *more], standalone_mode=False)
        captured = capsys.readouterr()
        return code or 0, captured.out, captured.err

    return command


@pytest.fixture
def started(monkeypatch):
    """Return a list of the workers started before and after each stage of comparing."""
    sessions, counts, compare = [], [], Comparisons.compare

    class Counted(pool.Session):
        def __init__(self, *arguments, **more):
            sessions.append(self)
            super().__init__(*arguments, **more)

    def counted(self, matches):
        before = len(sessions)
        yield from compare(self, matches)
        counts.append((before, len(sessions)))

    monkeypatch.setattr(pool, "Session", Counted)
    monkeypatch.setattr(Comparisons, "compare", counted)
    return counts


def test_run_compares_trees_once_and_reports_it_everywhere(call, monkeypatch, started):
    code, out, err = call("run", "beside.toml", "--json")
    data = json.loads(out)
    assert code == 3, err  # `lost` fails
    assert data["comparisons"] == {"done": 2, "skipped": 1}
    assert "2 comparisons done, 1 skipped" in err
    levels = {
        (p["algorithm"], p["params"][0].get("parity")): p["parity_level"] for p in data["parity"]
    }
    assert levels == {("twin", None): "L3", ("twin", "moved"): "L2", ("opaque", None): ""}
    (parted,) = [p["differences"][0] for p in data["parity"] if p["differences"]]
    assert "Tree 0, the root" in parted
    assert data["gates"]["state"] == "pass"

    with Store.open("results") as store:
        outcomes = [outcome for outcome, _ in store.outcomes(data["run"])]
    assert len(outcomes) == len({o.trial.id for o in outcomes}) == 10
    assert not any({"trees", "training"} & set(o.arrays) for o in outcomes)
    assert list(Path("results").glob(".work-*")) == []

    [(before, after)] = started
    assert before == after > 0  # the workers of the trials grew the trees too

    monkeypatch.setattr(Comparisons, "_match", None)  # no comparison is made again
    code, out, err = call("run", "beside.toml", "--json")
    assert json.loads(out)["parity"] == data["parity"]
    assert json.loads(out)["comparisons"] == data["comparisons"]


def test_errors_in_listeners_skips_and_references_are_reported(call):
    _, out, err = call("run", "beside.toml", "--json", "--no-report")
    reason = "`skip` of lost failed on iris: RuntimeError: this skip was never tried"
    assert err.count(reason) == 1
    with Store.open("results") as store:
        failed = [outcome for outcome, _ in store.outcomes() if outcome.failure]
    assert {o.failure.message for o in failed} == {reason}
    assert "in fails" in failed[0].failure.detail
    assert json.loads(out)["outcomes"] == {"failed": 2, "done": 8}
    assert (
        "note: lost has as reference the unknown algorithm 'sklearn.decision_tre': did you mean"
        in err
    )
    _, out, _ = call("list", "plugins", "--json")
    notes = [p["note"] for p in json.loads(out)["plugins"] if p["note"]]
    assert len(notes) == 1
    assert notes[0].startswith("lost has as reference the unknown algorithm")


def test_reports_in_every_format_show_parity_levels_and_gates(call, place):
    page = call("report")[1].strip()
    assert "twin (moved) / sklearn." in (place / page).read_text()
    markdown = call("report", "--markdown")[1].replace("\N{NO-BREAK SPACE}", " ").replace("\\", "")
    message = "Trees of twin compared with those of sklearn.decision_tree: L3 on 1 dataset."
    assert message in markdown
    assert "Trees of twin in mode moved compared with" in markdown
    assert "Gates: 2 hold." in markdown
    assert len(json.loads(call("report", "--json")[1])["parity"]) == 3


def test_dry_run_names_the_comparisons(call):
    out = call("run", "beside.toml", "--dry-run", "--results", "empty")[1]
    assert "trees of twin and sklearn.decision_tree on iris: " in out


def test_datasets_above_the_size_limit_are_left_out(call):
    def exit_code_for(rows):
        most = ["--set", f"parity.most_rows={rows}", "--results", "empty"]
        return call("run", "beside.toml", "--dry-run", *most)[1].count("trees of")

    assert exit_code_for(149) == 0
    assert exit_code_for(150) == exit_code_for(0) == 3


def test_narrowed_run_compares_the_remaining_pairs(call):
    pairs = "parity.pairs=[['twin', 'sklearn.decision_tree'], ['opaque', 'twin']]"
    narrow = ["-d", "wine", "-a", "twin", "--set", pairs, "--dry-run"]
    out = call("run", "beside.toml", *narrow)[1]
    messages = [line for line in out.splitlines() if line.startswith("trees of")]
    both = ["trees of twin and sklearn.decision_tree on wine: to compare"] * 2
    assert messages == both  # the experiment has two entries of twin, and each keeps its params


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("parity.datasets=['irsi']", "unknown dataset of this run 'irsi': did you mean 'iris'"),
        ("parity.pairs=[['twin', 'sklearn.bagging']]", "unknown algorithm of this run"),
        ("parity.pair=[]", "did you mean 'pairs'"),
    ],
)
def test_pairs_outside_the_run_cannot_be_compared(call, setting, message):
    with pytest.raises(ConfigError, match=message):
        call("run", "beside.toml", "--set", setting)
