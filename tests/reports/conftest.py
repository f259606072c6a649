"""Views of fake runs of every kind that a report must handle."""

import math
import random
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest
from report_views import history_of, previous_run, run_point, with_all_sections

from harness.analysis.difference import Comparison, Difference, Gains, Line, Node
from harness.analysis.run_view import Accuracy, Cell, Interval, Parity, RunView, Speed
from harness.core.model import (
    ALL_TASKS,
    Block,
    DatasetRef,
    Duel,
    DuelOutcome,
    Failure,
    Job,
    Outcome,
    Sample,
    Section,
    Split,
    Status,
    Task,
    Trial,
)

PHASES = ("import", "preparation", "native", "fit", "predict", "predict_one")
METRICS = {
    "log_loss": {"lower_is_better": True, "primary": True, "summary": "mean negative log"},
    "accuracy": {"lower_is_better": False, "primary": False, "summary": "share of hits"},
    "rmse_sd": {"lower_is_better": True, "primary": True, "summary": "RMSE / sd(y)"},
    "r2": {"lower_is_better": False, "primary": False, "summary": "share of variance"},
}
HOSTILE = {
    "script": "</script><script>alert(1)</script>",
    "image": '<img src=x onerror="alert(2)">',
    "style": "</style><style>*{display:none}</style>",
    "attribute": '" onmouseover="alert(3)" x=\'',
    "long": "L" * 10_240,
    "right-to-left": "שלום \u202etxt.exe\u202c \u2066x",
    "control": "a\x00b\x1b[31mc\x7f\x85\ud800\ufffe",
    "formula": "=cmd|' /C calc'!A0",
    "template": "{{ 7 * 7 }}{% raw %}",
    "url": "javascript:alert(4)",
    "emoji": "\N{FAMILY}" * 60,
    "markdown": "| a | **b** [c](https://example.org) @user `d` |\n# e",
}


@dataclass
class Plan:
    """Content of a fake run."""

    algorithms: Mapping[str, str | None]  # name → its reference, or None for a reference
    datasets: Mapping[str, Task]
    splits: int = 3
    fails: Callable[[str, str], Failure | None] = lambda _a, _d: None
    skips: Callable[[str, str], str] = lambda _a, _d: ""
    duels: tuple[str, ...] = ()  # datasets
    texts: Mapping[str, str] = field(default_factory=dict)  # for places that hold words


def make_view(plan: Plan, seed: int = 0) -> RunView:
    """Return the view of a fake run; the same plan and seed give the same view."""
    rng = random.Random(seed)
    cells = [
        make_cell(rng, plan, algorithm, dataset, task)
        for dataset, task in plan.datasets.items()
        for algorithm in plan.algorithms
    ]
    pairs = [(a, r) for a, r in plan.algorithms.items() if r is not None]
    accuracy = [
        make_accuracy(rng, a, r, d, task)
        for a, r in pairs
        for d, task in [*plan.datasets.items(), ("", Task.BINARY)]
        if not plan.fails(a, d)
    ]
    compared = [(a, r, d) for a, r in pairs for d in plan.duels]
    text = plan.texts.get
    return RunView(
        run={
            "id": "20260102T030405-ab12cd",
            "name": text("name", "quick"),
            "config": {"experiment": {"name": "quick", "summary": text("summary", "a run")}},
            "started": "2026-01-02T03:04:05+00:00",
            "ended": "2026-01-02T03:06:45+00:00",
            "status": "done",
            "machine": {
                "cpu": text("cpu", "A CPU @ 2 GHz"),
                "cores": 2,
                "virtualized": True,
                "load": [0.1, 0.2, 0.3],
                "versions": {"numpy": "2.4.0"},
            },
            "environments": [{"name": "here", "python": "", "root": ""}],
        },
        cells=tuple(cells),
        accuracy=tuple(accuracy),
        speed=with_pooled(
            [s for a, r, d in compared for s in make_speeds(rng, a, r, d, text("note", ""))]
        ),
        duels=tuple(make_duel(a, r, d, plan) for a, r, d in compared),
        algorithms={
            name: {
                "origin": "scratch" if reference else "reference",
                "reference": reference,
                "summary": text("summary", "an algorithm"),
                "parity_levels": {"default": "L0", "scikit-learn": "L3"} if reference else {},
            }
            for name, reference in plan.algorithms.items()
        },
        datasets={
            name: {
                "task": str(task),
                "rows": 1797,
                "columns": 64,
                "n_classes": 10 if task is Task.MULTICLASS else 0,
                "categorical": 3,
                "missing": True,
                "source": text("source", "bundled"),
                "summary": text("summary", "Measurements of something, to predict something."),
                "license": "CC-BY-4.0",
            }
            for name, task in plan.datasets.items()
        },
        metrics=METRICS,
        predictions=predictions_of,
        broken=({"plugin": text("plugin"), "reason": text("reason")},) if plan.texts else (),
        parity=tuple(make_parity(a, r, d, text("note", "petal <= 2.5")) for a, r, d in compared),
    )


