"""The directive ``commands``: the help of every command, asked of the command line itself."""

from collections.abc import Iterator

import click
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

WIDTH = 88


def every_command(command: click.Command, path: str) -> Iterator[tuple[str, str]]:
    """Yield the name and the help of a command and of all below it."""
    context = click.Context(command, info_name=path, terminal_width=WIDTH, max_content_width=WIDTH)
    yield path, command.get_help(context)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            yield from every_command(command.get_command(context, name), f"{path} {name}")


class Commands(SphinxDirective):
    """A section for each command, with its help as it is printed."""

    def run(self) -> list[nodes.Node]:
        """Return the sections."""
        from harness.cli import harness

        return [self.section(name, text) for name, text in every_command(harness, "harness")]

    def section(self, name: str, text: str) -> nodes.section:
        """Return the section of one command."""
        made = nodes.section(ids=[nodes.make_id(name)], names=[nodes.fully_normalize_name(name)])
        help_text = nodes.literal_block(text, text, language="text")
        made += [nodes.title(name, name), help_text]
        return made


def setup(app: Sphinx) -> dict:
    """Make the directive known to Sphinx."""
    app.add_directive("commands", Commands)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
