"""From an experiment to an ordered list of jobs and duels: pure, and no data is loaded."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from harness import ids, preparation
from harness.config import Choice, Experiment
from harness.data import default_splits, resolve
from harness.errors import ConfigError, unknown
from harness.model import (
    JSON,
    Algorithm,
    Dataset,
    DatasetRef,
    Duel,
    Environment,
    Job,
    Limits,
    Outcome,
    Split,
    Status,
    Trial,
)
from harness.plugins import Entry, Registry


@dataclass(frozen=True)
class Surroundings:
    """What ids need to know of the machine, given from outside so that planning stays pure."""

    machine: str = ""
    version_of: Callable[[str], str] = lambda _: ""


@dataclass(frozen=True)
class Variant:
    """An algorithm with its full params."""

    entry: Entry
    params: JSON

    @property
    def algorithm(self) -> Algorithm:
        """Return the declaration."""
        value: Algorithm = self.entry.value
        return value


@dataclass(frozen=True)
class Plan:
    """What a run will do, in order."""

    jobs: tuple[Job, ...]
    skipped: tuple[Outcome, ...]  # what cannot be run, with the reason
    duels: tuple[Duel, ...]
    declared: JSON  # facts of algorithms and datasets that a report needs later

    def trials(self) -> Iterator[Trial]:
        """Yield every trial of the jobs, in order."""
        for job in self.jobs:
            yield from job.trials


def dataset_names(pattern: str, registry: Registry) -> list[str]:
    """Return the names that a glob, ``suite:NAME`` or ``NAME:key=value`` stands for."""
    if pattern.startswith("suite:"):
        suite = pattern.removeprefix("suite:")
        every: list[Dataset] = registry.all("dataset")
        if found := [d.name for d in every if suite in d.suites]:
            return found
        known = {s for d in every for s in d.suites}
        raise ConfigError(unknown("suite", suite, known, f"known are {', '.join(sorted(known))}"))
    return [pattern] if ":" in pattern else registry.matching("dataset", [pattern])


def installed_version(distribution: str) -> str:
    """Return the version of an installed distribution, or "absent"."""
    try:
        return version(distribution)
    except PackageNotFoundError:
        return "absent"


def make_plan(
    experiment: Experiment,
    registry: Registry,
    surroundings: Surroundings,
    extra: Iterable[Dataset] = (),
    plugin_files: tuple[str, ...] = (),
) -> Plan:
    """Return the jobs and duels of an experiment.

    Parameters
    ----------
    experiment
        What to run.
    registry
        Where names are looked up.
    surroundings
        The machine and the versions that belong to trial ids.
    extra
        Datasets that no plugin registers (a user's own file), taken beside the named ones.
    plugin_files
        Plugin files that a worker must load too.
    """
    given = {dataset.name: dataset for dataset in extra}
    planner = _Planner(experiment, registry, surroundings, plugin_files)
    datasets = [*given.values(), *planner.datasets(experiment.datasets, given)]
    variants = planner.variants()
    pairs = planner.pairs(experiment.verdicts.pairs, variants)
    jobs, skipped = planner.jobs(variants, datasets, pairs)
    duels = planner.duels(variants, given)
    declared = _declare(variants, datasets, pairs, experiment)
    return Plan(tuple(jobs), tuple(skipped), tuple(duels), declared)


class _Planner:
    """The steps of planning, with what all of them look at."""

    def __init__(
        self,
        experiment: Experiment,
        registry: Registry,
        surroundings: Surroundings,
        plugin_files: tuple[str, ...],
    ) -> None:
        self.experiment = experiment
        self.registry = registry
        self.surroundings = surroundings
        self.plugin_files = plugin_files
        self.limits = Limits(experiment.run.timeout, experiment.run.memory)

    def datasets(self, patterns: Iterable[str], given: Mapping[str, Dataset]) -> list[Dataset]:
        """Return the datasets that globs, ``suite:NAME`` and ``NAME:key=value`` stand for."""
        chosen: dict[str, Dataset] = {}
        for pattern in patterns:
            if pattern in given:
                continue
            for name in dataset_names(pattern, self.registry):
                chosen[name] = resolve(name, self.registry)
        return list(chosen.values())

    def variants(self) -> list[Variant]:
        """Return every algorithm × params that the experiment names, references included."""
        found: dict[str, Variant] = {}
        for choice in self.experiment.algorithms:
            chosen = Choice(name=choice) if isinstance(choice, str) else choice
            for name in self.registry.matching("algorithm", [chosen.name]):
                for variant in self._grid(name, chosen):
                    found.setdefault(ids.canonical([name, variant.params]), variant)
        self._check_capacity([v.algorithm for v in found.values()])
        return list(found.values())

    def _grid(self, name: str, choice: Choice) -> Iterator[Variant]:
        entry = self.registry.entry("algorithm", name)
        base = with_capacity(entry.value, self.experiment.capacity) | choice.params
        for values in itertools.product(*choice.grid.values()):
            yield Variant(entry, base | dict(zip(choice.grid, values, strict=True)))

    def _check_capacity(self, algorithms: list[Algorithm]) -> None:
        known = {key for algorithm in algorithms for key in algorithm.capacity}
        for key in self.experiment.capacity:
            if known and key not in known:
                hint = f"known are {', '.join(sorted(known))}"
                raise ConfigError(unknown("capacity", key, known, hint))

    def pairs(
        self, declared: list[tuple[str, str]] | None, variants: list[Variant]
    ) -> list[tuple[str, str]]:
        """Return the declared pairs, or each chosen algorithm with its chosen reference."""
        if declared is not None:
            for name in itertools.chain.from_iterable(declared):
                self.registry.algorithm(name)
            return declared
        chosen = dict.fromkeys(v.algorithm.name for v in variants)
        answers = ((name, self.registry.algorithm(name).reference) for name in chosen)
        return [(name, reference) for name, reference in answers if reference in chosen]

    def jobs(
        self, variants: list[Variant], datasets: list[Dataset], pairs: list[tuple[str, str]]
    ) -> tuple[list[Job], list[Outcome]]:
        """Return jobs ordered by algorithm, and the trials that cannot be run."""
        jobs: list[Job] = []
        skipped: list[Outcome] = []
        by_name = itertools.groupby(variants, key=lambda v: v.algorithm.name)
        for _, group in by_name:
            same = list(group)
            for dataset in datasets:
                algorithm = same[0].algorithm
                if dataset.task not in algorithm.tasks:
                    continue
                names = self._preparations(algorithm, dataset, pairs)
                trials = [t for v in same for p in names for t in self._trials(v, dataset, p)]
                if reason := refusal(algorithm, dataset):
                    skipped += [Outcome(t, Status.SKIPPED, reason=reason) for t in trials]
                else:
                    run = self.experiment.run
                    jobs.append(self._job(same[0].entry, dataset, tuple(trials), run.threads))
        return jobs, skipped

    def _preparations(
        self, algorithm: Algorithm, dataset: Dataset, pairs: list[tuple[str, str]]
    ) -> list[str]:
        """Return what an algorithm is prepared with: as each of its pairs needs it, or its own."""
        partners = [
            self.registry.algorithm(b if a == algorithm.name else a)
            for a, b in pairs
            if algorithm.name in (a, b)
        ]
        usable = [p for p in partners if dataset.task in p.tasks and not refusal(p, dataset)]
        found = [preparation.common([algorithm.accepts, p.accepts], dataset) for p in usable]
        own = preparation.choose(algorithm.accepts, dataset)
        return list(dict.fromkeys(found)) or [own]

    def _trials(self, variant: Variant, dataset: Dataset, prepared: str) -> Iterator[Trial]:
        splits = self.experiment.splits
        rows = default_splits(dataset, splits.folds, splits.repeats, splits.seed)
        for split, seed in itertools.product(rows, self.experiment.run.seeds):
            threads = self.experiment.run.threads
            yield self.trial(variant, dataset, prepared, split, seed, threads)

    def trial(
        self,
        variant: Variant,
        dataset: Dataset,
        prepared: str,
        split: Split,
        seed: int,
        threads: int,
        *,
        timed: bool = False,
    ) -> Trial:
        """Return one trial with both ids."""
        algorithm = variant.algorithm
        name = algorithm.name
        cell = ids.cell_id(name, variant.params, prepared, dataset.name, split, seed, threads)
        code = {"plugin": variant.entry.plugin, "code": ids.code_digest(variant.entry.path)}
        rest = {
            **code,
            "versions": {
                lib: self.surroundings.version_of(lib)
                for lib in sorted({*algorithm.libraries, "numpy", "pandas"})
            },
            "dataset": dataset.digest,
            "measurement": ids.MEASUREMENT_VERSION,
            **({"machine": self.surroundings.machine} if timed else {}),
        }
        return Trial(
            algorithm=name,
            params=variant.params,
            preparation=prepared,
            dataset=dataset.name,
            split=split,
            seed=seed,
            threads=threads,
            cell=cell,
            id=ids.digest([cell, timed, rest]),
            task=dataset.task,
            timed=timed,
            ingredients={"cell": cell, **rest},
        )

    def _job(self, entry: Entry, dataset: Dataset, trials: tuple[Trial, ...], threads: int) -> Job:
        return Job(
            algorithm=entry.value.name,
            plugin=entry.plugin,
            dataset=DatasetRef(dataset.name, dataset.digest, dataset.options, dataset.file),
            trials=trials,
            threads=threads,
            limits=self.limits,
            environment=Environment(),
            plugins=self.plugin_files,
        )

    def duels(self, variants: list[Variant], given: Mapping[str, Dataset]) -> list[Duel]:
        """Return a duel for each pair on each of the duels' datasets."""
        settings = self.experiment.duels
        named = self.datasets(settings.datasets, given)
        datasets = [*(d for n, d in given.items() if n in settings.datasets), *named]
        by_name = {v.algorithm.name: v for v in reversed(variants)}
        for name in itertools.chain.from_iterable(settings.pairs or []):
            if name not in by_name:
                by_name[name] = next(self._grid(name, Choice(name=name)))
        pairs = self.pairs(settings.pairs, variants)
        found = (self.duel(by_name[a], by_name[b], d) for d in datasets for a, b in pairs)
        return [duel for duel in found if duel is not None]

    def duel(self, a: Variant, b: Variant, dataset: Dataset) -> Duel | None:
        """Return the duel of two variants on a dataset, or None where one cannot take it."""
        sides = (a, b)
        if any(dataset.task not in v.algorithm.tasks for v in sides):
            return None
        if any(refusal(v.algorithm, dataset) for v in sides):
            return None
        settings = self.experiment.duels
        prepared = preparation.common([v.algorithm.accepts for v in sides], dataset)
        splits = self.experiment.splits
        split = default_splits(dataset, splits.folds, 1, splits.seed)[0]
        seed = self.experiment.run.seeds[0]
        jobs = []
        for variant in sides:
            trial = self.trial(
                variant, dataset, prepared, split, seed, settings.threads, timed=True
            )
            jobs.append(self._job(variant.entry, dataset, (trial,), settings.threads))
        return make_duel(jobs[0], jobs[1], settings.launches, settings.blocks)


def make_duel(a: Job, b: Job, launches: int, blocks: int) -> Duel:
    """Return the duel of two jobs of one timed trial each, with its id."""
    duel = Duel(a=a, b=b, id="", launches=launches, blocks=blocks)
    sides = [[job.trials[0].id, job.environment.name] for job in (a, b)]
    return replace(duel, id=ids.digest([sides, launches, blocks, duel.phases]))


def plan_duel(
    experiment: Experiment,
    registry: Registry,
    surroundings: Surroundings,
    dataset: Dataset,
    sides: tuple[str, str],
    plugin_files: tuple[str, ...] = (),
) -> Duel:
    """Return one duel of two algorithms by name, with the experiment's capacity and settings."""
    planner = _Planner(experiment, registry, surroundings, plugin_files)
    a, b = (next(planner._grid(name, Choice(name=name))) for name in sides)  # noqa: SLF001 - the same file
    for variant in (a, b):
        if dataset.task not in variant.algorithm.tasks:
            tasks = ", ".join(sorted(variant.algorithm.tasks))
            raise ConfigError(
                f"{variant.algorithm.name} is for {tasks}; {dataset.name} is {dataset.task}"
            )
        if reason := refusal(variant.algorithm, dataset):
            raise ConfigError(f"{variant.algorithm.name} cannot run on {dataset.name}: {reason}")
    duel = planner.duel(a, b, dataset)
    if duel is None:
        raise ConfigError(f"{sides[0]} and {sides[1]} share no preparation for {dataset.name}")
    return duel


def with_capacity(algorithm: Algorithm, capacity: Mapping[str, Any]) -> JSON:
    """Return an algorithm's default params with the canonical capacity in its own words."""
    params: JSON = dict(algorithm.params)
    for key, value in capacity.items():
        argument = algorithm.capacity.get(key)
        if argument is not None and argument.match != "impossible":
            params[argument.name] = argument.convert(value) if argument.convert else value
    return params


def refusal(algorithm: Algorithm, dataset: Dataset) -> str | None:
    """Return why an algorithm cannot take a dataset, in words, or None."""
    reason = preparation.refusal(algorithm.accepts, dataset)
    if reason is None and algorithm.skip is not None:
        reason = algorithm.skip(dataset)
    return reason


def _declare(
    variants: list[Variant],
    datasets: list[Dataset],
    pairs: list[tuple[str, str]],
    experiment: Experiment,
) -> JSON:
    """Return what a report needs to know once no plugin is importable any more."""
    algorithms = {v.algorithm.name: v.algorithm for v in variants}
    return {
        "algorithms": {name: _algorithm_facts(a) for name, a in algorithms.items()},
        "datasets": {d.name: _dataset_facts(d) for d in datasets},
        "pairs": [list(pair) for pair in pairs],
        "margin": experiment.verdicts.margin,
    }


def _algorithm_facts(algorithm: Algorithm) -> JSON:
    names = ("origin", "reference", "paper", "summary", "libraries", "rungs")
    facts = {name: getattr(algorithm, name) for name in names}
    capacity = {
        key: {"name": argument.name, "match": argument.match, "note": argument.note}
        for key, argument in algorithm.capacity.items()
    }
    tasks = sorted(algorithm.tasks)
    return {**facts, "libraries": list(algorithm.libraries), "tasks": tasks, "capacity": capacity}


def _dataset_facts(dataset: Dataset) -> JSON:
    names = ("task", "rows", "columns", "n_classes", "categorical", "missing", "sparse")
    more = ("weighted", "grouped", "source", "summary", "licence", "digest")
    return {name: getattr(dataset, name) for name in (*names, *more)}
