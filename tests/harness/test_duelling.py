"""The duel's driver against fake sessions: order, warmth, repeats, failures, and what it notes."""

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
    duel_outcome_from_json,
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
    """Answers like a worker; the wall time of a call is what ``seconds`` says."""

    def __init__(self, arena, job):
        self.arena = arena
        self.job = job
        self.facts = {}
        self.seen = set()
        self.closed = False

    def hello(self, job, timeout):
        assert job is self.job
        self.arena.log.append((job.algorithm, "hello", timeout, {}))
        self.facts = {"v": 1, "ok": True, "versions": {"numpy": "2"}, "samples": []}

    def ask(self, do, timeout, **fields):
        name = self.job.algorithm
        self.arena.log.append((name, do, timeout, fields))
        calls = sum(entry[:2] == (name, do) for entry in self.arena.log)
        if error := self.arena.faults.get((name, do, calls)):
            raise error
        if do == "load":
            return {"ok": True, "rows": 150, "samples": []}
        if do == "prepare":
            return {"ok": True, "train_rows": self.arena.rows[name], "test_rows": 30, "samples": []}
        cold = do not in self.seen
        self.seen.add(do)
        wall = self.arena.seconds[name]
        peak = {"ours": 100, "theirs": 300}[name]
        sample = to_json(Sample(do, wall, wall, peak, cold))
        return {"ok": True, "samples": [sample] * fields.get("repeats", 1)}

    def close(self):
        self.closed = True

    def stop(self):
        self.stopped = True


class Arena:
    """Opens fake workers and remembers what was asked of whom."""

    def __init__(self, ours=0.25, theirs=0.5, faults=None):
        self.log = []
        self.workers = []
        self.seconds = {"ours": ours, "theirs": theirs}
        self.rows = {"ours": 120, "theirs": 120}
        self.faults = faults or {}

    def open(self, job):
        self.workers.append(FakeWorker(self, job))
        return self.workers[-1]

    def fight(self, the_duel=None, **fields):
        return run_duel(the_duel or duel(), self.open, settle=0, **fields)

    def calls(self, phase):
        return "".join({"ours": "A", "theirs": "B"}[n] for n, do, *_ in self.log if do == phase)


def test_calls_interleave_within_and_across_blocks():
    arena = Arena()
    found = arena.fight(duel(launches=1))
    warm = "AABB"
    assert arena.calls("fit") == warm + "ABBA" + "BAAB"
    assert [b.order for b in found.blocks if b.phase == "fit"] == ["ABBA", "BAAB"]
    # All phases of a block come before the next block: a slow drift meets them alike.
    assert [b.phase for b in found.blocks] == [*PHASES, *PHASES]
    assert found.status is Status.DONE
    assert found.failure is None


def test_launches_are_fresh_processes_and_alternate_who_starts():
    arena = Arena()
    found = arena.fight()
    assert [w.job.algorithm for w in arena.workers] == ["ours", "theirs", "theirs", "ours"]
    assert all(w.closed for w in arena.workers)
    assert [launch["first"] for launch in found.facts["launches"]] == ["a", "b"]
    first = {b.launch: b.order for b in reversed(found.blocks)}
    assert first == {0: "ABBA", 1: "BAAB"}
    assert len(found.blocks) == 2 * 2 * len(PHASES)


@pytest.mark.parametrize(("seconds", "rounds"), [(0.5, 2), (1.5, 1)])
def test_a_short_phase_is_warmed_up_twice_and_a_long_one_once(seconds, rounds):
    arena = Arena(ours=seconds, theirs=seconds)
    arena.fight(duel(launches=1, blocks=1))
    fits = [do for who, do, *_ in arena.log if (who, do) == ("ours", "fit")]
    assert len(fits) == rounds + 2


