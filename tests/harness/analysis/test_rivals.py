"""The rival that counts: the fastest of those that are as accurate."""

import math
from types import SimpleNamespace

import pytest

from harness.analysis.rivals import fastest_rivals, lead_of
from harness.analysis.view import Accuracy, Interval, Speed
from harness.cli.rivals import print_rivals


def speed(rival, ratio, dataset="d", phase="train", algorithm="ours", **fields):
    interval = Interval(ratio * 0.9, ratio, ratio * 1.1)
    return Speed(algorithm, rival, dataset, phase, interval, "launch", (1.0, ratio), **fields)


def accuracy(rival, difference, margin=0.1, verdict="equivalent", dataset="d", **fields):
    interval = Interval(difference, difference, difference)
    return Accuracy("ours", rival, dataset, "log_loss", verdict, interval, margin, **fields)


def view(speeds, accuracies=(), name="work"):
    return SimpleNamespace(run={"name": name}, speed=tuple(speeds), accuracy=tuple(accuracies))


def test_the_fastest_rival_counts_and_others_do_not():
    seen = view([speed("slow", 3.0), speed("fast", 1.5), speed("ours", 1.0)])
    [found] = fastest_rivals([seen], "train")
    assert (found.workload, found.rival, found.ratio.value) == ("work", "fast", 1.5)
    assert found.verdict == ""
    assert found.accurate
    assert fastest_rivals([seen], "predict") == []


def test_a_rival_that_is_less_accurate_than_the_best_does_not_count():
    speeds = [speed("quick", 0.5), speed("careful", 2.0), speed("best", 4.0)]
    judged = [accuracy("quick", 0.3), accuracy("careful", 0.05), accuracy("best", -0.02)]
    [found] = fastest_rivals([view(speeds, judged)], "train")
    assert (found.rival, found.left_out, found.accurate) == ("careful", ("quick",), True)


def test_what_is_less_accurate_itself_is_told():
    judged = [accuracy("best", -0.5, verdict="worse")]
    [found] = fastest_rivals([view([speed("best", 4.0)], judged)], "train")
    assert not found.accurate
    assert found.verdict == "worse"


def test_a_rival_without_a_score_does_not_count_and_hides_no_other():
    speeds = [speed("broken", 0.1), speed("quick", 0.5), speed("best", 4.0)]
    judged = [accuracy("broken", math.nan), accuracy("quick", 0.3), accuracy("best", 0.0)]
    [found] = fastest_rivals([view(speeds, judged)], "train")
    assert (found.rival, found.left_out, found.accurate) == ("best", ("broken", "quick"), True)


def test_variants_of_a_rival_are_judged_each_by_its_own_verdict():
    shallow, deep = ({}, {"depth": 1}), ({}, {"depth": 9})
    speeds = [speed("r", 0.5, params=shallow), speed("r", 2.0, params=deep)]
    judged = [
        accuracy("r", 0.3, verdict="better", params=shallow),
        accuracy("r", 0.0, params=deep),
    ]
    [found] = fastest_rivals([view(speeds, judged)], "train")
    assert (found.ratio.value, found.verdict, found.left_out) == (2.0, "equivalent", ("r",))


def test_variants_of_ours_race_each_for_itself():
    speeds = [speed("r", ratio, params=({"depth": ratio}, {})) for ratio in (2.0, 8.0)]
    found = fastest_rivals([view(speeds)], "train")
    assert [one.ratio.value for one in found] == [2.0, 8.0]


@pytest.mark.parametrize(("failed", "accurate"), [((5, 0), False), ((0, 5), True)])
def test_who_has_no_score_is_not_accurate(failed, accurate):
    judged = [accuracy("r", math.nan, verdict="inconclusive", failed=failed)]
    [found] = fastest_rivals([view([speed("r", 2.0)], judged)], "train")
    assert found.accurate is accurate


def test_datasets_of_one_run_are_workloads_of_their_own():
    seen = view([speed("r", 2.0, dataset="x"), speed("r", 8.0, dataset="y")])
    found = fastest_rivals([seen], "train")
    assert [one.workload for one in found] == ["work x", "work y"]
    lead = lead_of(found)
    assert lead.mean.value == pytest.approx(4.0)
    assert lead.worst.workload == "work x"
    assert lead_of([]) is None


def test_the_table_names_mean_worst_and_what_was_left_out(capsys):
    one = view([speed("r", 2.0), speed("q", 1.0)], [accuracy("r", 0.0), accuracy("q", 9.0)])
    other = view([speed("r", 0.5, phase="train")], name="other")
    print_rivals([SimpleNamespace(view=one), SimpleNamespace(view=other)])
    told = capsys.readouterr()
    assert "geometric mean 1.00" in told.out
    assert "the least 0.50, on other" in told.out
    assert "not measured" in told.out
    assert "note: work: q is left out: less accurate" in told.err
    assert "predict" not in told.out
