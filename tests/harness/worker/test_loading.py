import subprocess
import sys
from importlib import import_module
from types import SimpleNamespace

import pytest
from jobs import PLUGIN

from harness.core.errors import PluginError
from harness.core.model import DatasetRef, to_json
from harness.runs import noop_algorithm
from harness.worker import state
from harness.worker.loading import builtin_data, import_libraries, is_file, load_plugins


@pytest.mark.parametrize(
    ("plugin", "expected"),
    [("algorithms.forest", False), ("mine.py", True), ("/x/plugin", True), ("a/b.py", True)],
)
def test_plugin_is_a_file_or_a_module(plugin, expected):
    assert is_file(plugin) is expected


def test_plugin_named_twice_is_loaded_once():
    registry = load_plugins(str(PLUGIN), [str(PLUGIN), "harness.data.providers.cards"])
    assert registry.names("algorithm") == ["misbehave"]
    assert "tiny" in registry.names("dataset")


def test_worker_loads_only_built_in_plugins_with_data():
    for name in builtin_data():
        assert hasattr(import_module(name), "register_datasets"), name


def test_missing_plugin_file_is_named():
    with pytest.raises(PluginError, match=r"no plugin file .*absent\.py"):
        load_plugins("absent.py")


def test_lightgbm_worker_imports_no_other_library_and_no_compiler():
    code = """if True:
        import sys
        from harness.worker.loading import import_libraries, load_plugins
        registry = load_plugins("algorithms.reference.lightgbm")
        before = "lightgbm" in sys.modules
        import_libraries(registry.algorithm("lightgbm.gbdt").libraries)
        print(before, *sys.modules)
    """
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    before, *modules = done.stdout.split()
    assert before == "False"
    assert {"xgboost", "catboost", "numba", "lightgbm"} & set(modules) == {"lightgbm"}


def test_libraries_are_imported_by_distribution_name(monkeypatch):
    imported = []
    monkeypatch.setattr("importlib.import_module", imported.append)
    import_libraries(("scikit-learn", "numpy", "threadpoolctl", "no-such-distribution"))
    assert imported == ["sklearn", "numpy"]


def test_worker_with_a_table_has_imported_the_splitting_library():
    code = (
        "import sys; from harness.worker.state import WorkerState; b = WorkerState();"
        "b.hello('algorithms.reference.catboost', [], 'catboost.plain', 1);"
        "from harness.data import resolve; d = resolve('wine', b._registry);"
        "b.load({'name': d.name, 'digest': d.digest});"
        "assert 'sklearn.model_selection' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_only_the_leftovers_of_large_tables_are_collected(monkeypatch):
    calls = []
    fake = SimpleNamespace(
        collect=lambda: None, freeze=lambda: None, unfreeze=lambda: calls.append("unfreeze")
    )
    monkeypatch.setattr(state, "gc", fake)
    worker = state.WorkerState()
    worker.hello(noop_algorithm.__file__, [], noop_algorithm.NAME, 1)
    datasets = {d.name: d for d in load_plugins(noop_algorithm.__file__).all("dataset")}
    wine, iris = (to_json(DatasetRef(n, datasets[n].digest)) for n in ("wine", "iris"))
    worker.load(wine)
    worker.load(iris)
    assert calls == []
    monkeypatch.setattr(state, "LARGE", 150 * 4)
    worker.load(wine)
    assert calls == ["unfreeze"]