@pytest.mark.parametrize(("ours", "theirs", "order"), [(5, 40, "ABA"), (50, 40, "BAB")])
def test_the_slower_of_very_long_calls_is_made_once_a_block_between_two_of_the_other(
    ours, theirs, order
):
    arena = Arena(ours=float(ours), theirs=float(theirs))
    found = arena.fight(duel(launches=2, blocks=2))
    timed = "".join(block.order for block in found.blocks if block.phase == "fit")
    assert timed == order * 4
    assert arena.calls("fit") == "AB" + order * 2 + "BA" + order * 2
    assert {(len(b.a), len(b.b)) for b in found.blocks} == {(order.count("A"), order.count("B"))}
    train = next(speed for speed in speeds_of(found) if speed.phase == "train")
    assert train.ratio.value == pytest.approx(theirs / ours)
    assert duel_outcome_from_json(to_json(found)) == found


def test_no_launch_begins_after_the_deadline(monkeypatch):
    arena = Arena()
    clock = iter([0.0, 1.0, 2.0])
    monkeypatch.setattr(driver.time, "monotonic", lambda: next(clock))
    with pytest.raises(driver.OverdueError, match="ours and theirs on iris after 1 launches"):
        arena.fight(duel(launches=3), deadline=1.0)
    assert len(arena.workers) == 2


def test_the_warm_round_is_kept_apart_from_the_blocks():
    found = Arena().fight()
    assert not any(s.cold for b in found.blocks for s in (*b.a, *b.b))
    cold = found.facts["launches"][0]["a"]["cold"]
    assert [s["phase"] for s in cold] == list(PHASES)
    assert all(s["cold"] for s in cold)


def test_short_calls_are_repeated_and_long_ones_are_not():
    arena = Arena(ours=0.0005, theirs=0.5)
    found = arena.fight(duel(launches=1, blocks=1))
    repeats = {side: found.facts["launches"][0][side]["repeats"] for side in "ab"}
    assert repeats["a"]["fit"] == 20
    assert repeats["a"]["predict_one"] == 1  # 20 rows of 0.5 ms each are long enough
    assert set(repeats["b"].values()) == {1}
    timed = [fields for n, do, _, fields in arena.log if (n, do) == ("ours", "fit")][2:]
    assert timed == [{"repeats": 20}] * 2
    fixed = [fields for _, do, _, fields in arena.log if do == "predict_one"]
    assert {f["rows"] for f in fixed} == {duel_side.ROWS}
    assert found.blocks[1].a[0].wall == pytest.approx(0.0005)


def test_calls_have_the_timeout_of_the_job_and_getting_ready_has_its_own():
    arena = Arena()
    arena.fight()
    limits = {do: timeout for _, do, timeout, _ in arena.log}
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
def test_a_side_that_fails_ends_the_duel_and_whole_blocks_stay(error, status):
    # The sixth fit of theirs is in the second block of the first launch.
    arena = Arena(faults={("theirs", "fit", 6): error})
    found = arena.fight()
    assert found.status is status
    assert found.failure.kind == error.failure.kind
    assert found.failure.message == f"side b (theirs): {error.failure.message}"
    assert found.failure.detail == error.failure.detail
    assert found.facts["failed_side"] == "b"
    assert found.facts["limits"] == {"timeout": 7.0, "memory": 0}
    assert [b.phase for b in found.blocks] == [*PHASES, "native"]
    assert all(w.closed for w in arena.workers)
    assert any("ended early: side b" in note for s in speeds_of(found) for note in s.notes)


@pytest.mark.parametrize("do", ["load", "prepare"])
def test_a_side_that_cannot_get_ready_is_named(do):
    refused = RefusedError(Failure("DataError", "no such column"))
    arena = Arena(faults={("ours", do, 1): refused})
    found = arena.fight()
    assert (found.status, found.blocks) == (Status.FAILED, ())
    assert found.failure.message == "side a (ours): no such column"
    assert speeds_of(found) == ()


@pytest.mark.parametrize(("failing", "slow"), [("ours", "theirs"), ("theirs", "ours")])
def test_where_a_side_cannot_get_ready_the_other_is_stopped(failing, slow):
    arena = Arena(faults={(failing, "load", 1): RefusedError(Failure("DataError", "no rows"))})
    stopped, waited = threading.Event(), []

    def opened(the_job):
        worker = arena.open(the_job)
        if the_job.algorithm == slow:
            worker.hello = lambda *_: waited.append(stopped.wait(10))
            worker.stop = stopped.set
        return worker

    found = run_duel(duel(), opened, settle=0)
    assert waited == [True]
    assert found.failure.message.endswith(f"({failing}): no rows")


