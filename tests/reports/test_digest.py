import json
import math
import re
from dataclasses import replace

import pytest

from harness.analysis.run_view import Interval
from harness.core.model import Status
from reports import build_report, markdown_summary, verdicts_json
from reports.page.digest import escaped

KINDS = ("typical", "hostile", "empty", "one_trial", "only_failures")


@pytest.mark.parametrize("kind", KINDS)
def test_markdown_is_a_paragraph_and_a_table(views, kind) -> None:
    view = views[kind]()
    lines = markdown_summary(view).splitlines()
    assert lines[0].startswith("**")
    table = [line for line in lines if line.startswith("|")]
    heads = [i for i, line in enumerate(table) if line.startswith("| Algorithm | Reference")]
    table = table[heads[0] :] if heads else []
    pairs = {(a.algorithm, a.reference) for a in view.accuracy}
    assert len(table) == (len(pairs) + 2 if pairs else 0)
    for row in table:
        assert len(re.findall(r"(?<!\\)\|", row)) == 7, "six cells, whatever a name holds"


def test_no_name_becomes_markup_or_a_mention(hostile_names) -> None:
    for name in hostile_names.values():
        shown = escaped(name)
        assert "\n" not in shown
        assert not re.search(r"(?<!\\)[<>@*`|\[\]#]", shown)


def test_failures_are_reported_in_markdown(views) -> None:
    markdown = markdown_summary(views["only_failures"]()).replace("\N{NO-BREAK SPACE}", " ")
    assert "Failed: 96 trials and 2 duels." in markdown


@pytest.mark.parametrize("kind", KINDS)
def test_json_is_strict_and_has_every_verdict(views, kind) -> None:
    view = views[kind]()
    data = json.loads(json.dumps(verdicts_json(view), allow_nan=False))
    assert set(data) == {"run", "accuracy", "counts", "speed", "parity", "diagnostics"} | {
        "gates",
        "failures",
        "answers",
        "budget",
    }
    assert len(data["accuracy"]) == len(view.accuracy)
    assert len(data["speed"]) == len(view.speed)
    assert {s["word"] for s in data["speed"]} <= {"faster", "slower", "undecided"}


def test_json_names_failures(views) -> None:
    summary = verdicts_json(views["only_failures"]())["failures"]
    assert sum(f["what"] == "trial" for f in summary) == 96
    assert sum(f["what"] == "duel" for f in summary) == 2
    assert {f["kind"] for f in summary} == {"SIGSEGV"}


def test_gates_are_shown_with_the_verdicts(views) -> None:
    view = views["typical"]()
    gate = {"kind": "accuracy", "algorithm": view.accuracy[0].algorithm}
    config = {**view.run["config"], "experiment": {"gate": [gate]}}
    summary = verdicts_json(replace(view, run={**view.run, "config": config}))["gates"]
    assert {message["gate"]["kind"] for message in summary} == {"accuracy"}
    assert {message["state"] for message in summary} <= {"pass", "fail", "undecided"}


def test_trees_that_could_not_be_compared_are_failures(views, sections, parse) -> None:
    view = views["typical"]()
    failed = replace(view.parity[0], status=Status.TIMEOUT, reason="not done within 1 s")
    quiet = replace(view, parity=(failed,))
    before = len(verdicts_json(replace(view, parity=()))["failures"])
    summary = verdicts_json(quiet)["failures"]
    assert len(summary) == before + 1
    assert (summary[-1]["what"], summary[-1]["status"]) == ("comparison", "timeout")
    assert "1 tree comparison" in markdown_summary(quiet).replace("\N{NO-BREAK SPACE}", " ")
    page = parse(build_report(quiet, sections)).text
    assert "1 tree comparison did not finish: not done within 1 s" in page
    assert "Trees that could not be compared" in page


def test_unbounded_interval_is_null_in_json(views) -> None:
    view = views["typical"]()
    open_ended = replace(view.speed[0], ratio=Interval(0.0, 2.0, math.inf))
    summary = verdicts_json(replace(view, speed=(open_ended,)))["speed"][0]
    assert summary["ratio"]["high"] is None
    assert summary["word"] == "undecided"


def test_parity_levels_and_gates_are_summarized(views) -> None:
    view = views["typical"]()
    one = replace(view.parity[0], parity_level="L3", params=({}, {}))
    two = replace(one, dataset="another", parity_level="")
    moved = replace(one, params=({"parity": "exact"}, {}), parity_level="L2")
    gate = {"kind": "parity_level", "algorithm": one.algorithm, "datasets": ["another"]}
    gate["limit"] = "L2"
    config = {"experiment": {"gate": [gate]}}
    view = replace(view, parity=(one, two, moved), run={**view.run, "config": config})
    markdown = markdown_summary(view).replace("\N{NO-BREAK SPACE}", " ").replace("\\", "")
    names = (one.algorithm, one.reference)
    beside = "Trees of {} compared with those of {}: ".format(*names)
    assert f"{beside}L3 on 1 dataset and no parity level on 1 " in markdown
    assert (
        "Trees of {} in mode exact compared with those of {}: L2 on 1 ".format(*names) in markdown
    )
    assert "Gates: 1 fails." in markdown
    summary = verdicts_json(view)["parity"]
    assert [p["parity_level"] for p in summary] == ["L3", "", "L2"]
    assert all(isinstance(sentence, str) for p in summary for sentence in p["differences"])
    assert "comparison" not in summary[0]
