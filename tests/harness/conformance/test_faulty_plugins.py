"""Tests that datasets, metrics, sections and executors breaking one rule each are reported."""

import hashlib
import itertools
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from markupsafe import Markup

from harness import Dataset, Executor, Metric, Section, Table, Task
from harness.conformance.checks import cases, kinds_of
from harness.conformance.findings import CHECKS
from harness.core.errors import ConfigError
from harness.core.model import Status
from harness.plugins.registry import HOOKS, Registry, load_registry
from reports import Column, Figure, Fragment, Paragraph
from reports import Table as Shown

EXPECTED = dict(HOOKS.values())


def findings(kind, value):
    registry = Registry()
    registry.add(kind, EXPECTED[kind], value, "", "")
    return {check.name: check.run(held) for check, held in cases(registry, value.name, kind)}


def broken(kind, value):
    """Return the failed checks, with their messages."""
    return {name: f.message for name, f in findings(kind, value).items() if f.state == "failed"}


# ------------------------------------------------------------------ datasets


def rows(seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(60, 2)), columns=["a", "b"])
    X["c"] = pd.Categorical.from_codes(np.arange(60) % 3, categories=["x", "y", "z"])
    return Table(X, (np.arange(60) % 2).astype(np.int64), ("no", "yes"))


DATASET = Dataset(
    "made",
    Task.BINARY,
    rows,
    hashlib.sha256(b"made").hexdigest(),
    rows=60,
    columns=3,
    n_classes=2,
    categorical=1,
    summary="for a test",
)
SHARED = rows()
COUNT = itertools.count()
AS_DECLARED = "the rows match the declaration"
TARGET = "the target, weights and groups fit the task"
OF_ROWS = {
    "drifts": (lambda: rows(next(COUNT)), "every load gives the same rows", "seeded"),
    "shares": (
        lambda: SHARED,
        "rows changed by a caller do not appear in a later load",
        "return a copy",
    ),
    "array": (lambda: rows().X, AS_DECLARED, "a DataFrame, not a harness.Table"),
    "strings": (
        lambda: replace(rows(), X=rows().X.astype({"c": object})),
        AS_DECLARED,
        "categorical is declared as 1 and is 0",
    ),
    "holes": (
        lambda: replace(rows(), X=rows().X.assign(a=np.nan)),
        AS_DECLARED,
        "missing is declared as False and is True",
    ),
    "short": (lambda: replace(rows(), y=rows().y[:9]), TARGET, "y has shape (9,), not (60,)"),
    "floats": (lambda: replace(rows(), y=rows().y * 1.0), TARGET, "y is a ndarray of float64"),
    "codes": (lambda: replace(rows(), y=rows().y + 1), TARGET, "[1, 2], not 0 to 1"),
    "raises": (lambda: 1 / 0, AS_DECLARED, "ZeroDivisionError"),
}
OF_WORDS = {
    "digest": ({"digest": "v1"}, "the declaration is complete", "not the 64 hex digits"),
    "silent": ({"summary": ""}, "the declaration is complete", "summary is empty"),
    "classes": ({"n_classes": 0}, "the declaration is complete", "n_classes is 0"),
    "larger": ({"rows": 61}, AS_DECLARED, "X has shape (60, 3), but (61, 3) is declared"),
    "weighted": ({"weighted": True}, AS_DECLARED, "weighted is declared as True and is False"),
}


def test_correct_dataset_passes():
    assert {f.state for f in findings("dataset", DATASET).values()} <= {"ok", "skipped"}


@pytest.mark.parametrize("fault", OF_ROWS)
def test_dataset_with_wrong_rows_is_named(fault):
    load, rule, words = OF_ROWS[fault]
    failures = broken("dataset", replace(DATASET, load=load))
    assert words in failures[rule]


@pytest.mark.parametrize("fault", OF_WORDS)
def test_dataset_with_wrong_metadata_is_named(fault):
    fields, rule, words = OF_WORDS[fault]
    assert words in broken("dataset", replace(DATASET, **fields))[rule]


# ------------------------------------------------------------------ metrics