def test_a_worker_that_does_not_start_is_an_outcome():
    def broken(_job):
        raise DiedError(Failure("OSError", "cannot start /no/python"))

    found = run_duel(duel(), broken, settle=0)
    assert found.status is Status.CRASHED
    assert "side a (ours): cannot start" in found.failure.message


def test_different_rows_are_no_duel():
    arena = Arena()
    arena.rows["theirs"] = 100
    found = arena.fight()
    assert found.status is Status.FAILED
    assert "[100, 30]" in found.failure.message
    assert found.blocks == ()


def test_an_interruption_closes_both_workers():
    arena = Arena(faults={("theirs", "fit", 3): KeyboardInterrupt()})
    with pytest.raises(KeyboardInterrupt):
        arena.fight()
    assert [w.closed for w in arena.workers] == [True, True]


def test_progress_counts_blocks_of_a_phase():
    told = []
    Arena().fight(progress=lambda done, total: told.append((done, total)))
    assert told == [(i + 1, 16) for i in range(16)]


def test_sides_may_come_from_two_source_trees():
    there = Environment("base", "/elsewhere/python", "/elsewhere")
    mixed = dataclasses.replace(duel(), b=job("ours", there))
    arena = Arena()
    opened = []

    def spy(the_job):
        opened.append(the_job.environment.name)
        return arena.open(the_job)

    found = run_duel(mixed, spy, settle=0)
    assert opened == ["here", "base", "base", "here"]
    assert speeds_of(found)[0].environments == ("here", "base")


def test_there_is_a_rest_before_each_call(monkeypatch):
    slept = []
    monkeypatch.setattr(driver.time, "sleep", slept.append)
    run_duel(duel(launches=1, blocks=1, phases=("fit",)), Arena().open, settle=0.5)
    assert slept == [0.5] * 4


def test_outcomes_survive_json_and_carry_the_facts_of_both_sides():
    found = Arena().fight()
    assert duel_outcome_from_json(to_json(found)) == found
    assert found.facts["a"]["versions"] == {"numpy": "2"}
    assert found.facts["b"]["train_rows"] == 120
    assert set(found.facts["spin"]) == set(driver.SPIN_VARIABLES)
    assert [len(launch["load"]) for launch in found.facts["launches"]] == [2, 2]
    assert found.started <= found.ended


def test_the_speed_that_was_planted_comes_out():
    speeds = {s.phase: s for s in speeds_of(Arena(ours=1.0, theirs=2.0).fight())}
    assert set(speeds) == {*PHASES, "train"}
    assert all(s.ratio.value == pytest.approx(2.0) for s in speeds.values())
    assert speeds["fit"].memory_ratio == pytest.approx(3.0)


# ------------------------------------------------------------------ looks


def test_a_duel_with_a_rule_ends_at_the_first_look_that_has_what_was_asked_for():
    rule = StopRule((2, 3, 8, 12), "fit", claim=1.0)
    arena = Arena()
    found = arena.fight(duel(launches=12, blocks=1, stop=rule))
    # Two and three launches have no interval at that level: the third look is the first to decide.
    assert len(found.facts["launches"]) == 8
    assert "holds" in found.facts["stopped"]
    assert found.status is Status.DONE
    assert duel_outcome_from_json(to_json(found)).duel.stop == rule


def test_a_duel_that_reaches_nothing_says_what_at_its_last_look():
    arena = Arena(ours=1.0, theirs=1.0)
    found = arena.fight(duel(launches=3, blocks=1, stop=StopRule((2, 3), "fit", 0.01)))
    assert len(found.facts["launches"]) == 3
    assert "not reached in 3 launches" in found.facts["stopped"]
    assert all(found.facts["stopped"] in speed.notes for speed in speeds_of(found))
