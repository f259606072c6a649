"""Turn an experiment into an ordered list of jobs and duels, without loading data."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from harness.config.experiment import SEARCHED, Choice, Experiment
from harness.config.search_space import TUNE
from harness.core import ids
from harness.core.errors import ConfigError
from harness.core.libraries import Surroundings
from harness.core.model import (
    JSON,
    Dataset,
    DatasetRef,
    Duel,
    Environment,
    Job,
    Limits,
    Outcome,
    Split,
    Trial,
)
from harness.data import default_splits, drawn_splits, preparation
from harness.data.mirror import check_mirror
from harness.data.task_splits import task_splits
from harness.planning.candidates import (
    Pair,
    Variant,
    call_all,
    check_capacity,
    check_class_weight,
    check_estimators,
    check_files_of_splits,
    check_metric,
    check_track_datasets,
    choose_datasets,
    choose_pairs,
    choose_variants,
    duel_pairs,
    finder,
    grid,
    names_in_files,
    on_dataset,
    outcomes_without_run,
    preparations,
    refusal,
    supports,
)
from harness.planning.declarations import declare
from harness.planning.duels import make_duel, stop_rule
from harness.plugins.registry import Entry, Registry

OWN_DATA = "harness.data.providers."  # built-in datasets, which every worker loads


@dataclass(frozen=True)
class Plan:
    """Jobs and duels of a run, in order."""

    jobs: tuple[Job, ...] = ()
    skipped: tuple[Outcome, ...] = ()  # trials that cannot be run, with the reason or the failure
    duels: tuple[Duel, ...] = ()
    declared: JSON | None = None  # facts of algorithms and datasets for the report

    def trials(self) -> Iterator[Trial]:
        """Yield every trial of the jobs, in order."""
        for job in self.jobs:
            yield from job.trials

    @property
    def threads(self) -> int:
        """Return the maximum number of threads of any job or duel; 0 for an empty plan."""
        jobs = (*self.jobs, *(duel.a for duel in self.duels))
        return max((job.threads for job in jobs), default=0)


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
    extra
        Datasets that no plugin registers (a user's own file); the experiment names them.
    plugin_files
        Plugin files that a worker must load too.
    """
    given = {dataset.name: dataset for dataset in extra}
    planner = Planner(experiment, registry, surroundings, plugin_files)
    datasets, variants, duel_datasets = call_all(
        (
            lambda: choose_datasets(experiment.datasets, registry, given),
            lambda: choose_variants(experiment, registry),
            lambda: choose_datasets(experiment.duels.datasets, registry, given),
        )
    )
    check_estimators(variants, datasets)
    check_track_datasets(experiment.track_datasets, datasets)
    check_files_of_splits(experiment.splits.files, [*datasets, *duel_datasets], registry)
    pairs = choose_pairs(experiment.verdicts.pairs, variants, registry)
    compared = choose_pairs(experiment.parity.pairs, variants, registry)
    prepared_for = [*pairs, *(compared if experiment.parity.datasets else ())]
    jobs, skipped = planner.jobs(variants, datasets, prepared_for)
    duels = planner.duels(variants, duel_datasets)
    check_metric(experiment.verdicts.metric, registry, datasets)
    check_class_weight(experiment.training.class_weight, datasets)
    verdicts = experiment.verdicts
    declared = declare(variants, datasets, pairs, verdicts.margin, verdicts.metric)
    return Plan(tuple(jobs), tuple(skipped), tuple(duels), declared)


def plan_duel(
    experiment: Experiment,
    registry: Registry,
    surroundings: Surroundings,
    dataset: Dataset,
    sides: Sequence[str | Choice],
    plugin_files: tuple[str, ...] = (),
) -> Plan:
    """Return a plan of one duel of two algorithms, with the experiment's settings.

    Raises
    ------
    ConfigError
        If one of the two does not support the dataset, with the reason.
    """
    check_capacity(experiment.capacity, registry.all("algorithm"))
    planner = Planner(experiment, registry, surroundings, plugin_files)
    a, b = (planner.variant(side) for side in sides)
    for algorithm in (a.algorithm, b.algorithm):
        if dataset.task not in algorithm.tasks:
            tasks = ", ".join(sorted(algorithm.tasks))
            raise ConfigError(f"{algorithm.name} is for {tasks}; {dataset.name} is {dataset.task}")
        if reason := refusal(algorithm, dataset):
            raise ConfigError(f"{algorithm.name} cannot run on {dataset.name}: {reason}")
    margin = experiment.verdicts.margin
    return Plan(
        duels=(planner.duel(a, b, dataset),),
        declared=declare([a, b], [dataset], [(a.name, b.name)], margin),
    )


