"""Tests of `harness list`: short as a table, complete as JSON."""

import json
import math
import os
import subprocess
import sys

import pytest
from click.testing import CliRunner

from harness.cli.common import print_json
from harness.cli.listing import command
from harness.plugins.registry import NO_ALGORITHMS, OWN_PACKAGES, load_registry


def listed(*arguments):
    done = CliRunner().invoke(command, arguments, catch_exceptions=False, standalone_mode=False)
    return done.stdout


def test_json_has_values_that_a_table_shortens():
    plugins = json.loads(listed("plugins", "--json"))["plugins"]
    (cards,) = (p for p in plugins if p["plugin"] == "harness.data.providers.cards")
    assert len(cards["offers"]) > 100
    assert "dataset iris" in cards["offers"]
    (line,) = (
        x for x in listed("plugins").splitlines() if x.startswith("harness.data.providers.cards")
    )
    assert f" and {len(cards['offers']) - 3} more" in line


@pytest.mark.parametrize(
    ("kind", "name", "values", "words"),
    [
        ("datasets", "iris", {"missing": False, "suites": ["bundled"]}, ["no", "bundled"]),
        ("algorithms", "catboost.plain", {"reference": None}, ["-"]),
        (
            "metrics",
            "auc",
            {"primary": False, "tasks": ["binary", "multiclass"]},
            ["no", "binary,"],
        ),
    ],
)
def test_json_has_values_and_a_table_has_words(kind, name, values, words):
    (row,) = (r for r in json.loads(listed(kind, "--json"))[kind] if r["name"] == name)
    assert {key: row[key] for key in values} == values
    (line,) = (x for x in listed(kind).splitlines() if x.split()[0] == name)
    assert set(words) <= set(line.split())


def test_json_has_null_for_nonfinite_values(capsys):
    print_json({"bounds": (0.5, math.inf), "deep": [{"low": -math.inf, "score": math.nan}]})
    data = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert data["bounds"] == [0.5, None]
    assert data["deep"] == [{"low": None, "score": None}]


def test_packages_omitted_from_listings_register_algorithms_only():
    left_out = [package for package in OWN_PACKAGES if package not in NO_ALGORITHMS]
    registry = load_registry(packages=left_out, strangers=False)
    assert registry.names("algorithm")
    assert not any(registry.names(kind) for kind in registry.entries if kind != "algorithm")


@pytest.mark.parametrize("arguments", [["list", "datasets"], ["data", "show", "iris"]])
def test_datasets_are_listed_without_importing_algorithms(arguments):
    code = "import sys; from harness.cli import main\n"
    code += "try: main()\nfinally: print(sorted({'numba', 'xgboost'} & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "HARNESS_DISABLE_PLUGINS": "1"},
    )
    assert "iris" in done.stdout
    assert done.stdout.splitlines()[-1] == "[]"
