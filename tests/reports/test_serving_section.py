"""Tests of the section Serving times, and of the report of a run that has only these."""

from dataclasses import replace

import pytest
from report_views import run_point, served

from reports import Page
from reports.blocks.blocks import Callout, Figure
from reports.page.build import build_report
from reports.sections import history, serving
from reports.text.commands import run_again

NAMES = ["ours", "theirs", "third", "broken"]


@pytest.fixture
def only_serving(views):
    """Return a view without trials, with three measured models and a failed one."""
    view = views["empty"]()
    config = {
        "command": "serving",
        "experiment": {"name": "serving", "capacity": {"trees": 20}},
        "serving": {
            "algorithms": ["ours", "*forest*"],
            "dataset": "blobs",
            "threads": [1, 2],
            "batches": [1, 1000],
            "launches": 5,
            "rounds": 4,
            "calls": 500,
        },
    }
    times = tuple(served(i, name, NAMES) for i, name in enumerate(NAMES))
    return replace(view, run={**view.run, "config": config}, serving=times)


def test_each_thread_count_has_a_panel_and_each_model_a_line(only_serving):
    blocks = serving.build(Page(only_serving)).blocks
    batches = next(b for b in blocks if isinstance(b, Figure))
    assert [panel.title.replace("\u00a0", " ") for panel in batches.spec.panels] == [
        "1 thread", "2 threads",
    ]  # fmt: skip
    assert [key.text for key in batches.keys] == NAMES[:3]
    assert "Fastest with 1\u00a0thread: ours at 1\u00a0row" in batches.finding
    failed = next(b for b in blocks if isinstance(b, Callout))
    assert failed.title == "1\u00a0model could not be measured"


def test_speed_up_is_that_of_the_same_model(only_serving):
    """A model measured with 1 and 2 threads, twice as fast with 2."""
    one = only_serving.serving[0]
    halved = {rows: [s / 2 for s in seconds] for rows, seconds in one.launches.items()}
    two = replace(one, threads=2, launches=halved)
    view = replace(only_serving, serving=(one, two))
    figure = serving.build(Page(view)).blocks[-2]
    assert "Speed-up" in figure.title
    assert [row[-1].value for row in figure.table.rows] == [None, pytest.approx(2.0)]


def test_the_command_repeats_the_measurement(only_serving):
    run = only_serving.run
    again = run_again(run)
    assert again == (
        "python -m harness serving -a ours -a '*forest*' -d blobs --batches 1,1000 --threads 1,2 "
        "--launches 5 --rounds 4 --calls 500 --capacity trees=20"
    )
    own = {**run, "config": {**run["config"], "files": [{"path": "houses.csv"}]}}
    assert run_again(own) == "", "a file of one's own is not named by the stored run"


def test_the_report_of_a_run_with_serving_times_only(only_serving, sections):
    page = build_report(only_serving, sections)
    assert "This run measured serving times only" in page
    assert "No duel was run" not in page
    assert "This section failed" not in page
    points = tuple(replace(run_point(i, NAMES, "serving"), levels=(), speeds=()) for i in range(2))
    assert history.build(Page(replace(only_serving, course=points))) is None
