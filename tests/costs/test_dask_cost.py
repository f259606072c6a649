"""Tests of the cost model of distributed training."""

import os
import sys
from importlib import import_module
from pathlib import Path
from unittest import mock

import pytest

ROOT = Path(__file__).resolve().parents[2]
with mock.patch.dict(os.environ), mock.patch.object(sys, "path", [str(ROOT), *sys.path]):
    cost = import_module("costs.dask_cost")


@pytest.fixture(autouse=True)
def _ranks_find_the_module(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))  # ranks are processes


def test_small_shapes_are_measured_fitted_and_projected(capsys):
    cost.main(["--few", "--workers", "8", "--rows", "1e6"])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + 4 + 2 + 4
    assert "bytes a bin" in lines[6]
    assert lines[-1].startswith("1e+06 rows × 28 columns, 8 ranks")


def test_voting_sends_less_than_data_parallel_on_a_wide_table(capsys):
    cost.main(["--few", "--wide"])
    messages = [line.split() for line in capsys.readouterr().out.splitlines()]
    sent = {words[0]: float(words[1]) for words in messages}
    assert list(sent) == ["data", "voting", "feature"]
    assert sent["feature"] < sent["voting"] < sent["data"]


def test_cost_model_counts_equal_link_counts():
    with cost.RankProcesses(2) as workers:
        result = cost.measure(workers, cost.Shape(1_000, 4, 15, 7, 2))
    sums, messages = result.shape.sent(1.0, 0.0)
    assert result.bytes["histograms"] / sums == pytest.approx(5.0, abs=3.0)
    assert sum(result.messages.values()) == pytest.approx(messages, abs=6)


def test_more_ranks_do_less_work_and_send_more():
    few, many = (cost.Shape(1e9, 28, 255, 31, ranks) for ranks in (2, 1000))
    assert (many.terms[1:3] < few.terms[1:3] / 400).all()
    assert many.sent(8.0, 128.0)[1] == 2 * 30 * 10
    assert few.sent(8.0, 128.0)[0] < many.sent(8.0, 128.0)[0] < 2.2 * few.sent(8.0, 128.0)[0]
