"""Tests of the project's own report sections."""

import math
from dataclasses import replace
from types import SimpleNamespace

import pytest

from harness.analysis.run_view import Interval
from harness.core.model import Failure, Outcome, Status
from reports import Page
from reports.charts import forest
from reports.page.page import Pair
from reports.page.verdict_matrix import pair_name
from reports.sections import datasets as dataset_panels
from reports.sections import environment, failures, leaderboard, phases, speed, summary, verdicts
from reports.words.verdict_words import in_margins, loss_difference, speed_cell, speed_word


@pytest.fixture
def typical(views):
    return views["typical"]()


@pytest.fixture
def page(typical):
    return Page(typical)


def words(message) -> str:
    """Return the text of words at any depth."""
    if isinstance(message, str):
        return message
    if hasattr(message, "text"):
        return words(message.text)
    return "".join(words(part) for part in message)


def text_of(block) -> str:
    """Return all text of a block and of its nested blocks."""
    if isinstance(block, str):
        return block
    if isinstance(block, (list, tuple)):
        return " ".join(map(text_of, block))
    if hasattr(block, "__dict__"):
        return " ".join(text_of(part) for part in vars(block).values())
    return str(block)


# ------------------------------------------------------------------ the page


def test_cell_is_named_by_its_distinguishing_parts(typical) -> None:
    cell = typical.cells[0]
    others = (
        cell,
        replace(cell, params={"n_estimators": 100}),
        replace(cell, params={"n_estimators": 100}, preparation="onehot"),
    )
    assert list(Page(replace(typical, cells=(cell,))).names.values()) == ["decision_tree"]
    assert list(Page(replace(typical, cells=others)).names.values()) == [
        "decision_tree (n_estimators=30)",
        "decision_tree (n_estimators=100, native)",
        "decision_tree (n_estimators=100, onehot)",
    ]


def test_primary_metric_is_the_one_with_scores(typical) -> None:
    page = Page(typical)
    cell = typical.cells[0]
    assert page.metric(cell) == "log_loss"
    both = {"log_loss": (math.nan,), "rmse_sd": (0.5,), "r2": (0.7,)}
    assert page.metric(replace(cell, scores=both)) == "rmse_sd"
    assert page.metric(replace(cell, scores={})) == ""
    assert page.badness(replace(cell, scores={})) == math.inf
    alone = replace(cell, scores={"r2": (0.75, math.nan)})
    assert Page(replace(typical, cells=(alone,))).badness(alone) == -0.75


def test_pairs_come_from_verdicts_and_duels_and_never_with_itself(typical) -> None:
    again = replace(typical.speed[0], reference=typical.speed[0].algorithm)
    page = Page(replace(typical, speed=(*typical.speed, again)))
    known = [("decision_tree", "sklearn_decision_tree"), ("bagging", "sklearn_bagging")]
    assert [(p.algorithm, p.reference) for p in page.pairs] == known
    trees = replace(again, environments=("before", "after"))
    page = Page(replace(typical, speed=(trees,), accuracy=()))
    assert [(p.algorithm, p.reference) for p in page.pairs] == [("decision_tree", "decision_tree")]
    assert "before against after" in text_of(speed.build(page).blocks)


def test_commands_are_quoted_for_a_shell(page) -> None:
    start = f"python -m harness run --again {page.of_run('id')}"
    message = page.again(["a; rm -rf /"], ["$(x)"])
    assert message == f"{start} -a 'a; rm -rf /' -d '$(x)' --fresh"
    every = {cell.algorithm for cell in page.view.cells}
    assert page.again(every, ["wine"]) == f"{start} -d wine --fresh", "all of them need no names"
    assert page.again(["a[1]*"]).endswith(" -a 'a[[]1][*]' --fresh"), "a name is no glob"


def test_results_folder_elsewhere_is_named(typical) -> None:
    page = Page(replace(typical, run={**typical.run, "results": "my runs"}))
    assert page.again().endswith(" --fresh --results 'my runs'")
    assert page.duels_again(typical.duels).splitlines()[0].endswith(" --results 'my runs'")


def test_overlapping_train_and_test_rows_are_reported_once_per_split(typical) -> None:
    facts = {"duplicates": 2, "test_rows": 50}
    cells = []
    for cell in typical.cells:
        outcomes = tuple(replace(o, facts={**o.facts, **facts}) for o in cell.outcomes)
        cells.append(replace(cell, outcomes=outcomes))
    fragment = dataset_panels.build(Page(replace(typical, cells=tuple(cells))))
    splits = len({o.trial.split for o in cells[0].outcomes})
    message = f"{2 * splits} of {50 * splits} test rows repeat the features of a training row"
    assert message in text_of(fragment.blocks[0])
    assert "test rows repeat" not in text_of(dataset_panels.build(Page(typical)).blocks)


