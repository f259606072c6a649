"""Trials of a plan that are compared tree by tree."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

from harness.config.experiment import Parity
from harness.core import ids
from harness.core.errors import ConfigError, unknown
from harness.core.model import JSON, Job
from harness.planning.candidates import Pair
from harness.planning.plan import Plan

INPUTS = "raw"  # data that both sides get
VERSION = 2  # increase when trees are compared or explained differently

Side = tuple[str, Mapping[str, Any]]  # algorithm, params


@dataclass(frozen=True)
class Match:
    """Comparison of two algorithms on one dataset: a job each, with the same splits."""

    a: Job
    b: Job

    @property
    def what(self) -> JSON:
        """Return the description of the comparison for the store."""
        trials = [[trial.id for trial in job.trials] for job in (self.a, self.b)]
        first = self.a.trials[0]
        return {
            "id": ids.digest([trials, INPUTS, VERSION]),
            "dataset": first.dataset,
            "preparation": first.preparation,
            "inputs": INPUTS,
            "sides": [
                {
                    "algorithm": job.trials[0].algorithm,
                    "params": job.trials[0].params,
                    "trials": names,
                }
                for job, names in zip((self.a, self.b), trials, strict=True)
            ],
        }


def matches_of(settings: Parity, plan: Plan) -> list[Match]:
    """Return the matches for the ``[parity]`` table of an experiment.

    An algorithm in several modes (its param ``parity``) is compared in each, with the first params
    of the run in that mode.

    Raises
    ------
    ConfigError
        If a pair names an algorithm, or a glob matches no dataset, of the run.
    """
    names = list(dict.fromkeys(job.dataset.name for job in plan.jobs))
    skipped = {outcome.trial.dataset for outcome in plan.skipped}
    for pattern in settings.datasets:
        if not any(fnmatchcase(name, pattern) for name in (*names, *skipped)):
            raise ConfigError(unknown("dataset of this run", pattern, names))
    chosen = [n for n in names if any(fnmatchcase(n, pattern) for pattern in settings.datasets)]
    declared = plan.declared or {}
    if settings.most_rows:
        facts = declared.get("datasets", {})
        chosen = [n for n in chosen if facts[n]["rows"] <= settings.most_rows]
    known = declared.get("algorithms", {})
    pairs = _pairs(settings, known) if chosen else []
    return [
        match
        for pair in pairs
        for a, b in _sides(pair, plan)
        for match in find_matches(plan, a, b, chosen)
    ]


def _pairs(settings: Parity, known: Mapping[str, JSON]) -> list[Pair]:
    """Return the declared pairs; if None, each algorithm of the run with its reference."""
    if settings.pairs is None:
        answers = ((name, facts["reference"]) for name, facts in known.items())
        return [(name, reference) for name, reference in answers if reference in known]
    for name in (name for pair in settings.pairs for name in pair):
        if name not in known:
            raise ConfigError(unknown("algorithm of this run", name, known))
    return settings.pairs


def _sides(pair: Pair, plan: Plan) -> Iterator[tuple[Side, Side]]:
    """Yield the params of both sides, the first params of A in each of its modes."""
    a, b = ([t.params for t in plan.trials() if t.algorithm == name] for name in pair)
    modes = {str(params.get("parity")): params for params in reversed(a)}
    for params in reversed(modes.values()):
        if b:
            yield (pair[0], params), (pair[1], params if pair[0] == pair[1] else b[0])


def find_matches(plan: Plan, a: Side, b: Side, datasets: Iterable[str]) -> Iterator[Match]:
    """Yield the match of two sides on each dataset with a preparation common to both."""
    for dataset in datasets:
        one, other = (_prepared(plan, side, dataset) for side in (a, b))
        if common := [name for name in one if name in other]:
            yield Match(one[common[0]], other[common[0]])


def _prepared(plan: Plan, side: Side, dataset: str) -> dict[str, Job]:
    """Return the jobs of one side on a dataset, by preparation."""
    name, params = side
    by_preparation: dict[str, Job] = {}
    for job in plan.jobs:
        if (job.name, job.dataset.name) == (name, dataset):
            same = [trial for trial in job.trials if trial.params == params]
            for prepared in dict.fromkeys(trial.preparation for trial in same):
                trials = tuple(t for t in same if t.preparation == prepared)
                by_preparation[prepared] = replace(job, trials=trials)
    return by_preparation
