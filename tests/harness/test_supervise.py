"""Tests with real processes and real kills: the outcome of a trial and of those after it."""

import os
import shutil
import sys
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from jobs import PLUGIN, job, pids_in, running, wait_until

from harness.core import processes
from harness.core.errors import StoreError
from harness.core.machine import machine_id
from harness.core.machine_load import LoadMeter
from harness.core.model import Limits, Status
from harness.core.outcome_files import read_outcome
from harness.execution.compiling import compile_kernels
from harness.execution.supervisor import Supervisor
from harness.planning.reuse import may_succeed_now
from harness.plugins.registry import Registry


@pytest.fixture(scope="module")
def supervisor(tmp_path_factory):
    with Supervisor(tmp_path_factory.mktemp("work")) as result:
        yield result


def run(supervisor, *params, **more):
    return list(supervisor.supervise(job(*params, **more)))


def test_trial_yields_samples_arrays_and_facts(supervisor):
    [outcome] = run(supervisor, {})
    assert outcome.status is Status.DONE
    phases = [sample.phase for sample in outcome.samples]
    assert phases == ["import", "load", "preparation", "native", "fit", "predict"]
    with np.load(outcome.arrays["predictions"], allow_pickle=False) as stored:
        assert stored["output"].shape == (8, 2)
        assert stored["y"].shape == stored["rows"].shape == (8,)
        assert stored["scale"] == 1.0
    with np.load(outcome.arrays["classes"], allow_pickle=False) as stored:
        assert stored["classes"].tolist() == ["no", "yes"]
    facts = outcome.facts
    assert (facts["rows"], facts["columns"], facts["train_rows"], facts["test_rows"]) == (
        40,
        2,
        32,
        8,
    )
    assert "made for tests" in facts["notes"]
    assert set(facts["versions"]) >= {"python", "numpy"}
    assert facts["alone"] is True
    assert facts["machine"] == machine_id()
    assert facts["hash_seed"] == "0"
    assert facts["affinity"]
    assert outcome.started <= outcome.ended


FAULTS = [
    ("raise", Status.FAILED, "ValueError", "the plugin's own error"),
    ("print+raise", Status.FAILED, "ValueError", "the plugin's own error"),
    ("sys_exit", Status.FAILED, "SystemExit", "enough"),
    ("interrupt", Status.FAILED, "KeyboardInterrupt", ""),
    ("memory_error", Status.OUT_OF_MEMORY, "MemoryError", "Unable to allocate"),
    ("segfault", Status.CRASHED, "SIGSEGV", "ended by SIGSEGV"),
    ("exit", Status.CRASHED, "exit code 7", "exit code 7"),
    ("kill_group", Status.CRASHED, "SIGKILL", "which the harness did not send"),
    ("scribble", Status.CRASHED, "protocol", "reply channel"),
    ("close_all", Status.CRASHED, "protocol", "file descriptors"),
]


@pytest.mark.parametrize(("deed", "status", "kind", "message"), FAULTS)
def test_fault_fails_the_running_trial_and_is_reported(supervisor, deed, status, kind, message):
    first, faulty, last = run(supervisor, {}, {"fit": deed}, {})
    assert (first.status, faulty.status, last.status) == (Status.DONE, status, Status.DONE)
    assert faulty.failure.kind == kind
    assert message in faulty.failure.message
    assert faulty.facts["failed_in"] == "fit"
    assert [s.phase for s in faulty.samples] == ["preparation", "native"]
    if deed == "segfault":
        assert "Fatal Python error: Segmentation fault" in faulty.failure.detail
        assert "misbehave.py" in faulty.failure.detail
    if deed == "print+raise":
        assert "Traceback" in faulty.failure.detail
        assert "a word from the plugin" in faulty.failure.detail


@pytest.mark.parametrize("phase", ["make", "prepare", "predict"])
def test_fault_in_any_phase_is_located(supervisor, phase):
    [outcome] = run(supervisor, {phase: "raise"})
    assert outcome.status is Status.FAILED
    assert outcome.facts["failed_in"] == ("predict" if phase == "predict" else "prepare")


