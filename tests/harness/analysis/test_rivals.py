"""Tests of the rival of a comparison: the fastest of those that are as accurate."""

import math
from dataclasses import replace
from types import SimpleNamespace

import pytest

from harness.analysis.fastest_rival import fastest_rivals, lead_of, peaks_of
from harness.analysis.run_view import Accuracy, Interval, Speed
from harness.cli.rivals import print_rivals


def speed(rival, ratio, dataset="d", phase="train", algorithm="ours", **fields):
    interval = Interval(ratio * 0.9, ratio, ratio * 1.1)
    return Speed(algorithm, rival, dataset, phase, interval, "launch", (1.0, ratio), **fields)


def accuracy(rival, difference, margin=0.1, verdict="equivalent", dataset="d", **fields):
    interval = Interval(difference, difference, difference)
    return Accuracy("ours", rival, dataset, "log_loss", verdict, interval, margin, **fields)


def view(speeds, accuracies=(), name="work", duels=()):
    messages = {"speed": tuple(speeds), "accuracy": tuple(accuracies), "duels": tuple(duels)}
    return SimpleNamespace(run={"name": name}, **messages)


def test_only_the_fastest_rival_counts():
    seen = view([speed("slow", 3.0), speed("fast", 1.5), speed("ours", 1.0)])
    [result] = fastest_rivals([seen], "train")
    assert (result.workload, result.rival, result.ratio.value) == ("work", "fast", 1.5)
    assert result.verdict == ""
    assert result.accurate
    assert fastest_rivals([seen], "predict") == []


def test_rival_less_accurate_than_the_best_does_not_count():
    speeds = [speed("quick", 0.5), speed("careful", 2.0), speed("best", 4.0)]
    judged = [accuracy("quick", 0.3), accuracy("careful", 0.05), accuracy("best", -0.02)]
    [result] = fastest_rivals([view(speeds, judged)], "train")
    assert (result.rival, result.left_out, result.accurate) == ("careful", ("quick",), True)


def test_own_lower_accuracy_is_reported():
    judged = [accuracy("best", -0.5, verdict="worse")]
    [result] = fastest_rivals([view([speed("best", 4.0)], judged)], "train")
    assert not result.accurate
    assert result.verdict == "worse"


def test_rival_without_a_score_does_not_count_and_hides_no_other():
    speeds = [speed("broken", 0.1), speed("quick", 0.5), speed("best", 4.0)]
    judged = [accuracy("broken", math.nan), accuracy("quick", 0.3), accuracy("best", 0.0)]
    [result] = fastest_rivals([view(speeds, judged)], "train")
    assert (result.rival, result.left_out, result.accurate) == ("best", ("broken", "quick"), True)


def test_each_rival_variant_is_judged_by_its_own_verdict():
    shallow, deep = ({}, {"depth": 1}), ({}, {"depth": 9})
    speeds = [speed("r", 0.5, params=shallow), speed("r", 2.0, params=deep)]
    judged = [
        accuracy("r", 0.3, verdict="better", params=shallow),
        accuracy("r", 0.0, params=deep),
    ]
    [result] = fastest_rivals([view(speeds, judged)], "train")
    assert (result.ratio.value, result.verdict, result.left_out) == (2.0, "equivalent", ("r",))


def test_each_own_variant_is_compared_separately():
    speeds = [speed("r", ratio, params=({"depth": ratio}, {})) for ratio in (2.0, 8.0)]
    result = fastest_rivals([view(speeds)], "train")
    assert [one.ratio.value for one in result] == [2.0, 8.0]


@pytest.mark.parametrize(("failed", "accurate"), [((5, 0), False), ((0, 5), True)])
def test_algorithm_without_a_score_is_not_accurate(failed, accurate):
    judged = [accuracy("r", math.nan, verdict="inconclusive", failed=failed)]
    [result] = fastest_rivals([view([speed("r", 2.0)], judged)], "train")
    assert result.accurate is accurate


def test_datasets_of_one_run_are_separate_workloads():
    seen = view([speed("r", 2.0, dataset="x"), speed("r", 8.0, dataset="y")])
    result = fastest_rivals([seen], "train")
    assert [one.workload for one in result] == ["work x", "work y"]
    lead = lead_of(result)
    assert lead.mean.value == pytest.approx(4.0)
    assert lead.worst.workload == "work x"
    assert lead_of([]) is None


