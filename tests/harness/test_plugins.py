import os
import pickle
import sys
import textwrap
from types import ModuleType, SimpleNamespace

import pytest

from harness import __plugin_api__
from harness.core.errors import ConfigError, PluginError
from harness.core.model import Metric, Task
from harness.plugins.files import import_file
from harness.plugins.registry import Registry, load_registry

METRIC = """
from harness import Metric, hookimpl

@hookimpl
def register_metrics(register):
    register(Metric(name={name!r}, tasks=frozenset(), score=lambda predicted: 0.0))
"""


def plugin(tmp_path, text, name="mine.py"):
    path = tmp_path / name
    path.write_text(textwrap.dedent(text))
    return path


def load(*paths):
    return load_registry(paths, modules=[])


def test_plugin_file_is_loaded(tmp_path):
    registry = load(plugin(tmp_path, METRIC.format(name="loss")))
    assert registry.names("metric") == ["loss"]
    assert registry.entry("metric", "loss").path.endswith("mine.py")


def test_misspelled_hook_names_the_file_and_the_known_hooks(tmp_path):
    path = plugin(
        tmp_path,
        "from harness import hookimpl\n@hookimpl\ndef register_algorithm(register): pass\n",
    )
    with pytest.raises(PluginError) as error:
        load(path)
    assert "mine.py" in str(error.value)
    assert "register_algorithm" in str(error.value)
    assert "register_algorithms, register_datasets" in str(error.value)


def test_hook_with_a_wrong_argument_is_an_error(tmp_path):
    path = plugin(
        tmp_path, "from harness import hookimpl\n@hookimpl\ndef register_metrics(registre): pass\n"
    )
    with pytest.raises(PluginError, match="registre"):
        load(path)


def test_duplicate_name_names_both_files(tmp_path):
    one = plugin(tmp_path, METRIC.format(name="loss"), "one.py")
    two = plugin(tmp_path, METRIC.format(name="loss"), "two.py")
    with pytest.raises(PluginError, match=r"one\.py and .*two\.py"):
        load(one, two)


def test_broken_import_names_the_line(tmp_path):
    with pytest.raises(PluginError, match=r"mine\.py:2 fails to import: ModuleNotFoundError"):
        load(plugin(tmp_path, "import os\nimport not_there_at_all\n"))
    with pytest.raises(PluginError, match=r"bad\.py:1 fails to import: SyntaxError"):
        load(plugin(tmp_path, "def (:\n", "bad.py"))


def test_missing_file_is_an_error(tmp_path):
    with pytest.raises(PluginError, match="no plugin file"):
        import_file(tmp_path / "absent.py")
    with pytest.raises(PluginError, match="not a Python file"):
        import_file(plugin(tmp_path, "x", "notes.txt"))


@pytest.mark.parametrize("name", ["../../x", "<script>", "", "=cmd()", "a" * 65, "a b", ".x"])
def test_names_are_slugs(tmp_path, name):
    with pytest.raises(PluginError, match="a name is 1 to 64"):
        load(plugin(tmp_path, METRIC.format(name=name)))


def test_wrong_type_is_reported(tmp_path):
    path = plugin(
        tmp_path,
        """
        from harness import hookimpl
        @hookimpl
        def register_datasets(register):
            register("iris")
        """,
    )
    with pytest.raises(PluginError, match="registers a str as dataset"):
        load(path)


def test_unknown_names_give_a_suggestion():
    registry = Registry()
    registry.add("metric", Metric, Metric("rmse", frozenset(Task), len), "m", "m.py")
    with pytest.raises(ConfigError, match="did you mean 'rmse'"):
        registry.entry("metric", "rsme")
    with pytest.raises(ConfigError, match="unknown metric 'zz\\*'"):
        registry.matching("metric", ["zz*"])
    with pytest.raises(ConfigError, match=r"lists them \(known: rmse\)"):
        registry.entry("metric", "zz")
    with pytest.raises(ConfigError, match=r"^2 mistakes\n  unknown metric 'a'; .*\n  unknown"):
        registry.matching("metric", ["a", "rmse", "b"])
    assert registry.matching("metric", ["*", "rm*"]) == ["rmse"]


HEAD = """import numpy as np
from harness import ALL_TASKS, Algorithm, Task, hookimpl
@hookimpl
def register_algorithms(register):
"""


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            "Algorithm(name='x', adapter=len, task=ALL_TASKS)",
            "no field 'task' .did you mean 'tasks'",
        ),
        ("len(3)", r"mine\.py:5 fails in its hook: TypeError: object of type 'int'"),
        ("raise SystemExit(0)", r"mine\.py:5 fails in its hook: SystemExit"),
        ("register(Algorithm('x', None, ALL_TASKS))", "'x': adapter cannot be called"),
        ("register(Algorithm('x', len, 'binary'))", "'x': tasks is 'binary'"),
        ("register(Algorithm('x', len, frozenset({'binary'})))", "'x': tasks is"),
        ("register(Algorithm('x', len, frozenset()))", "'x': tasks is"),
        (
            "register(Algorithm('x', len, ALL_TASKS, params={'a': np.zeros(2)}))",
            "'x': params must be finite JSON",
        ),
    ],
)
def test_mistake_in_a_hook_is_reported_in_one_line_with_its_location(tmp_path, body, message):
    with pytest.raises(PluginError, match=message) as error:
        load(plugin(tmp_path, f"{HEAD}    {body}\n"))
    assert "mine.py" in str(error.value)
    assert "\n" not in str(error.value)


