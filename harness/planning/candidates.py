"""Selection of an experiment: algorithms with their params, datasets, and pairs to compare."""

from __future__ import annotations

import itertools
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import partial
from typing import Any

from harness.config.experiment import SEARCHED, Choice, Duels, Experiment, Track, Training
from harness.config.search_space import tuned_params
from harness.core import ids
from harness.core.class_weights import BALANCED, is_balanced
from harness.core.errors import ConfigError, HarnessError, PluginError, together, unknown
from harness.core.model import JSON, Algorithm, Dataset, Failure, Outcome, Status, Task, Trial
from harness.data import preparation, resolve
from harness.plugins.estimators import check_params, check_tasks
from harness.plugins.registry import ESTIMATORS, Entry, Registry

Pair = tuple[str, str]
NOT_STARTED = {"failed_in": "start"}  # marks a failure that does not prevent another try


@dataclass(frozen=True)
class Variant:
    """Algorithm with its full params."""

    entry: Entry
    params: JSON
    tracks: tuple[Track, ...] = ("equal",)  # equal params may belong to several tracks
    label: str = ""

    @property
    def name(self) -> str:
        """Return the label, or the algorithm's name without one."""
        return self.label or self.algorithm.name

    @property
    def algorithm(self) -> Algorithm:
        """Return the declaration of the algorithm."""
        value: Algorithm = self.entry.value
        return value


def choose_datasets(
    patterns: Iterable[str], registry: Registry, given: Mapping[str, Dataset]
) -> list[Dataset]:
    """Return the datasets that match patterns; those in ``given`` need no plugin."""
    chosen: dict[str, Dataset] = {}

    def choose(pattern: str) -> None:
        names = [pattern] if pattern in given else dataset_names(pattern, registry)
        chosen.update({name: given.get(name) or resolve(name, registry) for name in names})

    call_all(partial(choose, pattern) for pattern in patterns)
    return list(chosen.values())


def call_all(functions: Iterable[Callable[[], Any]]) -> list[Any]:
    """Return the result of each function; raise one error with the messages of all that fail."""
    results: list[Any] = []
    errors: list[HarnessError] = []
    for function in functions:
        try:
            results.append(function())
        except HarnessError as error:
            errors.append(error)
    if len(errors) == 1:
        raise errors[0]
    if errors:
        raise ConfigError(together([str(error) for error in errors]))
    return results


def dataset_names(pattern: str, registry: Registry) -> list[str]:
    """Return the dataset names for a glob, ``suite:NAME`` or ``NAME:key=value``."""
    if pattern.startswith("suite:"):
        suite = pattern.removeprefix("suite:")
        every: list[Dataset] = registry.all("dataset")
        if found := [d.name for d in every if suite in d.suites]:
            return found
        known = {s for d in every for s in d.suites}
        raise ConfigError(unknown("suite", suite, known, f"known are {', '.join(sorted(known))}"))
    is_glob = ":" not in pattern and not set("*?[").isdisjoint(pattern)
    # A plain name is checked by `resolve`, which explains what is wrong with a card of that name.
    return registry.matching("dataset", [pattern]) if is_glob else [pattern]


def choose_variants(experiment: Experiment, registry: Registry) -> list[Variant]:
    """Return every algorithm × params of an experiment, grouped by name."""
    by_name: dict[str, dict[str, Variant]] = {}
    choices = [Choice(name=c) if isinstance(c, str) else c for c in experiment.algorithms]
    registry.matching(
        "algorithm", [chosen.name for chosen in choices]
    )  # one error with all unknown names
    _check_labels(choices, registry)
    for chosen in choices:
        for name in registry.matching("algorithm", [chosen.name]):
            same = by_name.setdefault(chosen.label or name, {})
            for variant in _on_tracks(name, chosen, experiment, registry):
                known = same.setdefault(ids.canonical(variant.params), variant)
                tracks = dict.fromkeys([*known.tracks, *variant.tracks])
                same[ids.canonical(variant.params)] = replace(known, tracks=tuple(tracks))
    variants = [variant for same in by_name.values() for variant in same.values()]
    check_capacity(experiment.capacity, registry.all("algorithm"))
    return variants