# ------------------------------------------------------------------ verdicts


@pytest.mark.parametrize(
    ("low", "value", "high", "floor", "word"),
    [
        (1.1, 1.2, 1.3, None, "faster"),
        (0.7, 0.8, 0.9, None, "slower"),
        (0.9, 1.1, 1.2, None, "undecided"),
        (0.0, 2.0, math.inf, None, "undecided"),
        (1.01, 1.02, 1.03, 0.05, "undecided"),
        (0.97, 0.98, 0.99, 0.05, "undecided"),
        (1.01, 1.10, 1.2, 0.05, "faster"),
    ],
)
def test_ratio_is_decided_beyond_its_interval_and_the_noise(
    typical, low, value, high, floor, word
) -> None:
    speed = replace(typical.speed[0], ratio=Interval(low, value, high), floor=floor)
    assert speed_word(speed) == word


def test_ratios_of_several_datasets_are_given_as_a_range(typical) -> None:
    def at(value):
        return replace(typical.speed[0], ratio=Interval(value / 1.1, value, value * 1.1))

    assert words(speed_cell([at(4.0)]).text) == "\N{MULTIPLICATION SIGN}4.00"
    assert words(speed_cell([at(4.0)]).note) == "[3.64,\N{NO-BREAK SPACE}4.40]"
    cell = speed_cell([at(2.0), at(8.0)])
    assert cell.value == pytest.approx(4.0)
    assert "2.00" in words(cell.note)
    assert "8.00" in words(cell.note)
    assert speed_cell([]).text == ""
    pooled = replace(at(4.0), dataset="", unit="dataset")
    pooled = replace(pooled, ratio=replace(pooled.ratio, n=8))
    assert (
        words(speed_cell([pooled]).note)
        == "[3.64,\N{NO-BREAK SPACE}4.40], 8\N{NO-BREAK SPACE}datasets"
    )


def test_difference_is_drawn_in_units_of_its_margin(typical) -> None:
    verdict = replace(
        typical.accuracy[0],
        difference=Interval(-0.004, 0.0, 0.1),
        inner=Interval(-0.002, 0.0, 0.002),
        margin=0.004,
    )
    drawn = in_margins(verdict).track
    assert drawn.band == pytest.approx((1 / 3, 2 / 3))
    assert (drawn.low, drawn.value, drawn.high) == pytest.approx((1 / 3, 0.5, 1.0))
    assert drawn.inner == pytest.approx((5 / 12, 7 / 12))
    assert in_margins(replace(verdict, margin=0.0)).track is None


def test_pooled_difference_is_a_share_of_the_gap(typical) -> None:
    pooled = next(a for a in typical.accuracy if not a.dataset)
    assert loss_difference(pooled, 0.0123) == "+1.23\N{NO-BREAK SPACE}%"
    single = next(a for a in typical.accuracy if a.dataset)
    assert loss_difference(single, 0.0123) == "+0.0123"


def test_every_verdict_is_in_the_evidence(page) -> None:
    text = text_of(verdicts.build(page).blocks)
    for verdict in page.view.accuracy:
        if verdict.advice:
            assert verdict.advice in text
    assert verdicts.build(Page(replace(page.view, accuracy=(), speed=()))) is None


# ------------------------------------------------------------------ the summary


def test_summary_is_in_sentences(typical) -> None:
    pooled = [a for a in typical.accuracy if not a.dataset]
    messages = [
        replace(pooled[0], verdict="equivalent"),
        replace(pooled[1], verdict="worse"),
    ]
    page = Page(replace(typical, accuracy=tuple(messages)))
    assert " ".join(summary.accuracy_sentences(page)) == (
        "Accuracy in 2 comparisons, pooled over their datasets: 1 as accurate "
        "and 1 less accurate. Less accurate than the reference: bagging."
    )


@pytest.mark.parametrize(
    ("verdict", "sentence"),
    [
        ("equivalent", "a is as accurate as b on iris."),
        ("better", "a is more accurate than b on iris."),
        ("worse", "a is less accurate than b on iris."),
        ("inconclusive", "a may or may not be as accurate as b on iris (more splits needed)."),
    ],
)
def test_one_comparison_is_one_sentence(typical, verdict, sentence) -> None:
    only = replace(
        typical.accuracy[0], algorithm="a", reference="b", dataset="iris", verdict=verdict
    )
    page = Page(replace(typical, accuracy=(only,), speed=()))
    assert summary.accuracy_sentences(page) == [sentence]


