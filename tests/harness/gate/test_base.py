"""Tests of the base of a gate: its interpreter, and what is read from it before measuring."""

from pathlib import Path

import pytest
from scratch_project import PLUGIN, plant

import harness
from harness.core import ids
from harness.core.errors import ConfigError
from harness.core.model import Environment
from harness.gate.base import Base, make_base, probe
from harness.gate.changes import FAR, distance, find_changes
from harness.gate.claims import lost_claims
from harness.gate.libraries import BaseError
from harness.plugins.registry import Broken, load_registry

ROOT = Path(harness.__file__).resolve().parents[1]


def test_base_lists_its_algorithms(tmp_path):
    (tmp_path / "ridge.py").write_text(PLUGIN)
    result = make_base(tmp_path, tmp_path, [ROOT], [str(tmp_path / "ridge.py")], "b", print)
    assert result.environment == Environment("b", "", str(ROOT))
    assert result.algorithms["ridge"]["params"] == {"penalty": 1.0}
    assert result.algorithms["decision_tree"]["reference"] == "sklearn.decision_tree"
    assert result.algorithms["decision_tree"]["parity_levels"]["scikit-learn"] == "L3"
    assert {"decision_tree", "random_forest"} <= set(result.algorithms)
    assert not result.own_libraries
    assert result.versions["numpy"]


def test_base_with_the_old_name_of_parity_levels_is_read(tmp_path):
    package = tmp_path / "harness"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "plugins.py").write_text(
        "from types import SimpleNamespace as Record\n"
        "value = Record(params={}, rungs={'default': 'L2'}, reference='lib')\n"
        "entry = Record(plugin='ridge', path='ridge.py', value=value)\n"
        "def load_registry(files):\n"
        "    return Record(entries={'algorithm': {'ridge': entry}}, broken=[])\n"
    )
    base = probe(Environment("b", "", str(tmp_path)), ())
    assert base["algorithms"]["ridge"]["parity_levels"] == {"default": "L2"}


def test_base_that_does_not_start_gives_its_last_line(tmp_path):
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
    known |= {"params": {}, "parity_levels": {}, "reference": None}
    algorithms = {name: dict(known) for name in names or ["ridge"]}
    messages = {"broken": {}, "versions": {}, "own_libraries": False, **fields}
    return Base(Environment("b"), algorithms, **messages)


def changes(project, base, *globs, everything=False, broken=()):
    ids.code_digest.cache_clear()  # a process sees one state of a tree; a test changes it
    ids.source_files.cache_clear()
    registry = load_registry([project / "head" / "ridge.py"], modules=[])
    registry.broken += broken
    head, tree = project / "head", project / "base"
    return find_changes(registry, base, head, tree, globs, everything=everything)


def test_only_algorithms_with_changed_code_are_chosen(project):
    changed = changes(project, based(project))
    assert (changed.chosen, changed.skipped) == ({}, {"ridge": "its code did not change"})
    assert changes(project, based(project), everything=True).chosen == {"ridge": "unchanged"}
    plant(project / "head", "comment")
    changed = changes(project, based(project))
    assert (changed.chosen, changed.skipped) == ({"ridge": "its code changed"}, {})
    with pytest.raises(ConfigError, match="did you mean 'ridge'"):
        changes(project, based(project), "ridg")


def test_algorithms_of_installed_packages_are_unchanged(project):
    registry = load_registry(modules=["algorithms.decision_tree"])
    head, tree = project / "head", project / "base"
    result = find_changes(registry, based(project), head, tree, (), everything=True)
    assert (result.chosen, set(result.skipped)) == ({}, {"ridge"})


def test_new_removed_and_broken_algorithms_are_distinguished(project):
    there = based(project, "other")
    changed = changes(project, there)
    assert changed.skipped["ridge"] == "new: the base does not have it"
    assert changed.skipped["other"] == "the head does not have it"
    plugin = str(project / "head" / "ridge.py")
    changed = changes(project, based(project, "other", broken={plugin: "ImportError: x"}))
    assert changed.skipped["ridge"] == "broken in the base: ImportError: x"
    gone = Broken(str(project / "base/ridge.py"), "SyntaxError: y", "")
    changed = changes(project, there, broken=[gone])
    assert "SyntaxError: y" in changed.lost["other"]
    there.algorithms["other"]["path"] = str(project / "installed/other.py")
    changed = changes(project, there, broken=[gone])
    assert "other" not in {**changed.lost, **changed.skipped}  # an installed package's is no change


def test_packages_installed_in_the_head_are_not_visible_to_the_base(project):
    """An entry point of the head is visible from the base too; using it would hide every change."""
    there = based(project)
    there.algorithms["ridge"]["path"] = str(project / "head/ridge.py")
    changed = changes(project, there, everything=True)
    assert changed.chosen == {}
    assert changed.skipped["ridge"].startswith("new or moved: ")


def test_base_may_be_behind_a_link(project):
    (project / "linked").symlink_to(project / "base")
    there = based(project)
    there.algorithms["ridge"].update(reference="lib", parity_levels={"lib": "L3"})
    ids.code_digest.cache_clear()
    registry = load_registry([project / "head" / "ridge.py"], modules=[])
    result = find_changes(
        registry, there, project / "head", project / "linked", (), everything=True
    )
    assert list(result.chosen) == ["ridge"]
    assert len(list(lost_claims(registry, there, project / "linked", ()))) == 1


