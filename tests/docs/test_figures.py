"""The tables of the algorithms' pages are made from what runs stored, and say what that was."""

import importlib.util
import math

import pytest
from pages import DOCS

from harness.analysis.view import Accuracy, Interval, Parity, Speed
from harness.config import load_experiment
from harness.plugins import load_registry

SPEC = importlib.util.spec_from_file_location("write_figures", DOCS / "figures/write.py")
write = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(write)


def test_every_algorithm_has_its_table_on_one_page():
    pages = {page: page.read_text() for page in (DOCS / "algorithms").glob("*.md")}
    for name in write.PAGES:
        (page,) = [p for p, text in pages.items() if f"figures/{name}.md" in text]
        assert f"algorithms/{name}.py" in pages[page]
        assert (write.TABLES / f"{name}.md").is_file()


@pytest.mark.parametrize("name", ["speed", "parity"])
def test_the_experiments_name_what_there_is(name):
    experiment = load_experiment(str(DOCS / f"figures/{name}.toml"))
    known = load_registry(strangers=False).names("algorithm")
    asked = {a if isinstance(a, str) else a.name for a in experiment.algorithms}
    assert asked <= set(known)
    assert set(write.PAGES) <= asked


def test_a_ratio_shows_its_bounds_and_none_where_there_are_none():
    assert write.ratio(Interval(1.5, 2.0, 3.0, n=8)) == "2.00 (1.50 to 3.00)"
    assert write.ratio(Interval(0.0, 2.0, math.inf, level=1.0, n=1)) == "2.00"
    assert write.ratio(None) == write.NONE


def test_a_verdict_is_told_in_shares_of_the_gap():
    difference = Interval(-0.01, 0.0, 0.02, n=5)
    one = Accuracy("a", "b", "iris", "log_loss", "inconclusive", difference, 0.01, gap=0.5)
    assert write.accuracy_row(one) == ["iris", "b", "inconclusive", "-2.00 % to +4.00 %"]


def test_a_contaminated_duel_has_a_star():
    def speed(phase, *notes):
        ratio = Interval(1.0, 2.0, 3.0, n=8)
        return Speed("a", "b", "iris", phase, ratio, "launch", (1, 2), memory=ratio, notes=notes)

    (quiet,) = write.speed_rows([speed("train"), speed("predict")])
    assert quiet == ["iris", "b", *["2.00 (1.00 to 3.00)"] * 2, write.NONE, "2.00 (1.00 to 3.00)"]
    (doubted,) = write.speed_rows([speed("train", "contaminated: a guess")])
    assert doubted[0] == "iris *"


def test_a_rung_tells_its_mode_and_why_nothing_was_compared():
    params = ({"parity": "xgboost"}, {})
    one = Parity("a", "b", "iris", params, "native", "raw", "", "L3", {}, None, reason="no trees")
    assert write.parity_row(one) == ["xgboost", "b", "iris", "none", "no trees"]


def test_cells_of_a_table_stay_cells():
    assert write.table(["x"], [["a | b"]]).splitlines()[-1] == "| a \\| b |"
    assert "Nothing" in write.table(["x"], [])