def test_hook_without_its_argument_is_reported(tmp_path):
    text = "from harness import hookimpl\n@hookimpl\ndef register_metrics(): pass\n"
    with pytest.raises(PluginError, match="must take one argument, `register`"):
        load(plugin(tmp_path, text))


def test_file_without_a_marked_hook_registers_nothing(tmp_path):
    with pytest.raises(PluginError, match=r"mine\.py offers nothing: mark .* with @hookimpl"):
        load(plugin(tmp_path, "def register_metrics(register): pass\n"))


def test_file_that_exits_on_import_is_reported(tmp_path):
    with pytest.raises(PluginError, match=r"mine\.py:1 fails to import: SystemExit: 3"):
        load(plugin(tmp_path, "raise SystemExit(3)\n"))


def test_events_reach_a_plugin(tmp_path):
    path = plugin(
        tmp_path,
        """
        from harness import hookimpl
        seen = []
        @hookimpl
        def trial_finished(outcome):
            seen.append(outcome)
        """,
    )
    registry = load(path)
    assert registry.announce("an outcome") == []
    module = registry.manager.get_plugin(str(path.resolve()))
    assert module.seen == ["an outcome"]


def test_failing_listener_does_not_stop_the_others(tmp_path):
    lines = "from harness import hookimpl\nseen = []\n@hookimpl\ndef trial_finished(outcome):\n"
    heard = "seen.append(outcome)"
    bodies = {"first": heard, "deaf": "raise KeyError(3)", "last": heard}
    files = [tmp_path / f"{name}.py" for name in bodies]
    for file in files:
        file.write_text(f"{lines}    {bodies[file.stem]}\n")
    registry = load(*files)
    (failed,) = registry.announce("an outcome")
    assert failed.startswith("a plugin's trial_finished failed: KeyError: 3 (")
    assert "deaf.py" in failed
    seen = [registry.manager.get_plugin(str(file.resolve())).seen for file in files]
    assert seen == [["an outcome"], [], ["an outcome"]]


def test_unregistered_reference_is_reported(tmp_path):
    path = plugin(
        tmp_path,
        """
        from harness import ALL_TASKS, Algorithm, hookimpl
        @hookimpl
        def register_algorithms(register):
            register(Algorithm("theirs", print, ALL_TASKS))
            register(Algorithm("fine", print, ALL_TASKS, reference="theirs"))
            register(Algorithm("lost", print, ALL_TASKS, reference="their"))
        """,
    )
    result = load(path).missing_references()
    assert result == {
        "lost": "lost has as reference the unknown algorithm 'their': did you mean 'theirs'?"
    }


def test_own_packages_load_without_a_broken_plugin():
    registry = load_registry(strangers=False)
    assert registry.broken == []
    assert "decision_tree" in registry.names("algorithm")


def test_file_is_one_module_until_its_text_changes(tmp_path):
    path = plugin(tmp_path, "class Model:\n    pass\n")
    first = import_file(path)
    assert import_file(path) is first
    assert isinstance(pickle.loads(pickle.dumps(first.Model())), import_file(path).Model)
    path.write_text("class Model:\n    changed = True\n")
    assert import_file(path).Model.changed


def test_edit_of_the_same_length_in_the_same_second_is_detected(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    path = plugin(tmp_path, "value = 1\n")
    assert import_file(path).value == 1
    before = path.stat()
    path.write_text("value = 2\n")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert import_file(path).value == 2


def test_plugin_of_this_api_version_is_loaded_and_another_is_refused(tmp_path):
    good = METRIC.format(name="loss") + f"\n__plugin_api__ = {__plugin_api__}\n"
    assert load(plugin(tmp_path, good)).names("metric") == ["loss"]
    other = METRIC.format(name="loss") + f"\n__plugin_api__ = {__plugin_api__ + 1}\n"
    with pytest.raises(
        PluginError, match=r"plugin API 2, but .* has plugin API 1: install a newer tree"
    ):
        load(plugin(tmp_path, other))


def test_installed_plugin_of_another_api_version_is_broken_and_stops_nothing(tmp_path, monkeypatch):
    module = ModuleType("old_plugin")
    module.__plugin_api__, module.__file__ = 0, "old_plugin.py"
    point = SimpleNamespace(value="old_plugin", load=lambda: module)
    monkeypatch.setattr("harness.plugins.registry.entry_points", lambda group: [point])
    (broken,) = load_registry(strangers=True).broken
    assert broken.plugin == "old_plugin"
    assert "written for plugin API 0" in broken.reason
    assert "install a newer release of the plugin" in broken.reason
    assert "\n" not in broken.reason


def test_version_is_checked_before_an_import_that_fails(tmp_path):
    text = "__plugin_api__ = 2\nfrom harness import NotYetKnown\n"
    with pytest.raises(PluginError, match=r"mine\.py was written for plugin API 2, but"):
        load(plugin(tmp_path, text))
    with pytest.raises(PluginError, match=r"mine\.py sets __plugin_api__ to '1', but .* set it to"):
        load(plugin(tmp_path, "__plugin_api__ = '1'\n"))
