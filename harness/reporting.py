"""Reports of stored runs; needs the store and the report's sections, and no algorithm."""

from __future__ import annotations

from pathlib import Path

from harness.analysis.build import view_run
from harness.analysis.view import RunView
from harness.model import JSON, Section
from harness.plugins import Registry
from harness.store import Store


def view(results: Path, run: str, registry: Registry) -> RunView:
    """Return the view of a stored run, by id, start of an id, or "latest"."""
    with Store.open(results) as store:
        return view_run(store, store.run(run)["id"], registry)


def write_run_report(results: Path, run: str, registry: Registry) -> Path:
    """Write the report of a run into the results folder and return its path."""
    from reports import write_report

    seen = view(results, run, registry)
    sections: list[Section] = sorted(registry.all("section"), key=lambda s: (s.order, s.name))
    path = results / f"report-{seen.run['id']}.html"
    write_report(seen, sections, path)
    return path


def summary(results: Path, run: str, registry: Registry) -> str:
    """Return the Markdown summary of a run."""
    from reports import markdown_summary

    text: str = markdown_summary(view(results, run, registry))
    return text


def verdicts(results: Path, run: str, registry: Registry) -> JSON:
    """Return all verdicts of a run as JSON."""
    from reports import verdicts_json

    found: JSON = verdicts_json(view(results, run, registry))
    return found


def rows(results: Path, run: str, registry: Registry) -> list[JSON]:
    """Return a flat row an outcome: its cell, status, scores, seconds and peak memory."""
    found: list[JSON] = []
    for cell in view(results, run, registry).cells:
        for place, outcome in enumerate(cell.outcomes):
            trial = outcome.trial
            seconds: dict[str, float] = {}
            for sample in outcome.samples:
                key = f"{sample.phase}_seconds"
                seconds[key] = seconds.get(key, 0.0) + sample.wall
            found.append(
                {
                    "algorithm": cell.algorithm,
                    "params": str(dict(cell.params)),
                    "preparation": cell.preparation,
                    "dataset": cell.dataset,
                    "split": trial.split.label,
                    "seed": trial.seed,
                    "threads": trial.threads,
                    "status": outcome.status.value,
                    "reason": outcome.failure.message if outcome.failure else outcome.reason,
                    "reused": cell.reused[place],
                    **{name: values[place] for name, values in cell.scores.items()},
                    **seconds,
                    "cell": trial.cell,
                    "trial": trial.id,
                }
            )
    return found
