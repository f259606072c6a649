"""Tests of the facts of a worker process that may change an outcome."""

import shutil
from importlib.metadata import version

from harness.core.ids import code_digest
from harness.data.providers import cards
from harness.executors.dask_cluster import process_facts
from harness.executors.dask_cluster.process_facts import digest_of, facts_here, source_digest


def test_plugins_are_identified_by_module_and_file(tmp_path):
    file = tmp_path / "own.py"
    file.write_text("answer = 42\n")
    assert digest_of(cards.__name__) == code_digest(cards.__file__)
    assert digest_of(str(file)) == code_digest(str(file))
    assert digest_of("no.such.module") == digest_of(str(tmp_path / "none.py")) == "missing"


def test_versions_of_the_libraries_of_an_algorithm_are_reported():
    message = facts_here((), ("pluggy", "no-such-library"))["versions"]
    assert message["pluggy"] == version("pluggy")
    assert message["no-such-library"] == "absent"
    assert message["numpy"] == version("numpy")


def test_file_is_read_again_each_time(tmp_path):
    file = tmp_path / "own.py"
    results = []
    for text in ("answer = 42\n", "answer = 43\n"):
        file.write_text(text)
        results.append(facts_here((str(file),), ())["versions"][f"code of {file}"])
    assert results[0] != results[1]


def test_harness_source_is_reported_on_disk_and_as_loaded(tmp_path, monkeypatch):
    before = facts_here((), ())["versions"]
    other = tmp_path / "harness"
    shutil.copytree(process_facts.OWN, other, ignore=shutil.ignore_patterns("__pycache__"))
    assert source_digest(other) == before["code of the harness"]
    with (other / "api.py").open("a") as file:
        file.write("# edited\n")
    monkeypatch.setattr(process_facts, "OWN", other)
    after = facts_here((), ())["versions"]
    changed = {what for what in after if after[what] != before[what]}
    assert changed == {"code of the harness"}
    assert after["code of the harness that is loaded"] == before["code of the harness"]


def test_file_of_another_name_is_another_source(tmp_path):
    (tmp_path / "a.py").write_text("")
    before = source_digest(tmp_path)
    (tmp_path / "a.py").rename(tmp_path / "b.py")
    assert source_digest(tmp_path) != before
