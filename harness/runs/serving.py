"""Measure serving times of algorithms on a dataset, and store them as a run."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from harness.analysis.serving import KIND
from harness.config.experiment import Experiment, parse_experiment
from harness.core.errors import ConfigError
from harness.core.ids import digest
from harness.core.machine import fingerprint, too_many_threads
from harness.core.model import JSON, Dataset, to_json
from harness.core.progress import Progress
from harness.data import resolve
from harness.execution.compiling import KIND as COMPILED
from harness.execution.compiling import compile_and_report
from harness.execution.supervisor import Supervisor
from harness.measurement.serving import Serving, ServingSettings
from harness.planning.serving import ServingPlan, plan_serving
from harness.plugins.registry import Registry
from harness.runs.request import Params, plain_params
from harness.runs.run import Request, config_of, surroundings
from harness.store import Store


@dataclass(frozen=True)
class ServingRequest:
    """Request of a measurement; the fields are the options of ``harness serving``."""

    algorithms: Sequence[str]
    dataset: str
    extra: tuple[Dataset, ...] = ()
    threads: tuple[int, ...] = (1,)
    settings: ServingSettings = field(default_factory=ServingSettings)
    capacity: Params = ()
    seed: int = 0
    timeout: str | float = "10m"
    plugin_files: tuple[str, ...] = ()
    results: Path = Path("results")

    def experiment(self) -> Experiment:
        """Return the experiment that is stored with the run."""
        return parse_experiment(
            {
                "name": "serving",
                "algorithms": list(self.algorithms),
                "datasets": [self.dataset],
                "capacity": plain_params(self.capacity),
                "run": {"seeds": [self.seed], "timeout": self.timeout},
                "splits": {"seed": self.seed},
            },
            "the measurement",
        )

    def to_json(self) -> JSON:
        """Return the options to store with the run."""
        return {
            "algorithms": list(self.algorithms),
            "dataset": self.dataset,
            "threads": list(self.threads),
            **to_json(self.settings),
        }


def run_serving(request: ServingRequest, registry: Registry, progress: Progress) -> str:
    """Measure serving times and store them as a run; return its id.

    Raises
    ------
    ConfigError
        If a size is not positive, a name is unknown, or no algorithm supports the dataset.
    """
    _check(request)
    experiment = request.experiment()
    (dataset,) = request.extra or (resolve(request.dataset, registry),)
    plan = plan_serving(
        experiment, registry, surroundings(), dataset, request.threads, request.plugin_files
    )
    for name, reason in plan.left_out.items():
        progress.message(f"note: {name} is left out: {reason}")
    if warning := too_many_threads(max(request.threads)):
        progress.message(warning)
    stored = Request(
        experiment, request.extra, request.plugin_files, request.results, command="serving"
    )
    config = {**config_of(stored, plan.declared), "serving": request.to_json()}
    identity = digest([config["experiment"], config["serving"]])
    with (
        Store.open(request.results, write=True, on_wait=progress.message) as store,
        store.recorded("serving", config, identity, fingerprint()) as run_id,
    ):
        for record in _measured(request, plan, registry, progress, store, run_id):
            store.event(run_id, KIND, record)
    return run_id


def _check(request: ServingRequest) -> None:
    """Raise ConfigError for sizes that are not positive."""
    settings = request.settings
    sizes = {
        "batches": settings.batches,
        "threads": request.threads,
        "launches": (settings.launches,),
        "rounds": (settings.rounds,),
        "calls": (settings.calls,),
    }
    for name, values in sizes.items():
        if not values or min(values) < 1:
            raise ConfigError(f"{name} must be 1 or more, not {', '.join(map(str, values))}")


def _measured(
    request: ServingRequest,
    plan: ServingPlan,
    registry: Registry,
    progress: Progress,
    store: Store,
    run_id: str,
) -> list[JSON]:
    """Compile the kernels, measure all models, and return one record for each."""
    settings = request.settings
    with Supervisor(store.workdir(run_id)) as supervisor:
        compile_and_report(
            plan.jobs,
            supervisor,
            registry,
            progress,
            lambda event: store.event(run_id, COMPILED, event),
        )
        supervisor.end_idle()  # the serving processes need the memory
        progress.stage("serving", len(plan.jobs) + settings.launches * settings.rounds)
        serving = Serving(
            plan.jobs,
            supervisor.open_session,
            supervisor.folder / "served",
            settings,
            step=progress.step,
        )
        records = serving.measure()
    shutil.rmtree(supervisor.folder, ignore_errors=True)
    return records
