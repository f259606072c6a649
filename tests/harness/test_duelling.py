"""Tests of the duel driver with fake sessions: order, warm-up, repeats, failures, facts."""

import dataclasses
import threading

import pytest

from harness.analysis.speed import speeds_of
from harness.core.model import (
    DatasetRef,
    Duel,
    Environment,
    Failure,
    Job,
    Limits,
    Sample,
    Split,
    Status,
    StopRule,
    Task,
    Trial,
    duel_from_json,
    to_json,
)
from harness.execution.session import DiedError, RefusedError, TooLateError
from harness.measurement import duel as driver
from harness.measurement import duel_side
from harness.measurement.duel import run_duel

PHASES = ("native", "fit", "predict", "predict_one")


def job(algorithm, environment=None):
    trial = Trial(
        algorithm, {}, "native", "iris", Split(), 0, 1, cell="c", id="t", task=Task.MULTICLASS
    )
    return Job(
        algorithm,
        plugin="some.module",
        dataset=DatasetRef("iris", "digest"),
        trials=(trial,),
        limits=Limits(timeout=7.0),
        environment=environment or Environment(),
    )


def duel(**fields):
    return Duel(job("ours"), job("theirs"), id="d", **{"launches": 2, "blocks": 2, **fields})


class FakeWorker:
    """A fake worker session; the wall time of a call is that of ``seconds``."""

    def __init__(self, fake_duel, job):
        self.fake_duel = fake_duel
        self.job = job
        self.facts = {}
        self.seen = set()
        self.closed = False

    def hello(self, job, timeout):
        assert job is self.job
        self.fake_duel.log.append((job.algorithm, "hello", timeout, {}))
        self.facts = {"v": 1, "ok": True, "versions": {"numpy": "2"}, "samples": []}

    def ask(self, do, timeout, **fields):
        name = self.job.algorithm
        self.fake_duel.log.append((name, do, timeout, fields))
        calls = sum(entry[:2] == (name, do) for entry in self.fake_duel.log)
        if error := self.fake_duel.faults.get((name, do, calls)):
            raise error
        if do == "load":
            return {"ok": True, "rows": 150, "samples": []}
        if do == "prepare":
            return {
                "ok": True,
                "train_rows": self.fake_duel.rows[name],
                "test_rows": 30,
                "samples": [],
            }
        cold = do not in self.seen
        self.seen.add(do)
        wall = self.fake_duel.seconds[name]
        peak = {"ours": 100, "theirs": 300}[name]
        sample = to_json(Sample(do, wall, wall, peak, cold))
        return {"ok": True, "samples": [sample] * fields.get("repeats", 1)}

    def close(self):
        self.closed = True

    def stop(self):
        self.stopped = True


class FakeDuel:
    """Fake workers for a duel and a log of their requests."""

    def __init__(self, ours=0.25, theirs=0.5, faults=None):
        self.log = []
        self.workers = []
        self.seconds = {"ours": ours, "theirs": theirs}
        self.rows = {"ours": 120, "theirs": 120}
        self.faults = faults or {}

    def open(self, job):
        self.workers.append(FakeWorker(self, job))
        return self.workers[-1]

    def run(self, the_duel=None, **fields):
        return run_duel(the_duel or duel(), self.open, settle=0, **fields)

    def calls(self, phase):
        return "".join({"ours": "A", "theirs": "B"}[n] for n, do, *_ in self.log if do == phase)


def test_calls_interleave_within_and_across_blocks():
    fake_duel = FakeDuel()
    result = fake_duel.run(duel(launches=1))
    warm = "AABB"
    assert fake_duel.calls("fit") == warm + "ABBA" + "BAAB"
    assert [b.order for b in result.blocks if b.phase == "fit"] == ["ABBA", "BAAB"]
    # All phases of a block come before the next block: a slow drift affects them equally.
    assert [b.phase for b in result.blocks] == [*PHASES, *PHASES]
    assert result.status is Status.DONE
    assert result.failure is None


def test_launches_use_new_processes_and_alternate_the_first_side():
    fake_duel = FakeDuel()
    result = fake_duel.run()
    assert [w.job.algorithm for w in fake_duel.workers] == ["ours", "theirs", "theirs", "ours"]
    assert all(w.closed for w in fake_duel.workers)
    assert [launch["first"] for launch in result.facts["launches"]] == ["a", "b"]
    first = {b.launch: b.order for b in reversed(result.blocks)}
    assert first == {0: "ABBA", 1: "BAAB"}
    assert len(result.blocks) == 2 * 2 * len(PHASES)