def _check_labels(choices: Iterable[Choice], registry: Registry) -> None:
    """Raise ConfigError for labels that are names of algorithms: a pair would be ambiguous."""
    for label in (chosen.label for chosen in choices):
        if label in registry.names("algorithm"):
            raise ConfigError(f"label {label!r} is the name of an algorithm: choose another one")


def _on_tracks(
    name: str, choice: Choice, experiment: Experiment, registry: Registry
) -> Iterator[Variant]:
    """Yield a choice's variants of one algorithm on each track of the experiment."""
    for track in experiment.tracks:
        capacity = experiment.capacity if track == "equal" else None
        for variant in trained_as(experiment.training, grid(name, choice, capacity, registry)):
            if track not in SEARCHED:
                yield replace(variant, tracks=(track,))
                continue
            fixed = {key: variant.params[key] for key in (*choice.params, *choice.grid)}
            fixed |= _stopping(experiment.training, variant.algorithm)
            is_ensemble = track == "ensembled"
            params = tuned_params(
                variant.algorithm, fixed, experiment.tuning, ensembled=is_ensemble
            )
            if params is not None:  # None: no search space, so not on this track
                if is_balanced(variant.params):
                    params[BALANCED] = True
                yield replace(variant, params=params, tracks=(track,))


def trained_as(training: Training, variants: Iterable[Variant]) -> Iterator[Variant]:
    """Yield variants with the params for early stopping and class weights."""
    for variant in variants:
        params = {**variant.params, **_stopping(training, variant.algorithm)}
        if training.class_weight:
            params[BALANCED] = True
        yield replace(variant, params=params)


def _stopping(training: Training, algorithm: Algorithm) -> JSON:
    """Return the params for early stopping; empty if the algorithm has no rounds."""
    if not training.early_stopping or algorithm.early_stopping is None:
        return {}
    return dict(algorithm.early_stopping(training.early_stopping, training.validation_share))


def labels_of(experiment: Experiment) -> set[str]:
    """Return the labels of an experiment."""
    return {c.label for c in experiment.algorithms if isinstance(c, Choice) and c.label}


def without_pairs_of(experiment: Experiment, names: set[str]) -> Experiment:
    """Return an experiment without the pairs that contain any of these names."""

    def rest(part: Any) -> Any:
        kept = [pair for pair in part.pairs or () if names.isdisjoint(pair)]
        return part.model_copy(update={"pairs": kept}) if part.pairs else part

    parts = ("duels", "parity", "verdicts", "diagnostics")
    return experiment.model_copy(update={part: rest(getattr(experiment, part)) for part in parts})


def without_labels(experiment: Experiment) -> Experiment:
    """Return an experiment without labels."""
    plain = [
        c if isinstance(c, str) else c.model_copy(update={"label": ""})
        for c in experiment.algorithms
    ]
    rest = without_pairs_of(experiment, labels_of(experiment))
    return rest.model_copy(update={"algorithms": plain})


def grid(
    name: str, choice: Choice, capacity: Mapping[str, Any] | None, registry: Registry
) -> Iterator[Variant]:
    """Yield a choice's variants of one algorithm: its params, for each point of the grid.

    If ``capacity`` is None, the base is the library's own defaults.
    """
    entry = registry.entry("algorithm", name)
    if entry.plugin == ESTIMATORS:
        check_params(name, {**choice.params, **choice.grid})
    base = own_defaults(entry.value) if capacity is None else with_capacity(entry.value, capacity)
    base |= choice.params
    for values in itertools.product(*choice.grid.values()):
        params = base | dict(zip(choice.grid, values, strict=True))
        yield Variant(entry, params, label=choice.label)


def own_defaults(algorithm: Algorithm) -> JSON:
    """Return the params that give the defaults of the algorithm's own library."""
    return {**algorithm.params, **algorithm.defaults}


