"""Write the tables of the algorithms' pages from two stored runs.

The runs are those of the experiments ``docs-speed`` and ``docs-parity`` in this folder.
``python docs/figures/write.py RESULTS`` reads the store in the folder RESULTS; ``make figures``
runs the experiments, too. If a run lacks a planned result, no table is written.
"""

import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from harness.analysis.run_view import Accuracy, Interval, Parity, RunView, Speed
from harness.analysis.speed import BUSY_NOTES
from harness.config.experiment import load_experiment
from harness.core.errors import HarnessError
from harness.core.ids import canonical
from harness.core.model import Duel, Status
from harness.planning.plan import Plan
from harness.planning.selection import duel_cells
from harness.planning.tree_comparisons import Match
from harness.plugins.registry import Registry, load_registry
from harness.reporting import view
from harness.runs.run import Request, plan_request, planned_matches
from harness.store import Store

EXPERIMENTS = Path(__file__).parent
TABLES = EXPERIMENTS.parent / "algorithms" / "figures"
PAGES = (
    "decision_tree", "bagging", "random_forest", "adaboost", "gradient_boosting",
    "newton_boosting", "histogram_boosting",
)  # fmt: skip
PHASES = ("train", "predict", "predict_one")
NONE = "–"


class IncompleteError(HarnessError):
    """No run has all planned results; the message names the missing ones."""


