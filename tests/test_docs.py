"""Tests that the statements on the pages match the code."""

import ast
import dataclasses
import re
import tomllib
from pathlib import Path
from typing import get_args

import click
import numpy as np
import pytest

from harness import Spec, Task
from harness.cli import CUT_OFF, INTERRUPTED
from harness.config.diagnostics import Name
from harness.config.experiment import parse_experiment
from harness.core.errors import HarnessError
from harness.core.model import Algorithm
from harness.plugins.registry import HOOKS, load_registry

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text()
PLUGINS = (ROOT / "docs/plugins.md").read_text()
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(page: str, language: str) -> list[str]:
    matches = re.findall(r"^```(\w*)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    return [text for name, text in matches if name == language]


def hook_signatures() -> list[str]:
    """Return ``def name(arguments) -> result`` of every hook, from the source."""
    tree = ast.parse((ROOT / "harness/plugins/hookspecs.py").read_text())
    hooks = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    return [f"def {h.name}({ast.unparse(h.args)}) -> {ast.unparse(h.returns)}" for h in hooks]


def test_every_hook_is_documented_with_its_exact_signature() -> None:
    documented = next(b for b in blocks(PLUGINS, "text") if "def register_" in b)
    assert documented.splitlines() == hook_signatures()
    assert len(hook_signatures()) == len(HOOKS) + 1, "every hook but the event registers a kind"


def test_every_field_of_an_algorithm_is_documented_in_order() -> None:
    documented = re.findall(r"^\| `(\w+)` \|", PLUGINS, re.MULTILINE)
    assert documented == [field.name for field in dataclasses.fields(Algorithm)]


@pytest.mark.parametrize(
    ("page", "name"), [("README.md", "random-stumps"), ("docs/plugins.md", "shallow-lightgbm")]
)
def test_plugin_on_the_page_works(page: str, name: str, tmp_path: Path) -> None:
    source = blocks((ROOT / page).read_text(), "python")[0]
    file = tmp_path / "plugin.py"
    file.write_text(source)
    algorithm = load_registry([file], modules=[]).algorithm(name)

    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    y = 3 * X[:, 0] + np.abs(X[:, 1])
    adapter = algorithm.adapter(Spec(Task.REGRESSION, algorithm.params, seed=1))
    adapter.fit(adapter.prepare(X, y, None))
    predictions = adapter.predict(X)
    assert predictions.shape == y.shape
    assert np.mean((y - predictions) ** 2) < 0.5 * np.var(y)
    np.testing.assert_allclose(adapter.predict_one(X[:1]), predictions[:1])


def test_plugin_of_the_readme_is_short() -> None:
    assert len([line for line in blocks(README, "python")[0].splitlines() if line]) <= 36


def test_diagnostics_page_experiment_is_valid_and_describes_every_name() -> None:
    page = (ROOT / "docs/diagnostics.md").read_text()
    experiment = parse_experiment(tomllib.loads(blocks(page, "toml")[0]), "docs/diagnostics.md")
    known = list(get_args(Name))
    # bias_variance needs training sets drawn again, and has a shipped experiment of its own
    assert experiment.diagnostics.names == [name for name in known if name != "bias_variance"]
    assert re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE) == known


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_every_make_command_on_a_page_exists(page: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):.*## ", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"(?:^|`)make ([a-z-]+)", page.read_text(), re.MULTILINE))
    assert named <= targets


def test_commands_of_the_readme_parse() -> None:
    from harness.cli import harness

    lines = re.findall(r"python -m harness (.+)$", README, re.MULTILINE)
    assert lines
    for line in lines:
        name, *rest = line.split()
        command = harness.get_command(None, name)
        while isinstance(command, click.Group):
            command = command.get_command(None, rest.pop(0))
        assert command is not None, f"README names `harness {name}`"
        options = {opt for p in command.params for opt in (*p.opts, *p.secondary_opts)}
        assert {word for word in rest if word.startswith("-")} <= options, line


def test_tree_on_the_readme_is_the_real_one() -> None:
    drawn = re.findall(r"^(\w+)/ ", blocks(README, "")[0], re.MULTILINE)
    made = {"results", "build", "dist"}
    real = {
        path.name
        for path in ROOT.iterdir()
        if path.is_dir() and not path.name.startswith((".", "_")) and path.suffix != ".egg-info"
    }
    assert set(drawn) == real - made


def test_readme_lists_the_exit_codes_of_errors() -> None:
    listed = {int(code) for code in re.findall(r"^\| (\d+) \|", README, re.MULTILINE)}
    used = {HarnessError.exit_code, *(c.exit_code for c in HarnessError.__subclasses__())}
    assert used | {0, 70, INTERRUPTED, CUT_OFF} <= listed


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_every_file_named_by_a_page_exists(page: Path) -> None:
    named = re.findall(
        r"`((?:docs|harness|tests|algorithms|datasets|reports|benchmarks)/[^`\s]*)`",
        page.read_text(),
    )
    named += [
        str((page.parent / link).resolve().relative_to(ROOT))
        for link in re.findall(r"\]\(([^)#:]+)\)", page.read_text())
    ]
    files = {name.partition("::")[0].rstrip("/") for name in named}
    assert [name for name in files if not list(ROOT.glob(name))] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_every_test_named_by_a_page_exists(page: Path) -> None:
    for file, name in re.findall(r"`(tests/[^`\s]*\.py)::(\w+)`", page.read_text()):
        tree = ast.parse((ROOT / file).read_text())
        assert name in {n.name for n in tree.body if isinstance(n, ast.FunctionDef)}, file


def test_every_fault_has_a_test() -> None:
    page = (ROOT / "docs/faults.md").read_text()
    rows = re.findall(r"^\| (?!fault |---)(.+) \|$", page, re.MULTILINE)
    assert len(rows) > 30
    for row in rows:
        cells = row.split(" | ")
        assert len(cells) == 4, row
        assert re.fullmatch(r"`tests/[^`]+\.py::test_\w+`", cells[3]), row
