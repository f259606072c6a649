"""Write the tables of the algorithms' pages from what two runs stored; nothing is typed by hand.

The runs are those of the experiments beside this file, ``docs-speed`` and ``docs-parity``; then
``python docs/figures/write.py RESULTS`` reads the store in the folder RESULTS. ``make figures`` is
all of it. A run that lacks anything of what its experiment asks for makes no table at all.
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
    """No run has all that the tables are made of; what is lacking is named."""


# ------------------------------------------------------------------ tables


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table; one without rows is an error."""
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
    """Return a verdict: the interval of the difference as a share of the gap, if it has bounds."""
    bounds = (one.difference.low, one.difference.high)
    told = one.gap > 0 and all(map(math.isfinite, bounds))
    shares = " to ".join(f"{100 * b / one.gap:+.2f} %" for b in bounds) if told else NONE
    return [one.dataset or "pooled", one.reference, one.verdict, shares]


def speed_rows(speeds: Sequence[Speed]) -> Iterable[list[str]]:
    """Yield a line for each duel: its ratios of training, predicting, one row, and memory."""
    for dataset, reference in dict.fromkeys((s.dataset, s.reference) for s in speeds):
        of = {s.phase: s for s in speeds if (s.dataset, s.reference) == (dataset, reference)}
        doubted = any(note.startswith(BUSY_NOTES) for s in of.values() for note in s.notes)
        ratios = [ratio(of[phase].ratio if phase in of else None) for phase in PHASES]
        memory = ratio(of["train"].memory if "train" in of else None)
        yield [dataset + (" *" if doubted else ""), reference, *ratios, memory]


def parity_row(one: Parity) -> list[str]:
    """Return what a pair of ensembles reached."""
    mode = one.params[0].get("parity") or "default"
    parted = one.comparison.differences if one.comparison else ()
    where = parted[0].sentence if parted else one.reason
    return [mode, one.reference, one.dataset, one.rung or "none", where]


def of_run(seen: RunView) -> str:
    """Return a sentence that says of which run a table is."""
    machine, run = seen.run["machine"], seen.run
    cpu = machine.get("cpu", "unknown processor")
    return f"Run `{run['id']}` of experiment `{run['name']}`, {run['started'][:10]}, on {cpu}.\n"


ACCURACY = """**Accuracy.** The interval is of the loss, reference minus ours, as a share of the gap
between the best and the constant model: above 0 ours is better. A dash: no model is better than
the constant one, or the splits are too few for an interval.
"""
SPEED = """**Speed.** The reference's time, or memory, over ours: above 1 ours needs less. A star:
something else ran on the machine.
"""
PARITY = """**Parity.** Where the trees of each mode part from the library's, if they do. Few folds
seldom show equivalent accuracy (L0), so trees that part early often reach none.
"""


def page(algorithm: str, speed: RunView, parity: RunView) -> str:
    """Return the tables of one algorithm."""
    verdicts = [accuracy_row(a) for a in speed.accuracy if a.algorithm == algorithm]
    duels = [s for s in speed.speed if s.algorithm == algorithm and s.dataset]
    rungs = [parity_row(p) for p in parity.parity if p.algorithm == algorithm]
    phases = ["training", "predicting", "one row", "memory"]
    parts = [
        ACCURACY,
        table(["dataset", "against", "verdict", "95 % interval"], verdicts),
        SPEED,
        table(["dataset", "against", *phases], speed_rows(duels)),
        of_run(speed),
        PARITY,
        table(["mode", "against", "dataset", "rung", "where they part"], rungs),
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
        The path of the experiment's file. Runs go by the name in it, but a run may have been
        narrowed, so what it holds is set beside what the file asks for.

    Raises
    ------
    IncompleteError
        Where no run was finished, or trials, duels or comparisons of the newest one are lacking.
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
        told = "".join(f"\n  {line}" for line in lacking)
        raise IncompleteError(f"no table was written: run {done[0]} of {name} lacks{told}")
    return seen


def missing(plan: Plan, matches: Iterable[Match], seen: RunView) -> Iterator[str]:
    """Yield, in words, what is planned and a run has not measured to the end.

    Trials are known by their cells and duels by those of their sides, as machine, code and
    versions may have changed since.
    """
    done = {o.trial.cell for c in seen.cells for o in c.outcomes if o.status is Status.DONE}
    for job in plan.jobs:
        if lacking := sum(trial.cell not in done for trial in job.trials):
            place = f"{job.algorithm} on {job.dataset.name}"
            yield f"{lacking} of {len(job.trials)} trials of {place}"
    fought = {_key(o.duel) for o in seen.duels if o.status is Status.DONE}
    for duel in plan.duels:
        if _key(duel) not in fought:
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
    """Write every table, or say why not."""
    try:
        write(Path(sys.argv[1]), TABLES)
    except HarnessError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