# ------------------------------------------------------------------ tables


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table; raise IncompleteError if it has no rows."""
    rows = list(rows)
    if not rows:
        raise IncompleteError(f"a table of {', '.join(header)} would have no rows")
    cells = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    lines = [header, ["---"] * len(header), *cells]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def ratio(interval: Interval | None) -> str:
    """Return a ratio with the bounds of its interval."""
    if interval is None or not interval.n:
        return NONE
    bounds = f" ({interval.low:.2f} to {interval.high:.2f})" if interval.low > 0 else ""
    return f"{interval.value:.2f}{bounds}"


def accuracy_row(one: Accuracy) -> list[str]:
    """Return a verdict with the interval of the difference as a share of the gap."""
    bounds = (one.difference.low, one.difference.high)
    is_bounded = one.gap > 0 and all(map(math.isfinite, bounds))
    shares = " to ".join(f"{100 * b / one.gap:+.2f} %" for b in bounds) if is_bounded else NONE
    return [one.dataset or "pooled", one.reference, one.verdict, shares]


def speed_rows(speeds: Sequence[Speed]) -> Iterable[list[str]]:
    """Yield a row per duel: its ratios of training, prediction, one row, and memory."""
    for dataset, reference in dict.fromkeys((s.dataset, s.reference) for s in speeds):
        of = {s.phase: s for s in speeds if (s.dataset, s.reference) == (dataset, reference)}
        doubted = any(note.startswith(BUSY_NOTES) for s in of.values() for note in s.notes)
        ratios = [ratio(of[phase].ratio if phase in of else None) for phase in PHASES]
        memory = ratio(of["train"].memory if "train" in of else None)
        yield [dataset + (" *" if doubted else ""), reference, *ratios, memory]


def parity_row(one: Parity) -> list[str]:
    """Return the parity level of a pair of ensembles."""
    mode = one.params[0].get("parity") or "default"
    differences = one.comparison.differences if one.comparison else ()
    where = differences[0].sentence if differences else one.reason
    return [mode, one.reference, one.dataset, one.parity_level or "none", where]


def of_run(seen: RunView) -> str:
    """Return a sentence that names the run of a table."""
    machine, run = seen.run["machine"], seen.run
    cpu = machine.get("cpu", "unknown processor")
    return f"Run `{run['id']}` of experiment `{run['name']}`, {run['started'][:10]}, on {cpu}.\n"


ACCURACY = """**Accuracy.** The interval is of the loss, reference minus ours, as a share of the gap
between the best and the constant model: above 0 ours is better. A dash: no model is better than
the constant one, or the splits are too few for an interval.
"""
SPEED = """**Speed.** The reference's time, or memory, over ours: above 1 ours needs less. A star:
other programs ran on the machine.
"""
PARITY = """**Parity.** The level of each mode, and the first difference from the library's trees.
Few folds rarely show equivalent accuracy (L0), so trees that differ early often have no level.
"""


def page(algorithm: str, speed: RunView, parity: RunView) -> str:
    """Return the tables of one algorithm."""
    verdicts = [accuracy_row(a) for a in speed.accuracy if a.algorithm == algorithm]
    duels = [s for s in speed.speed if s.algorithm == algorithm and s.dataset]
    levels = [parity_row(p) for p in parity.parity if p.algorithm == algorithm]
    phases = ["training", "predicting", "one row", "memory"]
    parts = [
        ACCURACY,
        table(["dataset", "against", "verdict", "95 % interval"], verdicts),
        SPEED,
        table(["dataset", "against", *phases], speed_rows(duels)),
        of_run(speed),
        PARITY,
        table(["mode", "against", "dataset", "level", "first difference"], levels),
        of_run(parity),
    ]
    return "\n".join(parts)


# ------------------------------------------------------------------ runs


def newest(results: Path, experiment: str, registry: Registry) -> RunView:
    """Return the newest finished run of an experiment.

    Parameters
    ----------
    results
        The folder of the store.
    experiment
        Path of the experiment's file. Runs are found by its name; as a run may have been
        restricted, its results are compared with the plan of the file.

    Raises
    ------
    IncompleteError
        If no run is finished, or trials, duels or comparisons of the newest one are missing.
    """
    request = Request(load_experiment(experiment))
    name = request.experiment.name
    with Store.open(results) as store:
        runs = [run for run in store.runs() if run["name"] == name]
    done = [run["id"] for run in runs if run["status"] == "done"]
    if not done:
        left = f" ({len(runs)} unfinished)" if runs else ""
        raise IncompleteError(f"no finished run of {name} in {results}{left}: `make figures`")
    seen = view(results, done[0], registry)
    plan = plan_request(request, registry)
    if lacking := list(missing(plan, planned_matches(request, registry, plan), seen)):
        lines = "".join(f"\n  {line}" for line in lacking)
        raise IncompleteError(f"no table was written: run {done[0]} of {name} lacks{lines}")
    return seen


def missing(plan: Plan, matches: Iterable[Match], seen: RunView) -> Iterator[str]:
    """Yield a description of each planned result that a run does not have.

    Trials are identified by their cells, duels by the cells of their sides, because machine, code
    and versions may have changed since.
    """
    done = {o.trial.cell for c in seen.cells for o in c.outcomes if o.status is Status.DONE}
    for job in plan.jobs:
        if lacking := sum(trial.cell not in done for trial in job.trials):
            place = f"{job.algorithm} on {job.dataset.name}"
            yield f"{lacking} of {len(job.trials)} trials of {place}"
    finished = {_key(o.duel) for o in seen.duels if o.status is Status.DONE}
    for duel in plan.duels:
        if _key(duel) not in finished:
            sides = f"{duel.a.algorithm} with {duel.b.algorithm}"
            yield f"the duel of {sides} on {duel.a.dataset.name}"
    compared = {
        (p.dataset, p.algorithm, p.reference, *map(canonical, p.params)) for p in seen.parity
    }
    for what in (match.what for match in matches):
        a, b = what["sides"]
        params = [canonical(side["params"]) for side in (a, b)]
        if (what["dataset"], a["algorithm"], b["algorithm"], *params) not in compared:
            mode = a["params"].get("parity") or "default"
            sides = f"{a['algorithm']} in {mode} mode with {b['algorithm']}"
            yield f"the comparison of {sides} on {what['dataset']}"


def _key(duel: Duel) -> tuple[str, int, int]:
    return duel_cells(duel), duel.launches, duel.blocks


def write(results: Path, tables: Path) -> None:
    """Write the tables of every page into a folder: all of them, or none."""
    registry = load_registry(strangers=False)
    speed, parity = (
        newest(results, str(EXPERIMENTS / f"{name}.toml"), registry) for name in ("speed", "parity")
    )
    made = {name: page(name, speed, parity) for name in PAGES}
    tables.mkdir(exist_ok=True)
    for name, text in made.items():
        (tables / f"{name}.md").write_text(text, encoding="utf-8")


def main() -> None:
    """Write all tables, or exit with the reason why not."""
    try:
        write(Path(sys.argv[1]), TABLES)
    except HarnessError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