def absolute(p):
    w = np.ones(len(p.y)) if p.weight is None else p.weight
    return float(np.sum(w * np.abs(p.output - p.y)) / w.sum())


METRIC = Metric("made", frozenset({Task.REGRESSION}), absolute, summary="for a test")


def scribbling(p):
    p.output[:] -= p.y
    return float(np.average(np.abs(p.output), weights=p.weight))


def drawing(p):
    return absolute(p) * (1 + 1e-9 * np.random.default_rng().random())


def raising(p):
    if len(p.y) == 1:
        raise ValueError("too few")
    return absolute(p)


WEIGHT = "weights count rows: 2 is the row twice, 0 is no row, equal ones change nothing"
PLAIN = "it returns a float, the same every time"
METRICS = {
    "upside down": ({"lower_is_better": False}, "better predictions score better", "higher is be"),
    "deaf": (
        {"score": lambda p: absolute(replace(p, weight=None))},
        WEIGHT,
        "of weights 0, 1 and 2",
    ),
    "sums": ({"score": lambda p: absolute(p) * len(p.y)}, WEIGHT, "of weights 0, 1 and 2"),
    "first": (
        {"score": lambda p: abs(float(p.output[0] - p.y[0]))},
        "the order of the rows does not matter",
        "in another order",
    ),
    "scribbling": ({"score": scribbling}, "inputs are not modified", "output was modified"),
    "drawing": ({"score": drawing}, PLAIN, "and then"),
    "array": ({"score": lambda p: np.abs(p.output - p.y)}, PLAIN, "a ndarray, not a float"),
    "raising": ({"score": raising}, "an undefined score is NaN", "one row"),
    "silent": ({"summary": ""}, "the declaration is complete", "summary is empty"),
}


def test_correct_metric_passes():
    assert {f.state for f in findings("metric", METRIC).values()} <= {"ok", "skipped"}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("fault", METRICS)
def test_wrong_metric_is_named(fault):
    fields, rule, words = METRICS[fault]
    failures = broken("metric", replace(METRIC, **fields))
    (message,) = [reported for name, reported in failures.items() if name.startswith(rule)]
    assert words in message


@pytest.mark.parametrize("name", load_registry(modules=["harness.plugins.metrics"]).names("metric"))
def test_own_metrics_pass_every_check(name):
    registry = load_registry(modules=["harness.plugins.metrics"])
    assert broken("metric", registry.entry("metric", name).value) == {}


# ------------------------------------------------------------------ sections


def shown(page):
    table = [[cell.algorithm, str(cell.peak)] for cell in page.view.cells]
    return Fragment([Shown([Column("Algorithm"), Column("Peak")], table, "Peaks", "peaks")])


def needy(page):
    return Fragment([Paragraph(page.view.cells[0].algorithm)])


def dividing(page):
    seconds = [cell.seconds["fit"] for cell in page.view.cells]
    return Fragment([Paragraph(str(1 / min(seconds)))]) if seconds else None


class Picture:
    def __init__(self, names):
        self.names = names

    def svg(self, title):
        return Markup("<svg>" + "".join(self.names) + "</svg>")


def raw(page):
    picture = Picture([cell.algorithm for cell in page.view.cells])
    return Fragment([Figure(picture, "Names", "Names.", shown(page).blocks[0])])


def ticking(page):
    return Fragment([Paragraph(str(next(COUNT)))])


SECTION = Section("made", "Made", 10, shown)
SECTIONS = {
    "needy": ({"build": needy}, "it can be built for an empty run", "IndexError"),
    "dividing": ({"build": dividing}, "it can be built for a run with hostile names", ""),
    "text": (
        {"build": lambda _: "<p>"},
        "it can be built for a run of one trial",
        "must return a reports.Fragment or None, not a str",
    ),
    "raw": ({"build": raw}, "markup in names is escaped", "markup in a name was not escaped"),
    "ticking": ({"build": ticking}, "the same run gives the same section", "differ"),
    "untitled": ({"title": " "}, "the declaration is complete", "title is empty"),
}


def test_correct_section_passes():
    assert {f.state for f in findings("section", SECTION).values()} <= {"ok", "skipped"}