@pytest.mark.parametrize(
    ("output", "message"),
    [("nan", "NaN or infinite"), ("short", "shape (7, 2)"), ("objects", "object values")],
)
def test_predictions_that_break_the_contract_fail_the_trial(supervisor, output, message):
    [outcome] = run(supervisor, {"predict": output})
    assert outcome.failure.kind == "PredictionError"
    assert message in outcome.failure.message


def test_plugin_stdin_is_empty_and_its_output_is_cut(supervisor, monkeypatch):
    monkeypatch.setattr("harness.execution.session.LOG_CAP", 1 << 20)
    outcomes = run(supervisor, {"fit": "stdin"}, {"fit": "flood+sleep", "megabytes": 6, **NAP})
    assert [o.status for o in outcomes] == [Status.DONE, Status.DONE]
    logs = list(supervisor.folder.glob("worker-*.log"))
    assert logs
    assert all(log.stat().st_size < 2 << 20 for log in logs)


NAP = {"seconds": 0.6}


def test_hanging_trial_is_ended_with_its_children_and_the_rest_continues(supervisor, tmp_path):
    hang = {"fit": "hang", "pids": str(tmp_path / "pids"), "runaway": True}
    hung, last = run(supervisor, hang, {}, timeout=2.5)
    assert hung.status is Status.TIMEOUT
    assert hung.failure.message.startswith("not done within 2.5 s; it was in 'fit'")
    assert last.status is Status.DONE
    pids = pids_in(tmp_path / "pids")
    assert len(pids) == 3
    wait_until(lambda: not any(map(running, pids)))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs Linux's subreapers")
@pytest.mark.parametrize(
    "timed",
    [False, pytest.param(True, marks=pytest.mark.slow)],  # a forked worker, and a new interpreter
)
@pytest.mark.parametrize("program", [False, True])
@pytest.mark.parametrize(
    ("then", "status"),
    [
        pytest.param("sleep", Status.TIMEOUT, marks=pytest.mark.slow),
        ("exit", Status.CRASHED),
        ("segfault", Status.CRASHED),
        ("kill_group", Status.CRASHED),
    ],
)
def test_daemon_does_not_outlive_its_trial(supervisor, tmp_path, then, status, program, timed):
    place = tmp_path / "daemon"
    deeds = {"fit": f"daemonize+{then}", "daemon": str(place), "program": program, "seconds": 60.0}
    ended, last = run(supervisor, deeds, {}, timed=timed, timeout=6.0)
    assert (ended.status, last.status) == (status, Status.DONE)
    assert not running(int(place.read_text()))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs Linux's subreapers")
def test_daemon_ends_with_a_worker_that_ends_normally(tmp_path):
    place = tmp_path / "daemon"
    with Supervisor(tmp_path / "work") as supervisor:
        [done] = run(supervisor, {"fit": "daemonize", "daemon": str(place)})
    assert done.status is Status.DONE
    assert not running(int(place.read_text()))


def test_long_error_keeps_its_beginning_and_its_end(supervisor):
    [outcome] = run(supervisor, {"fit": "long_error"})
    message = outcome.failure.message
    assert message.startswith("the beginning")
    assert message.endswith("the end")
    assert "characters left out" in message
    assert len(message) < 8100
    assert outcome.failure.detail.startswith("Traceback")
    assert outcome.failure.detail.rstrip().endswith("the end")


@pytest.mark.slow
def test_compilation_inside_a_trial_does_not_count_against_its_limit(supervisor):
    late = {"fit": "compile+sleep", "compiling": 4.0}
    done, slow = run(supervisor, {**late, "seconds": 0.1}, {**late, "seconds": 9.0}, timeout=3.0)
    assert done.status is Status.DONE
    compiled = done.facts["compiled_in_trial"]
    assert compiled["functions"] >= 1
    assert compiled["seconds"] >= 4.0
    assert any("were compiled inside the trial" in note for note in done.facts["notes"])
    assert slow.status is Status.TIMEOUT
    assert "of compiling are not counted" in slow.failure.message
    assert slow.facts["compiling"] >= 4.0