def predictions_of(outcome: Outcome) -> dict[str, np.ndarray]:
    """Return predictions of 40 rows; all algorithms named bagging predict the same."""
    trial = outcome.trial
    seed = zlib.crc32(f"{trial.dataset}{trial.split.label}".encode(errors="surrogatepass"))
    rng = np.random.default_rng(seed)
    kind = "bagging" if trial.algorithm.endswith("bagging") else trial.algorithm
    noise = np.random.default_rng(zlib.crc32(kind.encode(errors="surrogatepass")))
    if trial.task is Task.REGRESSION:
        y = rng.normal(size=40)
        return {"y": y, "output": y + noise.normal(scale=0.3, size=40), "scale": np.float64(1)}
    k = 2 if trial.task is Task.BINARY else 3
    y = rng.integers(0, k, 40)
    odds = np.exp(noise.normal(size=(40, k)) + 2.0 * (np.arange(k) == y[:, None]))
    return {"y": y, "output": odds / odds.sum(axis=1, keepdims=True), "scale": np.float64(1)}


def make_trial(algorithm: str, dataset: str, task: Task, fold: int = 0) -> Trial:
    return Trial(
        algorithm=algorithm,
        params={"n_estimators": 30},
        preparation="native",
        dataset=dataset,
        split=Split(folds=3, fold=fold),
        seed=0,
        threads=1,
        cell="c" * 16,
        id="d" * 16,
        task=task,
    )


def make_cell(rng: random.Random, plan: Plan, algorithm: str, dataset: str, task: Task) -> Cell:
    outcomes = [
        make_outcome(rng, plan, make_trial(algorithm, dataset, task, fold))
        for fold in range(plan.splits)
    ]
    center = rng.uniform(0.05, 0.6)
    loss = tuple(rng.gauss(center, 0.02) if o.status is Status.DONE else math.nan for o in outcomes)
    names = ("rmse_sd", "r2") if task is Task.REGRESSION else ("log_loss", "accuracy")
    seconds = {
        phase: max(s.wall for o in outcomes for s in o.samples if s.phase == phase)
        for phase in PHASES
        if any(s.phase == phase for o in outcomes for s in o.samples)
    }
    return Cell(
        algorithm=algorithm,
        params={"n_estimators": 30},
        preparation="native",
        dataset=dataset,
        task=str(task),
        outcomes=tuple(outcomes),
        scores={names[0]: loss, names[1]: tuple(1 - x for x in loss)},
        reused=tuple(rng.random() < 0.2 for _ in outcomes),
        seconds=seconds,
        peak=rng.randrange(2**20, 2**29) if seconds else 0,
    )