@pytest.mark.parametrize(("seconds", "rounds"), [(0.5, 2), (1.5, 1)])
def test_short_phase_is_warmed_up_twice_and_a_long_one_once(seconds, rounds):
    fake_duel = FakeDuel(ours=seconds, theirs=seconds)
    fake_duel.run(duel(launches=1, blocks=1))
    fits = [do for who, do, *_ in fake_duel.log if (who, do) == ("ours", "fit")]
    assert len(fits) == rounds + 2


@pytest.mark.parametrize(("ours", "theirs", "order"), [(5, 40, "ABA"), (50, 40, "BAB")])
def test_slower_of_very_long_calls_runs_once_a_block_between_two_of_the_other(ours, theirs, order):
    fake_duel = FakeDuel(ours=float(ours), theirs=float(theirs))
    result = fake_duel.run(duel(launches=2, blocks=2))
    timed = "".join(block.order for block in result.blocks if block.phase == "fit")
    assert timed == order * 4
    assert fake_duel.calls("fit") == "AB" + order * 2 + "BA" + order * 2
    assert {(len(b.a), len(b.b)) for b in result.blocks} == {(order.count("A"), order.count("B"))}
    train = next(speed for speed in speeds_of(result) if speed.phase == "train")
    assert train.ratio.value == pytest.approx(theirs / ours)
    assert duel_from_json(to_json(result.duel)) == result.duel


def test_no_launch_starts_after_the_deadline(monkeypatch):
    fake_duel = FakeDuel()
    clock = iter([0.0, 1.0, 2.0])
    monkeypatch.setattr(driver.time, "monotonic", lambda: next(clock))
    with pytest.raises(driver.OverdueError, match="ours and theirs on iris after 1 launches"):
        fake_duel.run(duel(launches=3), deadline=1.0)
    assert len(fake_duel.workers) == 2


def test_warm_up_round_is_separate_from_the_blocks():
    result = FakeDuel().run()
    assert not any(s.cold for b in result.blocks for s in (*b.a, *b.b))
    cold = result.facts["launches"][0]["a"]["cold"]
    assert [s["phase"] for s in cold] == list(PHASES)
    assert all(s["cold"] for s in cold)


def test_short_calls_are_repeated_and_long_ones_are_not():
    fake_duel = FakeDuel(ours=0.0005, theirs=0.5)
    result = fake_duel.run(duel(launches=1, blocks=1))
    repeats = {side: result.facts["launches"][0][side]["repeats"] for side in "ab"}
    assert repeats["a"]["fit"] == 20
    assert repeats["a"]["predict_one"] == 1  # 20 rows of 0.5 ms each are long enough
    assert set(repeats["b"].values()) == {1}
    timed = [fields for n, do, _, fields in fake_duel.log if (n, do) == ("ours", "fit")][2:]
    assert timed == [{"repeats": 20}] * 2
    fixed = [fields for _, do, _, fields in fake_duel.log if do == "predict_one"]
    assert {f["rows"] for f in fixed} == {duel_side.ROWS}
    assert result.blocks[1].a[0].wall == pytest.approx(0.0005)


def test_calls_have_the_timeout_of_the_job_and_preparation_has_its_own():
    fake_duel = FakeDuel()
    fake_duel.run()
    limits = {do: timeout for _, do, timeout, _ in fake_duel.log}
    ready = duel_side.READY_TIMEOUT
    assert limits == {"hello": ready, "load": ready} | dict.fromkeys(
        ("prepare", "pin", "first_call", *PHASES), 7.0
    )


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (RefusedError(Failure("ValueError", "no such leaf", "a traceback")), Status.FAILED),
        (TooLateError(Failure("timeout", "request 'fit' not done within 7 s")), Status.TIMEOUT),
        (DiedError(Failure("SIGSEGV", "the worker was ended by SIGSEGV")), Status.CRASHED),
    ],
)
def test_failing_side_ends_the_duel_and_complete_blocks_stay(error, status):
    # The sixth fit of theirs is in the second block of the first launch.
    fake_duel = FakeDuel(faults={("theirs", "fit", 6): error})
    result = fake_duel.run()
    assert result.status is status
    assert result.failure.kind == error.failure.kind
    assert result.failure.message == f"side b (theirs): {error.failure.message}"
    assert result.failure.detail == error.failure.detail
    assert result.facts["failed_side"] == "b"
    assert result.facts["limits"] == {"timeout": 7.0, "memory": 0}
    assert [b.phase for b in result.blocks] == [*PHASES, "native"]
    assert all(w.closed for w in fake_duel.workers)
    assert any("ended early: side b" in note for s in speeds_of(result) for note in s.notes)


@pytest.mark.parametrize("do", ["load", "prepare"])
def test_side_that_cannot_prepare_is_named(do):
    refused = RefusedError(Failure("DataError", "no such column"))
    fake_duel = FakeDuel(faults={("ours", do, 1): refused})
    result = fake_duel.run()
    assert (result.status, result.blocks) == (Status.FAILED, ())
    assert result.failure.message == "side a (ours): no such column"
    assert speeds_of(result) == ()


