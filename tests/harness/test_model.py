import json
from typing import get_args

from hypothesis import given
from hypothesis import strategies as st

from harness.core import model
from harness.core.model import (  # fmt: skip
    Block,
    DatasetRef,
    Duel,
    DuelOutcome,
    Failure,
    Job,
    Limits,
    Order,
    Outcome,
    Sample,
    Split,
    Status,
    Task,
    Trial,
)

TEXT = st.text(max_size=20)
NUMBER = st.floats(allow_nan=False, allow_infinity=False)
JSONS = st.recursive(
    st.none() | st.booleans() | st.integers() | NUMBER | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)
FACTS = st.dictionaries(TEXT, JSONS, max_size=3)
SPLITS = st.builds(Split, fold=st.integers(0, 9), repeat=st.integers(0, 9))
TRIALS = st.builds(
    Trial, algorithm=TEXT, params=FACTS, preparation=TEXT, dataset=TEXT, split=SPLITS,
    seed=st.integers(0), threads=st.integers(1, 9), cell=TEXT, id=TEXT,
    task=st.sampled_from(Task), timed=st.booleans(), ingredients=FACTS,
)  # fmt: skip
SAMPLES = st.builds(Sample, phase=TEXT, wall=NUMBER, cpu=NUMBER, peak=st.integers(0))
FAILURES = st.none() | st.builds(Failure, kind=TEXT, message=TEXT, detail=TEXT)
OUTCOMES = st.builds(
    Outcome, trial=TRIALS, status=st.sampled_from(Status), samples=st.lists(SAMPLES).map(tuple),
    failure=FAILURES, reason=TEXT, arrays=st.dictionaries(TEXT, TEXT), facts=FACTS,
)  # fmt: skip
JOBS = st.builds(
    Job, algorithm=TEXT, plugin=TEXT, dataset=st.builds(DatasetRef, name=TEXT, digest=TEXT),
    trials=st.lists(TRIALS, max_size=2).map(tuple), limits=st.builds(Limits),
)  # fmt: skip
BLOCKS = st.sampled_from(get_args(Order)).flatmap(
    lambda order: st.builds(
        Block, launch=st.integers(0), index=st.integers(0), phase=TEXT, order=st.just(order),
        a=st.tuples(*[SAMPLES] * order.count("A")), b=st.tuples(*[SAMPLES] * order.count("B")),
    )
)  # fmt: skip
DUELS = st.builds(
    DuelOutcome, duel=st.builds(Duel, a=JOBS, b=JOBS, id=TEXT), status=st.sampled_from(Status),
    blocks=st.lists(BLOCKS, max_size=2).map(tuple), failure=FAILURES, facts=FACTS,
)  # fmt: skip


def through_json(value):
    return json.loads(json.dumps(model.to_json(value)))


@given(OUTCOMES)
def test_outcome_survives_json(outcome):
    assert model.outcome_from_json(through_json(outcome)) == outcome


@given(JOBS)
def test_job_survives_json(job):
    assert model.job_from_json(through_json(job)) == job


@given(DUELS)
def test_duel_survives_json(duel):
    assert model.duel_from_json(through_json(duel.duel)) == duel.duel


def test_split_labels_are_unique():
    splits = [Split(), Split(fold=1), Split(repeat=1), Split(seed=1), Split(folds=3)]
    splits += [Split("holdout"), Split("holdout", test_share=0.5), Split("given")]
    assert len({split.label for split in splits}) == len(splits)
