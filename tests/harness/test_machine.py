import json
import os

import pytest
from scratch_project import git, new_project

from harness.core import machine


def test_fingerprint_is_json_without_private_facts(monkeypatch):
    monkeypatch.setenv("MY_SECRET", "swordfish")
    text = json.dumps(machine.fingerprint())
    assert "swordfish" not in text
    assert os.path.expanduser("~") + "/" not in text  # noqa: PTH111 - the word is what matters
    data = json.loads(text)
    assert data["cores"] >= 1
    assert data["cpu"]
    assert data["memory_gib"] > 0
    assert data["versions"]["numpy"]
    assert data["id"] == machine.machine_id()


def test_id_depends_on_the_hardware_only(monkeypatch):
    before = machine.machine_id.__wrapped__()
    monkeypatch.setattr(machine.os, "getloadavg", lambda: (9.0, 9.0, 9.0))
    monkeypatch.setattr(machine.platform, "release", lambda: "another kernel")
    assert machine.machine_id.__wrapped__() == before
    monkeypatch.setattr(machine, "cpu_model", lambda: "another processor")
    assert machine.machine_id.__wrapped__() != before


def test_more_threads_than_can_run_are_reported(monkeypatch):
    monkeypatch.setattr(machine.os, "sched_getaffinity", lambda _: {0, 1}, raising=False)
    assert machine.too_many_threads(2) == ""
    message = machine.too_many_threads(99)
    assert "99 threads are requested, but this process may use 2 processors" in message


@pytest.fixture
def eight_threads_on_four_cores(monkeypatch, tmp_path):
    for cpu in range(8):
        folder = tmp_path / f"cpu{cpu}" / "topology"
        folder.mkdir(parents=True)
        (folder / "thread_siblings_list").write_text(f"{cpu % 4},{cpu % 4 + 4}\n")
    monkeypatch.setattr(machine, "CPUS", tmp_path)
    monkeypatch.setattr(machine.os, "sched_getaffinity", lambda _: set(range(8)), raising=False)


@pytest.mark.parametrize(
    ("n", "cpus"), [(1, (7,)), (2, (6, 7)), (4, (4, 5, 6, 7)), (5, (3, 4, 5, 6, 7)), (8, ())]
)
@pytest.mark.usefixtures("eight_threads_on_four_cores")
def test_physical_cores_are_chosen_first(n, cpus):
    assert machine.choose_cpus(n) == cpus


@pytest.mark.parametrize(
    ("text", "others"), [("0.42 0.5 0.6 3/345 678", 2), ("0.0 0.0 0.0 0/1 1", 0), ("", None)]
)
def test_load_of_other_processes_is_read_from_the_kernel(monkeypatch, text, others):
    monkeypatch.setattr(machine, "_word", lambda path: text)
    assert machine.others_runnable() == others


def test_revision_is_that_of_the_plugins_repository(tmp_path):
    project = new_project(tmp_path / "project")
    plugin, commit = project / "ridge.py", git(project, "rev-parse", "HEAD")[:12]
    assert machine.fingerprint([str(plugin)])["revision"] == commit
    (project / "untracked.py").write_text("")
    assert machine.revision((str(project / "untracked.py"),)) == machine.revision()
    machine.revision.cache_clear()
    plugin.write_text("changed")
    assert machine.revision((str(plugin),)) == f"{commit}+"