@pytest.mark.parametrize("fault", SECTIONS)
def test_wrong_section_is_named(fault):
    fields, rule, words = SECTIONS[fault]
    failures = broken("section", replace(SECTION, **fields))
    (message,) = [reported for name, reported in failures.items() if name.startswith(rule)]
    assert words in message


# ------------------------------------------------------------------ executors


def honest(jobs, supervise, options):
    for job in jobs:
        yield from supervise(job)


def twice(jobs, supervise, options):
    for job in [*jobs, *jobs[:1]]:
        yield from supervise(job)


def last_lost(jobs, supervise, options):
    yield from honest(jobs[:-1], supervise, options)


def edited(jobs, supervise, options):
    return (replace(o, facts={}) for o in honest(jobs, supervise, options))


def backwards(jobs, supervise, options):
    for job in jobs:
        yield from reversed(list(supervise(job)))


def timid(jobs, supervise, options):
    for outcome in honest(jobs, supervise, options):
        yield outcome
        if outcome.status is Status.FAILED:
            return


def needs_one(jobs, supervise, options):
    yield from supervise(jobs[0])
    yield from honest(jobs[1:], supervise, options)


def swallowing(jobs, supervise, options):
    for job in jobs:
        try:
            yield from supervise(job)
        except RuntimeError:
            continue


def crowded(jobs, supervise, options):
    with ThreadPoolExecutor(3) as pool:
        for outcomes in pool.map(lambda job: list(supervise(job)), jobs):
            yield from outcomes


class Deaf:
    """An executor that continues with its jobs after the caller has stopped."""

    def __init__(self, jobs, supervise, options):
        self.pool = ThreadPoolExecutor(1)
        self.found = [self.pool.submit(lambda j=job: list(supervise(j))) for job in jobs]
        self.outcomes = (o for future in self.found for o in future.result())

    def __iter__(self):
        return self

    def __next__(self):
        return next(self.outcomes)


EXECUTOR = Executor("made", honest, "for a test")
ONCE = "every trial is run once, and its outcome is returned unchanged"
EXECUTORS = {
    twice: (ONCE, "it started"),
    last_lost: (ONCE, "it started"),
    edited: (ONCE, "differs from the one that supervise returned"),
    backwards: ("outcomes of a job keep the order of its trials", "the order in the job"),
    timid: ("a failed trial does not stop the others", "1 of 6"),
    needs_one: ("without jobs nothing is run", "IndexError"),
    swallowing: ("an exception of supervise reaches the caller", "ended without an exception"),
    crowded: ("timed trials run alone", "ran at the same time"),
    Deaf: ("no trial starts after the caller stops", "after the caller had stopped"),
}


def test_correct_executor_passes():
    assert {f.state for f in findings("executor", EXECUTOR).values()} <= {"ok", "skipped"}


@pytest.mark.parametrize("fault", EXECUTORS, ids=lambda run: run.__name__)
def test_wrong_executor_is_named(fault):
    rule, words = EXECUTORS[fault]
    failures = broken("executor", replace(EXECUTOR, run=fault))
    assert words in failures[rule]
    time.sleep(0.01)


def test_own_executor_passes_every_check():
    registry = load_registry(modules=["harness.executors.local"])
    assert broken("executor", registry.entry("executor", "local").value) == {}


# ------------------------------------------------------------------ all of them


def test_every_kind_has_checks_described_in_sentences():
    for kind in set(EXPECTED) - {
        "report writer"
    }:  # called by fixed names, with no contract of its own
        names = [check.name for check in CHECKS if check.kind == kind]
        assert len(names) == len(set(names)) >= 6
        assert all(" " in name and not name.endswith(".") for name in names)


def test_name_is_searched_in_every_kind():
    registry = load_registry(modules=["harness.executors.local", "harness.plugins.metrics"])
    assert kinds_of(registry, "local") == ["executor"]
    registry.add("metric", Metric, replace(METRIC, name="local"), "", "")
    assert kinds_of(registry, "local") == ["metric", "executor"]
    with pytest.raises(ConfigError, match="did you mean 'local'"):
        kinds_of(registry, "locl")