def test_trial_without_compilation_has_no_note_of_it(supervisor):
    [outcome] = run(supervisor, {})
    assert "compiled_in_trial" not in outcome.facts


def test_work_folder_removed_during_compilation_does_not_end_the_run(tmp_path):
    folder = tmp_path / "work"
    with Supervisor(folder) as supervisor:
        slow = job({"fit": "sleep", "seconds": 0.5})
        remover = threading.Timer(1.5, shutil.rmtree, [folder])
        remover.start()
        compiled = supervisor.warm(slow)
        remover.join()
        assert not folder.exists()
        assert compiled.notes == ()
        [outcome] = supervisor.supervise(job({}))
    assert outcome.status is Status.DONE


def test_timeout_on_a_loaded_machine_is_named_and_run_again(supervisor, monkeypatch):
    facts = {"processors": 2, "own": 0.1, "others": 1.9, "loaded": True}
    monkeypatch.setattr(LoadMeter, "facts", lambda *_: facts)
    [outcome] = run(supervisor, {"fit": "sleep", "seconds": 60.0}, timeout=1.5)
    assert outcome.status is Status.TIMEOUT
    assert "other programs used 1.9 of 2 processors" in outcome.failure.message
    assert may_succeed_now(outcome.status, outcome.facts, Limits(timeout=1.5))
    idle = {**outcome.facts, "machine_load": {**facts, "loaded": False}}
    assert not may_succeed_now(outcome.status, idle, Limits(timeout=1.5))


def test_exceeding_the_memory_cap_ends_the_trial(supervisor):
    cap = 400 << 20
    hog = {"fit": "grow", "megabytes": 2000}
    hog_outcome, last = run(supervisor, hog, {}, memory=cap)
    assert hog_outcome.status is Status.OUT_OF_MEMORY
    assert "out of memory at" in hog_outcome.failure.message
    assert "(cap 400 MiB)" in hog_outcome.failure.message
    assert last.status is Status.DONE


@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="shares are not told")
def test_memory_shared_by_forked_children_counts_once(supervisor):
    brood = {"fit": "brood", "megabytes": 150, "children": 4, "seconds": 0.8}
    [outcome] = run(supervisor, brood, memory=500 << 20)
    assert outcome.status is Status.DONE
    [outcome] = run(supervisor, {**brood, "megabytes": 600}, memory=500 << 20)
    assert outcome.status is Status.OUT_OF_MEMORY


def test_possible_out_of_memory_kill_is_reported_as_possible(supervisor, monkeypatch):
    counts = iter(range(100))
    monkeypatch.setattr(processes, "kernel_oom_kills", lambda: next(counts))
    [outcome] = run(supervisor, {"fit": "exit"})  # forces a new worker, which notes the count
    [outcome] = run(supervisor, {"fit": "kill_self"})
    assert outcome.status is Status.OUT_OF_MEMORY
    assert "probably killed" in outcome.failure.message


def test_threads_are_set_and_verified(supervisor):
    [outcome] = run(supervisor, {}, threads=2)
    pools = outcome.facts["pools"]
    assert pools
    assert all(pool["num_threads"] == 2 for pool in pools)
    assert all("requested" not in note for note in outcome.facts["notes"])


def test_plugin_that_changes_its_threads_is_noted(supervisor):
    outcome, _ = run(supervisor, {"fit": "meddle"}, {"fit": "exit"})  # end this worker
    assert any("has 3 threads; 1 requested" in note for note in outcome.facts["notes"])


def test_plugin_that_draws_from_global_generators_is_reproducible(supervisor, tmp_path):
    draws = {"fit": "draw", "draws": str(tmp_path / "draws")}
    run(supervisor, draws, {"prepare": "draw", "draws": str(tmp_path / "other")}, draws)
    first, second = (tmp_path / "draws").read_text().splitlines()
    assert first == second


