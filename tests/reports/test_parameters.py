"""Tests of the parameters on the page: the map, the tracks, the searches, the posterior."""

from dataclasses import replace

import pytest

from harness.analysis.run_view import RunView
from reports import Page
from reports.page.render import Renderer
from reports.sections import parameters, verdicts

CAPACITY = {
    "trees": {"name": "n_estimators", "match": "exact", "note": ""},
    "l2": {"name": "reg_lambda", "match": "approximate", "note": "scaled by the mean row weight"},
    "bins": {"name": "", "match": "impossible", "note": "every distinct value is a candidate"},
}


@pytest.fixture
def typical(views) -> RunView:
    return views["typical"]()


def html_of(fragment) -> str:
    return str(Renderer().blocks(fragment.blocks)).replace("<wbr>", "")


def mapped(view: RunView) -> RunView:
    facts = {
        name: {**fact, "capacity": CAPACITY if name == "catboost" else {}}
        for name, fact in view.algorithms.items()
    }
    config = {"experiment": {"name": "quick", "capacity": {"trees": 30}}}
    return replace(view, algorithms=facts, run={**view.run, "config": config})


def test_parameter_map_names_each_library_parameter_and_its_match(typical) -> None:
    result = parameters.build(Page(mapped(typical)))
    assert result is not None
    page = html_of(result)
    for message in ("n_estimators", "trees = 30", "exact", "approximate", "impossible"):
        assert message in page
    assert "scaled by the mean row weight" in page
    assert "not declared" in page  # an algorithm without any


def test_run_without_declarations_shows_its_params_only(typical) -> None:
    result = parameters.build(Page(typical))
    assert result is not None
    page = html_of(result)
    assert "Canonical parameters and" not in page
    assert "n_estimators=30" in page
    assert parameters.build(Page(replace(typical, cells=()))) is None


def tracked(view: RunView) -> RunView:
    """Return a view whose first algorithm is on two tracks, one of them tuned."""
    tune = {"tune": {"configurations": [{"n": 1}, {"n": 2}], "inner_folds": 3}}
    facts = {"chosen": 1, "params": {"n": 2}, "losses": [0.2, 0.1, None], "inner_folds": 3}
    cells = []
    for cell in view.cells:
        outcomes = tuple(replace(o, facts={**o.facts, "tuned": facts}) for o in cell.outcomes)
        cells += [
            replace(cell, tracks=("equal", "default")),
            replace(cell, tracks=("tuned",), params=tune, outcomes=outcomes),
        ]
    accuracy = [replace(a, track="tuned", posterior=(0.001, 0.95, 0.049)) for a in view.accuracy]
    return replace(view, cells=tuple(cells), accuracy=tuple(accuracy))


def test_tracks_and_searches_are_shown(typical) -> None:
    page = html_of(parameters.build(Page(tracked(typical))))
    assert "Equal capacity: every library" in page
    assert "n=2 (in 3 of 3)" in page
    assert "the best of 2\N{NO-BREAK SPACE}configurations over 3 inner folds" in page


def test_track_names_its_datasets_if_it_was_not_run_on_all(typical) -> None:
    view = tracked(typical)
    first = view.cells[0].dataset
    assert {cell.dataset for cell in view.cells} != {first}
    assert "Datasets:" not in html_of(parameters.build(Page(view)))
    few = [c for c in view.cells if c.tracks == ("equal", "default") or c.dataset == first]
    page = html_of(parameters.build(Page(replace(view, cells=tuple(few)))))
    assert f"its fit. Datasets: {first}." in page


def test_ensembles_have_rows_of_their_own_with_their_weights(typical) -> None:
    view = tracked(typical)
    search = {"configurations": [{"n": 1}, {"n": 2}], "inner_folds": 3}
    tune = {"tune": {**search, "ensemble": 25, "halving": 3}}
    outcomes = tuple(
        replace(o, facts={"tuned": {**o.facts["tuned"], "weights": [[0, 0.25], [1, 0.75]]}})
        for o in view.cells[1].outcomes
    )
    last = replace(view.cells[1], tracks=("ensembled",), params=tune, outcomes=outcomes)
    page = html_of(parameters.build(Page(replace(view, cells=(*view.cells, last)))))
    assert "Ensembled: the same search" in page
    assert "n=2, with a weight of 75% in a mean of 2 (in 3 of 3)" in page
    assert "n=2 (in 3 of 3)" in page
    assert "over 3 inner folds, by successive halving" in page


def test_track_names_the_rows_of_the_leaderboard_and_the_verdicts(typical) -> None:
    page = Page(tracked(typical))
    names = set(page.names.values())
    assert "catboost (tuned)" in names
    assert "catboost (equal and default)" in names
    assert "tuned track: " in html_of(verdicts.build(page))


def test_posterior_is_shown_beside_the_interval(typical) -> None:
    page = html_of(verdicts.build(Page(tracked(typical))))
    assert "P(equivalent)" in page
    assert "&lt;0.01" in page
    assert "0.95" in page
