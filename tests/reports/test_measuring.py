"""Tests of the sections on measurement conditions and gates."""

from dataclasses import replace

import pytest

from harness.analysis.run_view import FirstUse, RunView
from harness.core.model import Block, Sample
from reports import Page
from reports.charts.plot import Boxes
from reports.page.cold_calls import cold_and_warm
from reports.page.printed import change_rows, gate_rows, gates_markdown
from reports.page.render import Renderer
from reports.sections import duels, gates, phases
from reports.sections.duels import spin_words


@pytest.fixture
def typical(views) -> RunView:
    return views["typical"]()


def html_of(fragment) -> str:
    return str(Renderer().blocks(fragment.blocks))


def with_duel_facts(view, **facts):
    """Return a view whose first duel has these facts, and an A/A duel of ten launches beside it."""
    first = view.duels[0]
    calls = tuple(Sample("fit", 0.1, 0.1) for _ in "ab")
    blocks = tuple(Block(n, 0, "fit", "ABBA", calls, calls) for n in range(10))
    own = replace(first, duel=replace(first.duel, b=first.duel.a), blocks=blocks)
    return replace(view, duels=(replace(first, facts=facts), own))


def test_conditions_of_a_duel_are_on_the_page(typical) -> None:
    facts = {
        "launches": [{"load": [0.4, 9.5]}],
        "stopped": "stopped after 8 launches: the interval of train reaches ±1.50%",
        "spin": {"OMP_WAIT_POLICY": "", "KMP_BLOCKTIME": ""},
        "a": {"spin": {"OMP_WAIT_POLICY": "PASSIVE"}},
        "b": {"spin": {}},
    }
    result = duels.build(Page(with_duel_facts(typical, **facts)))
    assert result is not None
    page = html_of(result)
    assert "stopped after 8 launches" in page
    assert "OMP_WAIT_POLICY=PASSIVE" in page
    assert "busy machine: load average up to 9.5" in page
    assert result.badge == "1 doubtful"
    assert "itself (A/A)" in page
    assert "±0.0%" in page  # equal calls: the floor of nothing


def test_unset_spin_settings_are_library_defaults() -> None:
    assert spin_words({"spin": {"OMP_WAIT_POLICY": ""}}) == "the libraries' defaults"
    assert spin_words({"a": {"spin": {"X": "1"}}, "b": {"spin": {"X": "2"}}}) == "X=1 or 2"


def test_run_without_duels_has_no_duel_section(typical) -> None:
    assert duels.build(Page(replace(typical, duels=()))) is None


def test_first_and_later_calls_come_from_duels(typical) -> None:
    duel = typical.duels[0]
    cold = [{"phase": "fit", "wall": wall, "cpu": wall} for wall in (0.9, 0.5)]
    facts = {"launches": [{"a": {"cold": [one]}, "b": {}} for one in cold]}
    samples = tuple(Sample("fit", wall, wall) for wall in (0.1, 0.3))
    blocks = (Block(0, 0, "fit", "ABBA", samples, samples),)
    view = replace(typical, duels=(replace(duel, facts=facts, blocks=blocks),))
    (panel,) = cold_and_warm(Page(view))
    (row,) = panel.blocks[1].rows
    name = duel.duel.a.algorithm
    assert [row[0].value, *(cell.value for cell in row[3:])] == [name, 0.7, 0.2, 0.7 / 0.2]
    assert cold_and_warm(Page(replace(view, duels=()))) == []


def test_first_calls_of_variants_are_not_pooled(typical) -> None:
    duel = typical.duels[0]
    facts = {"launches": [{"a": {"cold": [{"phase": "fit", "wall": 0.9}]}}]}
    samples = (Sample("fit", 0.1, 0.1),)
    blocks = (Block(0, 0, "fit", "ABBA", samples, samples),)

    def labeled(name):
        trials = tuple(replace(trial, algorithm=name) for trial in duel.duel.a.trials)
        job = replace(duel.duel.a, trials=trials)
        return replace(duel, duel=replace(duel.duel, a=job), facts=facts, blocks=blocks)

    names = ["gbdt.column_wise", "gbdt.row_wise"]
    view = replace(typical, duels=tuple(map(labeled, names)))
    (panel,) = cold_and_warm(Page(view))
    assert [row[0].value for row in panel.blocks[1].rows] == names


def test_first_use_is_compile_time(typical) -> None:
    uses = (FirstUse("a", 2.0, functions=3), FirstUse("b", 0.1), FirstUse("c", 9.0, functions=1))
    (panel,) = phases.very_first(Page(replace(typical, first_uses=uses)))
    (figure,) = panel.blocks
    assert "2 algorithms compiled kernels: 2.00 s to 9.00 s" in figure.finding.replace("\xa0", " ")
    assert "1 other found all of them in the cache" in figure.finding.replace("\xa0", " ")
    assert figure.again.startswith(
        'HARNESS_PACKAGED_KERNELS=0 HARNESS_KERNEL_CACHE="$(mktemp -d)" python -m harness run '
    )
    (drawn,) = figure.spec.panels
    assert [box[2] for mark in drawn.marks if isinstance(mark, Boxes) for box in mark.boxes] == [
        2,
        9,
    ]
    assert [row[1].note for row in figure.table.rows] == ["", "all from the cache", ""]
    (reported,) = phases.very_first(Page(replace(typical, first_uses=uses[1:2])))
    assert "did not measure the very first use" in reported.words
    assert phases.very_first(Page(typical)) == []


# ------------------------------------------------------------------ gates


def gated(view, *tables):
    config = {"experiment": {"name": "quick", "gate": list(tables)}}
    return Page(replace(view, run={**view.run, "config": config}))


def test_gates_show_their_state_and_their_limit(typical) -> None:
    page = gated(
        typical,
        {"kind": "accuracy", "algorithm": "decision_tree", "limit": 0.9},
        {"kind": "speed", "algorithm": "nobody", "limit": 2},
    )
    result = gates.build(page)
    assert result is not None
    text = html_of(result)
    assert "at least −90.0 % of the gap" in text
    assert "at least ×2.00" in text
    assert "no train duel of nobody against *" in text


def test_experiment_without_gates_has_no_section(typical) -> None:
    assert gates.build(Page(typical)) is None


def test_gates_of_hostile_names_are_escaped(views) -> None:
    view = views["hostile"]()
    page = gated(view, {"kind": "accuracy", "algorithm": "*"})
    result = gates.build(page)
    assert result is not None
    assert "<script>alert" not in html_of(result)
    decisions = gates.decide_gates(gates.gates_of(page.view.run["config"]), page.view)
    assert len(gate_rows(decisions)) == len(decisions) > 1
    markdown = gates_markdown(decisions, "r")
    lengths = {
        line.replace("\\|", "").count("|") for line in markdown.splitlines() if line[:1] == "|"
    }
    assert len(lengths) == 1, "a name opened a column of its own"


def test_regressions_are_listed_first(typical) -> None:
    words = [row[0].split()[1] for row in change_rows(typical.accuracy)]
    order = ["worse", "inconclusive", "better", "equivalent"]
    assert words == sorted(words, key=order.index)
