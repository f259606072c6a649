"""Write the tables of the algorithms' pages from what two runs stored; nothing is typed by hand.

The runs are those of the experiments beside this file, ``docs-speed`` and ``docs-parity``; then
``python docs/figures/write.py RESULTS`` reads the store in the folder RESULTS. ``make figures`` is
all of it.
"""

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from harness.analysis.view import Accuracy, Interval, Parity, RunView, Speed
from harness.plugins import load_registry
from harness.reporting import view
from harness.store import Store

TABLES = Path(__file__).parent.parent / "algorithms" / "figures"
PAGES = (
    "decision_tree", "bagging", "random_forest", "adaboost", "gradient_boosting",
    "newton_boosting", "histogram_boosting",
)  # fmt: skip
PHASES = ("train", "predict", "predict_one")
NONE = "–"


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table, or a sentence where it would be empty."""
    rows = list(rows)
    if not rows:
        return "Nothing was measured.\n"
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
    """Return a verdict: the difference and its interval as a share of the gap."""
    low, high = (100 * bound / one.gap for bound in (one.difference.low, one.difference.high))
    return [one.dataset or "pooled", one.reference, one.verdict, f"{low:+.2f} % to {high:+.2f} %"]


def speed_rows(speeds: Sequence[Speed]) -> Iterable[list[str]]:
    """Yield a line for each duel: its ratios of training, predicting, one row, and memory."""
    for dataset, reference in dict.fromkeys((s.dataset, s.reference) for s in speeds):
        of = {s.phase: s for s in speeds if (s.dataset, s.reference) == (dataset, reference)}
        doubted = any(note.startswith("contaminated") for s in of.values() for note in s.notes)
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


def newest(results: Path, name: str) -> RunView:
    """Return the newest finished run of an experiment."""
    with Store.open(results) as store:
        found = [run["id"] for run in store.runs() if run["name"] == name]
    if not found:
        raise SystemExit(f"no run of {name} in {results}: `make figures` makes both")
    return view(results, found[0], load_registry(modules=["harness.builtin.metrics"]))


ACCURACY = """**Accuracy.** The interval is of the loss, reference minus ours, as a share of the gap
between the best and the constant model: above 0 ours is better.
"""
SPEED = """**Speed.** The reference's time, or memory, over ours: above 1 ours needs less. A star:
something else ran on the machine.
"""
PARITY = """**Parity.** Where the trees of each mode part from the library's, if they do. Few folds
seldom show equivalent accuracy (L0), so trees that part early often reach none.
"""


def page(algorithm: str, speed: RunView, parity: RunView) -> str:
    """Return the tables of one algorithm."""
    verdicts = [accuracy_row(a) for a in speed.accuracy if a.algorithm == algorithm and a.gap]
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


def main() -> None:
    """Write every table."""
    results = Path(sys.argv[1])
    speed, parity = newest(results, "docs-speed"), newest(results, "docs-parity")
    TABLES.mkdir(exist_ok=True)
    for algorithm in PAGES:
        (TABLES / f"{algorithm}.md").write_text(page(algorithm, speed, parity), encoding="utf-8")


if __name__ == "__main__":
    main()