def duel(rival, peaks, dataset="d", params=({}, {})):
    """Return a duel with given peaks of each launch's first fit, MiB."""

    def cold(mib):
        return {"cold": [{"phase": "native", "peak": 0}, {"phase": "fit", "peak": mib * 2**20}]}

    launches = [{"a": cold(ours), "b": cold(theirs)} for ours, theirs in peaks]
    sides = [
        SimpleNamespace(
            name=name,
            dataset=SimpleNamespace(name=dataset),
            trials=(SimpleNamespace(params=own),),
        )
        for name, own in zip(("ours", rival), params, strict=True)
    ]
    return SimpleNamespace(
        duel=SimpleNamespace(a=sides[0], b=sides[1]), facts={"launches": launches}
    )


def whole(rival, ratio, native, dataset="d"):
    """Return the speeds of training and of its parts; ``native``: seconds of both sides."""
    subject = f"{rival} on {dataset}"
    trained = speed(rival, ratio, dataset, subject=subject)
    rest = tuple(a - b for a, b in zip(trained.seconds, native, strict=True))
    parts = {"native": native, "fit": rest}
    return [
        trained,
        *(
            replace(
                trained,
                phase=phase,
                seconds=seconds,
                ratio=Interval(0.5, seconds[1] / seconds[0], 9.0),
            )
            for phase, seconds in parts.items()
        ),
    ]


def test_training_parts_are_those_of_the_fastest_rival():
    slow, fast = whole("slow", 4.0, (0.5, 0.1)), whole("fast", 2.0, (0.25, 1.0))
    seen = view([*slow, *fast])
    for phase, ratio in (("native", 4.0), ("fit", 1.0 / 0.75), ("train", 2.0)):
        [result] = fastest_rivals([seen], phase)
        assert (result.rival, result.phase) == ("fast", phase)
        assert result.ratio.value == pytest.approx(ratio)


@pytest.mark.parametrize("bin_seconds", [1e-6, 0.003])  # at arrays that are kept, or at every value
def test_side_that_bins_inside_fit_has_no_parts(bin_seconds, capsys):
    seen = view([*whole("r", 2.0, (0.5, bin_seconds)), speed("other", 9.0)])
    assert fastest_rivals([seen], "native") == fastest_rivals([seen], "fit") == []
    print_rivals([seen])
    captured = capsys.readouterr()
    assert "work: ours or r bins inside fit" in captured.err
    assert "binning (native form)" not in captured.out


def test_peaks_are_shown_for_each_rival(capsys):
    duels = [duel("r", [(10, 20), (10, 30), (11, 20)]), duel("q", [(12, 6)]), duel("s", [(10, 0)])]
    seen = view([speed("r", 2.0), speed("q", 3.0)], duels=duels)
    [result] = peaks_of([seen])
    assert (result.workload, result.algorithm, result.ours) == ("work", "ours", 11 * 2**20)
    assert result.ratios == {("r", "{}"): 2.0, ("q", "{}"): 0.5}
    print_rivals([seen])
    *_, header, row = capsys.readouterr().out.splitlines()
    assert header.split() == ["workload", "algorithm", "ours", "r", "q"]
    assert row.split() == ["work", "ours", "11", "MiB", "2.00", "0.50"]


def test_peaks_are_shown_for_each_variant(capsys):
    deep, shallow = {"depth": 9}, {"depth": 1}
    duels = [
        duel("r", [(10, 20)], params=(deep, deep)),
        duel("r", [(10, 40)], params=(deep, shallow)),
        duel("r", [(5, 40)], params=(shallow, shallow)),
    ]
    seen = view([speed("r", 2.0), speed("q", 3.0)], duels=duels)
    result = peaks_of([seen])
    assert [list(one.ratios.values()) for one in result] == [[2.0, 4.0], [8.0]]
    print_rivals([seen])
    *_, header, first, second = capsys.readouterr().out.splitlines()
    assert header.split() == ["workload", "algorithm", "ours", "r"]
    assert first.split()[-3:] == ["2.00", "/", "4.00"]
    assert second.split()[-1] == "8.00"


def test_single_rival_on_a_single_workload_is_left_to_the_report(capsys):
    print_rivals([view([speed("r", 2.0)])])
    assert capsys.readouterr().out == ""
    print_rivals([view([speed("r", 2.0), speed("q", 4.0)])])
    assert "geometric mean 2.00" in capsys.readouterr().out


def test_table_names_mean_worst_and_exclusions(capsys):
    one = view([speed("r", 2.0), speed("q", 1.0)], [accuracy("r", 0.0), accuracy("q", 9.0)])
    other = view([speed("r", 0.5, phase="train")], name="other")
    print_rivals([one, other])
    captured = capsys.readouterr()
    assert "geometric mean 1.00" in captured.out
    assert "the least 0.50, on other" in captured.out
    assert "not measured" in captured.out
    assert "note: work: q is left out: less accurate" in captured.err
    assert "predict" not in captured.out
