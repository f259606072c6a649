"""Tests that the reference pages describe every field of the public records."""

import dataclasses
import importlib
import importlib.util
import inspect
import re

import pytest
from pages import DOCS

LISTED = re.compile(r"^\.\. autoclass:: (harness|reports)\.([\w.]+)$", re.MULTILINE)
MODULES = ("reports.blocks.blocks", "reports.blocks.tables", "reports.text.inline")
NEEDED = {
    "Accepts", "Accuracy", "Algorithm", "Cell", "Dataset", "Executor", "Metric", "Outcome",
    "Predicted", "RunView", "Section", "Spec", "Speed", "Table",
}  # fmt: skip


def documented_classes():
    """Return the dataclasses of the reference pages for plugin authors."""
    found = {}
    for page in ("plugins", "run-view", "reports"):
        for package, path in LISTED.findall((DOCS / f"api/{page}.md").read_text()):
            module, _, name = f"{package}.{path}".rpartition(".")
            found[f"{module}.{name}"] = getattr(importlib.import_module(module), name)
    for module in map(importlib.import_module, MODULES):
        found |= {f"{module.__name__}.{n}": v for n, v in vars(module).items() if n[0].isupper()}
    del found["reports.text.inline.Report"]  # only index pages use it
    return {n: v for n, v in found.items() if inspect.isclass(v) and dataclasses.is_dataclass(v)}


CLASSES = documented_classes()


def described_fields(cls):
    """Return field → sentence, from the section ``Attributes`` of a docstring."""
    text = inspect.getdoc(cls).partition("Attributes\n----------\n")[2]
    parts = re.findall(r"^(\w+)\n((?:    .*\n?)+)", text, re.MULTILINE)
    return {name: " ".join(sentence.split()) for name, sentence in parts}


def test_the_pages_list_the_records_of_a_plugin_author():
    assert {name.rpartition(".")[2] for name in CLASSES} >= NEEDED


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_every_field_has_one_sentence(name):
    described = described_fields(CLASSES[name])
    assert list(described) == [field.name for field in dataclasses.fields(CLASSES[name])]
    for field, sentence in described.items():
        assert re.fullmatch(r"[\"`A-Z].*\.", sentence), f"{field}: {sentence}"


def test_types_and_defaults_are_added():
    file = DOCS / "_extensions/docstrings.py"
    spec = importlib.util.spec_from_file_location("docstrings_of_the_docs", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    metric = CLASSES["harness.Metric"]
    lines = inspect.getdoc(metric).splitlines()
    module.escape(None, "class", "", metric, {}, lines)
    module.add_types(None, "class", "", metric, {}, lines)
    assert "lower_is_better : bool, default True" in lines
    assert "tasks : frozenset[Task], required" in lines