def test_speed_statement_uses_training_from_raw_data(typical) -> None:
    train = replace(
        typical.speed[0], phase="train", dataset="iris", ratio=Interval(3.0, 3.4, 3.7), floor=None
    )
    page = Page(replace(typical, speed=(train,)))
    assert summary.speed_sentences(page) == [
        "decision_tree trains 3.4 times as fast as sklearn_decision_tree on iris."
    ]
    slower = replace(train, ratio=Interval(0.9, 1.0, 1.1))
    page = Page(replace(typical, speed=(train, slower)))
    (sentence,) = summary.speed_sentences(page)
    assert sentence == (
        "In 2\N{NO-BREAK SPACE}duels of training, ours is faster in 1, and 1 is undecided; "
        "on the geometric mean it trains 1.8 times as fast."
    )
    page = Page(replace(typical, speed=(slower, slower)))
    assert summary.speed_sentences(page) == ["2\N{NO-BREAK SPACE}duels of training are undecided."]


def test_failures_and_doubts_are_on_the_first_screen(page) -> None:
    text = text_of(summary.build(page).blocks)
    assert "timeout in 3\N{NO-BREAK SPACE}trials" in text
    assert "noise floor was not measured" in text
    assert "one launch: between-process variance not included" in text


def test_interrupted_run_is_reported(typical) -> None:
    view = replace(typical, run={**typical.run, "status": "interrupted"})
    assert "This run is interrupted" in text_of(summary.build(Page(view)).blocks)


# ------------------------------------------------------------------ the leaderboard


def test_equal_algorithms_share_ranks() -> None:
    result = leaderboard.ranks({"a": 0.1, "b": 0.3, "c": 0.3, "d": math.inf})
    assert result == {"a": 1, "b": 2.5, "c": 2.5, "d": 4}


def test_failed_algorithm_ranks_last_and_a_skipped_one_is_left_out(page) -> None:
    standing = leaderboard.standings(page, ["wine", "digits"])
    assert standing["catboost"].ranks[0] == 8
    skipped = leaderboard.standings(page, ["diabetes"])
    assert "xgboost_hist" not in skipped
    assert sum(s.wins for s in skipped.values()) == 1
    assert next(iter(skipped)) == page.by_dataset["diabetes"][0][0]


def test_mean_lacking_a_split_ranks_last(typical) -> None:
    easy = {"log_loss": (math.nan, 1e-9, 1e-9)}
    cells = [
        replace(cell, scores=easy)
        if (cell.algorithm, cell.dataset) == ("bagging", "digits")
        else cell
        for cell in typical.cells
    ]
    page = Page(replace(typical, cells=tuple(cells)))
    name, cell = page.by_dataset["digits"][-1]
    assert (name, page.badness(cell)) == ("bagging", math.inf)
    assert "digits" not in page.losses(page.by_dataset)["bagging"]
    assert leaderboard.standings(page, ["digits"])["bagging"].ranks == [8]


# ------------------------------------------------------------------ the others


def test_every_failure_has_its_reason_its_text_and_its_command(page) -> None:
    text = text_of(failures.build(page).blocks)
    assert "request 'fit' not done within 60 s" in text
    assert "Traceback (most recent call last)" in text
    first = next(o for o in page.failed if o.trial.dataset == "wine")
    assert f"--trial {first.trial.id} --fresh" in text
    assert "takes no regression" in text
    assert failures.build(page).badge == "3"


def test_failures_of_one_reason_are_one_group(typical) -> None:
    def failing(outcome: Outcome) -> Outcome:
        return Outcome(outcome.trial, Status.CRASHED, failure=Failure("SIGSEGV", "it crashed"))

    cells = [replace(c, outcomes=tuple(map(failing, c.outcomes))) for c in typical.cells]
    groups = failures.grouped(Page(replace(typical, cells=tuple(cells))))
    assert len(groups) == 8, "one an algorithm"
    assert {len(outcomes) for outcomes in groups.values()} == {12}


def test_traceback_hides_private_folders(typical) -> None:
    detail = '  File "/home/somebody/secret/mine/plugin.py", line 3, in fit\nValueError: no'
    outcome = next(o for o in Page(typical).failed)
    bad = replace(outcome, failure=replace(outcome.failure, detail=detail))
    cell = replace(typical.cells[0], outcomes=(bad,), scores={}, reused=(False,))
    text = text_of(failures.build(Page(replace(typical, cells=(cell,)))).blocks)
    assert 'File "…/mine/plugin.py", line 3, in fit' in text
    assert "somebody" not in text


