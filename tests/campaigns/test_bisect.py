"""A bisection on real measurements: a slowdown is planted in one of several commits.

A launch of a duel forks a worker that has imported the modules of a worker (see ``duel_kit``), and
only the plugin's file is loaded at each commit, so that the search takes a minute. Everything else
is what the command does.
"""

import pytest
from duel_kit import fork_server, with_workers_of
from scratch_project import FAULTS, commit, git, new_project

from harness.config.experiment import parse_experiment
from harness.core.progress import Progress
from harness.gate import base
from harness.gate.bisect import BisectRequest, bisect, sentence_of
from harness.plugins.registry import load_registry

DATA = ("harness.data.providers.generators",)
MODULES = (*DATA, "harness.executors.local", "harness.plugins.metrics")
SHARE = "1.0"  # of the time of a fit, that the slowdown adds
COMMITS, FIRST_SLOW = 7, 5
SHORT = {
    "name": "short",
    "datasets": ["friedman1:rows=500"],
    "duels": {"launches": 24, "blocks": 3},
}


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A repository with a slowdown from one commit on; all others change a comment."""
    folder = new_project(tmp_path / "project")
    plain = (folder / "ridge.py").read_text()
    before, after = FAULTS["slowdown"]
    slow = plain.replace(before, after.replace("0.15", SHARE))
    assert SHARE in slow
    for number in range(1, COMMITS + 1):
        text = slow if number >= FIRST_SLOW else plain
        (folder / "ridge.py").write_text(f"{text}# {number}\n")
        commit(folder, f"change {number}")
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.slow
def test_planted_slowdown_is_traced_to_its_commit(project, tmp_path, monkeypatch):
    file = project / "ridge.py"
    request = BisectRequest(
        f"HEAD~{COMMITS}",
        "HEAD",
        "ridge",
        "friedman1:rows=500",
        experiment=parse_experiment(SHORT, "the search"),
        plugin_files=(str(file),),
        results=tmp_path / "results",
    )
    every, none = "load_registry(sys.argv[1:])", "load_registry(sys.argv[1:], modules=[])"
    assert every in base.PROBE
    monkeypatch.setattr(base, "PROBE", base.PROBE.replace(every, none))
    with fork_server(*DATA) as fork:
        monkeypatch.setattr("harness.runs.execute.run_duel", with_workers_of(fork))
        result = bisect(request, load_registry([file], modules=MODULES), Progress())
    story = [f"{m.commit.subject}: {sentence_of(m)}" for m in result.measured]
    print("\n".join(story))  # noqa: T201 - the story of the campaign
    assert [c.subject for c in result.candidates] == [f"change {FIRST_SLOW}"], story
    assert 3 <= len(result.measured) <= 4
    assert git(project, "worktree", "list").count("\n") == 0
