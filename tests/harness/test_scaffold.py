"""Tests of new plugin packages of every kind: they install, work, and pass their own tests."""

import json
import os
import runpy
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from scratch_project import git

from harness.__main__ import main
from harness.conformance.checks import cases
from harness.core.errors import ConfigError
from harness.history.commits import asv_series
from harness.plugins.registry import load_registry
from harness.plugins.scaffold import BENCHMARKS, KINDS, write_package


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Write a package of every kind, and install them all into a separate folder."""
    home = tmp_path_factory.mktemp("plugins")
    folders = []
    for kind in KINDS:
        write_package(f"my-{kind}", kind, home)
        folders.append(str(home / f"my-{kind}"))
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    command += ["--no-build-isolation", "--disable-pip-version-check"]
    subprocess.run([*command, "--target", str(home / "site"), *folders], check=True)
    return home


def run(site, *command):
    environment = {**os.environ, "PYTHONPATH": str(site / "site")}
    environment.pop("HARNESS_DISABLE_PLUGINS", None)
    completed = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=site,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert completed.returncode == 0, completed.stdout[-3000:] + completed.stderr[-3000:]
    return completed.stdout


@pytest.mark.parametrize("kind", KINDS)
def test_generated_module_is_a_plugin(tmp_path, kind):
    write_package(f"my-{kind}", kind, tmp_path)
    file = tmp_path / f"my-{kind}" / "src" / f"my_{kind}" / "plugin.py"
    assert load_registry([file], modules=[]).names(kind) == [f"my-{kind}"]


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "algorithm"])
def test_generated_plugin_passes_every_check(tmp_path, kind):
    write_package(f"my-{kind}", kind, tmp_path)
    file = tmp_path / f"my-{kind}" / "src" / f"my_{kind}" / "plugin.py"
    registry = load_registry([file], modules=[])
    results = [check.run(held) for check, held in cases(registry, f"my-{kind}", kind)]
    assert [one for one in results if one.state == "failed"] == []
    assert [one.state for one in results].count("ok") >= 5


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_generated_tests_pass(site, kind):
    folder = str(site / f"my-{kind}")
    assert " passed" in run(site, "pytest", "-q", "-p", "no:cacheprovider", folder)


@pytest.mark.slow
def test_harness_finds_the_installed_plugin(site):
    for kind, plural in (("algorithm", "algorithms"), ("dataset", "datasets")):
        assert f"my-{kind}" in run(site, "harness", "list", plural)
    assert "my-metric" in run(site, "harness", "list", "metrics")
    arguments = ("-a", "my-algorithm", "-d", "my-dataset", "--executor", "my-executor")
    run(site, "harness", "run", *arguments, "--set", "splits.folds=2", "--results", str(site / "r"))
    (report,) = (site / "r").glob("report-*.html")
    text = report.read_text(encoding="utf-8")
    assert "my-algorithm" in text
    assert "The longest fits" in text


def test_generated_project_depends_on_this_version_and_registers_its_module(tmp_path):
    write_package("deep-forest-2", "algorithm", tmp_path)
    project = tomllib.loads((tmp_path / "deep-forest-2" / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["harness"] == {"deep_forest_2": "deep_forest_2.plugin"}
    assert project["dependencies"][0].startswith("tree-harness>=")


@pytest.mark.parametrize("name", ["", "My", "a b", "../x", "a--b", "1a", "-a", "é", "class"])
def test_invalid_name_is_refused_before_anything_is_written(tmp_path, name):
    with pytest.raises(ConfigError, match="lower-case letters"):
        write_package(name, "algorithm", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_existing_folder_is_unchanged(tmp_path, monkeypatch, capsys):
    (tmp_path / "mine").mkdir()
    monkeypatch.setattr("sys.argv", ["harness", "plugin", "new", "mine", "--into", str(tmp_path)])
    assert main() == 2
    assert "is there already" in capsys.readouterr().err
    assert list((tmp_path / "mine").iterdir()) == []


def test_generated_asv_suite_names_the_plugin_and_its_reference(tmp_path):
    write_package("my-algorithm", "algorithm", tmp_path)
    folder = tmp_path / "my-algorithm"
    suite = runpy.run_path(str(folder / "benchmarks" / "models.py"))
    registry = load_registry([folder / "src" / "my_algorithm" / "plugin.py"], modules=[])
    declared = registry.algorithm("my-algorithm")
    assert suite["ALGORITHMS"] == ["my-algorithm", declared.reference]
    assert set(suite["DATASETS"]) == set(suite["TASKS"])
    assert suite["Models"].rounds * suite["Models"].repeat[0] >= 8, "asv is blind at 6 samples"


def test_documented_example_has_the_current_suite(tmp_path):
    example = Path(__file__).resolve().parents[2] / "docs/examples/rotated-forest"
    write_package("rotated-forest", "algorithm", tmp_path)
    for path in BENCHMARKS:
        assert (example / path).read_text() == (tmp_path / "rotated-forest" / path).read_text()


def asv(site, *words):
    """Run asv in the package of an algorithm."""
    environment = {**os.environ, "HOME": str(site), "ASV_PYTHONPATH": str(site / "site")}
    environment.pop("HARNESS_DISABLE_PLUGINS", None)
    command = [sys.executable, "-m", "asv", *words]
    folder = site / "my-algorithm"
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


@pytest.mark.slow
def test_generated_asv_suite_stores_and_publishes_costs_of_a_commit(site):
    """Run the commands of its README, each case of one dataset once, and losses of another."""
    pytest.importorskip("asv", reason="asv is not installed")
    here = ("--environment", f"existing:{sys.executable}")
    asv(site, "check", *here)
    asv(site, "machine", "--yes", "--machine", "here")
    git(site / "my-algorithm", "init", "--quiet")
    git(site / "my-algorithm", "add", ".")
    git(site / "my-algorithm", "commit", "--quiet", "--message", "as it was written")
    commit = git(site / "my-algorithm", "rev-parse", "HEAD")
    some = ("--bench", "diabetes", "--bench", "track_loss.*wine")
    run = ("run", "--machine", "here", "--quick", *here, *some)
    message = asv(site, *run, "--set-commit-hash", commit)
    assert "failed" not in message
    series, notes = asv_series(site / "my-algorithm/.asv/results")
    assert notes == []
    kept = {(s.algorithm, s.dataset, s.measure): s for s in series}
    for name in ("my-algorithm", "sklearn.random_forest"):
        for case in ("time_fit", "time_predict"):
            (seconds,) = kept[name, "diabetes", f"models.Models.{case}"].points
            assert seconds.value > 0
        for dataset in ("wine", "diabetes"):
            (loss,) = kept[name, dataset, "models.Models.track_loss"].points
            assert 0 < loss.value < 1
    asv(site, "publish")
    index = json.loads((site / "my-algorithm/.asv/html/index.json").read_text())
    assert "models.Models.time_fit" in index["benchmarks"]
