"""Tests of the documentation pages: all are reachable, all links work, included code exists."""

import ast
import importlib.util
import re
import shlex
from importlib.metadata import version

import click
import pytest
from pages import DOCS, ROOT, blocks, listed, pages, without_blocks

PAGES = pages()
LINK = re.compile(r"\]\(([^)\s]+)\)")
COMMAND = re.compile(r"^(?:python -m )?harness (\w.*)$", re.MULTILINE)
INLINE = re.compile(r"`(?:python -m )?harness ([a-z][^`]*)`")
INCLUDED = re.compile(r"^`{3,}\{(?:literal)?include\} (\S+)\n((?::.*\n)*)", re.MULTILINE)


def headings(text):
    """Return the anchors of a page's headings, as GitHub and MyST make them."""
    titles = re.findall(r"^#{1,3} (.+)$", without_blocks(text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_every_page_is_in_exactly_one_toctree():
    results = [page for parent in PAGES for page in listed(parent)]
    assert sorted(results) == [page for page in PAGES if str(page) != "index.md"]


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_every_link_leads_to_a_page_and_a_heading(page):
    text = (DOCS / page).read_text()
    for link in LINK.findall(without_blocks(text)):
        if link.startswith(("https://", "mailto:")):
            continue
        assert not link.startswith("http:"), link
        target, _, anchor = link.partition("#")
        file = (DOCS / page).parent / target if target else DOCS / page
        assert file.exists(), link
        if file.suffix == ".md":
            assert file.resolve().relative_to(DOCS) in PAGES, f"{link} is no page of the site"
        if anchor:
            assert anchor in headings(file.read_text()), link


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_included_files_exist(page):
    for path, options in INCLUDED.findall((DOCS / page).read_text()):
        file = ((DOCS / page).parent / path).resolve()
        assert file.is_file(), path
        for name in re.findall(r"^:pyobject: (\S+)$", options, re.MULTILINE):
            body = ast.parse(file.read_text()).body
            for part in name.split("."):
                (body,) = [n.body for n in body if getattr(n, "name", None) == part]


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_formula_delimiters_are_paired(page):
    text = re.sub(r"`[^`\n]*`", "", without_blocks((DOCS / page).read_text()))
    assert text.count("$") % 2 == 0


def test_every_command_is_on_the_page_of_commands():
    pytest.importorskip("sphinx", reason="the pages' own tools: pip install tree-harness[docs]")
    file = DOCS / "_extensions/commands.py"
    spec = importlib.util.spec_from_file_location("commands_of_the_docs", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    from harness.cli import COMMANDS, harness

    help_texts = dict(module.every_command(harness, "harness"))
    assert {f"harness {name}" for name in COMMANDS} < set(help_texts)
    assert "harness plugin check" in help_texts
    assert all(text.startswith(f"Usage: {name}") for name, text in help_texts.items())


def test_pages_name_the_installed_version():
    text = (ROOT / "pyproject.toml").read_text()
    assert f'version = "{version("tree-harness")}"' in text


def shown_commands(text):
    """Return the commands that a page shows in shell blocks and between backticks."""
    shown = COMMAND.findall("\n".join(blocks(text.replace("\\\n", " "), "sh")))
    return [*shown, *(" ".join(line.split()) for line in INLINE.findall(without_blocks(text)))]


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_every_command_on_the_page_has_these_options(page):
    from harness.cli import harness

    for line in shown_commands((DOCS / page).read_text()):
        words = shlex.split(line, comments=True)
        command = harness
        while isinstance(command, click.Group) and words:
            name = words.pop(0)
            command = command.get_command(click.Context(command), name)
            assert command is not None, f"`harness {line}`: there is no {name}"
        known = {opt for p in command.params for opt in (*p.opts, *p.secondary_opts)} | {"--help"}
        requested = {word.partition("=")[0] for word in words if re.match(r"--?[a-z]", word)}
        assert requested <= known, line