def make_outcome(rng: random.Random, plan: Plan, trial: Trial) -> Outcome:
    if reason := plan.skips(trial.algorithm, trial.dataset):
        return Outcome(trial, Status.SKIPPED, reason=reason)
    facts: dict[str, Any] = {
        "versions": {"python": "3.11.2", "numpy": "2.4.0", "scikit-learn": "1.9.1"},
        "pools": [{"user_api": "openmp", "internal_api": "openmp", "num_threads": 1}],
        "numba": {"threads": 1, "layer": "omp"},
        "notes": [plan.texts.get("note", "2 rows of 1797 are the same in training and test")],
        "alone": True,
    }
    if failure := plan.fails(trial.algorithm, trial.dataset):
        status = Status.TIMEOUT if failure.kind == "timeout" else Status.FAILED
        return Outcome(trial, status, failure=failure, facts=facts)
    base = {"import": 1.2, "preparation": 3e-3, "native": 2e-2, "fit": 0.3}
    base |= {"predict": 2e-3, "predict_one": 8e-5}
    samples = tuple(
        Sample(phase, wall * rng.lognormvariate(0, 0.7), wall, peak=10**7)
        for phase, wall in base.items()
    )
    return Outcome(trial, Status.DONE, samples, facts=facts)


def make_accuracy(
    rng: random.Random, algorithm: str, reference: str, dataset: str, task: Task
) -> Accuracy:
    margin = 0.004 if dataset else 0.01
    value, half = rng.gauss(0, margin), rng.uniform(0.2, 2) * margin
    inner = Interval(value - 0.8 * half, value, value + 0.8 * half, 0.9, 3)
    outer = Interval(value - half, value, value + half, 0.95, 3)
    if -margin < inner.low and inner.high < margin:
        verdict = "equivalent"
    elif outer.low > 0:
        verdict = "better"
    else:
        verdict = "worse" if outer.high < 0 else "inconclusive"
    return Accuracy(
        algorithm,
        reference,
        dataset,
        "rmse_sd" if task is Task.REGRESSION else "log_loss",
        verdict,
        outer,
        margin,
        advice="4 more repeats (12 splits) should decide" if verdict == "inconclusive" else "",
        splits=3 if dataset else 4,
        inner=inner,
        preparation="native",
        gap=0.4 if dataset else 0.0,
    )


def make_speeds(
    rng: random.Random, algorithm: str, reference: str, dataset: str, note: str
) -> list[Speed]:
    results = []
    for phase in ("train", "native", "fit", "predict", "predict_one"):
        value = rng.lognormvariate(0.6, 0.7)
        spread = rng.uniform(1.02, 1.3)
        results.append(
            Speed(
                algorithm,
                reference,
                dataset,
                phase,
                Interval(value / spread, value, value * spread, 0.95, 8),
                "block",
                (0.041, 0.041 * value),
                memory_ratio=rng.uniform(0.5, 3),
                notes=(note or "one launch: between-process variance not included",),
            )
        )
    return results


def with_pooled(speeds: list[Speed]) -> tuple[Speed, ...]:
    from harness.analysis.speed import pool_speeds

    return (*speeds, *pool_speeds(speeds))


def make_duel(algorithm: str, reference: str, dataset: str, plan: Plan) -> DuelOutcome:
    def side(name: str) -> Job:
        trial = make_trial(name, dataset, plan.datasets[dataset])
        return Job(name, "plugin", DatasetRef(dataset, "0" * 64), (trial,))

    duel = Duel(side(algorithm), side(reference), "e" * 16)
    if failure := plan.fails(algorithm, dataset):
        return DuelOutcome(duel, Status.FAILED, failure=failure)
    call = (Sample("fit", 0.1, 0.1), Sample("fit", 0.1, 0.1))
    return DuelOutcome(duel, Status.DONE, (Block(0, 0, "fit", "ABBA", call, call),))


