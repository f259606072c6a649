"""Tests of the comparison of time and traffic on one cluster."""

import os
import sys
from importlib import import_module
from pathlib import Path
from unittest import mock

import pytest
from dask_kit import cluster_of

distributed = pytest.importorskip("distributed", reason="the extra 'dask' is not installed")

ROOT = Path(__file__).resolve().parents[2]
with mock.patch.dict(os.environ), mock.patch.object(sys, "path", [str(ROOT), *sys.path]):
    against = import_module("costs.dask_comparison")

SMALL = "--rows 2e3 --columns 6 --bins 15 --leaves 7 --trees 4 --rounds 1"
pytestmark = pytest.mark.filterwarnings(
    "ignore"
)  # the libraries print messages about ports and versions


@pytest.mark.slow
def test_all_three_libraries_are_fitted_on_one_cluster_with_traffic(monkeypatch, capsys):
    monkeypatch.syspath_prepend(str(ROOT))  # workers make the table
    requested = against.parse_arguments(SMALL.split())
    with cluster_of(2) as cluster, distributed.Client(cluster) as client:
        client.wait_for_workers(2)
        result = against.measure(client, requested)
    assert list(result) == ["ours", "lightgbm.dask", "xgboost.dask"]
    for one in result.values():
        assert len(one.seconds) == len(one.wire) == 1
        assert one.loss < 0.69  # of who knows nothing
    sent = result["ours"].sent
    assert sent["histograms"]["bytes"] > requested.trees * 6 * 6 * 15
    assert (
        result["ours"].wire[0]
        > sum(message["bytes"] for message in sent.values()) / requested.trees
    )
    assert result["xgboost.dask"].sent is None
    assert capsys.readouterr().out.count("MB a tree") == 3


def test_time_and_traffic_are_on_one_line(capsys):
    sent = {
        "histograms": {"bytes": 6_000, "messages": 9},
        "splits": {"bytes": 2_000, "messages": 9},
    }
    results = {
        "ours": against.Measurement([1.0, 2.0, 3.0], [3e6, 2e6, 1e6], 0.5, sent),
        "other": against.Measurement([2.0, 4.0, 6.0], [4e6, 4e6, 4e6], 0.6),
    }
    against.print_table(results, trees=10)
    _, ours, ranks, other = capsys.readouterr().out.splitlines()
    assert ours.split() == ["ours", "2.00", "0.5000", "2.00"]
    assert ranks.endswith("0.8 kB a tree: histograms 0.6, splits 0.2")
    assert other.split()[:5] == ["other", "4.00", "0.6000", "4.00", "2.00"]
