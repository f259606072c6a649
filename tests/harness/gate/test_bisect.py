"""Tests of a bisection in a real repository, with fake duels."""

import io
import json
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest
from scratch_project import FAULTS, commit, git, new_project

from harness.analysis.run_command import command_of
from harness.analysis.series import Point, Series, Step
from harness.cli import bisect as command
from harness.cli import main
from harness.core import ids
from harness.core.errors import ConfigError
from harness.core.model import Block, DuelOutcome, Environment, Failure, Sample, Status
from harness.gate import bisect as bisection
from harness.gate import run as gate
from harness.gate.base import Base
from harness.gate.libraries import BaseError
from harness.history.commits import History, last_slowdown, measured_runs
from harness.plugins.registry import load_registry
from harness.runs.execute import Execution
from harness.store import Store

BUILTIN = [
    "harness.data.providers.generators",
    "harness.executors.local",
    "harness.plugins.metrics",
]
SLOW = FAULTS["slowdown"][1]
COMMITS = 6
FIRST_SLOW = 4  # of the commits after the first one, from 1


class FakeExecution(Execution):
    """A fake execution: a commit whose plugin has the planted slowdown takes 1.3 times as long."""

    duels: list = []  # noqa: RUF012 - replaced by the fixture
    noisy: set = set()  # noqa: RUF012 - commits without a decision
    stop_after = None

    def carry_out(self, plan, matches=()):
        for duel in self._unknown_duels(plan.duels):
            if len(self.duels) == self.stop_after:
                raise KeyboardInterrupt
            self.duels.append(duel)
            self.store.record_duel(self.run_id, self.outcome(duel))
        return self.tally

    def outcome(self, duel):
        text = (Path(duel.a.environment.root) / "ridge.py").read_text()
        slower = 1.3 if SLOW in text else 1.0
        if "never ends" in text:
            return DuelOutcome(duel, Status.CRASHED, failure=Failure("Killed", "it was killed"))
        blocks = []
        for launch in range(8):
            wide = 0.1 * (launch - 3.5) if "noisy" in text else 0.003 * launch
            for phase in duel.phases:
                walls = slower * (1 + wide), 1.0
                pairs = [(Sample(phase, wall, wall, 1000),) * 2 for wall in walls]
                blocks.append(Block(launch, 0, phase, "ABBA", *pairs))
        return DuelOutcome(duel, Status.DONE, tuple(blocks))


def based(tree, head, roots, plugin_files, name, message):
    if "does not start" in (tree / "ridge.py").read_text():
        raise BaseError("the base does not start: this was planted")
    file = plugin_files[0]
    known = {"plugin": file, "path": file, "params": {"penalty": 1.0}, "parity_levels": {}}
    algorithms = {} if "no ridge" in (tree / "ridge.py").read_text() else {"ridge": known}
    return Base(Environment(name, "", str(tree)), algorithms, {}, {}, own_libraries=False)