class Planner:
    """Planning steps that share their inputs."""

    def __init__(
        self,
        experiment: Experiment,
        registry: Registry,
        surroundings: Surroundings,
        plugin_files: tuple[str, ...] = (),
    ) -> None:
        self.experiment = experiment
        self.registry = registry
        self.surroundings = surroundings
        self.plugin_files = plugin_files
        self.limits = Limits(experiment.run.timeout, experiment.run.memory)
        check_mirror()  # workers read it too, for any dataset
        self.splits: dict[str, dict[str, Split]] = {}  # by dataset, and by label

    def variant(self, named: str | Choice) -> Variant:
        """Return an algorithm with the experiment's common params and the params of the choice."""
        choice = Choice(name=named) if isinstance(named, str) else named
        return next(grid(choice.name, choice, self.experiment.capacity, self.registry))

    def jobs(
        self, variants: list[Variant], datasets: list[Dataset], pairs: list[Pair]
    ) -> tuple[list[Job], list[Outcome]]:
        """Return jobs ordered by algorithm, and the trials that cannot be run."""
        jobs: list[Job] = []
        skipped: list[Outcome] = []
        find = finder(variants, self.registry)
        for _, group in itertools.groupby(variants, key=lambda v: v.name):
            same = list(group)
            algorithm = same[0].algorithm
            for dataset in (d for d in datasets if d.task in algorithm.tasks):
                chosen = [v for v in same if on_dataset(v, dataset.name, self.experiment)]
                if not chosen:
                    continue
                prepared = preparations(chosen[0], dataset, pairs, find)
                trials = tuple(self._trials(chosen, dataset, prepared))
                if ends := outcomes_without_run(algorithm, dataset, trials):
                    skipped += ends
                else:
                    threads = self.experiment.run.threads
                    jobs.append(self._job(same[0].entry, dataset, trials, threads))
        return jobs, skipped

    def _trials(
        self, variants: list[Variant], dataset: Dataset, prepared: list[str]
    ) -> Iterator[Trial]:
        run, splits = self.experiment.run, self._splits(dataset)
        for variant, name in itertools.product(variants, prepared):
            builder = _TrialBuilder(variant, dataset, name, self._ingredients(variant, dataset))
            for (label, split), seed in itertools.product(splits.items(), run.seeds):
                yield builder.trial(label, split, seed, run.threads)

    def _splits(self, dataset: Dataset) -> dict[str, Split]:
        """Return the splits of a dataset by label, the same for every algorithm."""
        if dataset.name not in self.splits:
            made = self._made_splits(dataset)
            self.splits[dataset.name] = {split.label: split for split in made}
        return self.splits[dataset.name]

    def _made_splits(self, dataset: Dataset) -> list[Split]:
        settings = self.experiment.splits
        if settings.training_sets is not None:
            rows = dict.fromkeys(settings.training_rows)
            return drawn_splits(dataset, settings.training_sets, list(rows), settings.seed)
        most = settings.most_train_rows
        paths = [settings.files.get(name) for name in names_in_files(dataset)]
        if path := next(filter(None, paths), None):
            path = str(Path(path).absolute())  # workers run in other folders
            made = task_splits(path, dataset.name, dataset.rows, settings.sample)
            return [replace(split, train_rows=most or 0) for split in made]
        return default_splits(dataset, settings.folds, settings.repeats, settings.seed, most)

    def _ingredients(self, variant: Variant, dataset: Dataset) -> JSON:
        """Return the ingredients of a trial id besides the cell."""
        # scikit-learn makes the splits of every algorithm
        libraries = sorted({*variant.algorithm.libraries, "numpy", "pandas", "scikit-learn"})
        return {
            "plugin": Path(variant.entry.plugin).name,  # the folder of a file does not matter
            "code": ids.code_digest(variant.entry.path),
            "versions": {name: self.surroundings.version_of(name) for name in libraries},
            "dataset": dataset.digest,
            "measurement": ids.MEASUREMENT_VERSION,
        }

    def _job(self, entry: Entry, dataset: Dataset, trials: tuple[Trial, ...], threads: int) -> Job:
        return Job(
            algorithm=entry.value.name,
            plugin=entry.plugin,
            libraries=entry.value.libraries,
            dataset=DatasetRef(dataset.name, dataset.digest, dataset.options, dataset.file),
            trials=trials,
            threads=threads,
            limits=self.limits,
            environment=Environment(),
            plugins=self._plugins(dataset),
            exports=self._exports(trials),
        )

    def _exports(self, trials: Iterable[Trial]) -> tuple[str, ...]:
        """Return the names of the artifacts stored beside the predictions of trials."""
        keep = self.experiment.tuning.keep_predictions
        return ("search",) if keep and any(TUNE in trial.params for trial in trials) else ()

    def _plugins(self, dataset: Dataset) -> tuple[str, ...]:
        """Return the plugins that a worker must load besides the algorithm's, for the dataset."""
        home = self.registry.entries["dataset"].get(dataset.name.partition(":")[0])
        if home is None or home.plugin.startswith(OWN_DATA) or home.plugin in self.plugin_files:
            return self.plugin_files
        return (*self.plugin_files, home.plugin)

    def duels(self, variants: list[Variant], datasets: list[Dataset]) -> list[Duel]:
        """Return a duel for each pair on each dataset that both support."""
        # Searched variants are not duelled: the timing would include the search.
        timed = [v for v in variants if not SEARCHED.issuperset(v.tracks)]
        by_name = {v.name: v for v in reversed(timed)}
        pairs = duel_pairs(self.experiment.duels, variants, self.registry)
        planned: list[Duel] = []
        noisy: set[str] = set()
        for dataset, pair in itertools.product(datasets, pairs):
            a, b = (by_name.get(name) or self.variant(name) for name in pair)
            if all(supports(v.algorithm, dataset) for v in (a, b)):
                planned.append(self.duel(a, b, dataset))
                if self.experiment.duels.noise and dataset.name not in noisy:
                    noisy.add(dataset.name)  # one A/A duel per dataset measures the noise
                    planned.append(self.duel(a, a, dataset))
        return planned

    def duel(self, a: Variant, b: Variant, dataset: Dataset) -> Duel:
        """Return the duel of two variants on a dataset that both support."""
        settings = self.experiment.duels
        prepared = preparation.common([a.algorithm.accepts, b.algorithm.accepts], dataset)
        one, other = (self.timed_job(v, dataset, prepared, settings.threads) for v in (a, b))
        return make_duel(one, other, settings.launches, settings.blocks, stop_rule(settings))

    def timed_job(self, variant: Variant, dataset: Dataset, prepared: str, threads: int) -> Job:
        """Return the job of one timed trial of a variant, on the first split of a dataset."""
        label, split = next(iter(self._splits(dataset).items()))
        rest = self._ingredients(variant, dataset) | {"machine": self.surroundings.machine}
        builder = _TrialBuilder(variant, dataset, prepared, rest, timed=True)
        trial = builder.trial(label, split, self.experiment.run.seeds[0], threads)
        return self._job(variant.entry, dataset, (trial,), threads)


class _TrialBuilder:
    """Builder of the trials of one variant on one dataset; computes digests once."""

    def __init__(
        self, variant: Variant, dataset: Dataset, prepared: str, rest: JSON, *, timed: bool = False
    ) -> None:
        self.variant, self.dataset, self.prepared = variant, dataset, prepared
        self.rest, self.timed = rest, timed
        name, params = variant.name, variant.params
        self.what = ids.digest([name, params, prepared, dataset.name])
        self.rest_digest = ids.digest(rest)

    def trial(self, label: str, split: Split, seed: int, threads: int) -> Trial:
        """Return one trial with both ids; ``label`` is that of the split."""
        cell = ids.cell_of(self.what, label, seed, threads)
        return Trial(
            algorithm=self.variant.name,
            params=self.variant.params,
            preparation=self.prepared,
            dataset=self.dataset.name,
            split=split,
            seed=seed,
            threads=threads,
            cell=cell,
            id=ids.trial_id(cell, self.rest_digest, timed=self.timed),
            task=self.dataset.task,
            timed=self.timed,
            ingredients={"cell": cell, **self.rest},
        )
