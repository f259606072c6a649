"""Tests of the workflow files: valid, existing targets, minimal permissions."""

import os
import re
import subprocess
from pathlib import Path

import click
import pytest
import yaml

from harness.cli import harness

ROOT = Path(__file__).resolve().parent.parent
FILES = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
WRITES = {"contents", "pull-requests", "pages", "id-token"}


def read(path):
    return yaml.safe_load(path.read_text())


def jobs():
    return [
        pytest.param(job, id=f"{path.stem}-{name}")
        for path in FILES
        for name, job in read(path)["jobs"].items()
    ]


def scripts():
    for path in FILES:
        for job in read(path)["jobs"].values():
            for step in job.get("steps", ()):
                if "run" in step:
                    yield pytest.param(
                        step["run"], id=f"{path.stem}-{step.get('name', step['run'])}"
                    )


def test_workflows_exist():
    assert {path.stem for path in FILES} >= {"ci", "gate", "history", "pull-request"}


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_workflow_has_read_permission_only_by_default(path):
    workflow = read(path)
    assert workflow["permissions"] == {"contents": "read"}
    assert workflow[True]  # YAML 1.1 takes the key `on` for a truth value
    assert "pull_request_target" not in path.read_text()


@pytest.mark.parametrize("job", jobs())
def test_job_has_a_time_limit_and_pinned_actions(job):
    assert set(job.get("permissions", {})) <= WRITES
    if "uses" in job:
        called = ROOT / job["uses"]
        inputs = read(called)[True]["workflow_call"]["inputs"]
        assert set(job.get("with", {})) <= set(inputs)
        return
    assert job["timeout-minutes"]
    for step in job["steps"]:
        if "uses" in step:
            assert re.fullmatch(r"actions/[\w-]+@v\d+", step["uses"])


@pytest.mark.parametrize("script", list(scripts()))
def test_script_is_shell_without_untrusted_text(script):
    assert "${{" not in script  # the title of a pull request would be executed
    subprocess.run(["bash", "-n"], input=script, text=True, check=True)


@pytest.mark.parametrize("script", list(scripts()))
def test_script_uses_existing_targets_and_options(script):
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"\bmake ([a-z-]+)", script)) <= targets
    joined = script.replace("\\\n", " ")
    for line in re.findall(r"-m harness (.+)", joined):
        name, *words = line.partition("||")[0].split()
        command = harness.get_command(click.Context(harness), name)
        known = {option for param in command.params for option in param.opts}
        assert {word for word in words if word.startswith("--")} <= known
    for line in re.findall(r"-m asv (.+)", joined):
        name, *words = re.split(r"\||>", line)[0].split()
        message = asv_help(name)
        assert all(word in message for word in words if word.startswith("--"))


def asv_help(name):
    parser = pytest.importorskip("asv.commands", reason="asv is not installed").make_argparser()
    parsers = parser[0] if isinstance(parser, tuple) else parser
    (actions,) = (a for a in parsers._actions if hasattr(a, "choices") and a.choices)
    return actions.choices[name].format_help()


def test_inputs_of_the_reusable_workflow_are_on_its_page():
    inputs = read(ROOT / ".github/workflows/gate.yml")[True]["workflow_call"]["inputs"]
    page = (ROOT / "docs/gate.md").read_text()
    for name, about in inputs.items():
        assert about["description"].endswith(".")
        assert f"| `{name}` |" in page
        assert "default" in about


def step_of(workflow, name):
    """Return the script of a step of a workflow's only job."""
    (job,) = read(ROOT / f".github/workflows/{workflow}.yml")["jobs"].values()
    (script,) = (step["run"] for step in job["steps"] if step.get("name") == name)
    return script


@pytest.mark.parametrize(
    ("when", "outcome", "is_new"),
    [("alarm", "failure", True), ("alarm", "success", False), ("always", "success", True)],
)
def test_a_new_comment_is_made_only_on_alarm(tmp_path, when, outcome, is_new):
    """Without an alarm only an earlier comment is renewed."""
    gh = tmp_path / "gh"
    gh.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/words\n')
    gh.chmod(0o755)
    variables = {"WHEN": when, "OUTCOME": outcome, "PULL": "7", "GITHUB_REPOSITORY": "a/b"}
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}", **variables}
    subprocess.run(["bash", "-ec", step_of("gate", "Comment")], env=environment, check=True)
    words = (tmp_path / "words").read_text().split()
    assert "--edit-last" in words
    assert ("--create-if-none" in words) == is_new


@pytest.mark.parametrize("has_report", [True, False])
def test_the_comment_links_the_report_of_the_gate(tmp_path, has_report):
    (tmp_path / "gate.md").write_text("failed\n")
    (tmp_path / "results").mkdir()
    if has_report:
        (tmp_path / "results" / "report-20260101-0000-abcd.html").write_text("")
    url = "https://github.com/a/b/actions/runs/1/artifacts/2"
    variables = {"RESULTS_URL": url, "GITHUB_STEP_SUMMARY": str(tmp_path / "summary")}
    environment = {"PATH": os.environ["PATH"], **variables}
    script = step_of("gate", "Show")
    subprocess.run(["bash", "-ec", script], env=environment, cwd=tmp_path, check=True)
    for text in ((tmp_path / "gate.md").read_text(), (tmp_path / "summary").read_text()):
        assert text.startswith("failed\n")
        assert (f"({url}): `results/report-20260101-0000-abcd.html#gates`" in text) == has_report


@pytest.fixture
def chosen(tmp_path):
    """Return a function from subjects of the branch of results to the range that is measured.

    ``{n}`` in a subject is the n-th commit of four; HEAD is the last.
    """

    def git(*words):
        who = ("-c", "user.name=n", "-c", "user.email=e@example.org")
        command = ["git", "-C", str(tmp_path), *who, *words]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    def commit(subject):
        git("commit", "--quiet", "--allow-empty", "--message", subject)
        return git("rev-parse", "HEAD")

    git("init", "--quiet", "--initial-branch", "main")
    commits = [commit(f"number {n}") for n in range(4)]
    steps = read(ROOT / ".github/workflows/history.yml")["jobs"]["measure"]["steps"]
    (script,) = (step["run"] for step in steps if step.get("name") == "Choose the commits")

    def choose(*subjects):
        if subjects:
            git("checkout", "--quiet", "--orphan", "kept")
            for subject in subjects:
                commit(subject.format(*commits))
            git("checkout", "--quiet", "main")
        message = tmp_path / "env"
        environment = {**os.environ, "RESULTS": "kept", "GITHUB_ENV": str(message)}
        subprocess.run(["bash", "-c", script], cwd=tmp_path, env=environment, check=True)
        return message.read_text().removeprefix("RANGE=").strip(), commits

    return choose


def test_without_results_the_newest_commit_is_measured(chosen):
    assert chosen()[0] == "HEAD^!"


def test_commits_since_the_last_measured_one_are_measured(chosen):
    result, commits = chosen("Results of {0}", "Results of {1}")
    assert result == f"{commits[1]}..HEAD"


def test_results_of_other_histories_and_of_the_newest_commit_are_ignored(chosen):
    result, commits = chosen("Results of {2}", "Results of 0123abcd", "Results of {3}", "by hand")
    assert result == f"{commits[2]}..HEAD"