def make_parity(algorithm: str, reference: str, dataset: str, args: str) -> Parity:
    """Return a pair whose trees differ at the left child of a root."""

    def lines(text: str) -> tuple[Line, ...]:
        return (
            Line(0, "", args, 120, "split"),
            Line(1, "left", text, 40, "split", marked=True),
            Line(2, "left", "leaf 0.25", 10, "leaf"),
            Line(2, "right", "…", 30, "more"),
            Line(1, "right", "…", 80, "more"),
        )

    first = Difference(
        "structure",
        "threshold",
        3,
        "L",
        Node(1, args, "left", (10, 30), 0.5),
        Node(1, "petal <= 3", "left", (20, 20), None),
        "rule",
        f"Tree 3, node L: {algorithm} splits on “{args}” and {reference} on “petal <= 3”.",
        rows=40,
        moved=10,
        affected=40,
        gains=(Gains("a", "Gini impurity", 0.5, 0.25, 1e-17, 1e-9, 1e-8),),
        others=2,
        drawing=(lines(args), lines("petal <= 3")),
    )
    near = replace(first, level="bits", cause="tie", gains=(), drawing=((), ()), a=None, b=None)
    return Parity(
        algorithm,
        reference,
        dataset,
        ({"n_estimators": 30}, {}),
        "native",
        "raw",
        "",
        "L3",
        {"kfold3-s0-r0-f0": ""},
        Comparison("", (first, near), (5, 5), 3, 120, 0.125, 1e-6),
        "worse",
        args if algorithm == reference else "",
    )


# ------------------------------------------------------------------ the kinds

ALGORITHMS = {
    "decision_tree": "sklearn_decision_tree",
    "bagging": "sklearn_bagging",
    "sklearn_decision_tree": None,
    "sklearn_bagging": None,
    "sklearn_random_forest": None,
    "xgboost_hist": None,
    "lightgbm_gbdt": None,
    "catboost": None,
}
DATASETS = {
    "breast_cancer": Task.BINARY,
    "wine": Task.MULTICLASS,
    "digits": Task.MULTICLASS,
    "diabetes": Task.REGRESSION,
}
TRACEBACK = 'Traceback (most recent call last):\n  File "x.py", line 3, in fit\nValueError: no'


def typical() -> RunView:
    def fails(algorithm: str, dataset: str) -> Failure | None:
        if (algorithm, dataset) == ("catboost", "wine"):
            return Failure("timeout", "request 'fit' not done within 60 s", TRACEBACK)
        return None

    def skips(algorithm: str, dataset: str) -> str:
        return "takes no regression" if (algorithm, dataset) == ("xgboost_hist", "diabetes") else ""

    return make_view(
        Plan(ALGORITHMS, DATASETS, fails=fails, skips=skips, duels=("digits", "diabetes"))
    )


def hostile() -> RunView:
    names = list(HOSTILE.values())
    texts = dict(zip(("name", "summary", "cpu", "note", "source", "plugin", "reason"), names))  # noqa: B905 - fewer places than texts
    texts["reason"] = HOSTILE["markdown"]

    def fails(algorithm: str, dataset: str) -> Failure | None:
        failing = dataset == HOSTILE["image"] and algorithm in names
        return Failure(algorithm[:40], dataset + algorithm, algorithm) if failing else None

    algorithms = {**dict.fromkeys(names, "reference"), "reference": None}
    datasets = dict(zip(names, [Task.BINARY, Task.REGRESSION] * 6, strict=True))
    skips = lambda a, d: a if (a, d) == (names[0], names[0]) else ""  # noqa: E731 - beside the others
    duels = (HOSTILE["script"], HOSTILE["long"])
    return make_view(Plan(algorithms, datasets, 2, fails, skips, duels, texts))


def all_sections() -> RunView:
    """Return a run with content for every section, with hostile names everywhere."""
    names = list(HOSTILE.values())
    texts = dict(zip(("name", "summary", "cpu", "note", "source", "plugin", "reason"), names))  # noqa: B905 - fewer places than texts

    def fails(algorithm: str, dataset: str) -> Failure | None:
        return Failure(dataset, algorithm, TRACEBACK) if algorithm == dataset == names[4] else None

    skips = lambda a, d: d if (a, d) == (names[1], names[2]) else ""  # noqa: E731 - as above
    algorithms = {**dict.fromkeys(names[:-1], names[-1]), names[-1]: None}
    datasets = dict(
        zip(names[:6], [Task.BINARY, Task.REGRESSION, Task.MULTICLASS] * 2, strict=True)
    )
    plan = Plan(algorithms, datasets, 2, fails, skips, (names[0], names[4]), texts)
    return with_all_sections(make_view(plan), names)