def test_without_pairs_the_summary_names_the_first_rank(typical) -> None:
    bare = Page(replace(typical, accuracy=(), speed=(), duels=(), parity=()))
    sentence = text_of(summary.build(bare).blocks[:2])
    assert "compares no algorithm with a reference." in sentence
    assert "datasets. This is a ranking without a statistical test." in sentence
    dataset, cells = next(iter(bare.by_dataset.items()))
    one = tuple(cell for _, cell in cells)
    alone = text_of([summary.build(Page(replace(bare.view, cells=one))).blocks[1]])
    assert f"{cells[0][0]} has the best mean {bare.metric(cells[0][1])} on {dataset}" in alone


def test_long_text_is_cut_at_its_beginning(typical) -> None:
    detail = "x" * 50_000 + "\nValueError: the end"
    outcome = next(o for o in Page(typical).failed)
    bad = replace(outcome, failure=replace(outcome.failure, detail=detail))
    cell = replace(typical.cells[0], outcomes=(bad,), scores={}, reused=(False,))
    text = text_of(failures.build(Page(replace(typical, cells=(cell,)))).blocks)
    assert "ValueError: the end" in text
    assert len(text) < 10_000


def test_dataset_is_shown_with_its_notes_and_its_best(page) -> None:
    panels = dataset_panels.build(page).blocks
    assert [panel.title for panel in panels] == sorted(page.by_dataset)
    text = text_of(panels)
    assert "2 rows of 1797 are the same in training and test" in text
    for dataset, cells in page.by_dataset.items():
        assert f"{cells[0][0]} has the best mean {page.metric(cells[0][1])}" in text, dataset


def test_large_phase_of_duels_is_drawn_in_part_and_tabled_whole(typical) -> None:
    many = [replace(typical.speed[0], dataset=f"d{i}") for i in range(100)]
    fragment = speed.build(Page(replace(typical, speed=tuple(many), duels=())))
    figure = fragment.blocks[1].blocks[0]
    (panel,) = figure.spec.panels
    assert len(panel.y.labels) == forest.DRAWN
    assert len(figure.table.rows) == 100
    assert "the table has all" in figure.finding


def test_phases_are_medians_over_the_datasets(page) -> None:
    result = phases.phase_medians(page)
    fits = sorted(
        c.seconds["fit"] for c in page.view.cells if c.algorithm == "bagging" and c.seconds
    )
    assert result["bagging"]["fit"] == pytest.approx((fits[1] + fits[2]) / 2)


def test_environment_lists_versions_threads_and_commands(page) -> None:
    text = text_of(environment.build(page).blocks)
    for word in ("scikit-learn", "1.9.1", "openmp 1", "numba 1", "as requested", "A CPU @ 2 GHz"):
        assert word in text
    assert f"python -m harness run --again {page.of_run('id')} --fresh" in text
    assert "environment-environments" not in text, "one usual environment is not worth words"


@pytest.mark.parametrize(
    ("pools", "word"), [(4, "more than requested"), (1, "as requested"), (None, "as requested")]
)
def test_threads_beyond_the_requested_number_are_reported(typical, pools, word) -> None:
    facts = {"pools": [{"internal_api": "openmp", "num_threads": pools}] if pools else []}
    cell = typical.cells[0]
    outcomes = tuple(replace(o, facts=facts) for o in cell.outcomes)
    page = Page(replace(typical, cells=(replace(cell, outcomes=outcomes),)))
    assert word in text_of(environment.build(page).blocks)


def test_algorithm_against_itself_is_no_duel_of_speed(typical) -> None:
    itself = replace(typical.speed[0], reference=typical.speed[0].algorithm)
    assert speed.build(Page(replace(typical, speed=(itself,), duels=()))) is None
    kept = Page(replace(typical, speed=(itself, typical.speed[0]), duels=()))
    (panel,) = speed.build(kept).blocks[1].blocks[0].spec.panels
    assert len(panel.y.labels) == 1


def test_pair_is_distinguished_from_others_of_its_algorithm():
    several = SimpleNamespace(pairs=[Pair("goss", "all"), Pair("goss", "bags"), Pair("b", "all")])
    assert [pair_name(several, "goss", name) for name in ("all", "bags")] == [
        "goss / all",
        "goss / bags",
    ]
    assert pair_name(several, "b", "all") == "b"
