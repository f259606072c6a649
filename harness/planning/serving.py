"""Plan of a measurement of serving times: one timed job for each algorithm and thread count."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from harness.config.experiment import Experiment
from harness.core.errors import ConfigError, PluginError
from harness.core.libraries import Surroundings
from harness.core.model import JSON, Dataset, Job
from harness.data import preparation
from harness.planning.candidates import Variant, check_capacity, choose_variants, refusal
from harness.planning.declarations import declare
from harness.planning.plan import Planner
from harness.plugins.registry import Registry


@dataclass(frozen=True)
class ServingPlan:
    """Jobs of a measurement, the reasons of algorithms left out, and facts for the report."""

    jobs: tuple[Job, ...]
    left_out: dict[str, str]
    declared: JSON


def plan_serving(
    experiment: Experiment,
    registry: Registry,
    surroundings: Surroundings,
    dataset: Dataset,
    threads: Sequence[int],
    plugin_files: tuple[str, ...] = (),
) -> ServingPlan:
    """Return the jobs of the experiment's algorithms on one dataset, all with one preparation.

    Raises
    ------
    ConfigError
        If no algorithm supports the dataset.
    """
    check_capacity(experiment.capacity, registry.all("algorithm"))
    planner = Planner(experiment, registry, surroundings, plugin_files)
    chosen, left_out = _supported(choose_variants(experiment, registry), dataset)
    if not chosen:
        reasons = "; ".join(f"{name}: {why}" for name, why in left_out.items())
        raise ConfigError(f"no chosen algorithm can be measured on {dataset.name} ({reasons})")
    prepared = preparation.common([v.algorithm.accepts for v in chosen], dataset)
    jobs = [planner.timed_job(v, dataset, prepared, n) for n in threads for v in chosen]
    return ServingPlan(
        tuple(jobs), left_out, declare(chosen, [dataset], [], experiment.verdicts.margin)
    )


def _supported(
    variants: Iterable[Variant], dataset: Dataset
) -> tuple[list[Variant], dict[str, str]]:
    """Return the variants that support a dataset, and the reasons of the others by name."""
    chosen, left_out = [], {}
    for variant in variants:
        algorithm = variant.algorithm
        try:
            reason = refusal(algorithm, dataset)
        except PluginError as error:
            reason = str(error)
        if dataset.task not in algorithm.tasks:
            reason = f"it is for {', '.join(sorted(algorithm.tasks))}"
        if reason:
            left_out[variant.name] = reason
        else:
            chosen.append(variant)
    return chosen, left_out
