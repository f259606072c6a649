"""Tests of verdict counts over datasets with Holm's adjustment."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import ttest_1samp
from statsmodels.stats.multitest import multipletests

from harness.analysis.verdict_counts import count_verdicts, difference_p
from harness.analysis.verdicts import Evidence, judge, named
from harness.cli.run_output import print_verdicts

RNG = np.random.default_rng(5)


def judged(dataset, differences, algorithm="ours", reference="theirs", gap=1.0, **changes):
    """Return the verdict on loss differences, theirs minus ours, of independent splits."""
    pair = replace(named(algorithm, reference, dataset, "log_loss"), **changes)
    theirs = np.ones(len(differences))
    ours = theirs - differences
    return judge(
        Evidence(pair, ours.tolist(), theirs.tolist(), ratio=0.0, test_rows=100, repeat=5, gap=gap)
    )


def worse(dataset, p_below, **changes):
    """Return a verdict that is barely *worse*, or clearly where ``p_below`` is small."""
    spread = np.array([-1.0, -0.5, 0.0, 0.5, 1.0]) * 0.1
    return judged(dataset, spread - {0.05: 0.13, 0.001: 2.0}[p_below], **changes)


def test_p_value_belongs_to_the_interval_of_the_verdict():
    differences = RNG.normal(0.1, 0.2, 8)
    expected = ttest_1samp(differences, 0).pvalue
    assert difference_p(judged("d", differences)) == pytest.approx(expected)


def test_without_variance_p_comes_from_the_sign_test():
    assert difference_p(judged("d", np.full(8, -0.5))) == pytest.approx(2 * 0.5**8)
    assert difference_p(judged("d", np.full(8, 0.0))) == 1.0
    assert difference_p(judged("d", np.array([0.3]))) == 1.0
    assert difference_p(judged("d", np.array([]))) == 1.0


def test_false_alarm_among_many_datasets_is_removed_and_a_clear_one_kept():
    quiet = [judged(f"d{i}", RNG.normal(0, 0.3, 5)) for i in range(20)]
    calm = [one for one in quiet if one.verdict == "inconclusive"]
    results = [*calm, worse("unlucky", 0.05), worse("truly", 0.001)]
    adjusted = multipletests([difference_p(one) for one in results], method="holm")[1]
    assert results[-2].verdict == results[-1].verdict == "worse"
    assert difference_p(results[-2]) < 0.05 < adjusted[-2]
    assert adjusted[-1] < 0.05
    [counts] = count_verdicts(results)
    assert (counts.worse, counts.worse_on, counts.doubtful) == (1, ("truly",), ("unlucky",))
    assert (counts.datasets, counts.inconclusive) == (len(results), len(calm) + 1)


def test_equivalent_and_single_dataset_verdicts_are_kept():
    same = judged("same", RNG.normal(0, 1e-4, 5))
    assert same.verdict == "equivalent"
    [counts] = count_verdicts([same, worse("truly", 0.001), replace(same, dataset="")])
    assert (counts.datasets, counts.equivalent, counts.worse) == (2, 1, 1)
    [alone] = count_verdicts([worse("one", 0.05)])
    assert (alone.worse, alone.doubtful) == (1, ())


def test_pairs_tracks_and_variants_are_counted_separately():
    deep, flat = ({"depth": 9}, {}), ({"depth": 1}, {})
    results = [
        worse("d", 0.001, params=deep),
        worse("d", 0.001, params=flat),
        worse("d", 0.001, reference="others", params=deep),
        worse("e", 0.001, reference="others", params=flat),
        worse("d", 0.001, track="tuned"),
    ]
    messages = [(c.reference, c.track, c.datasets) for c in count_verdicts(results)]
    assert sorted(messages) == [
        ("others", "", 2),  # of several experiments, each with its own size
        ("theirs", "", 1),
        ("theirs", "", 1),
        ("theirs", "tuned", 1),
    ]
    assert count_verdicts([]) == ()


def view(result, name="work"):
    return SimpleNamespace(run={"name": name}, accuracy=tuple(result))


def test_table_counts_and_notes_name_the_datasets(capsys):
    calm = [judged(f"d{i}", np.array([0.5, -0.4, 0.1, -0.3, 0.2])) for i in range(10)]
    print_verdicts([view([*calm, worse("unlucky", 0.05), worse("truly", 0.001)])])
    captured = capsys.readouterr()
    row = captured.out.splitlines()[-1].split()
    assert row == ["ours", "theirs", "12", "0", "0", "1", "11"]
    assert "ours against theirs is worse on truly" in captured.err
    assert "worse on unlucky if tested alone" in captured.err


def test_series_is_counted_over_its_runs_and_one_dataset_has_no_table(capsys):
    print_verdicts([view([worse("d", 0.001)])])
    assert capsys.readouterr().out == ""
    print_verdicts([view([worse("d", 0.001)], name) for name in ("small", "large")])
    captured = capsys.readouterr()
    assert captured.out.splitlines()[-1].split()[:3] == ["ours", "theirs", "2"]
    assert "worse on small d, large d" in captured.err


def test_nan_difference_is_no_alarm():
    lost = replace(judged("d", RNG.normal(0, 1, 5)), error=math.nan)
    assert difference_p(lost) == 1.0
