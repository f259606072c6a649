"""Section Across datasets: declared pairs, ranks, all pairs of algorithms, ratings."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from harness import Section, hookimpl
from harness.analysis.across import (
    Friedman,
    PairTest,
    cliques,
    friedman,
    improvability,
    nemenyi_distance,
)
from harness.analysis.all_pairs import Field, declared_tests, field_of, gaps_of, matrix
from harness.analysis.elo import MIN_DATASETS, elo
from harness.analysis.metafeatures import WinnerTree, metafeatures_of, winner_tree
from harness.analysis.normalized_loss import geometric_mean_ratio, mean_normalized_loss
from harness.analysis.pooling import FEW_DATASETS
from reports.blocks.blocks import (
    Block,
    Choice,
    Details,
    Figure,
    Fragment,
    Panel,
    Paragraph,
    Switch,
    Verbatim,
)
from reports.blocks.tables import Cell, Column, Row, Table, numeric, texts
from reports.charts.ranks import critical_difference
from reports.page.page import Page, Pair
from reports.page.subsets import ALL, dataset_subsets
from reports.page.verdict_counts import counts_table
from reports.text.format import SPACE, bounds, count, digits, few, plural, share, short, signed
from reports.text.rerun_commands import algorithms_again, pairs_again

NOTE = (
    "The unit is the dataset, not a split of one. Differences are shares of each "
    "dataset's gap between the constant model and the best model; a difference within "
    "the margin is a tie."
)
LEVEL = 0.05  # significance level of the sentences
MAX_ALGORITHMS = 12  # algorithms of the matrix, the best ranked ones


@hookimpl
def register_report_sections(register: Callable[[Section], None]) -> None:
    """Register the section."""
    register(Section("across", "Across datasets", 30, build))


def build(page: Page) -> Fragment | None:
    """Return the tests of declared pairs, the ranking, the matrix and the ratings."""
    if len(page.by_dataset) < 2:
        return None
    margin = page.margin
    gaps = gaps_of(page.view.accuracy)
    field = field_of(page.losses(page.by_dataset), gaps)
    blocks: list[Block] = [Paragraph(NOTE, role="note")]
    if len(page.by_dataset) < FEW_DATASETS:
        few_ones = (
            f"Only {plural(len(page.by_dataset), 'dataset')}: tests over so few have little power."
        )
        blocks.append(Paragraph(few_ones, role="note"))
    if (counts := counts_table(page)) is not None:
        panel = Panel("Verdicts, counted", [counts], page.anchor("across", "verdicts"))
        blocks.append(panel)
    if (pairs := _declared(page, margin)) is not None:
        blocks.append(Panel("Declared pairs", [pairs], page.anchor("across", "pairs")))
    if len(field.names) > 2 and len(field.datasets) > 1:
        blocks += [_ranks(page, field, gaps), *_matrix(page, field, margin)]
        blocks += _winners(page, field)
    return Fragment(blocks) if len(blocks) > 1 + (len(page.by_dataset) < FEW_DATASETS) else None


# ------------------------------------------------------------------ declared pairs


def _declared(page: Page, margin: float) -> Table | None:
    tests = declared_tests(page.view.accuracy, margin)
    if not tests:
        return None
    columns = [
        Column("Algorithm"),
        Column("Datasets", numeric=True),
        Column("Difference", numeric=True, unit="share of the gap"),
        *numeric("Low", "High"),
        Column("Won, tied, lost"),
        *numeric("p", "p, Holm"),
        Column("Reading", wide=True),
    ]
    rows: list[Row] = [
        [
            Cell.named(name, f"against {short(reference)}" + (track and f", {short(track)} track")),
            Cell(
                count(test.difference.n),
                test.difference.n,
                f"{n_missing} missing" if n_missing else "",
            ),
            Cell.of(test.difference.value, signed),
            Cell.of(test.difference.low, digits),
            Cell.of(test.difference.high, digits),
            f"{test.wins}, {test.ties}, {test.losses}",
            Cell.of(test.p, share),
            Cell.of(test.holm, share),
            _reading(test),
        ]
        for test, name, reference, track, n_missing in tests
    ]
    caption = (
        "Wilcoxon signed-rank tests over datasets, adjusted by Holm over the declared pairs; the "
        "difference is a Hodges-Lehmann median, above 0 ours is better"
    )
    again = pairs_again(page, dict.fromkeys(Pair(t.algorithm, t.reference) for t in tests))
    return Table(columns, rows, caption, "pairs-across-datasets", again=again)


def _reading(test: PairTest) -> str:
    if test.holm < LEVEL:
        return "better on most datasets" if test.difference.value > 0 else "worse on most datasets"
    return "no significant difference (which does not show equality)"


# ------------------------------------------------------------------ ranks and ratings


def _ranks(page: Page, field: Field, gaps: Mapping[str, float]) -> Panel:
    """Return the ranks over all datasets and over each subset, and who ranks first in each."""
    fields = {ALL: field}
    for title, datasets in dataset_subsets(page).items():
        part = field_of(page.losses(datasets), gaps)
        if title != ALL and len(part.names) > 2 and len(part.datasets) > 1:
            fields[title] = part
    drawn = {title: _ranked(page, title, part) for title, part in fields.items()}
    blocks = drawn[ALL]
    if len(fields) > 1:
        choices = [
            Choice(f"{title} ({len(fields[title].datasets)})", part)
            for title, part in drawn.items()
        ]
        blocks = [Switch("Rank the algorithms on", choices), _firsts(page, fields)]
    return Panel("Ranks", blocks, page.anchor("across", "ranks"))


def _firsts(page: Page, fields: Mapping[str, Field]) -> Table:
    """Return the two algorithms with the best mean ranks on each subset of the datasets."""
    columns = [Column("Datasets"), Column("Number", numeric=True), Column("First")]
    columns += [Column("Mean rank", numeric=True), Column("Second")]
    columns += numeric("Its mean rank", "Nemenyi's distance")
    rows: list[Row] = []
    for title, field in fields.items():
        ranks = friedman(field.losses).ranks
        first, second, *_ = sorted(zip(ranks, field.names, strict=True))
        distance = nemenyi_distance(len(field.names), len(field.datasets))
        row = [title, Cell.of(len(field.datasets), count)]
        for rank, name in (first, second):
            row += [Cell.named(name), Cell.of(rank, digits)]
        rows.append([*row, Cell.of(distance, digits)])
    caption = (
        "The first two on each subset of the datasets; ranks that are closer than Nemenyi's "
        "distance do not differ significantly"
    )
    return Table(columns, rows, caption, "ranks-of-subsets", again=page.again())


def _ranked(page: Page, title: str, field: Field) -> list[Block]:
    test = friedman(field.losses)
    distance = nemenyi_distance(len(field.names), len(field.datasets))
    order = sorted(range(len(field.names)), key=lambda i: (test.ranks[i], field.names[i]))
    ranks = [test.ranks[i] for i in order]
    groups = cliques(ranks, distance)
    names = [field.names[i] for i in order]
    figure = Figure(
        spec=critical_difference(names, ranks, groups, distance),
        title=f"Mean ranks on {title}; a bar joins what Nemenyi's test does not separate",
        finding=_finding(test, distance, names, len(field.datasets)),
        table=_ranking(field, order, ranks, "ranks" if title == ALL else f"ranks-{title}"),
        again=page.again(datasets=field.datasets),
    )
    blocks: list[Block] = [figure]
    if title != ALL:
        blocks.append(Paragraph(f"Datasets: {few(field.datasets, 12)}.", role="note"))
    if field.left_out:
        left = f"Left out (no result on some dataset): {few(field.left_out)}."
        blocks.append(Paragraph(left, role="note"))
    return blocks


def _finding(test: Friedman, distance: float, names: list[str], datasets: int) -> str:
    verb = "differ" if test.p < LEVEL else "do not differ significantly"
    return (
        f"Over {plural(datasets, 'dataset')} the mean ranks {verb} (Friedman, Iman and Davenport: "
        f"p {share(test.p)}); {short(names[0])} ranks first. Two algorithms differ by Nemenyi's "
        f"test where their ranks are more than {digits(distance)} apart."
    )


def _ranking(field: Field, order: list[int], ranks: list[float], name: str) -> Table:
    ratings = elo(field.losses) if len(field.datasets) >= MIN_DATASETS else []
    is_positive = bool((field.losses >= 0).all())
    better = improvability(field.losses) if is_positive else None
    ratios = geometric_mean_ratio(field.losses) if is_positive else None
    normalized = mean_normalized_loss(field.losses)
    columns = [
        Column("Algorithm"),
        *numeric("Mean rank", "Normalized loss"),
        *([Column("Improvability", numeric=True, unit="share")] if better is not None else []),
        *([*numeric("Loss over the best")] if ratios is not None else []),
        *([*numeric("Elo")] if ratings else []),
    ]
    rows: list[Row] = []
    for i, rank in zip(order, ranks, strict=True):
        row: list[Cell] = [Cell.named(field.names[i])]
        row.append(Cell.of(rank, digits))
        row.append(Cell.of(float(normalized[i]), digits))
        if better is not None:
            row.append(Cell(f"{better[i]:.1%}", float(better[i])))
        if ratios is not None:
            row.append(Cell.of(float(ratios[i]), digits))
        if ratings:
            one = ratings[i]
            row.append(Cell(count(one.value), one.value, bounds(one.low, one.high)))
        rows.append(row)
    caption = (
        "Mean ranks. The normalized loss is 0 for the best algorithm of a dataset and 1 for the "
        "median one or worse. Improvability is the mean share by which the loss falls with the "
        "best algorithm. The loss over the best is a geometric mean of ratios"
    )
    return Table(columns, rows, caption, name)


# ------------------------------------------------------------------ all pairs of algorithms


def _matrix(page: Page, field: Field, margin: float) -> list[Block]:
    if not len(field.shares()):
        return []
    losses = field.losses
    mean_rank = friedman(losses).ranks
    best = sorted(range(len(field.names)), key=lambda i: mean_rank[i])[:MAX_ALGORITHMS]
    shown = Field(
        tuple(field.names[i] for i in best), field.datasets, losses[:, best], field.gaps, ()
    )
    columns = texts("Row against column", *(short(name, 40) for name in shown.names))
    rows: list[Row] = [
        [Cell.named(name), *(_entry(test) for test in tests)]
        for name, tests in zip(shown.names, matrix(shown, margin), strict=True)
    ]
    caption = (
        "Median difference as a share of the gap (above 0 the row is better), datasets won, "
        "tied and lost, and the p of Wilcoxon's test for these two alone, not adjusted"
    )
    again = algorithms_again(page, shown.names, shown.datasets)
    table = Table(columns, rows, caption, "comparison-matrix", again=again)
    return [Panel("All pairs of algorithms", [table], page.anchor("across", "matrix"))]


def _entry(test: PairTest | None) -> Cell:
    if test is None:
        return Cell("")
    value = test.difference.value
    tone = ("good" if value > 0 else "bad") if test.p < LEVEL else ""
    score = f"{test.wins}, {test.ties}, {test.losses}; p{SPACE}{share(test.p)}"
    return Cell(signed(value), value, score, tone)


# ------------------------------------------------------------------ what predicts the winner


def _winners(page: Page, field: Field) -> list[Block]:
    """Return the tree that predicts the winner from metafeatures of the datasets."""
    metafeatures = {
        dataset: metafeatures_of(
            page.view.datasets.get(dataset, {}), (cell for _, cell in page.by_dataset[dataset])
        )
        for dataset in field.datasets
    }
    tree = winner_tree(field, metafeatures)
    if tree is None:
        return []
    lines = [short(line, 200) for line in tree.text.splitlines()]
    blocks: list[Block] = [
        Paragraph(_prediction(tree, len(field.datasets))),
        Verbatim("\n".join(lines), "Decision tree that predicts the winner of a dataset"),
        Details("Metafeatures and winner of each dataset", [_metafeatures(tree, metafeatures)]),
    ]
    anchor = page.anchor("across", "winners")
    return [Panel("Which metafeatures predict the winner", blocks, anchor)]


def _prediction(tree: WinnerTree, datasets: int) -> str:
    used = [f"{name} ({share(part)})" for name, part in tree.importances.items()]
    sentence = (
        f"Each dataset is left out once: a tree of the others names the winner of {tree.hits} of "
        f"{datasets} datasets; the most frequent winner of the others is right on "
        f"{tree.frequent_hits} (exact McNemar p {share(tree.p)}). "
    )
    if tree.hits <= tree.frequent_hits or tree.p >= LEVEL:
        sentence += "So the metafeatures do not predict the winner reliably. "
    return sentence + f"The tree of all datasets uses {few(used) or 'no metafeature'}."


def _metafeatures(tree: WinnerTree, metafeatures: Mapping[str, Mapping[str, float]]) -> Table:
    names = list(next(iter(metafeatures.values())))
    columns = [Column("Dataset"), Column("Winner"), *(Column(n, numeric=True) for n in names)]
    rows: list[Row] = [
        [short(dataset), short(tree.winners[dataset]), *(Cell.of(x, digits) for x in one.values())]
        for dataset, one in metafeatures.items()
    ]
    caption = "Metafeatures of each dataset, and the algorithm with the lowest mean loss"
    return Table(columns, rows, caption, "metafeatures")
