"""Tests of duels between real worker processes."""

from dataclasses import replace

import pytest
from jobs import job

from harness.analysis.speed import speeds_of
from harness.core.model import Duel, Status
from harness.execution.supervisor import Supervisor
from harness.measurement.duel import run_duel


@pytest.fixture
def supervisor(tmp_path):
    with Supervisor(tmp_path / "work") as made:
        yield made


def duel(a, b, **fields):
    sides = [job(params, timed=True, **fields) for params in (a, b)]
    return Duel(*sides, id="d", launches=1, blocks=2)


def test_duel_between_two_real_workers_completes(supervisor):
    slow = {"fit": "sleep", "seconds": 0.05}
    outcome = run_duel(duel({}, slow), supervisor.open_session, settle=0.001)
    assert (outcome.status, outcome.failure) == (Status.DONE, None)
    assert len(outcome.blocks) == 2 * 4
    fits = [b for b in outcome.blocks if b.phase == "fit"]
    assert all(s.wall >= 0.05 for b in fits for s in b.b)
    assert not any(s.cold for b in outcome.blocks for s in (*b.a, *b.b))
    launch = outcome.facts["launches"][0]
    assert launch["b"]["repeats"]["fit"] == 1
    assert launch["a"]["repeats"]["fit"] > 1  # next to nothing is done there
    assert outcome.facts["a"]["train_rows"] == outcome.facts["b"]["train_rows"] == 32
    assert set(outcome.facts["a"]["versions"]) >= {"python", "numpy"}
    speeds = {s.phase: s for s in speeds_of(outcome)}
    assert set(speeds) == {"native", "fit", "predict", "predict_one", "train"}
    assert any(
        "waited for the processor" in note for note in speeds["fit"].notes
    )  # asleep is not at work


def test_peak_of_fit_holds_the_training_form_once(supervisor):
    outcome = run_duel(duel({}, {"native_megabytes": 100}), supervisor.open_session, settle=0.001)
    fits = [b for b in outcome.blocks if b.phase == "fit"]
    assert all(100 <= s.peak / 2**20 < 150 for b in fits for s in b.b)
    assert all(s.peak / 2**20 < 50 for b in fits for s in b.a)


def test_phases_without_training_have_a_model_too(supervisor):
    requested = replace(duel({}, {}), phases=("predict",))
    outcome = run_duel(requested, supervisor.open_session, settle=0.001)
    assert (outcome.status, outcome.failure) == (Status.DONE, None)
    assert {b.phase for b in outcome.blocks} == {"predict"}


@pytest.mark.parametrize(
    ("params", "status", "message"),
    [
        ({"fit": "segfault"}, Status.CRASHED, "the worker was ended by SIGSEGV"),
        (
            {"fit": "sleep", "seconds": 600},
            Status.TIMEOUT,
            "request 'first_call' not done within 5 s",
        ),
    ],
)
def test_crashing_or_hanging_side_ends_the_duel_as_an_outcome(supervisor, params, status, message):
    outcome = run_duel(duel({}, params, timeout=5.0), supervisor.open_session, settle=0.001)
    assert (outcome.status, outcome.blocks) == (status, ())
    assert outcome.failure.message == f"side b (misbehave): {message}"
