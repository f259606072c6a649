"""`harness list`: short for people, whole as JSON."""

import json

import pytest
from click.testing import CliRunner

from harness.cli.listing import command


def listed(*arguments):
    done = CliRunner().invoke(command, arguments, catch_exceptions=False, standalone_mode=False)
    return done.stdout


def test_json_has_whole_what_a_table_shortens():
    plugins = json.loads(listed("plugins", "--json"))["plugins"]
    (cards,) = (p for p in plugins if p["plugin"] == "harness.builtin.cards")
    assert len(cards["offers"]) > 100
    assert "dataset iris" in cards["offers"]
    (line,) = (x for x in listed("plugins").splitlines() if x.startswith("harness.builtin.cards"))
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
def test_json_has_values_and_a_table_words(kind, name, values, words):
    (row,) = (r for r in json.loads(listed(kind, "--json"))[kind] if r["name"] == name)
    assert {key: row[key] for key in values} == values
    (line,) = (x for x in listed(kind).splitlines() if x.split()[0] == name)
    assert set(words) <= set(line.split())