@pytest.mark.parametrize(("failing", "slow"), [("ours", "theirs"), ("theirs", "ours")])
def test_other_side_is_stopped_if_one_cannot_prepare(failing, slow):
    fake_duel = FakeDuel(
        faults={(failing, "load", 1): RefusedError(Failure("DataError", "no rows"))}
    )
    stopped, waited = threading.Event(), []

    def opened(the_job):
        worker = fake_duel.open(the_job)
        if the_job.algorithm == slow:
            worker.hello = lambda *_: waited.append(stopped.wait(10))
            worker.stop = stopped.set
        return worker

    outcome = run_duel(duel(), opened, settle=0)
    assert waited == [True]
    assert outcome.failure.message.endswith(f"({failing}): no rows")


def test_worker_that_does_not_start_is_an_outcome():
    def broken(_job):
        raise DiedError(Failure("OSError", "cannot start /no/python"))

    outcome = run_duel(duel(), broken, settle=0)
    assert outcome.status is Status.CRASHED
    assert "side a (ours): cannot start" in outcome.failure.message


def test_different_rows_are_no_duel():
    fake_duel = FakeDuel()
    fake_duel.rows["theirs"] = 100
    result = fake_duel.run()
    assert result.status is Status.FAILED
    assert "[100, 30]" in result.failure.message
    assert result.blocks == ()


def test_interruption_closes_both_workers():
    fake_duel = FakeDuel(faults={("theirs", "fit", 3): KeyboardInterrupt()})
    with pytest.raises(KeyboardInterrupt):
        fake_duel.run()
    assert [w.closed for w in fake_duel.workers] == [True, True]


def test_progress_counts_blocks_of_a_phase():
    messages = []
    FakeDuel().run(progress=lambda done, total: messages.append((done, total)))
    assert messages == [(i + 1, 16) for i in range(16)]


def test_sides_may_come_from_two_source_trees():
    there = Environment("base", "/elsewhere/python", "/elsewhere")
    mixed = dataclasses.replace(duel(), b=job("ours", there))
    fake_duel = FakeDuel()
    opened = []

    def spy(the_job):
        opened.append(the_job.environment.name)
        return fake_duel.open(the_job)

    outcome = run_duel(mixed, spy, settle=0)
    assert opened == ["here", "base", "base", "here"]
    assert speeds_of(outcome)[0].environments == ("here", "base")


def test_pause_precedes_each_call(monkeypatch):
    slept = []
    monkeypatch.setattr(driver.time, "sleep", slept.append)
    run_duel(duel(launches=1, blocks=1, phases=("fit",)), FakeDuel().open, settle=0.5)
    assert slept.count(0.5) == 4  # threads of other tests may sleep for other times


def test_outcomes_survive_json_and_have_the_facts_of_both_sides():
    result = FakeDuel().run()
    assert duel_from_json(to_json(result.duel)) == result.duel
    assert result.facts["a"]["versions"] == {"numpy": "2"}
    assert result.facts["b"]["train_rows"] == 120
    assert set(result.facts["spin"]) == set(driver.SPIN_VARIABLES)
    assert [len(launch["load"]) for launch in result.facts["launches"]] == [2, 2]
    assert result.started <= result.ended


def test_simulated_speed_ratio_is_measured():
    speeds = {s.phase: s for s in speeds_of(FakeDuel(ours=1.0, theirs=2.0).run())}
    assert set(speeds) == {*PHASES, "train"}
    assert all(s.ratio.value == pytest.approx(2.0) for s in speeds.values())
    assert speeds["fit"].memory_ratio == pytest.approx(3.0)


# ------------------------------------------------------------------ interim analyses


def test_duel_with_a_stop_rule_ends_at_the_first_sufficient_interim_analysis():
    rule = StopRule((2, 3, 8, 12), "fit", claim=1.0)
    fake_duel = FakeDuel()
    result = fake_duel.run(duel(launches=12, blocks=1, stop=rule))
    # Two and three launches have no interval at that level: the third analysis decides first.
    assert len(result.facts["launches"]) == 8
    assert "holds" in result.facts["stopped"]
    assert result.status is Status.DONE
    assert duel_from_json(to_json(result.duel)).stop == rule


def test_duel_that_reaches_no_precision_says_so_at_its_last_interim_analysis():
    fake_duel = FakeDuel(ours=1.0, theirs=1.0)
    result = fake_duel.run(duel(launches=3, blocks=1, stop=StopRule((2, 3), "fit", 0.01)))
    assert len(result.facts["launches"]) == 3
    assert "not reached in 3 launches" in result.facts["stopped"]
    assert all(result.facts["stopped"] in speed.notes for speed in speeds_of(result))
