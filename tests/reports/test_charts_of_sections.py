"""Tests of the sections with charts: predictions, curves, variants, timings."""

import math
from dataclasses import replace

import numpy as np
import pytest

from harness.analysis.diagnostics import Diagnostic
from harness.core.model import Block, Sample, Split
from reports import Page
from reports.charts.plot import Dots, Label, Lines, Plot
from reports.charts.scaling import importance_figures, medians, scaling_figures
from reports.sections import accuracy, predictions, profiles, quality, timings, tradeoff, variants


@pytest.fixture
def view(views):
    return views["typical"]()


@pytest.fixture
def page(view):
    return Page(view)


def figures(blocks) -> list:
    """Return every figure, at any depth."""
    results = []
    for block in blocks:
        results += [block] if hasattr(block, "spec") else figures(getattr(block, "blocks", ()))
    return results


SECTIONS = (variants, accuracy, predictions, profiles, quality, timings, tradeoff)


@pytest.mark.parametrize("section", SECTIONS, ids=lambda s: s.__name__)
@pytest.mark.parametrize("kind", ["empty", "only_failures"])
def test_empty_data_shows_nothing(views, section, kind) -> None:
    assert section.build(Page(views[kind]())) is None


@pytest.mark.parametrize("section", SECTIONS[1:], ids=lambda s: s.__name__)
def test_each_chart_has_its_numbers_as_a_table(views, section) -> None:
    view = views["typical"]()
    five = [replace(c, dataset=f"d{i}") for i in range(5) for c in view.cells[:4]]
    page = Page(replace(view, cells=tuple(five)) if section is profiles else view)
    result = figures(section.build(page).blocks)
    assert result
    for figure in result:
        assert isinstance(figure.spec, Plot)
        assert figure.table.rows
        assert figure.finding


# ------------------------------------------------------------------ predictions


def test_predictions_of_a_pair_are_compared_on_the_same_rows(page) -> None:
    results = list(predictions.compared(page))
    assert {c.pair.algorithm for c in results} == {"decision_tree", "bagging"}
    assert all(len(c.ours) == len(c.theirs) for c in results)
    trees = [c for c in results if c.pair.algorithm == "bagging"]
    assert all(c.agreement.same == 1 for c in trees), "made to predict alike"


def test_verdict_refers_to_its_own_params(view) -> None:
    cell = next(c for c in view.cells if c.algorithm == "bagging" and c.dataset == "wine")
    bare = replace(cell, params={}, outcomes=cell.outcomes[:1])
    both = [cell, bare]
    assert len(predictions._side(both, "native", {})) == 1
    assert len(predictions._side(both, "native", cell.params)) == 3
    assert predictions._side(both, "native", {"n_estimators": 7}) == {}
    assert predictions._side(both, "onehot", {}) == {}
    assert len(predictions._side([cell], "", {})) == 3, "the only one there is"


def test_bars_of_steps_fill_the_whole(page) -> None:
    (panel,) = predictions.shares([("a", {"0": 3, "1": 1}), ("b", {"0": 0, "1": 2})]).panels
    boxes = sorted(box for mark in panel.marks for box in mark.boxes)
    assert [(x0, x1) for x0, _, x1, _ in boxes] == [(0.0, 0.75), (0.0, 1.0), (0.75, 1.0)]