def with_capacity(algorithm: Algorithm, capacity: Mapping[str, Any]) -> JSON:
    """Return an algorithm's default params with the common params under the library's names."""
    params: JSON = dict(algorithm.params)
    for key, value in capacity.items():
        argument = algorithm.capacity.get(key)
        if argument is not None and argument.match != "impossible":
            params[argument.name] = argument.convert(value) if argument.convert else value
    return params


def check_capacity(capacity: Mapping[str, Any], algorithms: Iterable[Algorithm]) -> None:
    """Raise ConfigError for a common param that no registered algorithm has."""
    known = {key for algorithm in algorithms for key in algorithm.capacity}
    for key in capacity:
        if known and key not in known:
            hint = f"known are {', '.join(sorted(known))}"
            raise ConfigError(unknown("capacity", key, known, hint))


def check_estimators(variants: Iterable[Variant], datasets: Iterable[Dataset]) -> None:
    """Raise ConfigError for estimators, named by import path, that fit none of the datasets."""
    chosen = list(datasets)
    named = {v.algorithm.name: v.algorithm for v in variants if v.entry.plugin == ESTIMATORS}
    call_all(partial(check_tasks, algorithm, chosen) for algorithm in named.values())


def check_metric(name: str, registry: Registry, datasets: Iterable[Dataset]) -> None:
    """Raise ConfigError for a metric that is not registered or fits no dataset's task."""
    if not name:
        return
    metrics = {metric.name: metric for metric in registry.all("metric")}
    tasks = {dataset.task for dataset in datasets}
    fitting = sorted(m.name for m in metrics.values() if m.tasks & tasks)
    if name not in metrics:
        raise ConfigError(unknown("metric", name, metrics, f"of these: {', '.join(fitting)}"))
    if not metrics[name].tasks & tasks:
        listed = " and ".join(sorted(tasks))
        raise ConfigError(f"the metric {name} is not for {listed}; use one of {', '.join(fitting)}")


def check_class_weight(class_weight: str, datasets: Iterable[Dataset]) -> None:
    """Raise ConfigError for class weights on a regression dataset."""
    for dataset in datasets:
        if class_weight and not dataset.task.is_classification:
            raise ConfigError(f"class weights need classes, but {dataset.name} is {dataset.task}")


def choose_pairs(
    declared: Iterable[Pair] | None, variants: list[Variant], registry: Registry
) -> list[Pair]:
    """Return the declared pairs; if None, each chosen algorithm with its reference if chosen."""
    if declared is not None:
        pairs, find = list(declared), finder(variants, registry)
        for name in itertools.chain.from_iterable(pairs):
            find(name)
        return pairs
    chosen = {v.name: v.algorithm.reference for v in variants}
    answers = ((name, reference or "") for name, reference in chosen.items())
    return [(name, reference) for name, reference in answers if reference in chosen]


def duel_pairs(settings: Duels, variants: list[Variant], registry: Registry) -> list[Pair]:
    """Return the pairs that are timed.

    Raises
    ------
    ConfigError
        If a glob of ``algorithms`` matches no algorithm.
    """
    pairs = choose_pairs(settings.pairs, variants, registry)
    if settings.pairs is not None:
        return pairs
    names = {*registry.names("algorithm"), *(v.name for v in variants)}
    for glob in settings.algorithms:
        if not any(fnmatchcase(name, glob) for name in names):
            raise ConfigError(unknown("algorithm of duels", glob, names))
    return [pair for pair in pairs if any(fnmatchcase(pair[0], g) for g in settings.algorithms)]


def on_dataset(variant: Variant, dataset: str, experiment: Experiment) -> bool:
    """Return whether a variant runs on a dataset on at least one of its tracks."""
    globs = (experiment.track_datasets.get(track, ["*"]) for track in variant.tracks)
    return any(fnmatchcase(dataset, glob) for glob in itertools.chain.from_iterable(globs))