def test_timed_trial_is_alone_pinned_cold_and_warm_in_its_own_process(supervisor, tmp_path):
    deeds = {"make": "note_pid", "pids": str(tmp_path / "pids")}
    run(supervisor, deeds)
    [timed] = run(supervisor, deeds, timed=True)
    [after] = run(supervisor, deeds)
    assert after.status is timed.status is Status.DONE
    first, own, last = pids_in(tmp_path / "pids")
    assert first == last != own
    fits = [sample.cold for sample in timed.samples if sample.phase == "fit"]
    assert fits == [True, False]
    assert [s.phase for s in timed.samples][-1] == "predict_one"
    if len(after.facts["affinity"]) > 1:
        assert len(timed.facts["affinity"]) == 1


def test_trees_and_stages_are_kept_if_requested_and_a_failed_export_is_a_note(supervisor):
    both = ("trees", "staged")
    good, bad = run(supervisor, {"stages": 250}, {"export": "raise"}, exports=both)
    assert {"trees", "staged"} <= set(good.arrays)
    with np.load(good.arrays["staged"], allow_pickle=False) as stored:
        assert stored["stage"][[0, -1]].tolist() == [1, 250]
        assert stored["output"].shape == (100, 8, 2)
    assert bad.status is Status.DONE
    assert "trees" not in bad.arrays
    assert "trees not exported: RuntimeError: no tree today" in bad.facts["notes"]


def test_plugin_that_cannot_be_imported_fails_every_trial_at_once(supervisor, tmp_path):
    plugin = tmp_path / "broken.py"
    plugin.write_text("import harness\nimport no_such_library\n")
    outcomes = run(supervisor, {}, {}, plugin=plugin)
    assert [o.status for o in outcomes] == [Status.FAILED] * 2
    assert "broken.py:2 fails to import" in outcomes[0].failure.message
    assert outcomes[0].facts["failed_in"] == "start"


TWO = """
import numpy as np
from harness import Algorithm, Task, hookimpl

class One:
    value = 0.25
    def __init__(self, spec):
        self.spec = spec
    def prepare(self, X, y, weight):
        return y
    def fit(self, native):
        pass
    def predict(self, X):
        return np.tile([1 - self.value, self.value], (len(X), 1))

class Other(One):
    value = 0.75

@hookimpl
def register_algorithms(register):
    tasks = frozenset({Task.BINARY})
    register(Algorithm("one", One, tasks))
    register(Algorithm("other", Other, tasks))
"""


def test_algorithms_of_a_plugin_share_a_worker_and_are_not_confused(tmp_path):
    plugin = tmp_path / "two.py"
    plugin.write_text(TWO)
    results = {}
    with Supervisor(tmp_path / "work") as supervisor:
        for name in ("one", "other", "unknown", "one"):
            requested = replace(job({}, plugin=plugin), algorithm=name, plugins=(str(PLUGIN),))
            [outcome] = results[name] = list(supervisor.supervise(requested))
            if name == "unknown":
                assert "unknown" in outcome.failure.message
                continue
            with np.load(outcome.arrays["predictions"], allow_pickle=False) as stored:
                assert (stored["output"][:, 1] == {"one": 0.25, "other": 0.75}[name]).all()
        assert supervisor.pool.load_snapshot() == (0, 4)
        assert len(list((tmp_path / "work").glob("worker-*.log"))) == 1
    imports = [results[name][0].samples[0] for name in ("one", "other")]
    assert imports[0].phase == "import"
    assert imports[0] == imports[1]


def test_worker_that_dies_at_startup_is_tried_three_times(supervisor, tmp_path):
    plugin = tmp_path / "dying.py"
    marks = tmp_path / "marks"
    plugin.write_text(f"import os\nopen({str(marks)!r}, 'a').write('x')\nos._exit(5)\n")
    outcomes = run(supervisor, {}, {}, plugin=plugin)
    assert [o.status for o in outcomes] == [Status.CRASHED] * 2
    assert "exit code 5" in outcomes[1].failure.message
    assert marks.read_text() == "xxx"