def new_history(folder, notes=None):
    """Make commits that differ in a comment; the slowdown is there from ``FIRST_SLOW`` on."""
    plain = (folder / "ridge.py").read_text()
    for number in range(1, COMMITS + 1):
        text = plain.replace(*FAULTS["slowdown"]) if number >= FIRST_SLOW else plain
        note = (notes or {}).get(number, "")
        (folder / "ridge.py").write_text(f"{text}# {number} {note}\n")
        commit(folder, f"change {number}")


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A repository whose commits are read without a separate process."""
    folder = new_project(tmp_path / "project")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HARNESS_RESULTS", str(tmp_path / "results"))
    monkeypatch.setattr(bisection, "Execution", FakeExecution)
    monkeypatch.setattr(FakeExecution, "duels", [])
    monkeypatch.setattr(gate, "make_base", based)
    monkeypatch.setattr(
        command, "load_registry", lambda files: load_registry(files, modules=BUILTIN)
    )
    ids.clear_caches()
    return folder


def harness(*arguments):
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr(sys, "argv", ["harness", "bisect", *arguments])
        code = main()
    return code, out.getvalue(), err.getvalue()


FIRST = f"main~{COMMITS}"
OPTIONS = ("-a", "ridge", "-d", "friedman1:rows=2000", "--plugin", "ridge.py")


def short(name):
    return git(Path.cwd(), "rev-parse", "--short=8", name)


def test_commit_of_a_slowdown_is_found(project):
    new_history(project)
    code, out, err = harness(FIRST, *OPTIONS)
    assert code == 0, err
    found = short(f"main~{COMMITS - FIRST_SLOW}")
    what = "ridge (train on friedman1:rows=2000)"
    assert f"{found} (change {FIRST_SLOW}) made {what} slower" in err
    rows = [line.split() for line in out.splitlines()[1:]]
    assert [row[0] for row in rows][-1] == short("main")
    assert {"1.314"} == {row[1] for row in rows if row[4] == "slower"}
    assert len(FakeExecution.duels) == len(rows) <= 4
    assert git(project, "worktree", "list").count("\n") == 0


def test_same_command_continues_after_an_interruption(project, monkeypatch):
    new_history(project)
    monkeypatch.setattr(FakeExecution, "stop_after", 2)
    code, _, err = harness(FIRST, *OPTIONS)
    assert code == 130, err
    assert len(FakeExecution.duels) == 2
    monkeypatch.setattr(FakeExecution, "stop_after", None)
    code, _, err = harness(FIRST, *OPTIONS, "--json")
    assert code == 0, err
    again = len(FakeExecution.duels)
    assert len({duel.id for duel in FakeExecution.duels}) == again <= 4
    assert harness(FIRST, *OPTIONS)[0] == 0
    assert len(FakeExecution.duels) == again, "everything was stored"
    assert harness(FIRST, *OPTIONS, "--fresh")[0] == 0
    assert len(FakeExecution.duels) == 2 * again


def test_result_as_json_and_the_stored_run(project, tmp_path):
    new_history(project)
    code, out, _ = harness(FIRST, "HEAD", *OPTIONS, "--phase", "predict", "--json")
    document = json.loads(out)
    assert code == 0
    assert [c["subject"] for c in document["candidates"]] == [f"change {FIRST_SLOW}"]
    assert {m["is_slower"] for m in document["measured"]} == {True, False}
    assert {duel.stop.phase for duel in FakeExecution.duels} == {"predict"}
    with Store.open(tmp_path / "results") as store:
        run = store.run(document["run"])
        assert command_of(run) == "bisect"
        assert measured_runs(store) == [], "it is no point of a history"
        assert {o.duel.b.trials[0].algorithm for o, _ in store.duels(run["id"])} == {
            f"ridge@{short(FIRST)}"
        }


def test_nothing_is_searched_without_a_slowdown(project):
    new_history(project)
    code, _, err = harness(FIRST, f"main~{COMMITS - FIRST_SLOW + 1}", *OPTIONS)
    assert code == 4
    assert "is not slower: 0.9" in err or "is not slower: 1.0" in err
    assert "nothing is searched" in err
    assert len(FakeExecution.duels) == 1


@pytest.mark.parametrize("note", ["noisy", "never ends", "does not start", "no ridge"])
def test_commits_without_a_decision_are_passed_over(project, note):
    new_history(project, {FIRST_SLOW - 1: note})  # it might be the cause
    code, out, err = harness(FIRST, *OPTIONS)
    assert code == 6, err
    assert "one of 2 commits made ridge" in err
    assert "not decided" in out
    assert f"change {FIRST_SLOW - 1}" in out


def test_bad_commit_that_cannot_be_measured_is_undecided(project):
    new_history(project, {COMMITS: "does not start"})
    code, _, err = harness(FIRST, *OPTIONS)
    assert code == 6
    assert "this was planted; nothing is searched" in err


def test_good_commit_without_the_algorithm_is_an_error(project):
    (project / "ridge.py").write_text((project / "ridge.py").read_text() + "# no ridge\n")
    commit(project, "without")
    good = git(project, "rev-parse", "HEAD")
    new_history(project)
    code, _, err = harness(good, *OPTIONS)
    assert code == 6
    assert f"{good[:8]} does not have ridge" in err


def test_merge_is_one_commit(project):
    git(project, "switch", "--quiet", "--create", "branch")
    new_history(project)
    git(project, "switch", "--quiet", "main")
    git(project, "merge", "--quiet", "--no-ff", "--message", "merge it", "branch")
    code, _, err = harness("main^", "main", *OPTIONS)
    assert code == 0, err
    assert "(merge it) made ridge" in err
    assert "it merges a branch: bisect that branch to find the commit in it" in err
    code, _, err = harness("branch~1", "main", *OPTIONS)
    assert code == 2
    assert "main does not come after branch~1 on its line of first parents" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["main", "main", *OPTIONS], "main does not come after main"),
        (["main", f"main~{COMMITS}", *OPTIONS], "does not come after main"),
        (["nowhere", *OPTIONS], "there is no revision 'nowhere'"),
        ([FIRST, *OPTIONS[2:]], "name the algorithm and the dataset"),
        ([FIRST, "-a", "rigde", *OPTIONS[2:]], "did you mean 'ridge'"),
        ([FIRST, *OPTIONS[:3], "friedman1x", *OPTIONS[4:]], "did you mean 'friedman1'"),
        ([*OPTIONS], "nothing was measured|no time in the history has an upward step"),
    ],
)
def test_invalid_options_are_errors_before_any_duel(project, arguments, message):
    new_history(project)
    code, _, err = harness(*arguments)
    assert code == 2, err
    assert any(part in err for part in message.split("|")), err
    assert FakeExecution.duels == []


# ------------------------------------------------------------------ the step of a history


def series(name, *steps, unit="seconds", points="abcdef"):
    values = tuple(Point(commit, commit, 1.0) for commit in points)
    made = [Step(index, *levels) for index, levels in steps]
    return Series(name, "friedman1", "fit", unit, "here", values, tuple(made))


UP, DOWN = (1.0, 1.5), (1.5, 1.0)


def test_last_upward_step_of_the_only_series_of_times():
    slow = series("ridge", (1, UP), (3, UP), (4, DOWN))
    others = [series("tree", (2, DOWN)), series("ridge", (2, UP), unit="rmse")]
    assert last_slowdown(History([*others, slow])) == (slow, "c", "d")


@pytest.mark.parametrize(
    ("history", "message"),
    [
        ([series("ridge", (1, DOWN))], "no time in the history has an upward step"),
        ([series("a", (1, UP)), series("b", (1, UP))], r"several series.*a · friedman1 · fit"),
        ([series("a", (1, UP), points=["a", "b+"])], r"between a and b\+, not two commits"),
    ],
)
def test_unclear_steps_are_errors(history, message):
    with pytest.raises(ConfigError, match=message):
        last_slowdown(History(history))
    with pytest.raises(ConfigError, match="no time in the history"):
        last_slowdown(History(history), "predict")