def test_rows_with_the_largest_differences_are_drawn(view) -> None:
    n = 1000
    ours = np.zeros(n)
    theirs = np.arange(n, dtype=float)
    one = next(predictions.compared(Page(view)))
    kept = predictions._drawn_rows(replace(one, ours=ours, theirs=theirs))
    assert set(range(n - predictions.POINTS // 2, n)) <= set(kept)
    assert len(kept) <= predictions.POINTS
    assert len(set(kept)) == len(kept)
    assert min(kept) < 20


# ------------------------------------------------------------------ curves


def made(score, y) -> quality.Predicted:
    p = np.asarray(score, float)
    return quality.Predicted("x", np.asarray(y), np.column_stack([1 - p, p]), np.ones(len(p)))


def test_curves_equal_scikit_learn() -> None:
    from sklearn.metrics import average_precision_score, roc_auc_score

    rng = np.random.default_rng(1)
    y, score = rng.integers(0, 2, 300), rng.random(300).round(2)
    fpr, tpr, precision = quality.curve(made(score, y))
    assert np.trapezoid(tpr, fpr) == pytest.approx(roc_auc_score(y, score))
    assert np.sum(np.diff(tpr) * precision[1:]) == pytest.approx(average_precision_score(y, score))


def test_weight_counts_as_repeated_rows() -> None:
    y, score = [0, 1, 1, 0], [0.1, 0.4, 0.8, 0.6]
    twice = made([*score, 0.4], [*y, 1])
    weighted = replace(made(score, y), weight=np.array([1.0, 2.0, 1.0, 1.0]))
    for a, b in zip(quality.curve(twice), quality.curve(weighted), strict=True):
        assert np.trapezoid(a) == pytest.approx(np.trapezoid(b))
    assert quality.curve(twice)[1].tolist() == pytest.approx(quality.curve(weighted)[1].tolist())


def test_perfect_forecast_is_calibrated_and_overconfident_one_is_not() -> None:
    y = np.tile([0, 1], 100)
    assert quality.calibration_error(made(y.astype(float), y)) == pytest.approx(0)
    assert quality.calibration_error(made(np.full(200, 0.9), y)) == pytest.approx(0.4)


def test_every_test_row_counts_once(page) -> None:
    for dataset in page.by_dataset:
        for one in quality.pooled(page, dataset):
            assert len(one.y) == len(one.output) == 3 * 40


@pytest.mark.parametrize(
    "more", [{"seed": 1}, {"split": Split("draw", folds=1, train_rows=9)}], ids=["seed", "size"]
)
def test_further_seeds_and_sizes_add_no_test_row(view, more) -> None:
    cell = view.cells[0]
    again = [replace(o, trial=replace(o.trial, **more)) for o in cell.outcomes]
    both = replace(cell, outcomes=(*cell.outcomes, *again))
    (one,) = quality.pooled(Page(replace(view, cells=(both,))), cell.dataset)
    assert len(one.y) == len(one.output) == 3 * 40


# ------------------------------------------------------------------ variants


def test_variant_is_shown_beside_the_first_on_the_same_splits(view) -> None:
    cell = next(c for c in view.cells if c.algorithm == "bagging" and c.dataset == "wine")
    losses = cell.scores["log_loss"]
    other = replace(
        cell,
        params={"n_estimators": 60},
        scores={"log_loss": tuple(x - 0.25 for x in losses)},
        outcomes=tuple(
            replace(o, samples=tuple(replace(s, wall=2 * s.wall) for s in o.samples))
            for o in cell.outcomes
        ),
    )
    result = variants.variants(Page(replace(view, cells=(cell, other))))
    ((key, (base, variant)),) = result.items()
    assert key == ("bagging", "wine")
    assert base.changes == (0.0,) * 3
    assert variant.changes == pytest.approx((-0.25,) * 3)
    assert variant.ratios == pytest.approx((2.0,) * 3)
    assert (base.name, variant.name) == ("n_estimators=30", "n_estimators=60")
    fragment = variants.build(Page(replace(view, cells=(cell, other))))
    assert "lower loss on every split: n_estimators=60" in fragment.blocks[1].blocks[0].finding
    assert variants.variants(Page(view)) == {}


# ------------------------------------------------------------------ timings


def test_calls_are_in_chronological_order(view) -> None:
    def sample(wall):
        return Sample("fit", wall, wall)

    blocks = (
        Block(1, 0, "fit", "ABBA", (sample(5.0), sample(8.0)), (sample(6.0), sample(7.0))),
        Block(0, 0, "fit", "BAAB", (sample(2.0), sample(3.0)), (sample(1.0), sample(4.0))),
        Block(0, 0, "predict", "ABBA", (sample(9.0),) * 2, (sample(9.0),) * 2),
    )
    duel = replace(view.duels[0], blocks=blocks)
    made = timings.calls(duel, timings.phase_of(duel))
    assert [wall for *_, wall in made] == [1, 2, 3, 4, 5, 6, 7, 8]
    assert "".join(side for side, *_ in made) == "BAABABBA"
    (panel,) = figures(timings.build(Page(replace(view, duels=(duel,)))).blocks)[0].spec.panels
    starts = next(m for m in panel.marks if isinstance(m, Lines) and m.dash)
    assert [line[0][0] for line in starts.lines] == [3.5], "the second launch begins"


# ------------------------------------------------------------------ profiles and trade-offs


def test_failure_is_within_no_factor(view) -> None:
    page = Page(view)
    result = profiles.factors(page, "loss")
    assert result["catboost"].count(math.inf) == 1, "it ran out of time on wine"
    for position in range(len(page.by_dataset)):
        assert min(by[position] for by in result.values()) == 1.0
    assert profiles.within([1.0, 2.0, math.inf], 2.0) == pytest.approx(2 / 3)
    assert profiles.build(page) is None, "four datasets are too few"


def standing(name, behind, train, **more) -> tradeoff.Standing:
    return tradeoff.Standing(name, "from scratch", behind, train, 0.1, **more)


def test_tradeoff_says_who_is_more_accurate_and_faster() -> None:
    found = [standing("a", 0.0, 1.0), standing("b", 0.1, 2.0), standing("c", 0.2, 0.5)]
    assert tradeoff.dominance(found) == "a is both more accurate and faster to train than b."
    assert tradeoff.dominance(found[::2]).startswith("No algorithm is both")


def test_line_joins_default_and_tuned_results_of_an_algorithm() -> None:
    pair = [
        (standing("a (default)", 0.2, 1.0, algorithm="a"), (1.0, 0.2)),
        (standing("a (tuned)", 0.1, 9.0, algorithm="a", stage=1), (9.0, 0.1)),
        (standing("b", 0.3, 1.0, algorithm="b"), (1.0, 0.3)),
    ]
    assert [*tradeoff._stage_lines(pair)] == [("a (default)", ((1.0, 0.2), (9.0, 0.1)))]


def test_line_joins_default_tuned_and_ensembled_in_this_order() -> None:
    places = [(9.0, 0.1), (1.0, 0.2), (12.0, 0.05)]
    found = [standing(f"a{stage}", 0.0, 1.0, algorithm="a", stage=stage) for stage in (1, 0, 2)]
    assert [*tradeoff._stage_lines([*zip(found, places, strict=True)])] == [
        ("a1", ((9.0, 0.1), (12.0, 0.05))),
        ("a0", ((1.0, 0.2), (9.0, 0.1))),
    ]


def test_every_point_of_the_tradeoff_has_a_bar_and_a_label(page) -> None:
    for figure in figures(tradeoff.build(page).blocks):
        names = {row[0].value for row in figure.table.rows}
        for panel in figure.spec.panels:
            labels = {m.algorithm: m.text for m in panel.marks if isinstance(m, Label)}
            assert set(labels) == names
            known = {key.text: key.symbol for key in figure.numbers}
            assert all(text in (name, known.get(name)) for name, text in labels.items())
            assert names <= {mark.algorithm for mark in panel.marks if isinstance(mark, Lines)}


def test_every_finished_algorithm_has_a_dot(page) -> None:
    for figure in figures(tradeoff.build(page).blocks):
        for panel in figure.spec.panels:
            dots = sum(len(m.points) for m in panel.marks if isinstance(m, Dots))
            assert dots == len(figure.table.rows)


# ------------------------------------------------------------------ scaling


def scaled(axis, x, seconds, **params) -> Diagnostic:
    results = {"axis": axis, "x": x, "seconds": seconds}
    return Diagnostic("scaling", "ours", "blobs", params, about=axis, found=results)


def test_times_are_medians_of_the_calls_at_a_size() -> None:
    assert medians({"x": [2, 1, 2, 2], "seconds": [5.0, 1.0, 3.0, 4.0]}) == [(1, 1.0), (2, 4.0)]


def test_threads_are_shown_as_speed_up_and_efficiency() -> None:
    messages = [scaled("rows", [10, 20], [0.1, 0.2]), scaled("threads", [1, 2, 4], [1.0, 0.5, 0.5])]
    (details,) = scaling_figures(messages)
    (figure,) = details.blocks
    titles = [panel.y.title for panel in figure.spec.panels]
    assert titles == ["training time", "speed-up", "efficiency"]
    speedup, efficiency = (
        next(m for m in p.marks if isinstance(m, Dots)).points for p in figure.spec.panels[1:]
    )
    assert speedup == [(1, 1.0), (2, 2.0), (4, 2.0)]
    assert efficiency == [(1, 1.0), (2, 1.0), (4, 0.5)]


@pytest.mark.parametrize(
    ("threads", "title"), [([1, 2, 4], "threads"), ([2, 4, 8], "threads over the fewest")]
)
def test_axis_of_threads_names_its_unit(threads, title) -> None:
    (details,) = scaling_figures([scaled("threads", threads, [1.0, 0.5, 0.5])])
    (figure,) = details.blocks
    assert [panel.x.title for panel in figure.spec.panels] == [title] * 2


def test_importances_are_drawn_if_known() -> None:
    results = {"shares": [[0.75, 0.25, 0.0], [0.5, 0.5, 0.0]]}
    message = Diagnostic("importance", "ours", "blobs", reference="theirs", found=results)
    (details,) = importance_figures([message])
    (figure,) = details.blocks
    assert len(figure.table.rows) == 2, "a column that nobody uses is left out"
    assert importance_figures([replace(message, found={})]) == []


def test_rows_of_two_tracks_have_different_names(view) -> None:
    accuracy = [replace(a, track=t, gap=0.5) for t in ("equal", "default") for a in view.accuracy]
    page = Page(replace(view, accuracy=tuple(accuracy)))
    names = [c.name for c in predictions.compared(page)]
    assert len(set(names)) == len(names) > 2


def test_rows_of_one_pair_are_named_by_dataset_and_track(view) -> None:
    first = view.accuracy[0]
    pair = [a for a in view.accuracy if a.dataset and a.algorithm == first.algorithm]
    alone = [replace(a, track="tuned", gap=0.5) for a in pair if a.reference == first.reference]
    panel = accuracy.build(Page(replace(view, accuracy=tuple(alone)))).blocks[-1]
    (figure,) = panel.blocks
    assert set(figure.spec.panels[0].y.labels) == {f"{a.dataset} · tuned" for a in alone}
    assert f"of {first.algorithm} with {first.reference}" in figure.finding
    both = [replace(a, gap=0.5) for a in view.accuracy]
    several = accuracy.build(Page(replace(view, accuracy=tuple(both)))).blocks[-1].blocks[0]
    assert all("·" in label for label in several.spec.panels[0].y.labels)


@pytest.mark.parametrize(
    ("behind", "floor"), [([0.0, 0.06, 0.1], 0.03), ([0.0, 0.004], 0.001), ([0.0], 0.001)]
)
def test_axis_of_losses_begins_a_little_below_the_second(behind, floor) -> None:
    assert tradeoff.floor_of(behind) == floor


def test_many_datasets_have_curves_of_fewer_algorithms(view) -> None:
    page = Page(view)
    assert len(quality.pooled(page, "wine")) == quality.DRAWN
    copies = [replace(c, dataset=f"{c.dataset}{n}") for n in range(3) for c in view.cells]
    many = Page(replace(view, cells=tuple(copies)))
    assert len(quality.pooled(many, "wine0")) == quality.DRAWN_OF_MANY