def check_track_datasets(tracks: Mapping[Track, list[str]], datasets: Iterable[Dataset]) -> None:
    """Raise ConfigError if a glob of ``track_datasets`` matches no chosen dataset."""
    names = [dataset.name for dataset in datasets]
    for glob in itertools.chain.from_iterable(tracks.values()):
        if not any(fnmatchcase(name, glob) for name in names):
            raise ConfigError(unknown("dataset of a track", glob, names))


def names_in_files(dataset: Dataset) -> list[str]:
    """Return the names of a dataset in ``splits.files``: a user's file also without its digest."""
    own = [dataset.name.rpartition("-")[0]] if dataset.file is not None else []
    return [dataset.name, *own]


def check_files_of_splits(
    files: Mapping[str, str], datasets: Iterable[Dataset], registry: Registry
) -> None:
    """Raise ConfigError for files of splits that cannot be used.

    They may be for registered datasets that this run leaves out (``-d``), but not for rankings,
    whose queries they would separate.
    """
    tasks = {name: dataset.task for dataset in datasets for name in names_in_files(dataset)}
    known = {*tasks, *registry.names("dataset")}
    for name in files:
        if known.isdisjoint({name, name.partition(":")[0]}):
            raise ConfigError(unknown("dataset of splits.files", name, known, "check its name"))
        if tasks.get(name) is Task.RANKING:
            raise ConfigError(f"{name} is a ranking dataset: splits.files would divide its queries")


def finder(variants: Iterable[Variant], registry: Registry) -> Callable[[str], Algorithm]:
    """Return a function that finds an algorithm by its name, or by the label of a variant."""
    named = {v.name: v.algorithm for v in variants}
    return lambda name: named.get(name) or registry.algorithm(name)


def preparations(
    variant: Variant, dataset: Dataset, pairs: Iterable[Pair], find: Callable[[str], Algorithm]
) -> list[str]:
    """Return the preparations of a variant's data: one for each pair, else the preferred one."""
    algorithm = variant.algorithm
    prepared: dict[str, None] = {}
    for pair in pairs:
        if variant.name in pair:
            other = find(pair[pair[0] == variant.name])
            if supports(other, dataset):
                both = [algorithm.accepts, other.accepts]
                prepared[preparation.common(both, dataset)] = None
    return list(prepared) or [preparation.choose(algorithm.accepts, dataset)]


def refusal(algorithm: Algorithm, dataset: Dataset) -> str | None:
    """Return the reason why an algorithm does not support a dataset, or None.

    Raises
    ------
    PluginError
        If the algorithm's ``skip`` raises, or returns neither a string nor None.
    """
    reason = preparation.refusal(algorithm.accepts, dataset)
    if reason is not None or algorithm.skip is None:
        return reason
    try:
        result: object = algorithm.skip(dataset)
    except Exception as error:
        why = f"{type(error).__name__}: {error}"
        raise PluginError(f"`skip` of {algorithm.name} failed on {dataset.name}: {why}") from error
    if result is None or isinstance(result, str):
        return result
    raise PluginError(
        f"`skip` of {algorithm.name} returned {result!r}; it must return a reason or None"
    )


def supports(algorithm: Algorithm, dataset: Dataset) -> bool:
    """Return whether an algorithm supports a dataset; False if its ``skip`` fails."""
    try:
        return dataset.task in algorithm.tasks and not refusal(algorithm, dataset)
    except PluginError:  # its own trials report the error
        return False


def outcomes_without_run(
    algorithm: Algorithm, dataset: Dataset, trials: Iterable[Trial]
) -> list[Outcome]:
    """Return the outcomes of trials that cannot be run; empty if they can."""
    trials = list(trials)
    if any(is_balanced(trial.params) for trial in trials):
        dataset = replace(dataset, weighted=True)
    try:
        reason = refusal(algorithm, dataset)
    except PluginError as error:
        detail = "".join(traceback.format_exception(error.__cause__)) if error.__cause__ else ""
        failure = Failure(type(error.__cause__ or error).__name__, str(error), detail)
        return [Outcome(t, Status.FAILED, failure=failure, facts=NOT_STARTED) for t in trials]
    return [Outcome(t, Status.SKIPPED, reason=reason) for t in trials] if reason else []
