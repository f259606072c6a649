"""Section Diagnostics: one panel for each diagnostic, one row for each result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from harness import Section, hookimpl
from harness.analysis.diagnostics import Diagnostic
from reports.blocks.blocks import Block, Details, Figure, Fragment, Panel, Paragraph
from reports.blocks.tables import Cell, Column, Row, Table, numeric, texts
from reports.charts.bias_variance import params_text, shares, varied
from reports.charts.diagnostic_figures import FIGURES
from reports.page.page import Page
from reports.text.format import DASH, bounds, count, digits, plural, seconds, share, short, steps
from reports.text.inline import Badge

Values = Mapping[str, Any]

TITLES = {
    "staged": "Round by round",
    "determinism": "Determinism",
    "scaling": "Scaling of the training time",
    "calibration": "Calibration",
    "importance": "Agreement of importances",
    "agreement": "Agreement of predictions",
    "margins": "Margins",
    "strength": "Strength and correlation",
    "bias_variance": "Bias and variance",
    "permutation": "Permutation importance",
}
NOTES = {
    "staged": "Losses after each number of members, on the first split. Seconds of training are "
    "measured at a few numbers of members and interpolated linearly between them.",
    "determinism": "Whether predictions have the same bytes: one thread against a new "
    "process with the same seed, against two threads, and against training "
    "rows in another order. An algorithm that draws rows at random may "
    "differ in another row order; that is not a fault.",
    "scaling": "Exponent of a power law fitted to all timed calls, with its 95 % t interval. A "
    "constant part of the time makes the curve flatter at small sizes.",
    "calibration": "Expected calibration error over ten bins of equally many rows, beside "
    "its value for a perfectly calibrated forecast (chance). Score = "
    "miscalibration − discrimination + uncertainty, by isotonic "
    "recalibration.",
    "permutation": "Increase of the loss when the values of a column are shuffled among "
    "the test rows of the first split. Intervals are over the shuffles.",
    "importance": "Ranks of the summed gains of each column. Ranks are compared because "
    "the libraries' gains have different units.",
    "agreement": (
        "Predictions for the same test rows. A step is the distance between neighboring "
        "floating-point numbers."
    ),
    "margins": "Weighted vote for the true class minus the largest vote for another class: 1 is "
    "unanimous and right, 0 or less is wrong.",
    "strength": "Breiman (2001), on test rows. The last column is the difference between the "
    "variance of a mean of M members and ρσ² + (1 − ρ)σ²/M.",
    "bias_variance": "Over freshly drawn training sets, on the same test rows: error = "
    "noise + bias² + variance + a cross term that is 0 in expectation "
    "(squared loss), or bias + unbiased − biased variance (share of wrong "
    "classes, Domingos 2000). Intervals are over test rows.",
}


@hookimpl
def register_report_sections(register: Callable[[Section], None]) -> None:
    """Register the section."""
    register(Section("diagnostics", "Diagnostics", 52, build))


def build(page: Page) -> Fragment | None:
    """Return a panel for each requested diagnostic."""
    results = page.view.diagnostics
    names = [name for name in TITLES if any(d.name == name for d in results)]
    if not names:
        return None
    return Fragment([_panel(page, name, [d for d in results if d.name == name]) for name in names])


def _panel(page: Page, name: str, results: Sequence[Diagnostic]) -> Panel:
    answered = [d for d in results if not d.reason]
    blocks: list[Block] = [Paragraph(NOTES[name], role="note")]
    if answered:
        heads, row_of = TABLES[name]
        columns = [*texts("Algorithm", "Dataset"), *heads]
        params = map(params_text, varied(answered))
        rows: list[Row] = [
            [*_subject(d, text), *row_of(d.found)] for d, text in zip(answered, params, strict=True)
        ]
        caption = f"{plural(len(rows), 'result')}, one in each row"
        again = _rerun_command(page, answered)
        blocks.append(Table(columns, rows, caption, f"diagnostics-{name}", again=again))
        blocks += _with_command(FIGURES[name](answered), again) if name in FIGURES else ()
    if unanswered := [d for d in results if d.reason]:
        blocks.append(_unanswered(unanswered, name))
    anchor = page.anchor("diagnostics", name)
    return Panel(TITLES[name], blocks, anchor, folded=len(results) > 60)


def _rerun_command(page: Page, results: Sequence[Diagnostic]) -> str:
    """Return the command that repeats the diagnostics."""
    names = (name for d in results for name in (d.algorithm, d.reference) if name)
    return page.again(names, (d.dataset for d in results))


def _with_command(blocks: Sequence[Block], command: str) -> list[Block]:
    """Return blocks with a command on each figure."""

    def with_command(block: Block) -> Block:
        if isinstance(block, Details):
            return replace(block, blocks=[with_command(inner) for inner in block.blocks])
        return replace(block, again=command) if isinstance(block, Figure) else block

    return [with_command(block) for block in blocks]


def _subject(result: Diagnostic, params: str = "") -> list[Cell]:
    against = f"against {short(result.reference)}" if result.reference else ""
    note = "; ".join(filter(None, [params, against]))
    name = Cell.named(result.algorithm, note)
    source = "through its duels" if result.about.endswith("duels") else ""
    return [name, Cell(short(result.dataset), result.dataset, source)]


def _unanswered(unanswered: Sequence[Diagnostic], name: str) -> Details:
    columns = [*texts("Algorithm", "Dataset"), Column("Why", wide=True)]
    rows: list[Row] = [[*_subject(d), short(d.reason, 300)] for d in unanswered]
    table = Table(columns, rows, "Not measured, and why", f"diagnostics-{name}-unanswered")
    return Details(f"{plural(len(unanswered), 'diagnostic')} could not be computed", [table])


# ------------------------------------------------------------------ rows of each diagnostic


def _staged(found: Values) -> list[Cell]:
    times = found["seconds"] or [None]
    return [
        Cell(f"{count(found['best'])} of {count(found['stage'][-1])}", found["best"]),
        Cell.of(min(found["test"]), digits),
        Cell.of(found["test"][-1], digits, note=short(found["metric"])),
        Cell.of(found["train"][-1], digits),
        Cell.of(times[-1], seconds),
    ]


def _determinism(found: Values) -> list[Cell]:
    by_name = {check["check"]: check for check in found["checks"]}
    return [_check(by_name[name]) for name in ("seed", "threads", "rows")]


def _check(check: Values) -> Cell:
    if check["same"] is None:
        return Cell([Badge("unknown", "unsure", "?")], "unknown", short(check["reason"], 160))
    if check["same"]:
        return Cell([Badge("same bytes", "same", "=")], "same")
    gap = check["agreement"]
    by = f"{steps(gap['most_ulps'])} {gap['dtype']} step{'s' * (gap['most_ulps'] != 1)}"
    if check["change"] is not None:
        by += f", {short(check['metric'])} by {digits(check['change'], 2)}"
    return Cell([Badge("differs", "unsure", "≠")], "differs", by)


def _scaling(found: Values) -> list[Cell]:
    slope = found["slope"]
    note = bounds(slope["low"], slope["high"])
    load, room = found.get("load", 0.0), found.get("processors", 1)
    doubt = f"doubtful: load {digits(load)} on {plural(room, 'processor')}" if load > room else ""
    span = f"{digits(min(found['x']))} to {digits(max(found['x']))}"
    return [
        Cell(short(found["axis"]), found["axis"]),
        Cell.of(slope["value"], digits, note=note),
        Cell(short(found["growth"]), found["growth"], doubt),
        Cell(span, max(found["x"]), plural(len(found["x"]), "call")),
    ]


def _calibration(found: Values) -> list[Cell]:
    ece, (_, chance) = found["ece"], found["chance"]
    shown = "miscalibrated" if ece["value"] > chance else "not significantly miscalibrated"
    return [
        Cell.of(ece["value"], digits, note=f"true error {bounds(ece['low'], ece['high'])}"),
        Cell(digits(round(chance, 9)), chance, note=shown),
        *(_parts(found["scores"][name]) for name in ("brier", "log_loss")),
    ]


def _parts(parts: Values) -> Cell:
    names = ("miscalibration", "discrimination", "uncertainty")
    numbers = [digits(parts[name]) for name in names]
    return Cell.of(parts["score"], digits, note=f"{numbers[0]} − {numbers[1]} + {numbers[2]}")


def _importance(found: Values) -> list[Cell]:
    used = " and ".join(count(n) for n in found["used"])
    return [
        Cell.of(found["spearman"], digits),
        Cell.of(found["kendall"], digits),
        Cell(f"{found['shared']} of {found['top']}", found["shared"]),
        Cell(f"{used} of {count(found['columns'])}", found["columns"]),
    ]


def _agreement(found: Values) -> list[Cell]:
    labels = found["labels"]
    return [
        Cell.of(found["same"], share, note=plural(found["rows"], "row")),
        Cell.of(found["largest"], digits, note=f"99 %: {digits(found['quantiles']['0.99'])}"),
        Cell.of(found["most_ulps"], steps, note=short(found["dtype"])),
        Cell.of(found["correlation"], lambda value: digits(value, 6)),
        Cell(DASH if labels is None else share(labels), labels),
    ]


def _margins(found: Values) -> list[Cell]:
    sides = [found["train"], found["test"]]
    return [
        *(Cell.of(side["least"], digits) for side in sides),
        *(Cell.of(side["quantiles"]["0.5"], digits) for side in sides),
        *(Cell.of(side["wrong"], share) for side in sides),
    ]


def _strength(found: Values) -> list[Cell]:
    law = found["law"]
    return [
        Cell.of(found["strength"], digits),
        Cell.of(found["correlation"], digits),
        Cell.of(found["error"], digits, note=f"a member alone: {digits(found['member_error'])}"),
        Cell.of(found["bound"], digits),
        Cell(f"{law['deviation']:.1%}", law["deviation"], f"ρ {digits(law['correlation'])}"),
    ]


def _bias_variance(found: Values) -> list[Cell]:
    parts, shown = found["parts"], shares(found)
    note = {name: bounds(part["low"], part["high"]) for name, part in parts.items()}
    if squared := found["kind"] == "squared":
        spread = note["variance"]
    else:
        spread = f"{digits(parts['unbiased_variance']['value'])} − "
        spread += digits(parts["biased_variance"]["value"])
    overlap = "without rows in common" if found["apart"] else "with rows in common"
    alone = found["truth"]
    return [
        Cell(count(found["train_rows"]), found["train_rows"], f"{found['sets']} sets, {overlap}"),
        Cell.of(shown["error"], digits, note=note["error"]),
        Cell.of(shown.get("noise"), digits, note="" if alone else "counts as bias"),
        Cell.of(shown["bias"], digits, note=note["bias2" if squared else "bias"]),
        Cell.of(shown["variance"], digits, note=spread),
        Cell.of(parts["cross"]["value"] if alone else None, digits),
    ]


def _permutation(found: Values) -> list[Cell]:
    needed = sum(low > 0 for low in found["low"])
    first = ", ".join(short(name, 30) for name in found["columns"][:3])
    return [
        Cell(f"{count(needed)} of {count(len(found['columns']))}", needed),
        Cell(first, first),
        Cell.of(found["mean"][0], digits),
    ]


TABLES: dict[str, tuple[list[Column], Callable[[Values], list[Cell]]]] = {
    "staged": (
        numeric("Best after", "Least test loss", "Last round", "On training rows", "Time"),
        _staged,
    ),
    "determinism": (texts("Same seed", "Threads", "Row order"), _determinism),
    "scaling": (
        [Column("Along"), *numeric("Exponent"), Column("Growth"), *numeric("Measured")],
        _scaling,
    ),
    "calibration": (numeric("ECE", "By chance up to", "Brier score", "Log loss"), _calibration),
    "permutation": (
        [*numeric("Columns needed"), Column("Most of all"), *numeric("Increase")],
        _permutation,
    ),
    "importance": (numeric("Spearman", "Kendall", "Top columns", "Columns used"), _importance),
    "agreement": (
        numeric("Same bits", "Largest difference", "Steps", "Correlation", "Same label"),
        _agreement,
    ),
    "margins": (
        numeric(
            *("Least, training", "Least, test", "Median, training", "Median, test"),
            *("At most 0, training", "At most 0, test"),
        ),
        _margins,
    ),
    "strength": (
        numeric("Strength", "Correlation", "Error", "Bound for many", "Formula differs by"),
        _strength,
    ),
    "bias_variance": (
        numeric("Training rows", "Error", "Noise", "Bias", "Variance", "Cross term"),
        _bias_variance,
    ),
}
