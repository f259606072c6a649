"""Tests of the index of a store, and of the history of one experiment in a report."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from browser import CHROMIUM, WHY_NOT, Browser

from harness.analysis.compare import RunComparison
from harness.analysis.compare_duels import ParityLevelChange, RatioChange
from harness.analysis.run_view import Interval, Parity, Speed
from harness.analysis.trends import Level, RunPoint
from reports import Page, Report, build_index, build_report, write_index
from reports.charts.plot import Dots
from reports.page.run_history import run_names, score_figure, speed_figure, steps_of
from reports.page.run_tables import other_tables, scores_table
from reports.sections import history


def level(algorithm, dataset, score, params="{}") -> Level:
    return Level(algorithm, params, "native", dataset, "log_loss", True, score, 0.1)


def speed(algorithm, dataset, ratio) -> Speed:
    interval = Interval(ratio / 1.1, ratio, ratio * 1.1)
    return Speed(algorithm, "theirs", dataset, "train", interval, "launch", (0.1, 0.1 * ratio))


def point(number, score, ratio, name="quick", **rest) -> RunPoint:
    run = {
        "id": f"20260101-000{number}-abcd",
        "name": name,
        "status": "done",
        "started": f"2026-01-0{number + 1}T00:00:00+00:00",
        "machine": {"revision": f"{number}" * 12},
    }
    levels = (level("bagging", "wine", score), level("tree", "wine", 0.5))
    return RunPoint(run, levels, (speed("bagging", "wine", ratio),), 6, 0, 1, **rest)


@pytest.fixture
def points():
    return tuple(point(i, 0.4 - 0.1 * i, 1.0 + i) for i in range(3))


# ------------------------------------------------------------------ history


def test_history_has_a_line_for_changed_values(points) -> None:
    figure = score_figure(points, "x")
    assert [panel.title for panel in figure.spec.panels] == ["bagging"], "the tree stood still"
    values = [row[3].value for row in figure.table.rows]
    assert values == pytest.approx([1.0, 0.75, 0.5])
    ratios = [row[3].value for row in speed_figure(points, "x").table.rows]
    assert ratios == pytest.approx([1.0, 2.0, 3.0])
    assert run_names(points) == ["00000000", "11111111", "22222222"]


def test_one_run_is_no_history(points, views) -> None:
    assert score_figure(points[:1], "x") is None
    assert speed_figure(points[:1], "x") is None
    view = views["one_trial"]()
    assert history.build(Page(view)) is None
    assert history.build(Page(replace(view, course=points[:1]))) is None
    assert len(history.build(Page(replace(view, course=points))).blocks) == 4


def test_scores_have_a_row_per_item_and_a_column_per_run(points) -> None:
    later = replace(points[2], levels=(*points[2].levels, level("new", "wine", 0.1)))
    table = scores_table((*points[:2], later), "scores")
    assert [c.title for c in table.columns[3:]] == [p.id for p in points]
    by_name = {row[0].value: [cell.text for cell in row[3:]] for row in table.rows}
    assert by_name["bagging"] == ["0.4000", "0.3000", "0.2000"]
    assert by_name["new"] == ["–", "–", "0.1000"]
    assert not table.compare, "it takes the script of the index"


def test_params_are_shown_if_an_algorithm_has_several(points) -> None:
    more = level("bagging", "wine", 0.3, json.dumps({"n_estimators": 60}))
    changed = replace(points[0], levels=(*points[0].levels, more))
    notes = [row[0].note for row in scores_table((changed, points[1]), "scores").rows]
    assert notes == ["{}", "", '{"n_estimators": 60}']


def test_step_is_marked_and_given_as_a_share(points) -> None:
    line = [(float(i), v) for i, v in enumerate([1.0, 1.01, 0.99, 1.0, 1.5, 1.51, 1.49, 1.5])]
    assert steps_of(line) == {4: pytest.approx(0.5, abs=0.02)}
    several = tuple(point(i, 0.3, v) for i, (_, v) in enumerate(line))
    figure = speed_figure(several, "x")
    assert [bool(row[4].text) for row in figure.table.rows].index(True) == 4
    rings = [m for p in figure.spec.panels for m in p.marks if m.color == "amber"]
    assert [len(r.points) for r in rings] == [1]
    assert figure.keys[-1].text == "step here"
    assert all(key.color != "amber" for key in speed_figure(points, "x").keys)


def test_other_params_or_rows_have_their_own_line_and_row(points) -> None:
    other = replace(speed("bagging", "wine", 9.0), subject="other")
    both = [replace(p, speeds=(*p.speeds, other)) for p in points]
    lines: dict[str, list[float]] = {}
    for row in speed_figure(both, "x").table.rows:
        lines.setdefault(row[1], []).append(row[3].value)
    assert lines == {"wine": [1.0, 2.0, 3.0], "wine (2)": [9.0] * 3}
    ratios = other_tables(both, "x")[0].rows
    assert [[cell.value for cell in row[-3:]] for row in ratios] == list(lines.values())


def test_without_asv_there_is_no_step(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "asv.step_detect", None)
    assert steps_of([(float(i), v) for i, v in enumerate([1.0] * 5 + [2.0] * 5)]) == {}


def test_ratios_failures_and_parity_levels_have_a_column_per_run(points) -> None:
    failed = replace(points[1], levels=(replace(points[1].levels[0], failed=2),))
    level = Parity("bagging", "theirs", "wine", ({}, {}), "native", "raw", "L2", "", {}, None)
    messages = (points[0], replace(failed, parity=(level,)))
    tables = {t.name: t for t in other_tables(messages, "quick")}
    assert set(tables) == {"ratios-quick", "failures-quick", "parity-levels-quick"}
    assert all(t.compare for t in tables.values())
    shown = {name: [cell.text for cell in t.rows[0][-2:]] for name, t in tables.items()}
    assert shown["failures-quick"] == ["0", "2"]
    assert shown["parity-levels-quick"] == ["–", "L2"]
    assert [c.value for c in tables["ratios-quick"].rows[0][-2:]] == [1.0, 2.0]
    assert other_tables(points[:1], "quick")[0].name == "ratios-quick"


def test_many_datasets_all_have_a_line(points) -> None:
    names = [f"d{i:02}" for i in range(12)]
    many = [replace(p, levels=tuple(level("tree", n, 0.5 - 0.1 * i) for n in names))
            for i, p in enumerate(points)]  # fmt: skip
    figure = score_figure(many, "x")
    (panel,) = figure.spec.panels
    assert sum(len(m.points) for m in panel.marks if isinstance(m, Dots)) == len(figure.table.rows)
    assert figure.keys[-1].text == "5\N{NO-BREAK SPACE}other datasets"


# ------------------------------------------------------------------ the index


def test_index_links_to_existing_reports(points, parse, tmp_path) -> None:
    older = [{**points[0].run, "id": f"20200101-000{i}-old{i}"} for i in (2, 1)]
    there = {points[1].id, older[1]["id"]}
    write_index(points, there, tmp_path / "index.html", older=older)
    html = (tmp_path / "index.html").read_text()
    page = parse(html)
    links = [a["href"] for a in page.all("a") if not a["href"].startswith("#")]
    assert links == [f"report-{points[1].id}.html", f"report-{older[1]['id']}.html"]
    for word in ("no report yet", "2 older runs", "Compare two runs", "Trends"):
        assert word in page.text
    assert page.text.index(points[2].id) < page.text.index(points[0].id), "the newest first"


def test_newest_two_runs_are_compared(points, parse, hostile_names) -> None:
    names = list(hostile_names.values())
    ratios = (RatioChange("a", "b", "wine", "fit", Interval(1, 1.1, 1.2), Interval(0.5, 0.6, 0.7)),)
    changes = (
        ParityLevelChange("a", "b", "wine", "", "L3", "L1"),
        ParityLevelChange("a", "b", "x", "", "L2", "L2"),
    )
    result = RunComparison(points[0].run, points[1].run, 4, 0, 0, 0, (), (), (), ratios, changes)
    text = parse(build_index(points, (), newest=[result])).text.replace("\N{NO-BREAK SPACE}", " ")
    assert "1 ratio of duels slower now; 1 pair with another parity level" in text
    assert "differs from before" in text
    assert f"harness compare {points[0].id} {points[1].id}" in text
    hostile = replace(result, ratios=tuple(replace(ratios[0], algorithm=n) for n in names))
    assert "<img" not in build_index((), (), newest=[hostile]).partition("<body>")[2]


def test_store_without_runs_has_an_index_that_says_so(parse) -> None:
    assert "There are no runs yet" in parse(build_index((), ())).text


def test_one_run_has_no_comparison(points, parse) -> None:
    text = parse(build_index(points[:1], ())).text
    assert "Compare two runs" not in text


def test_hostile_runs_are_escaped(points, parse, hostile_names) -> None:
    hostile = [
        replace(
            p,
            run={**p.run, "id": name, "name": "x", "status": name, "machine": {"revision": name}},
            levels=(level(name, name, 0.5 + i / 10),),
        )
        for i, (p, name) in enumerate(zip(points * 4, hostile_names.values(), strict=False))
    ]
    page = parse(build_index(hostile, {p.id for p in hostile if p.id.isalnum()}))
    assert len(page.all("script")) == 1
    assert {"img", "iframe"}.isdisjoint(tag for tag, _ in page.tags)
    assert "This chart could not be drawn" not in page.text


def test_link_to_a_report_leads_nowhere_else() -> None:
    assert Report("20260101-0000-abcd").href == "report-20260101-0000-abcd.html"
    for name in ("../x", "a b", "https://example.org", ""):
        with pytest.raises(ValueError, match="is not the id of a run"):
            _ = Report(name).href


def test_report_shows_its_history(points, views, sections, parse) -> None:
    view = replace(views["one_trial"](), course=points)
    own = [section for section in sections if section.name == "history"]
    text = parse(build_report(view, own)).text
    assert "over 3 runs" in text.replace("\N{NO-BREAK SPACE}", " ")


@pytest.mark.skipif(CHROMIUM is None, reason=WHY_NOT)
def test_two_runs_can_be_selected_and_compared(points, tmp_path: Path) -> None:
    path = tmp_path / "index.html"
    path.write_text(build_index(points, ()), encoding="utf-8")
    browser = Browser(str(CHROMIUM))
    try:
        with browser.page(path) as page:
            values = page.evaluate("""
              const block = document.querySelector("[data-compare]");
              const [before, now] = block.querySelectorAll("select");
              const seen = () => [...block.querySelectorAll("thead th")]
                .filter((e) => !e.hidden).map((e) => e.textContent);
              const all = seen();
              before.selectedIndex = 1;
              now.selectedIndex = 3;
              now.dispatchEvent(new Event("change"));
              const row = [...block.querySelectorAll("tbody tr")][0];
              return { all, picked: seen(), change: row.cells[row.cells.length - 1].textContent,
                       command: block.querySelector("p.note").textContent };
            """)
            assert page.complaints == []
    finally:
        browser.close()
    ids = [p.id for p in points]
    assert values["all"] == ["Algorithm", "Dataset", "Metric", *ids]
    assert values["picked"] == ["Algorithm", "Dataset", "Metric", ids[0], ids[2], "Change"]
    assert values["change"] == "−50.0 %"
    assert values["command"] == f"python -m harness compare {ids[0]} {ids[2]}"