def empty() -> RunView:
    return make_view(Plan({}, {}))


def one_trial() -> RunView:
    return make_view(Plan({"decision_tree": "sklearn_decision_tree"}, {"iris": Task.MULTICLASS}, 1))


def only_failures() -> RunView:
    failure = Failure("SIGSEGV", "ended by SIGSEGV: it used memory that is not its own", TRACEBACK)
    plan = Plan(ALGORITHMS, DATASETS, fails=lambda _a, _d: failure, duels=("digits",))
    view = make_view(plan)
    return RunView(**{**vars(view), "accuracy": (), "speed": ()})


def large(datasets: int = 60, splits: int = 1) -> RunView:
    """Return a run of thirty algorithms, half of them references."""
    names = {f"algorithm_{i:02}": f"algorithm_{i + 15:02}" for i in range(15)}
    names |= {f"algorithm_{i:02}": None for i in range(15, 30)}
    tables = {f"dataset_{i:02}": sorted(ALL_TASKS)[i % 3] for i in range(datasets)}
    return make_view(Plan(names, tables, splits, duels=tuple(tables)[:5]))


def one_dataset() -> RunView:
    return large(1, 5)


SHAPES = (one_trial, one_dataset, only_failures, large)
KINDS = {f.__name__: f for f in (typical, hostile, all_sections, empty, *SHAPES)}


@pytest.fixture(scope="session")
def views() -> dict[str, Callable[[], RunView]]:
    """Return the function that makes each kind of view, by name."""
    return KINDS


@pytest.fixture(scope="session")
def hostile_names() -> dict[str, str]:
    return HOSTILE


def own_sections() -> list[Section]:
    """Return the project's own sections, registered through the plugin interface."""
    import pkgutil

    from harness.plugins.registry import load_registry
    from reports import sections

    names = [module.name for module in pkgutil.iter_modules(sections.__path__)]
    registry = load_registry(
        modules=[f"reports.sections.{name}" for name in names], strangers=False
    )
    return registry.all("section")


@pytest.fixture(scope="session")
def sections() -> list[Section]:
    return own_sections()


@pytest.fixture(scope="session")
def page_of(sections: list[Section]) -> Callable[[str], str]:
    """Return a function from a kind of run to its finished report, each built once."""
    from reports import build_report

    return cache(
        lambda kind: PAGES[kind]() if kind in PAGES else build_report(KINDS[kind](), sections)
    )


def index_page() -> str:
    """Return an index of runs with hostile names, of two experiments."""
    from reports import build_index

    names = list(HOSTILE.values())
    points = [run_point(i, names, name) for name in ("quick", names[0]) for i in range(8)]
    older = [points[0].run] * 3
    return build_index(points, {points[0].id}, older, [previous_run(all_sections(), names)])


def history_page() -> str:
    """Return the page of a history with hostile names."""
    from reports.page.history_page import build_history

    names = list(HOSTILE.values())
    return build_history(history_of(names), names)


PAGES = {"index": index_page, "history": history_page}  # beside reports of runs


class Parsed(HTMLParser):
    """A parsed page; a tag that is not closed, or closes nothing, is an error."""

    VOID = frozenset({"meta", "link", "input", "br", "wbr"})

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.inside: dict[str, list[str]] = {"script": [], "style": [], "title": []}
        self.feed(html)
        self.close()
        assert self.open == [], "tags that nothing closes"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(dict(attrs)) == len(attrs), f"<{tag}> says an attribute twice"
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert "svg" in self.open, f"<{tag}/> closes nothing outside of an SVG"
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in self.inside:
            self.inside[self.open[-1]].append(data)
        else:
            self.texts.append(data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        """Return the attributes of every element of a kind."""
        return [attributes for name, attributes in self.tags if name == tag]

    @property
    def text(self) -> str:
        """Return the visible text, without the line breaks of the markup."""
        return " ".join("".join(self.texts).split())


@pytest.fixture(scope="session")
def parse() -> Callable[[str], Parsed]:
    return cache(Parsed)
