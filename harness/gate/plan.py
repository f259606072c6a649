"""The plan of a gate: the jobs of the head, and the same jobs for the base under another name.

A trial of the base is the head's trial in another environment. Its algorithm is called
``ALGORITHM@COMMIT``, so that store, verdicts and reports treat it as another implementation.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from harness.analysis.interim_analysis import INTERIM_LAUNCHES
from harness.config.experiment import Choice, Experiment
from harness.core import ids
from harness.core.libraries import Surroundings
from harness.core.model import JSON, Duel, Job, StopRule, Trial
from harness.gate.base import Base
from harness.gate.libraries import is_checkout
from harness.gate.revision import belongs, in_tree
from harness.planning.duels import make_duel
from harness.planning.plan import Plan, make_plan
from harness.planning.tree_comparisons import Match, find_matches
from harness.plugins.registry import Registry

PHASES = ("native", "fit", "predict")
DECIDED_PHASES = ("train", "predict")  # phases that must be decided before a duel may end early


@dataclass(frozen=True)
class Sides:
    """Factory of the base's jobs and trials from those of the head."""

    base: Base
    commit: str  # short form, used in names
    repository: Path
    tree: Path  # where the base is checked out
    capacity: Mapping[str, frozenset[str]]  # algorithm → params that the experiment sets

    def label(self, algorithm: str) -> str:
        """Return the name of an algorithm of the base."""
        return f"{algorithm}@{self.commit}"

    def job(self, head: Job) -> Job:
        """Return the base's counterpart of a job of the head."""
        return replace(
            head,
            plugin=self.base.algorithms[head.algorithm]["plugin"],
            trials=tuple(self.trial(trial, head.algorithm) for trial in head.trials),
            environment=self.base.environment,
            plugins=tuple(self.path(plugin) for plugin in head.plugins),
        )

    def trial(self, head: Trial, algorithm: str) -> Trial:
        """Return the base's counterpart of a trial, with the defaults of the base and own ids."""
        known = self.base.algorithms[algorithm]
        given = {k: v for k, v in head.params.items() if k in self.capacity.get(algorithm, ())}
        params = {**known["params"], **given}
        name = self.label(algorithm)
        cell = ids.cell_id(
            name, params, head.preparation, head.dataset, head.split, head.seed, head.threads
        )
        rest = {k: v for k, v in head.ingredients.items() if k != "cell"}
        rest["code"] = ids.code_digest(known["path"])
        rest["versions"] = {
            library: self.base.versions.get(library, "absent") for library in rest["versions"]
        }
        return replace(
            head,
            algorithm=name,
            params=params,
            cell=cell,
            id=ids.trial_id(cell, ids.digest(rest), timed=head.timed),
            ingredients={"cell": cell, **rest},
        )

    def path(self, plugin: str) -> str:
        """Return the path of a plugin file in the base; files outside the repository are shared."""
        return in_tree(plugin, self.repository, self.tree)


def roots_of(registry: Registry, repository: Path, tree: Path, harness_root: Path) -> list[Path]:
    """Return the folders that come first on the base's path, for the plugins of the head.

    The harness itself comes last, from the base's tree if it belongs to the repository. An
    installed harness needs no entry: each interpreter has its own.
    """
    roots: dict[Path, None] = {}
    for entry in registry.entries["algorithm"].values():
        path = Path(entry.path).resolve()
        if belongs(path, repository) and not entry.plugin.endswith(".py"):
            module = entry.plugin.partition(":")[0]  # without the attribute of an entry point
            depth = len(module.split(".")) - (path.name != "__init__.py")
            roots[tree / path.parents[depth].relative_to(repository)] = None
    if is_checkout(harness_root):
        roots[Path(in_tree(str(harness_root), repository, tree))] = None
    return list(roots)


