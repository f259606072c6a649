"""Which interpreter a base gets, and what is found out of it before anything is measured."""

import sys
from pathlib import Path

import pytest
from scratch_project import PLUGIN, plant

import harness
from harness import ids
from harness.against import base as module
from harness.against.base import Base, BaseError, make_base, probe, same_libraries
from harness.against.changes import find_changes
from harness.errors import ConfigError
from harness.model import Environment
from harness.plugins import Broken, load_registry

ROOT = Path(harness.__file__).resolve().parents[1]


def tree(folder, lock="numpy==2.3\n", dependencies='["numpy"]', more=""):
    folder.mkdir()
    (folder / "requirements.lock").write_text(lock)
    text = f"[project]\nname = 'x'\ndependencies = {dependencies}\n{more}"
    (folder / "pyproject.toml").write_text(text)
    return folder


def test_only_what_is_installed_makes_libraries_differ(tmp_path):
    one = tree(tmp_path / "one")
    assert same_libraries(one, tree(tmp_path / "two", more="[tool.ruff]\nline-length = 99\n"))
    assert not same_libraries(one, tree(tmp_path / "three", lock="numpy==2.4\n"))
    assert not same_libraries(one, tree(tmp_path / "four", dependencies='["numpy", "scipy"]'))
    (tmp_path / "bare").mkdir()
    assert not same_libraries(one, tmp_path / "bare")
    broken = tree(tmp_path / "broken", more="= nothing")
    with pytest.raises(BaseError, match="is not TOML"):
        same_libraries(one, broken)


def test_other_libraries_are_installed_once(tmp_path, monkeypatch):
    commands, told = [], []
    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path / "cache"))
    other = tree(tmp_path / "other")

    def install(command):
        commands.append(command)
        if "venv" in command:
            Path(command[-1]).mkdir(parents=True)

    monkeypatch.setattr(module, "_must", install)
    python = module._own_python(other, told.append)
    assert commands[0][:3] == [sys.executable, "-m", "venv"]
    assert commands[1][-2:] == ["--requirement", str(other / "requirements.lock")]
    assert "--require-hashes" in commands[1]
    assert commands[2][-1] == str(ROOT)  # a stranger's project, which has no harness of its own
    assert len(told) == 1
    assert module._own_python(other, told.append) == python
    assert (len(commands), len(told)) == (3, 1)
    ours = tree(tmp_path / "ours", lock="numpy==1.9\n")
    (ours / "harness").mkdir()
    module._own_python(ours, told.append)
    assert len(commands) == 5


def test_an_installation_that_fails_leaves_the_gate_undecided():
    with pytest.raises(BaseError, match=r"cannot be installed: this was planted") as caught:
        module._must([sys.executable, "-c", "import sys; sys.exit('this was planted')"])
    assert caught.value.exit_code == 6


def test_a_base_tells_what_it_offers(tmp_path):
    (tmp_path / "ridge.py").write_text(PLUGIN)
    found = make_base(tmp_path, tmp_path, [ROOT], [str(tmp_path / "ridge.py")], "b", print)
    assert found.environment == Environment("b", "", str(ROOT))
    assert found.algorithms["ridge"]["params"] == {"penalty": 1.0}
    assert {"decision_tree", "random_forest"} <= set(found.algorithms)
    assert not found.own_libraries
    assert found.versions["numpy"]


def test_a_base_that_does_not_start_says_its_last_line(tmp_path):
    package = tmp_path / "harness"
    package.mkdir()
    (package / "__init__.py").write_text("raise ImportError('no such thing')")
    with pytest.raises(BaseError, match="does not start: ImportError: no such thing"):
        probe(Environment("b", "", str(tmp_path)), ())
    (package / "__init__.py").write_text("import os; os.abort()")
    with pytest.raises(BaseError, match="SIGABRT"):
        probe(Environment("b", "", str(tmp_path)), ())


# ------------------------------------------------------------------ what changed


@pytest.fixture
def project(tmp_path):
    for name in ("head", "base"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "ridge.py").write_text(PLUGIN)
    return tmp_path


def based(project, *names, **fields):
    known = {"plugin": str(project / "base/ridge.py"), "path": str(project / "base/ridge.py")}
    algorithms = {name: {**known, "params": {}} for name in names or ["ridge"]}
    told = {"broken": {}, "versions": {}, "own_libraries": False, **fields}
    return Base(Environment("b"), algorithms, **told)


def changes(project, base, *globs, everything=False, broken=()):
    ids.code_digest.cache_clear()  # a process sees one state of a tree; a test changes it
    ids.source_files.cache_clear()
    registry = load_registry([project / "head" / "ridge.py"], modules=[])
    registry.broken += broken
    return find_changes(registry, base, project / "head", globs, everything=everything)


def test_only_algorithms_whose_code_changed_are_chosen(project):
    found = changes(project, based(project))
    assert (found.chosen, found.skipped) == ({}, {"ridge": "its code did not change"})
    assert changes(project, based(project), everything=True).chosen == {"ridge": "unchanged"}
    plant(project / "head", "comment")
    found = changes(project, based(project))
    assert (found.chosen, found.skipped) == ({"ridge": "its code changed"}, {})
    with pytest.raises(ConfigError, match="did you mean 'ridge'"):
        changes(project, based(project), "ridg")


def test_algorithms_of_installed_packages_are_no_change(project):
    registry = load_registry(modules=["algorithms.decision_tree"])
    found = find_changes(registry, based(project), project / "head", (), everything=True)
    assert (found.chosen, set(found.skipped)) == ({}, {"ridge"})


def test_new_gone_and_broken_algorithms_are_told_apart(project):
    there = based(project, "other")
    found = changes(project, there)
    assert found.skipped["ridge"] == "new: the base does not have it"
    assert found.skipped["other"] == "the head does not have it"
    plugin = str(project / "head" / "ridge.py")
    found = changes(project, based(project, "other", broken={plugin: "ImportError: x"}))
    assert found.skipped["ridge"] == "broken in the base: ImportError: x"
    gone = Broken(str(project / "base/ridge.py"), "SyntaxError: y", "")
    found = changes(project, there, broken=[gone])
    assert "SyntaxError: y" in found.lost["other"]


def test_other_libraries_are_a_change_of_those_who_use_them(project, monkeypatch):
    from harness.surroundings import installed_version

    same = {name: installed_version(name) for name in ("numpy", "pandas", "scikit-learn")}
    assert changes(project, based(project, versions=same, own_libraries=True)).chosen == {}
    older = {**same, "numpy": "1.0"}
    found = changes(project, based(project, versions=older, own_libraries=True))
    assert found.chosen["ridge"].startswith("numpy 1.0 → ")


def test_the_path_of_a_base_is_that_of_the_heads_plugins(tmp_path):
    from harness.against.sides import roots_of

    registry = load_registry(modules=["algorithms.decision_tree"])
    assert roots_of(registry, ROOT, tmp_path, ROOT) == [tmp_path]
    elsewhere = roots_of(registry, tmp_path / "project", tmp_path / "tree", ROOT)
    assert elsewhere == [ROOT]  # nothing of that project: the harness is shared
    installed = tmp_path / "lib" / "site-packages"
    assert roots_of(registry, tmp_path / "project", tmp_path / "tree", installed) == []
