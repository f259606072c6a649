"""Tests that the page of experiments lists the existing keys with their defaults."""

import json
import re

import pytest
from click.testing import CliRunner
from pages import DOCS

from harness.cli.export import command
from harness.config.experiment import Choice, Duels, Experiment, Gate, Parity, Run, Tuning, Verdicts
from harness.config.files import shipped_experiments
from harness.config.splits import Splits

PAGE = (DOCS / "experiments.md").read_text()
TABLES = {
    "At the top": Experiment,
    "`[[algorithms]]`": Choice,
    "`[splits]`": Splits,
    "`[run]`": Run,
    "`[duels]`": Duels,
    "`[parity]`": Parity,
    "`[verdicts]`": Verdicts,
    "`[tuning]`": Tuning,
    "`[[gate]]`": Gate,
}
WORDS = {"timeout": '"10m"', "name": None, "limit": None}  # written as people do, or by its kind


def section(title):
    body = rf"^## {re.escape(title)}$\n(.*?)(?=^## |\Z)"
    (result,) = re.findall(body, PAGE, re.DOTALL | re.MULTILINE)
    return result


def keys(title):
    """Return the keys of a section's table with the defaults it states."""
    return dict(re.findall(r"^\| `(\w+)` \| ([^|]*?) ?\|", section(title), re.MULTILINE))


@pytest.mark.parametrize("title", TABLES)
def test_every_key_is_in_its_table_with_its_default(title):
    tables = {
        "training",
        "tuning",
        "splits",
        "run",
        "duels",
        "parity",
        "verdicts",
        "diagnostics",
        "gate",
    }
    fields = {
        name: field
        for name, field in TABLES[title].model_fields.items()
        if not (TABLES[title] is Experiment and name in tables)
    }
    message = keys(title)
    assert list(message) == list(fields)
    for name, field in fields.items():
        if field.is_required():
            assert message[name] in ("needed", "the file's name"), name
        elif name in WORDS:
            assert WORDS[name] in (None, message[name].strip("`"))
        else:
            default = "" if field.default is None else json.dumps(field.default)
            assert message[name].strip("`") == default, name


def test_every_shipped_experiment_is_described():
    matches = re.findall(r"^\| `(\w+)` \|", section("What is shipped"), re.MULTILINE)
    assert set(matches) == {name.partition("/")[0] for name in shipped_experiments()}


def test_schema_is_printed_and_complete():
    schema = json.loads(CliRunner().invoke(command, ["--schema"]).stdout)
    assert set(schema["properties"]) == set(Experiment.model_fields)
    assert schema["additionalProperties"] is False
    timeout = schema["$defs"]["Run"]["properties"]["timeout"]
    assert {one["type"] for one in timeout["anyOf"]} == {"number", "string"}
