"""Tests of a whole gate with fake trials and duels."""

import io
import json
import sys
from contextlib import redirect_stderr, redirect_stdout

import numpy as np
import pytest
from scratch_project import git, new_project, plant

from harness.cli import gate as command
from harness.cli import main
from harness.core import ids
from harness.core.model import Block, DuelOutcome, Environment, Outcome, Sample, Status
from harness.core.outcome_files import write_arrays
from harness.gate import run as gate
from harness.gate.base import Base
from harness.gate.instruction_change import InstructionChange
from harness.gate.libraries import BaseError
from harness.plugins.registry import load_registry
from harness.runs.execute import Execution
from harness.store import Store

BUILTIN = [
    "harness.data.providers.generators",
    "harness.executors.local",
    "harness.plugins.metrics",
]


class FakeExecution(Execution):
    """A fake execution: side A takes ``slower`` times as long as side B."""

    slower = 1.0
    more = 0
    worse = 0.0
    jobs = None  # how many of them are done in time
    duels = None

    def carry_out(self, plan, matches=()):
        folder = self.store.workdir(self.run_id)
        for number, job in enumerate(plan.jobs[: self.jobs]):
            head = "@" not in job.trials[0].algorithm
            for trial in job.trials:
                path = folder / f"{number}-{trial.id}.npz"
                self.store.record(self.run_id, self.trial(trial, path, head=head))
        for duel in plan.duels[: self.duels]:
            self.store.record_duel(self.run_id, self.duel(duel))
        return self.tally

    def trial(self, trial, path, *, head):
        rng = np.random.default_rng(trial.split.fold)
        y = rng.normal(size=100)
        noise = rng.normal(size=100) * (0.3 + self.worse * head * (1 + 0.1 * trial.split.fold))
        write_arrays(path, {"output": y + noise, "y": y, "scale": np.float64(1.0)})
        size = 4_000_000 + self.more * head
        samples = tuple(Sample(phase, 1.0, 1.0, size) for phase in ("fit", "predict"))
        return Outcome(trial, Status.DONE, samples, arrays={"predictions": str(path)})

    def duel(self, duel):
        blocks = []
        for launch in range(8):
            for phase in duel.phases:
                b = 1 + 0.003 * launch
                a = b * self.slower
                pairs = [(Sample(phase, wall, wall, 1000),) * 2 for wall in (a, b)]
                blocks.append(Block(launch, 0, phase, "ABBA", *pairs))
        return DuelOutcome(duel, Status.DONE, tuple(blocks))


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A repository to gate, whose base is read without a separate process."""
    folder = new_project(tmp_path / "project")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HARNESS_RESULTS", str(tmp_path / "results"))
    monkeypatch.setattr(gate, "Execution", FakeExecution)
    monkeypatch.setattr(gate, "make_base", based)
    monkeypatch.setattr(
        command, "load_registry", lambda files: load_registry(files, modules=BUILTIN)
    )
    ids.code_digest.cache_clear()
    ids.source_files.cache_clear()
    return folder


def based(tree, head, roots, plugin_files, name, message):
    file = plugin_files[0]
    known = {"plugin": file, "path": file, "params": {"penalty": 1.0}, "parity_levels": {}}
    algorithms = {"ridge": {**known, "reference": None}}
    versions = {"numpy": "9"}
    return Base(Environment(name, "", str(tree)), algorithms, {}, versions, own_libraries=False)


def harness(*arguments):
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr(sys, "argv", ["harness", "gate", *arguments])
        code = main()
    return code, out.getvalue(), err.getvalue()


def against(*more):
    return harness("short.toml", "--against", "main", "--plugin", "ridge.py", *more)


def test_changed_head_that_is_no_worse_passes(project):
    plant(project, "comment")
    code, out, err = against()
    assert code == 0, err
    assert "✓ pass" in out
    assert "with uncommitted changes against main (" in err
    assert "compared ridge: 5 pass" in err
    assert git(project, "worktree", "list").count("\n") == 0


@pytest.mark.parametrize(
    ("fault", "kind"),
    [({"slower": 1.15}, "speed"), ({"more": 2_000_000}, "memory"), ({"worse": 0.5}, "accuracy")],
)
def test_worse_head_fails(project, monkeypatch, fault, kind):
    plant(project, "comment")
    for name, value in fault.items():
        monkeypatch.setattr(FakeExecution, name, value)
    code, out, err = against("--json")
    assert code == 1, err
    data = json.loads(out)
    assert {d["gate"]["kind"] for d in data["decisions"] if d["state"] == "fail"} == {kind}
    assert data["compared"] == {"ridge": "its code changed"}
    with Store.open(project.parent / "results") as store:
        (event,) = [e["data"] for e in store.events(data["run"]) if e["kind"] == "gate"]
        assert len(event) == len(data["decisions"])
        run = store.run(data["run"])
    assert run["config"]["against"]["revision"] == "main"
    assert [e["name"] for e in run["environments"]] == [git(project, "rev-parse", "HEAD")[:8]]


def test_instructions_are_shown_but_never_decide(project, monkeypatch):
    plant(project, "comment")
    seen = []

    def count(duels, folder, deadline, progress):
        seen.extend((d.a.trials[0].algorithm, d.b.trials[0].algorithm) for d in duels)
        return (InstructionChange("ridge", "friedman1", 1500, 1000, "perf"),), ""

    monkeypatch.setattr(gate, "count_changes", count)
    code, out, err = against("--instructions", "--json")
    assert code == 0, err
    assert seen == [("ridge", f"ridge@{git(project, 'rev-parse', 'HEAD')[:8]}")]
    (counted,) = json.loads(out)["instructions"]
    assert (counted["head"], counted["base"], counted["tool"]) == (1500, 1000, "perf")
    sentence = "instructions of a fit of ridge on friedman1: +50.0% (1,500, base 1,000), by perf"
    assert sentence in err
    assert (
        "friedman1: +50.0% (1,500, base 1,000), by perf"
        in against("--instructions", "--markdown")[1]
    )
    monkeypatch.setattr(gate, "count_changes", lambda *_: ((), "instructions are not counted: x"))
    assert "note: instructions are not counted: x" in against("--instructions")[2]
    assert json.loads(against("--json")[1])["instructions"] == []


def test_limit_may_be_wider(project, monkeypatch):
    plant(project, "comment")
    monkeypatch.setattr(FakeExecution, "slower", 1.15)
    assert against("--slower", "20%")[0] == 0
    assert against("--slower", "0%")[0] == 2
    assert against("--slower", "soon")[0] == 2


def test_unchanged_head_compares_nothing(project):
    code, out, err = against()
    assert (code, out) == (0, "")
    assert "not compared: ridge: its code did not change" in err
    assert "nothing to compare" in err
    assert against("--all")[0] == 0


def test_markdown_goes_to_a_file_or_replaces_the_table(project, monkeypatch):
    plant(project, "comment")
    monkeypatch.setattr(FakeExecution, "slower", 1.15)
    code, out, _ = against("--markdown")
    assert code == 1
    assert out.startswith("### Gate against main (")
    assert "❌ fail" in out.splitlines()[0]
    assert "| speed of train | ✕ fail | ridge against ridge\\@" in out
    code, out, _ = against("--markdown", "comment.md")
    assert out.startswith("Gate ")
    assert "❌ fail" in (project / "comment.md").read_text()
    code, _, err = harness("--against", "main", "--markdown", "short.toml")
    assert code == 2
    assert "would overwrite short.toml" in err
    assert against("--markdown", "no/such/folder.md")[0] == 5


def test_new_and_removed_algorithms_are_reported(project):
    (project / "more.py").write_text((project / "ridge.py").read_text().replace('"ridge"', '"new"'))
    code, _, err = against("--plugin", "more.py")
    assert code == 0, err
    assert "new: the base does not have it" in err


def test_base_that_does_not_start_is_undecided(project, monkeypatch):
    def broken(*_):
        raise BaseError("the base does not start: ImportError: x")

    monkeypatch.setattr(gate, "make_base", broken)
    code, out, _ = against("--markdown")
    assert code == 6
    assert "the base does not start: ImportError: x" in out
    assert against("--undecided", "pass")[0] == 0
    assert against("--undecided", "fail")[0] == 1
    assert git(project, "worktree", "list").count("\n") == 0


def test_meaningless_options_are_refused(project):
    assert harness("--slower", "5%")[0] == 2
    assert harness("--all")[0] == 2
    assert harness("--fresh")[0] == 2
    assert harness("--instructions")[0] == 2
    assert harness("--budget", "1m")[0] == 2
    assert against("--budget", "soon")[0] == 2
    assert harness("--against", "main", "--run", "latest")[0] == 2
    code, _, err = harness("--against", "nowhere")
    assert code == 2
    assert "there is no revision 'nowhere'" in err


def states(document):
    return {(d["gate"]["kind"], d["gate"]["phase"]): d["state"] for d in document["decisions"]}


@pytest.mark.parametrize(
    ("done", "left"),
    [
        ({"duels": 0}, {("speed", "train"), ("speed", "predict")}),
        ({"jobs": 1}, {("accuracy", "train"), ("memory", "train"), ("memory", "predict")}),
    ],
)
def test_unfinished_measurement_is_undecided(project, monkeypatch, done, left):
    plant(project, "comment")
    for name, count in done.items():
        monkeypatch.setattr(FakeExecution, name, count)
    code, out, err = against("--budget", "35m", "--json")
    assert code == 6, err
    data = json.loads(out)
    assert {key for key, state in states(data).items() if state == "undecided"} == left
    reasons = {d["reason"] for d in data["decisions"] if d["state"] == "undecided"}
    assert reasons == {"not done within the budget of 35 min"}
    assert len(data["decisions"]) == 5


def test_failure_is_kept_if_other_measurements_are_unfinished(project, monkeypatch):
    plant(project, "comment")
    monkeypatch.setattr(FakeExecution, "duels", 0)
    monkeypatch.setattr(FakeExecution, "more", 2_000_000)
    code, out, _ = against("--budget", "90s", "--json")
    assert code == 1
    assert states(json.loads(out))["memory", "train"] == "fail"
    assert states(json.loads(out))["speed", "train"] == "undecided"


def test_dropped_claim_fails_without_a_measurement(project, monkeypatch):
    def claiming(*told):
        base = based(*told)
        base.algorithms["ridge"].update(reference="lib", parity_levels={"lib": "L3"})
        return base

    monkeypatch.setattr(gate, "make_base", claiming)
    code, out, _ = against("--json")  # its code is that of the base: nothing is compared
    (lost,) = json.loads(out)["decisions"]
    assert (code, lost["gate"]["kind"]) == (1, "parity_level")
    plant(project, "comment")
    code, out, _ = against("--markdown")
    assert code == 1
    assert "lost claim: in lib mode the base claims L3" in out


@pytest.fixture
def plans(project, monkeypatch):
    """Return a list to which each gate of the project appends its plan."""
    results = []

    class Seen(FakeExecution):
        def carry_out(self, plan, matches=()):
            results.append(plan)
            return super().carry_out(plan, matches)

    monkeypatch.setattr(gate, "Execution", Seen)
    return results


def test_both_sides_run_the_same_trials_except_for_their_defaults(project, plans):
    plant(project, "default")
    assert against()[0] == 0
    head, base = plans[0].jobs
    assert head.trials[0].params == {"penalty": 1e5}
    assert base.trials[0].params == {"penalty": 1.0}
    assert base.trials[0].algorithm == f"ridge@{base.environment.name}"
    assert base.plugin.endswith(f"{git(project, 'rev-parse', 'HEAD')}/ridge.py")
    assert [t.split for t in head.trials] == [t.split for t in base.trials]
    assert not {t.id for t in head.trials} & {t.id for t in base.trials}
    (duel,) = plans[0].duels
    assert (duel.phases, duel.stop.also) == (("native", "fit", "predict"), ("predict",))
    assert duel.b.environment.root


def test_both_sides_use_the_capacity_of_the_file_for_all_tracks(project, plans):
    plant(project, "default")
    plugin, file = project / "ridge.py", project / "short.toml"
    text = plugin.read_text().replace("import Algorithm,", "import Algorithm, Argument,")
    message = '1e5}, capacity={"trees": Argument("penalty")}'
    plugin.write_text(text.replace("1e5}", message))
    file.write_text(f'tracks = ["default"]\n{file.read_text()}[capacity]\ntrees = 5\n')
    code, _, err = against()
    assert code == 0, err
    assert [job.trials[0].params for job in plans[0].jobs] == [{"penalty": 5}] * 2


def test_grid_is_refused(project, plans):
    plant(project, "comment")
    grid = 'algorithms = [{ name = "ridge", grid = { penalty = [1.0, 2.0] } }]\n'
    (project / "short.toml").write_text(grid + (project / "short.toml").read_text())
    code, _, err = against()
    assert code == 2
    assert "give ridge one, and no grid" in err
    assert plans == []
