"""Tests that rerun commands plan the stored trials and duels."""

import json
import shlex
from contextlib import closing

import pytest
from click.testing import CliRunner

from harness.analysis.build_view import view_run
from harness.cli import harness
from harness.config.experiment import parse_experiment
from harness.core.errors import ConfigError
from harness.core.machine import fingerprint
from harness.core.model import DuelOutcome, Outcome, Status
from harness.planning.tree_comparisons import matches_of
from harness.plugins.registry import load_registry
from harness.progress_display import Lines
from harness.runs import run as runs
from harness.runs.request import duel_experiment, own_data, parity_experiment
from harness.runs.rerun import RunAgain, duel_again, parity_again
from harness.runs.run import Request
from harness.store import Store
from reports import Page
from reports.text.commands import cell_again

PLUGIN = """
from harness import ALL_TASKS, Algorithm, hookimpl

@hookimpl
def register_algorithms(register):
    for name in ("mine", "other.one"):
        register(Algorithm(name, dict, ALL_TASKS, params={"deep": 3, "kind": "a b"},
                           reference="other.one" if name == "mine" else None))
"""
EXPERIMENT = {
    "name": "wide",
    "algorithms": ["mine", {"name": "other*", "params": {"deep": 5}, "grid": {"x": [1, 2]}}],
    "datasets": ["iris", "wine", "table"],
    "run": {"seeds": [7, 8], "threads": 2, "timeout": 33},
    "splits": {"folds": 3, "seed": 4},
    "duels": {"datasets": ["iris", "table"], "launches": 3, "blocks": 2, "noise": True},
    "parity": {"datasets": ["i*", "wine"]},
    "diagnostics": {"names": ["agreement"], "pairs": [["mine", "other.one"]]},
    "gate": [{"kind": "accuracy", "algorithm": "mine"}],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("again")
    (made / "mine.py").write_text(PLUGIN)
    lines = ["a,b,y", *(f"{i},{i % 7},{i * 3 % 11}" for i in range(60))]
    (made / "table.csv").write_text("\n".join(lines))
    return made


@pytest.fixture(scope="module")
def registry(folder):
    return load_registry([str(folder / "mine.py")], strangers=False)


def keep(folder, registry, experiment, command="run", extra=()):
    """Store a planned run whose trials and duels all failed; return id and plan."""
    request = Request(
        experiment, extra, (str(folder / "mine.py"),), folder / "results", command=command
    )
    plan = runs.plan_request(request, registry)
    with Store.open(folder / "results", write=True) as store:
        config = runs.config_of(request, plan.declared)
        run = store.begin_run(experiment.name, config, "hash", machine=fingerprint())
        for trial in plan.trials():
            store.record(run, Outcome(trial, Status.FAILED))
        for duel in plan.duels:
            store.record_duel(run, DuelOutcome(duel, Status.FAILED))
        store.finish_run(run, "done")
    return run, plan


@pytest.fixture(scope="module")
def stored(folder, registry):
    extra = own_data(folder / "table.csv", folder / "results", "y", "regression")
    experiment = parse_experiment(
        EXPERIMENT
        | {"datasets": ["iris", "wine", extra[0].name]}
        | {"duels": EXPERIMENT["duels"] | {"datasets": ["iris", extra[0].name]}},
        "the test",
    )
    return keep(folder, registry, experiment, extra=extra)


def page_of(folder, registry, run):
    with Store.open(folder / "results") as store:
        return Page(view_run(store, run, registry))


def planned_by(folder, command):
    """Return the plan of a report's command, from ``--dry-run --json``."""
    start = "python -m harness "
    assert command.startswith(start)
    words = [*shlex.split(command.removeprefix(start)), "--results", str(folder / "results")]
    done = CliRunner().invoke(harness, [*words, "--dry-run", "--json"], catch_exceptions=False)
    return json.loads(done.stdout)


@pytest.mark.parametrize("algorithms", [(), ("mine",), ("other.one",)])
@pytest.mark.parametrize("datasets", [(), ("wine",), ("iris", "table")])
def test_command_of_a_report_plans_the_trials_that_were_run(
    folder, registry, stored, algorithms, datasets
):
    run, plan = stored
    names = {d.partition(".")[0]: d for d in (j.dataset.name for j in plan.jobs)}
    datasets = tuple(next(d for d in names.values() if d.startswith(n)) for n in datasets)
    result = planned_by(folder, page_of(folder, registry, run).again(algorithms, datasets))

    def wanted(dataset, *names):
        return (not datasets or dataset in datasets) and (
            not algorithms or {*names} <= {*algorithms}
        )

    trials = [t.id for t in plan.trials() if wanted(t.dataset, t.algorithm)]
    assert trials
    assert [t["id"] for t in result["trials"]] == trials
    sides = [(d, (d.a.dataset.name, d.a.algorithm, d.b.algorithm)) for d in plan.duels]
    assert [d["id"] for d in result["duels"]] == [d.id for d, s in sides if wanted(*s)]
    matches = matches_of(parse_experiment(EXPERIMENT, "it").parity, plan)
    assert [p["id"] for p in result["parity"]] == [
        m.what["id"] for m in matches if wanted(m.a.dataset.name, m.a.algorithm, m.b.algorithm)
    ]


def test_command_of_a_row_plans_exactly_its_trials(folder, registry, stored):
    run, _ = stored
    page = page_of(folder, registry, run)
    rows = [cell for cell in page.view.cells if cell.algorithm == "other.one"]
    assert len(rows) > len({cell.dataset for cell in rows}), "variants, each with a row of its own"
    for row in rows[:4]:
        result = planned_by(folder, cell_again(page.view.run, row.outcomes[0].trial.id))
        assert {t["id"] for t in result["trials"]} == {o.trial.id for o in row.outcomes}
        assert (result["duels"], result["parity"]) == ([], [])


def test_ambiguous_trial_is_an_error(folder, registry, stored):
    run, plan = stored
    ids = {trial.id: (trial.algorithm, trial.dataset) for trial in plan.trials()}
    starts = {one: {row for i, row in ids.items() if i[0] == one} for one in "0123456789abcdef"}
    twice, known = next(one for one, rows in starts.items() if len(rows) > 1), next(iter(ids))
    for words, why in [
        (["--trial", known], "--trial needs --again"),
        (["--again", run, "--trial", "zzz"], "has no trial 'zzz'"),
        (["--again", run, "--trial", twice], f"has more than one trial '{twice}'"),
        (["--again", run, "--trial", known, "-d", "wine"], "leave out -a and -d"),
    ]:
        done = CliRunner().invoke(
            harness, ["run", *words, "--results", str(folder / "results"), "--dry-run"]
        )
        assert isinstance(done.exception, (ConfigError, SystemExit))
        assert why in f"{done.stderr}{done.exception}"


def test_partial_rerun_drops_settings_that_do_not_apply(folder, registry, stored):
    run, _ = stored
    options = RunAgain(run, algorithms=["mine"], results=folder / "results")
    request = options.request(registry)
    assert request.experiment.gate == []
    assert request.experiment.diagnostics.pairs == []
    whole = RunAgain(run, results=folder / "results").request(registry)
    assert len(whole.experiment.gate) == 1
    assert runs.config_hash(runs.config_of(request, {})) != runs.config_hash(
        runs.config_of(whole, {})
    )


def test_rerun_of_a_partial_rerun_is_no_more_than_that_part(folder, registry, stored):
    run, _ = stored
    part = RunAgain(run, datasets=["iris"], results=folder / "results").request(registry)
    with Store.open(folder / "results", write=True) as store:
        plan = runs.plan_request(part, registry)
        config = runs.config_of(part, plan.declared)
        again = store.begin_run("wide", config, "hash", machine=fingerprint())
        store.finish_run(again, "done")
    result = RunAgain(again, algorithms=["mine"], results=folder / "results").request(registry)
    trials = {(t.algorithm, t.dataset) for t in runs.plan_request(result, registry).trials()}
    assert trials == {("mine", "iris")}
    with pytest.raises(ConfigError, match="unknown dataset of this run 'wine'"):
        RunAgain(again, datasets=["wine"], results=folder / "results").request(registry)


def test_duel_is_rerun_as_planned(folder, registry, stored, monkeypatch):
    run, plan = stored
    duels_run = []

    def run_duel(duel, *_, **__):
        duels_run.append(duel)
        return DuelOutcome(duel, Status.FAILED)

    monkeypatch.setattr("harness.runs.execute.run_duel", run_duel)
    monkeypatch.setattr("harness.runs.execute.compile_and_report", lambda *_: None)
    own = duel_experiment(
        ("other.one", "mine"), "iris", settings={"launches": 2}, params=(["deep=9"], ()), seed=3,
        capacity={},
    )  # fmt: skip
    lone, alone = keep(folder, registry, own, "duel")
    results = folder / "results"
    for duel in (*plan.duels, *alone.duels):
        with closing(Lines()) as progress:
            end, _ = duel_again(duel.id, results=results, fresh=True, progress=progress)
        assert duels_run.pop() == duel
        with closing(Lines()) as progress:  # the newest run with it has only this duel now
            duel_again(duel.id, results=results, fresh=True, progress=progress)
        assert duels_run.pop() == duel
        assert end.outcome.duel == duel
    assert page_of(folder, registry, lone).again() == ""
    told = page_of(folder, registry, run).duels_again([DuelOutcome(plan.duels[0], Status.DONE)])
    assert told == f"python -m harness duel --again {plan.duels[0].id} --fresh"
    with closing(Lines()) as progress, pytest.raises(ConfigError, match="unknown duel 'zzz'"):
        duel_again("zzz", results=results, progress=progress)


def test_trees_are_compared_as_in_their_run(folder, registry, monkeypatch):
    requested = []
    monkeypatch.setattr(
        "harness.runs.rerun.run_parity", lambda *a, **k: requested.append((a, k)) or "new"
    )
    experiment = parity_experiment(
        "mine", None, ["iris", "wine"], registry, params=(["deep=9"], ()), folds=4, seed=5
    )
    run, _ = keep(folder, registry, experiment, "parity")
    told = page_of(folder, registry, run).again(["mine"], ["wine"])
    assert told == f"python -m harness parity --again {run} -d wine --fresh"
    done = CliRunner().invoke(
        harness,
        [*shlex.split(told)[3:], "--results", str(folder / "results")],
    )
    (((again, _), more),) = requested
    assert again == experiment.model_copy(update={"datasets": ["wine"]}), done.output
    assert more["fresh"]
    with closing(Lines()) as progress, pytest.raises(ConfigError, match="run --again RUN"):
        parity_again(keep(folder, registry, parse_experiment(EXPERIMENT | {"name": "x",
            "datasets": ["iris"], "duels": {}, "parity": {}}, "x"))[0],
            results=folder / "results", progress=progress)  # fmt: skip
    with pytest.raises(ConfigError, match=r"of another command: `harness parity --again"):
        RunAgain(run, results=folder / "results").request(registry)


@pytest.mark.parametrize(
    ("words", "left"),
    [
        (["run", "quick", "--again", "x", "--seed", "3"], "EXPERIMENT, --seed"),
        (["duel", "a", "--again", "x", "--threads", "1"], "A, --threads"),
        (["parity", "--again", "x", "--folds", "5"], "--folds"),
    ],
)
def test_rerun_accepts_no_other_options(words, left):
    with pytest.raises(ConfigError, match=f"leave out .*{left}"):
        CliRunner().invoke(harness, words, catch_exceptions=False)


def test_rerun_command_is_omitted_if_a_page_cannot_show_it(folder, registry, stored):
    page = page_of(folder, registry, stored[0])
    assert page.again(["a\x1b[31m"]) == ""
    assert page.again(["a" * 500]) == ""
    against = {**page.view.run, "config": {**page.view.run["config"], "against": {}}}
    gate = Page(type(page.view)(**{**vars(page.view), "run": against}))
    assert gate.again() == gate.duels_again(page.view.duels) == ""