def plan_sides(
    experiment: Experiment,
    registry: Registry,
    surroundings: Surroundings,
    sides: Sides,
    *,
    claim: float,
    plugin_files: tuple[str, ...] = (),
) -> Plan:
    """Return the trials of both sides, the duels of each algorithm with its base, and the facts.

    Parameters
    ----------
    experiment
        Names the changed algorithms, in the order in which they are duelled;
        ``duels.datasets`` are the datasets of the duels, ``duels.launches`` the most launches of a
        duel.
    claim
        Smallest accepted ratio of the base's time to the head's; decides when a duel ends.
    """
    names = [choice if isinstance(choice, str) else choice.name for choice in experiment.algorithms]
    duels = experiment.duels.model_copy(update={"pairs": [(name, name) for name in names]})
    experiment = experiment.model_copy(update={"duels": duels})
    plan = make_plan(experiment, registry, surroundings, (), plugin_files)
    most = max(experiment.duels.launches, INTERIM_LAUNCHES[0])
    launches = tuple(launch for launch in INTERIM_LAUNCHES if launch <= most)
    rule = StopRule(launches, DECIDED_PHASES[0], claim=claim, also=DECIDED_PHASES[1:])
    ordered = sorted(plan.duels, key=lambda duel: names.index(duel.a.algorithm))
    return Plan(
        jobs=tuple(side for job in plan.jobs for side in (job, sides.job(job))),
        skipped=plan.skipped,
        duels=tuple(_duel(duel, sides, rule) for duel in ordered),
        declared=_declared(plan.declared or {}, sides),
    )


def _duel(alone: Duel, sides: Sides, rule: StopRule) -> Duel:
    """Turn a duel of the head with itself into a duel of the head with its base."""
    return make_duel(alone.a, sides.job(alone.a), alone.launches, alone.blocks, rule, PHASES)


def _declared(declared: Mapping[str, Any], sides: Sides) -> JSON:
    """Return the declared facts of both sides; the reference of each algorithm is its base."""
    algorithms: JSON = {}
    for name, facts in declared.get("algorithms", {}).items():
        label = sides.label(name)
        algorithms[name] = {**facts, "reference": label}
        algorithms[label] = {**facts, "origin": "reference", "reference": None}
    pairs = [[name, sides.label(name)] for name in declared.get("algorithms", {})]
    return {**declared, "algorithms": algorithms, "pairs": pairs, "tracks": []}


def plan_parity_matches(
    experiment: Experiment,
    registry: Registry,
    surroundings: Surroundings,
    sides: Sides,
    plugin_files: tuple[str, ...] = (),
) -> list[Match]:
    """Return the tree comparisons of head and base with the reference libraries.

    There is one for each mode in which an algorithm claims a parity level. An algorithm without
    claims, or whose reference is not registered, has none.
    """
    matches: list[Match] = []
    for name, mode, reference in _claims(experiment, registry):
        params = {} if mode == "default" else {"parity": mode}
        choices = [Choice(name=name, params=params), Choice(name=reference)]
        splits = experiment.splits.model_copy(update={"repeats": 1, "folds": 2})
        experiment_of_pair = experiment.model_copy(
            update={
                "algorithms": choices,
                "datasets": experiment.parity.datasets,
                "splits": splits,
                "duels": experiment.duels.model_copy(update={"datasets": []}),
                "verdicts": experiment.verdicts.model_copy(update={"pairs": [(name, reference)]}),
            }
        )
        plan = make_plan(experiment_of_pair, registry, surroundings, (), plugin_files)
        datasets = dict.fromkeys(job.dataset.name for job in plan.jobs)
        every = {t.algorithm: t.params for t in plan.trials()}
        if name in every and reference in every:
            a, b = ((side, every[side]) for side in (name, reference))
            for match in find_matches(plan, a, b, datasets):
                matches += [match, Match(sides.job(match.a), match.b)]
    return matches


def _claims(experiment: Experiment, registry: Registry) -> Iterable[tuple[str, str, str]]:
    """Yield algorithm, mode and reference of each claimed parity level."""
    for choice in experiment.algorithms if experiment.parity.datasets else ():
        name = choice if isinstance(choice, str) else choice.name
        declared = registry.algorithm(name)
        if declared.reference in registry.names("algorithm"):
            for mode in declared.parity_levels:
                yield name, mode, str(declared.reference)


def set_by(experiment: Experiment, registry: Registry) -> dict[str, frozenset[str]]:
    """Return the params of each algorithm that the experiment sets; others keep their defaults."""
    params: dict[str, frozenset[str]] = {}
    chosen = [key for c in experiment.algorithms if isinstance(c, Choice) for key in c.params]
    for algorithm in registry.all("algorithm"):
        names = [
            algorithm.capacity[key] for key in experiment.capacity if key in algorithm.capacity
        ]
        common = {argument.name for argument in names if argument.match != "impossible"}
        params[algorithm.name] = frozenset({*common, *chosen, "parity"})
    return params