def test_changed_libraries_change_the_algorithms_that_use_them(project, monkeypatch):
    from harness.core.libraries import installed_version

    same = {name: installed_version(name) for name in ("numpy", "pandas", "scikit-learn")}
    assert changes(project, based(project, versions=same, own_libraries=True)).chosen == {}
    older = {**same, "numpy": "1.0"}
    changed = changes(project, based(project, versions=older, own_libraries=True))
    assert changed.chosen["ridge"].startswith("numpy 1.0 → ")


PACKAGE = {
    "__init__.py": "",
    "near.py": "from many import shared",
    "far.py": "from many import middle",
    "middle.py": "from many import shared",
    "shared.py": "",
}


def test_algorithms_closest_to_a_change_come_first(tmp_path):
    for side in ("head", "base"):
        folder = tmp_path / side / "many"
        folder.mkdir(parents=True)
        for name, text in PACKAGE.items():
            (folder / name).write_text(text)
    head, base = tmp_path / "head", tmp_path / "base"

    def distances():
        return [distance(str(head / f"many/{n}.py"), head, base) for n in ("near", "far")]

    assert distances() == [FAR, FAR]
    (head / "many/shared.py").write_text("x = 1")
    assert distances() == [1, 2]
    (head / "many/far.py").write_text("from many import middle, fresh")
    assert distances() == [1, 0]
    (head / "many/fresh.py").write_text("")
    (head / "many/near.py").write_text(PACKAGE["near.py"] + " # more")
    assert distances() == [0, 0]


def test_closest_algorithms_are_chosen_first(project):
    text = PLUGIN.replace('"ridge"', '"a-ridge"')
    for side in ("head", "base"):
        (project / side / "aaa.py").write_text(text)
    plant(project / "head", "comment")
    files = [project / "head" / f"{name}.py" for name in ("aaa", "ridge")]
    there = based(project, "a-ridge", "ridge")
    there.algorithms["a-ridge"]["path"] = str(project / "base/aaa.py")
    ids.code_digest.cache_clear()
    ids.source_files.cache_clear()
    registry = load_registry(files, modules=[])
    head, tree = project / "head", project / "base"
    result = find_changes(registry, there, head, tree, (), everything=True)
    assert list(result.chosen) == ["ridge", "a-ridge"]


# ------------------------------------------------------------------ claims


def claims(project, text, *globs, broken=()):
    (project / "head" / "ridge.py").write_text(text)
    registry = load_registry([project / "head" / "ridge.py"], modules=[])
    registry.broken += broken
    there = based(project, "ridge", "other")
    there.algorithms["ridge"].update(reference="lib", parity_levels={"default": "L2", "lib": "L3"})
    return list(lost_claims(registry, there, project / "base", globs))


@pytest.mark.parametrize(
    ("now", "lost"),
    [
        ('reference="lib", parity_levels={"default": "L2", "lib": "L3"}', {}),
        ('reference="lib", parity_levels={"default": "L3", "lib": "L3", "more": "L0"}', {}),
        ('reference="lib", parity_levels={"default": "L2"}', {"L3": "claims nothing there"}),
        (
            'reference="lib", parity_levels={"default": "L0", "lib": "L3"}',
            {"L2": "claims only L0 (equiv"},
        ),
        ('reference="lib"', {"L2": "claims nothing there", "L3": "claims nothing there"}),
        (
            'reference="other", parity_levels={"default": "L2", "lib": "L3"}',
            {"L2": "its reference is other", "L3": "its reference is other"},
        ),
        ("parity_levels={}", {"L2": "reference is no library", "L3": "reference is no library"}),
    ],
)
def test_claim_dropped_by_the_head_fails_by_name(project, now, lost):
    plain = 'params={"penalty": 1.0}'
    result = claims(project, PLUGIN.replace(plain, f"{plain}, {now}"))
    assert {d.limit: d for d in result}.keys() == lost.keys()
    for decision in result:
        assert (decision.gate.kind, decision.state) == ("parity_level", "fail")
        assert (decision.algorithm, decision.reference) == ("ridge", "lib")
        assert decision.reason.startswith("lost claim: in ")
        assert lost[decision.limit] in decision.reason


def test_removed_algorithm_drops_its_claims(project):
    renamed = PLUGIN.replace('"ridge"', '"ridges"')
    assert ["the head does not have" in d.reason for d in claims(project, renamed)] == [True, True]
    assert claims(project, renamed, "other*") == []
    gone = Broken(str(project / "base/ridge.py"), "SyntaxError: y", "")
    assert claims(project, renamed, broken=[gone]) == []  # reported as not loadable


def test_unchanged_claims_are_not_dropped(project):
    there = based(project)
    there.algorithms["ridge"].update(path="/elsewhere/ridge.py", parity_levels={"default": "L2"})
    registry = load_registry([project / "head" / "ridge.py"], modules=[])
    assert list(lost_claims(registry, there, project / "base", ())) == []


def test_path_of_a_base_is_that_of_the_head_plugins(tmp_path):
    from harness.gate.plan import roots_of

    registry = load_registry(modules=["algorithms.decision_tree"])
    assert roots_of(registry, ROOT, tmp_path, ROOT) == [tmp_path]
    elsewhere = roots_of(registry, tmp_path / "project", tmp_path / "tree", ROOT)
    assert elsewhere == [ROOT]  # nothing of that project: the harness is shared
    for name in ("site-packages", "dist-packages"):  # the head's libraries lie there as well
        installed = tmp_path / "lib" / name
        assert roots_of(registry, tmp_path / "project", tmp_path / "tree", installed) == []