def test_worker_killed_at_startup_is_tried_once_more(supervisor, tmp_path, monkeypatch):
    counts = iter(range(100))
    monkeypatch.setattr(processes, "kernel_oom_kills", lambda: next(counts))
    plugin = tmp_path / "victim.py"
    marks = tmp_path / "marks"
    plugin.write_text(f"import os\nopen({str(marks)!r}, 'a').write('x')\nos.kill(os.getpid(), 9)\n")
    [outcome] = run(supervisor, {}, plugin=plugin)
    assert outcome.status is Status.OUT_OF_MEMORY
    assert marks.read_text() == "xx"


def test_plugin_that_hangs_at_import_is_given_up(tmp_path):
    plugin = tmp_path / "sleeping.py"
    plugin.write_text("import time\ntime.sleep(600)\n")
    with Supervisor(tmp_path / "work", start_timeout=1.0) as supervisor:
        [outcome] = run(supervisor, {}, plugin=plugin)
    assert outcome.status is Status.TIMEOUT
    assert "'hello' not done within 1 s" in outcome.failure.message


def test_unknown_dataset_fails_with_its_reason_and_the_worker_stays(supervisor, tmp_path):
    from harness.core.model import DatasetRef

    [outcome] = run(supervisor, {}, dataset=DatasetRef("no-such-set", "0" * 64))
    assert outcome.status is Status.FAILED
    assert "no-such-set" in outcome.failure.message


def test_failures_are_on_disk_too(supervisor):
    [outcome] = run(supervisor, {"fit": "raise"})
    path = supervisor.folder / f"{outcome.trial.id}.outcome.json"
    assert read_outcome(path) == outcome


def test_unwritable_folder_is_a_fault_of_the_store(tmp_path):
    (tmp_path / "file").touch()
    with (
        Supervisor(tmp_path / "file") as supervisor,
        pytest.raises(StoreError, match="cannot be used"),
    ):
        run(supervisor, {})


def test_closing_ends_a_job_in_another_thread_without_an_outcome(tmp_path):
    supervisor = Supervisor(tmp_path / "work")
    hang = {"fit": "hang", "pids": str(tmp_path / "pids")}
    results = []
    thread = threading.Thread(target=lambda: results.extend(run(supervisor, {}, hang, {})))
    thread.start()
    pids = pids_in(tmp_path / "pids")
    supervisor.close()
    thread.join(timeout=20)
    assert not thread.is_alive()
    assert [o.status for o in results] == [Status.DONE]
    wait_until(lambda: not any(map(running, pids)))
    assert list((tmp_path / "work").glob("worker-*")) == []


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="this system pins nothing")
def test_compiling_worker_of_timed_trials_is_not_pinned_and_is_reused(tmp_path):
    def idle():
        [(_, session)] = supervisor.pool._idle
        return session.process.pid

    with Supervisor(tmp_path / "work") as supervisor:
        assert supervisor.warm(job({}, timed=True)).notes == ()
        compiled = idle()
        assert os.sched_getaffinity(compiled) == os.sched_getaffinity(0)
        run(supervisor, {})
        assert idle() == compiled


def test_kernels_are_compiled_once_per_algorithm_with_all_its_params(supervisor, tmp_path):
    jobs = [job({"pids": "a"}, {"pids": "b"}), job({"pids": "b"}), job({}, threads=2)]
    results = list(compile_kernels(jobs, supervisor, Registry()))
    assert [(c.algorithm, c.notes) for c in results] == [("misbehave", ()), ("misbehave", ())]
    [failing] = compile_kernels([job({"fit": "raise"})], supervisor, Registry())
    assert "binary with" in failing.notes[0]
    [dead] = compile_kernels([job({"fit": "exit"})], supervisor, Registry())
    assert "exit code 7" in dead.notes[0]


def test_algorithm_hanging_during_compilation_is_ended(tmp_path):
    with Supervisor(tmp_path / "work", start_timeout=4.0) as supervisor:
        hang = {"fit": "hang", "pids": str(tmp_path / "pids")}
        [hung] = compile_kernels([job(hang, timeout=1.0)], supervisor, Registry())
    assert "request 'warm' not done within 4 s" in hung.notes[0]
    wait_until(lambda: not any(map(running, pids_in(tmp_path / "pids"))))
