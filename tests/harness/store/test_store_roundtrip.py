"""Tests that everything stored is read back equal."""

import itertools
import json
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.core.errors import ConfigError, StoreError
from harness.core.model import (
    Block,
    Duel,
    DuelOutcome,
    Failure,
    Order,
    Outcome,
    Sample,
    Split,
    Status,
    Task,
    Trial,
)
from harness.core.outcome_files import write_arrays
from harness.store import Store, rows

# Every character but lone surrogates, which are no Unicode: NUL, escapes and quotes among them.
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
NUMBER = st.floats()  # NaN and infinity too
JSONS = st.recursive(
    st.none() | st.booleans() | st.integers() | NUMBER | TEXT | st.sampled_from(["$", "$float"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(TEXT | st.sampled_from(["$float", "$$float"]), inner, max_size=3)
    ),
    max_leaves=8,
)
FACTS = st.dictionaries(TEXT, JSONS, max_size=3)
BYTES = st.integers(0, 2**63 - 1)
SECONDS = NUMBER.map(lambda x: x + 0.0)  # SQLite makes a negative zero a zero
SAMPLES = st.builds(Sample, TEXT, SECONDS, SECONDS, BYTES, st.booleans())
FAILURES = st.none() | st.builds(Failure, TEXT, TEXT, TEXT)
SERIAL = itertools.count()
TRIALS = st.builds(
    lambda serial, **fields: Trial(id=f"{serial}", **fields),
    serial=st.builds(lambda: next(SERIAL)),
    algorithm=TEXT,
    params=FACTS,
    preparation=TEXT,
    dataset=TEXT,
    split=st.builds(Split, fold=st.integers(0), repeat=st.integers(0), seed=st.integers(0)),
    seed=st.integers(0),
    threads=st.integers(1),
    cell=TEXT,
    task=st.sampled_from(Task),
    timed=st.booleans(),
    ingredients=FACTS,
)
OUTCOMES = st.builds(
    Outcome,
    trial=TRIALS,
    status=st.sampled_from(Status),
    samples=st.lists(SAMPLES, max_size=4).map(tuple),
    failure=FAILURES,
    reason=TEXT,
    arrays=st.just({}),
    facts=FACTS,
    started=TEXT,
    ended=TEXT,
)
BLOCKS = st.sampled_from(get_args(Order)).flatmap(
    lambda order: st.builds(
        Block,
        st.integers(0, 99),
        st.integers(0, 99),
        TEXT,
        st.just(order),
        st.tuples(*[SAMPLES] * order.count("A")),
        st.tuples(*[SAMPLES] * order.count("B")),
    )
)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    with Store.open(tmp_path_factory.mktemp("store"), write=True) as store:
        yield store


@given(OUTCOMES)
def test_outcome_is_read_back_equal(store, outcome):
    run = store.begin_run("any", {}, "", {}, [])
    recorded = store.record(run, outcome)
    ((result, reused),) = store.outcomes(run)
    assert repr(result) == repr(outcome) == repr(recorded)  # in which NaN equals NaN
    assert not reused
    assert store.known([outcome.trial.id]) == {outcome.trial.id: outcome.status}


@given(st.lists(BLOCKS, max_size=3).map(tuple), FAILURES, FACTS, st.sampled_from(Status))
def test_duel_is_read_back_equal(store, kit, blocks, failure, facts, status):
    sides = kit.duel_outcome().duel
    duel = DuelOutcome(Duel(sides.a, sides.b, f"{next(SERIAL)}"), status, blocks, failure, facts)
    run = store.begin_run("any", {}, "", {}, [])
    store.record_duel(run, duel)
    assert repr(store.duels(run)) == repr([(duel, False)])
    assert store.known_duels([duel.duel.id]) == {duel.duel.id: status}


@given(JSONS)
def test_any_json_is_read_back_equal(value):
    written = rows.dumps(value)
    json.loads(written, parse_constant=pytest.fail)  # strict JSON: called for NaN and infinity
    assert repr(rows.loads(written)) == repr(value)


def test_nonfinite_numbers_are_stored_as_valid_json():
    assert rows.dumps({"a": [float("nan"), float("-inf")]}) == (
        '{"a":[{"$float":"nan"},{"$float":"-inf"}]}'
    )


def test_invalid_unicode_is_stored_escaped(store, kit):
    run = kit.begin(store)
    odd = kit.outcome(1, Status.FAILED, failure=Failure("E", "byte \udc80", ""), of=kit.trial(9001))
    store.record(run, odd)
    ((result, _),) = store.outcomes(run)
    assert result.failure.message == "byte \\udc80"


def test_ten_kilobyte_names_are_stored(store, kit):
    long = "<script>=cmd()|../../x\0\x1b[31m" * 400
    run = store.begin_run(long, {long: long}, long, {long: long}, [])
    store.record(run, kit.outcome(of=kit.trial(9002, algorithm=long, dataset=long, cell=long)))
    ((result, _),) = store.outcomes(run)
    assert (result.trial.algorithm, result.trial.dataset) == (long, long)
    assert store.run(run)["name"] == long
    assert store.history(long) == [(result, run)]


def test_arrays_are_read_back_and_their_files_moved(store, kit):
    run = kit.begin(store)
    work = store.workdir(run)
    arrays = {"output": np.linspace(0, 1, 7), "classes": np.array(["a", "ü"])}
    write_arrays(work / "p.npz", arrays)
    (work / "o.outcome.json").write_text("{}")
    outcome = kit.outcome(of=kit.trial(9003), arrays={"../../x": "p.npz"})
    recorded = store.record(run, outcome, source=work / "o.outcome.json")
    result = store.artifact(recorded.arrays["../../x"])
    assert {name: value.tolist() for name, value in result.items()} == {
        name: value.tolist() for name, value in arrays.items()
    }
    assert list(work.iterdir()) == []
    ((stored, _),) = store.outcomes(run)
    assert stored == recorded


def test_equal_arrays_are_stored_once(store, kit):
    run = kit.begin(store)
    before = store.counts()["artifacts"]
    for number in (9004, 9005):
        write_arrays(store.workdir(run) / "c.npz", {"classes": np.arange(3)})
        path = str(store.workdir(run) / "c.npz")
        store.record(run, kit.outcome(of=kit.trial(number), arrays={"classes": path}))
    assert store.counts()["artifacts"] == before + 1


def test_file_outside_the_work_folder_is_copied_and_kept(store, kit, tmp_path):
    write_arrays(tmp_path / "mine.npz", {"x": np.arange(3)})
    path = str(tmp_path / "mine.npz")
    recorded = store.record(
        kit.begin(store), kit.outcome(of=kit.trial(9006), arrays={"predictions": path})
    )
    assert (tmp_path / "mine.npz").is_file()
    assert store.artifact(recorded.arrays["predictions"])["x"].tolist() == [0, 1, 2]


def test_missing_linked_or_relative_array_file_stores_nothing(store, kit, tmp_path):
    run = kit.begin(store)
    (tmp_path / "link").symlink_to("/dev/zero")
    for path in (
        str(tmp_path / "absent.npz"),
        str(tmp_path / "link"),
        "relative.npz",
        str(tmp_path),
    ):
        with pytest.raises(StoreError):
            store.record(run, kit.outcome(of=kit.trial(9007), arrays={"predictions": path}))
    assert store.outcomes(run) == []


def test_number_that_no_column_holds_stores_nothing(store, kit):
    run = kit.begin(store)
    for peak in (2**63, 1.5):
        with pytest.raises(StoreError):
            store.record(run, kit.outcome(9008, samples=(Sample("fit", 1.0, 1.0, peak),)))
    circle = {}
    circle["x"] = circle
    for facts in ({"x": object()}, circle):
        with pytest.raises(StoreError, match="JSON"):
            store.record(run, kit.outcome(9008, facts=facts))
    assert store.outcomes(run) == []


def test_unknown_run_is_reported_with_a_similar_name(store, kit):
    run = kit.begin(store)
    assert store.run(run)["id"] == store.run("latest")["id"] == run
    with pytest.raises(ConfigError, match=r"unknown run .* did you mean '20"):
        store.run(run[:-1] + "_")
