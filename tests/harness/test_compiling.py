"""Tests of compiling algorithms in parallel: those that share little code."""

from dataclasses import replace

import pytest
from jobs import job

from harness.analysis.build_view import first_uses_of
from harness.analysis.run_view import FirstUse
from harness.core.model import DatasetRef
from harness.core.progress import Progress
from harness.execution.compiling import compile_and_report, compile_kernels, lanes_of
from harness.execution.supervisor import Compiled
from harness.plugins.registry import load_registry


def named(plugin):
    return replace(job({}), algorithm=plugin.rpartition(".")[2], plugin=plugin)


def names(lanes):
    return [[lane_job.algorithm for lane_job in lane] for lane in lanes]


def test_algorithms_sharing_a_grower_compile_in_sequence_and_others_in_parallel():
    expected = ["bagging", "histogram_boosting", "decision_tree", "random_forest"]
    lanes = lanes_of([named(f"algorithms.{name}") for name in expected])
    assert sorted(names(lanes)) == [
        ["bagging", "decision_tree", "random_forest"],
        ["histogram_boosting"],
    ]


def test_plugin_joining_two_compile_groups_merges_them(tmp_path):
    for name, imports in {"a": "", "b": "", "both": "from pack import a, b"}.items():
        (tmp_path / "pack").mkdir(exist_ok=True)
        (tmp_path / "pack" / f"{name}.py").write_text(imports)
    (tmp_path / "pack" / "__init__.py").touch()
    files = [named(str(tmp_path / "pack" / f"{name}.py")) for name in ("a", "b", "both")]
    assert len(lanes_of(files[:2])) == 2
    assert len(lanes_of(files)) == 1


class RecordingSupervisor:
    """A fake supervisor that records the requested compilations."""

    def __init__(self):
        self.warmed = []
        self.kinds = []
        self.closed = False

    def warm(self, warmed, kinds):
        self.warmed.append(warmed.algorithm)
        self.kinds.append(set(kinds))
        return Compiled(warmed.algorithm, 0.0, ())

    def close(self):
        self.closed = True


def test_every_algorithm_is_compiled_once():
    registry = load_registry(())
    scratch = [n for n, e in registry.entries["algorithm"].items() if e.value.origin == "scratch"]
    jobs = [named(registry.entries["algorithm"][name].plugin) for name in scratch]
    message = RecordingSupervisor()
    results = [
        compiled.algorithm for compiled in compile_kernels([*jobs, *jobs], message, registry)
    ]
    assert sorted(results) == sorted(message.warmed) == sorted(scratch)
    assert not message.closed
    assert list(compile_kernels([], message, registry)) == []


@pytest.mark.parametrize(
    ("datasets", "expected"),
    [
        (["iris", "higgs_like:rows=100"], set()),
        (["iris", "categorical_high:rows=100"], {"categorical"}),
        (["iris", "higgs_like:rows=500"], {"large"}),
        (["iris", "onehot_sparse:rows=499"], {"sparse"}),
        (["iris", "onehot_sparse"], {"sparse", "large"}),
        (["my own file.csv"], {"categorical", "sparse", "large"}),
    ],
)
def test_kernels_are_compiled_for_table_kinds_that_a_dataset_may_have(datasets, expected):
    ours = named("algorithms.decision_tree")
    jobs = [replace(ours, dataset=DatasetRef(name, "0")) for name in datasets]
    message = RecordingSupervisor()
    list(compile_kernels(jobs, message, load_registry(())))
    assert message.kinds == [expected]


def test_closing_the_progress_ends_compilation():
    message = RecordingSupervisor()
    compiling = compile_kernels([named("algorithms.bagging")], message, load_registry(()))
    next(compiling)
    with pytest.raises(KeyboardInterrupt):
        compiling.throw(KeyboardInterrupt())
    assert message.closed


def test_compile_time_is_recorded_and_a_view_has_the_latest():
    class Slow(RecordingSupervisor):
        def warm(self, warmed, kinds):
            super().warm(warmed, kinds)
            return Compiled(warmed.algorithm, 8.5, ("no luck",), 120, 2, "base", 7.5, 0.25)

    jobs = [named("algorithms.bagging"), named("algorithms.reference.sklearn")]
    jobs[1] = replace(jobs[1], algorithm="sklearn.bagging")
    noted = []
    compile_and_report(jobs, Slow(), load_registry(()), Progress(), noted.append)
    [data] = noted  # a reference compiles nothing
    older = {**data, "seconds": 99.0}
    messages = [("compiled", older), ("diagnostic", {}), ("compiled", data)]
    events = [{"kind": kind, "data": data} for kind, data in messages]
    expected = FirstUse("bagging", 8.5, ("no luck",), 120, 2, "base", 7.5, 0.25)
    assert first_uses_of(events) == (expected,)
