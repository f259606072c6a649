"""Compare the trees of two algorithms on every dataset of an experiment.

A parity run is stored like any other run, with its trials and accuracy verdicts. It also stores a
comparison of the trees for each dataset, which is reused as long as neither algorithm, library nor
dataset changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from harness.config.experiment import Choice, Experiment
from harness.core.errors import ConfigError
from harness.core.machine import fingerprint
from harness.core.model import Dataset, Status
from harness.core.progress import Progress
from harness.measurement.tree_comparison import Comparisons, known_matches
from harness.planning.candidates import grid
from harness.planning.plan import make_plan
from harness.planning.reuse import Pins
from harness.planning.tree_comparisons import Match, Side, find_matches
from harness.plugins.registry import Registry
from harness.runs.run import Request, config_hash, config_of, surroundings
from harness.store import Store


def run_parity(
    experiment: Experiment,
    registry: Registry,
    *,
    results: Path,
    extra: tuple[Dataset, ...] = (),
    plugin_files: tuple[str, ...] = (),
    fresh: bool = False,
    progress: Progress | None = None,
) -> str:
    """Compare two algorithms on every dataset of an experiment; return the id of the run.

    Parameters
    ----------
    experiment
        Experiment with the two algorithms, in this order, each a :class:`Choice` without a grid.
    extra
        Datasets that no plugin registers; the experiment names them.

    Raises
    ------
    ConfigError
        If no dataset can be taken by both.
    """
    events = progress or Progress()
    plan = make_plan(experiment, registry, surroundings(), extra, plugin_files)
    a, b = sides(experiment, registry)
    matches = list(find_matches(plan, a, b, dict.fromkeys(job.dataset.name for job in plan.jobs)))
    if not matches:
        names = " and ".join(dict.fromkeys([a[0], b[0]]))
        raise ConfigError(f"nothing to compare: no chosen dataset can be taken by {names}")
    request = Request(experiment, extra, plugin_files, results, command="parity")
    config = config_of(request, plan.declared)
    with (
        Store.open(results, write=True, on_wait=events.message) as store,
        store.recorded(experiment.name, config, config_hash(config), fingerprint()) as run_id,
    ):
        for outcome in plan.skipped:
            store.record(run_id, outcome)
        unknown = matches if fresh else _reuse(store, run_id, matches)
        jobs = [job for match in unknown for job in (match.a, match.b)]
        store.plan_trials(run_id, [trial for job in jobs for trial in job.trials])
        for _ in Comparisons(store, run_id, registry, events, keep=True).compare(unknown):
            pass
    return run_id


def sides(experiment: Experiment, registry: Registry) -> tuple[Side, Side]:
    """Return algorithm name and params of both sides."""
    every = [c if isinstance(c, Choice) else Choice(name=c) for c in experiment.algorithms]
    if len(every) != 2 or any(c.grid for c in every):
        raise ConfigError(f"parity compares two algorithms, not {len(every)}")
    one, other = (
        (c.name, next(grid(c.name, c, experiment.capacity, registry)).params) for c in every
    )
    return one, other


def _reuse(store: Store, run_id: str, matches: Sequence[Match]) -> list[Match]:
    """Attach stored comparisons and their trials to the run, and return the other matches."""
    pins = Pins()
    known = known_matches(store, matches, pins, retry_failed=True)
    pins.keep()
    unknown = []
    for match in matches:
        trials = [t.id for job in (match.a, match.b) for t in job.trials]
        name = match.what["id"]
        done = known.get(name) is Status.DONE
        if done and not set(trials) - store.known(trials).keys():
            store.attach(run_id, *trials)
            store.attach_parities(run_id, name)
        else:
            unknown.append(match)
    return unknown
