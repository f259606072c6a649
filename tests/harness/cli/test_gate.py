"""Tests of ``harness gate`` and ``harness compare`` on a real run: output and exit codes."""

import io
import json
import sys
import textwrap
from contextlib import redirect_stderr, redirect_stdout
from typing import NamedTuple

import pytest

from harness.cli import main
from harness.cli.common import first_code

PLUGIN = textwrap.dedent(
    '''
    """A small tree, the mean, and what is far worse than both."""
    from sklearn.dummy import DummyRegressor
    from sklearn.tree import DecisionTreeRegressor
    from harness import Algorithm, Task, estimator_adapter, hookimpl

    def tree(spec):
        return DecisionTreeRegressor(random_state=spec.seed, **spec.params)

    def zero(spec):
        return DummyRegressor(strategy="constant", constant=0.0)

    @hookimpl
    def register_algorithms(register):
        only = frozenset({Task.REGRESSION})
        register(Algorithm("zero", estimator_adapter(zero), only, reference="prior"))
        register(Algorithm("small", estimator_adapter(tree), only, reference="prior",
                           params={"max_depth": 2}))
        register(Algorithm("prior", estimator_adapter(lambda spec: DummyRegressor()), only,
                           origin="reference"))
    '''
)
EXPERIMENT = textwrap.dedent(
    """
    algorithms = ["zero", "small", "prior"]
    datasets = ["diabetes"]
    [splits]
    folds = 3
    repeats = 2
    [[gate]]
    kind = "accuracy"
    algorithm = "zero"
    """
)


class Done(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


def harness(folder, *arguments):
    """Run the command line in this process, in ``folder``."""
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.chdir(folder)
        patch.setattr(sys, "argv", ["harness", *arguments])
        code = main()
    return Done(code, out.getvalue(), err.getvalue())


def gate_file(folder, name, **keys):
    lines = [f"{key} = {json.dumps(value)}" for key, value in keys.items()]
    (folder / name).write_text("\n".join(["[[gate]]", *lines]) + "\n")
    return name


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder after a run with its own gate, and a second run with other trees."""
    folder = tmp_path_factory.mktemp("gates")
    (folder / "plugin.py").write_text(PLUGIN)
    (folder / "mine.toml").write_text(EXPERIMENT)
    return folder


@pytest.fixture(scope="module")
def first(folder):
    return harness(folder, "run", "mine.toml", "--plugin", "plugin.py", "--json")


def test_run_checks_its_own_gates(first, folder):
    assert first.returncode == 1, first.stderr
    data = json.loads(first.stdout)
    assert data["gates"]["state"] == "fail"
    (decision,) = data["gates"]["decisions"]
    assert (decision["algorithm"], decision["reference"]) == ("zero", "prior")
    assert decision["state"] == "fail"
    page = (folder / data["report"]).read_text()
    assert "Gates: 1 fails." in page


def test_gate_reads_the_stored_run_again(first, folder):
    done = harness(folder, "gate")
    assert done.returncode == 1, done.stderr
    assert "✕ fail" in done.stdout
    markdown = harness(folder, "gate", "--markdown")
    assert markdown.stdout.startswith("**Gates of run")
    assert "| accuracy | ✕ fail | zero against prior | diabetes |" in markdown.stdout


def test_gates_file_and_exit_codes(first, folder):
    turned = gate_file(folder, "turned.toml", kind="accuracy", algorithm="small", limit=0.5)
    assert harness(folder, "gate", turned).returncode == 0
    speed = gate_file(folder, "speed.toml", kind="speed", algorithm="zero")
    undecided = harness(folder, "gate", speed, "--json")
    assert undecided.returncode == 6, undecided.stderr
    assert json.loads(undecided.stdout)["state"] == "undecided"
    assert harness(folder, "gate", speed, "--undecided", "pass").returncode == 0
    assert harness(folder, "gate", speed, "--undecided", "fail").returncode == 1


def test_unreadable_gates(first, folder):
    wrong = gate_file(folder, "wrong.toml", kind="sped", algorithm="zero")
    done = harness(folder, "gate", wrong)
    assert done.returncode == 2
    assert "accuracy" in done.stderr
    missing = gate_file(folder, "missing.toml", kind="parity_level", algorithm="zero")
    assert "L0, L1, L2, L3" in harness(folder, "gate", missing).stderr
    (folder / "none.toml").write_text('datasets = ["diabetes"]\n')
    assert "has no [[gate]] tables" in harness(folder, "gate", "none.toml").stderr


def test_two_runs_are_compared_cell_by_cell(first, folder):
    again = harness(folder, "run", "mine.toml", "--plugin", "plugin.py", "--json")
    new = json.loads(again.stdout)["run"]
    old = json.loads(first.stdout)["run"]
    done = harness(folder, "compare", old, new)
    assert done.returncode == 0, done.stderr
    assert "≈ equivalent" in done.stdout
    assert "identical predictions" in done.stdout
    assert "18 cells in both runs" in done.stderr
    data = json.loads(harness(folder, "compare", old, "latest", "--json").stdout)
    assert data["matched"] == 18
    assert {c["verdict"] for c in data["changes"]} == {"equivalent"}
    assert not any(s["remeasured"] for s in data["seconds_not_interleaved"])
    markdown = harness(folder, "compare", old, new, "--metric", "r2", "--markdown").stdout
    assert "| ≈ equivalent | zero | diabetes | r2 |" in markdown.replace("\\", "")


def test_runs_with_nothing_in_common(first, folder):
    old = json.loads(first.stdout)["run"]
    harness(folder, "run", "mine.toml", "--plugin", "plugin.py", "--seed", "7", "--no-report")
    done = harness(folder, "compare", old)
    assert done.returncode == 4, done.stderr
    assert harness(folder, "compare", old, "--tolerance", "r2=soon").returncode == 2


@pytest.mark.parametrize(
    ("codes", "expected"),
    [((0, 0), 0), ((6, 0), 6), ((6, 3), 3), ((1, 3), 1), ((1, 4), 1), ((6, 4), 4), ((0, 3), 3)],
)
def test_first_exit_code_takes_precedence(codes, expected):
    assert first_code(*codes) == first_code(*reversed(codes)) == expected
