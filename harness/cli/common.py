"""Parts shared by commands: options, the results folder, tables on stdout."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from harness.core.errors import ConfigError
from harness.core.model import to_json
from harness.core.terminal_text import printable, say
from harness.core.units import strict

__all__ = [
    "asv_option",
    "capacity_option",
    "first_code",
    "json_option",
    "names_option",
    "params_options",
    "path_option",
    "plugin_option",
    "print_json",
    "print_table",
    "printable",
    "results_option",
    "say",
    "sole_option",
    "undecided_option",
]

F = TypeVar("F", bound=Callable[..., Any])

plugin_option = click.option(
    "--plugin",
    "plugins",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Load a plugin file too; may be given several times.",
)
results_option = click.option(
    "--results",
    type=click.Path(path_type=Path),
    default=Path("results"),
    show_default=True,
    envvar="HARNESS_RESULTS",
    help="The folder that holds the store and the reports.",
)
undecided_option = click.option(
    "--undecided",
    type=click.Choice(["pass", "fail"]),
    help="Treat an undecided gate as this (default: exit code 6).",
)
capacity_option = click.option(
    "--capacity",
    multiple=True,
    metavar="KEY=VALUE",
    help="The same size parameters for both, such as trees=100.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON on stdout.")


def names_option(flag: str, noun: str, text: str, **more: Any) -> Callable[[F], F]:
    """Return an option with names of algorithms or datasets that may be given several times."""
    settings: dict[str, Any] = {"multiple": True, "metavar": "GLOB", "help": text, **more}
    return click.option(flag, f"--{noun}", f"{noun}s", **settings)


def path_option(name: str, text: str, **more: Any) -> Callable[[F], F]:
    """Return an option whose value is a path."""
    settings: dict[str, Any] = {"metavar": "FILE", "help": text, **more}
    return click.option(name, type=click.Path(path_type=Path), **settings)


asv_option = path_option(
    "--asv", "The folder of asv's results.  [default: .asv/results, if it exists]", metavar="DIR"
)


def params_options(command: Any) -> Any:
    """Add the options for the params of A, of B and of both to a command."""
    helps = (
        ("--set", "both_params", "A param of both; a.KEY or b.KEY sets it for one."),
        ("--b", "b_params", "A param of B."),
        ("--a", "a_params", "A param of A, such as parity=xgboost."),
    )
    for flag, name, text in helps:
        command = click.option(flag, name, multiple=True, metavar="KEY=VALUE", help=text)(command)
    return command


def sole_option(name: str, beside: Iterable[str]) -> None:
    """Reject all options beside one that repeats stored options, except a few.

    Raises
    ------
    ConfigError
        With the names of the options to leave out.
    """
    context = click.get_current_context()
    kept = {name, *beside}
    given = [
        param.opts[0] if isinstance(param, click.Option) else param.human_readable_name
        for param in context.command.params
        if param.name not in kept
        and context.get_parameter_source(str(param.name)) is click.core.ParameterSource.COMMANDLINE
    ]
    if given:
        raise ConfigError(f"--{name} repeats the stored options: leave out {', '.join(given)}")


# Exit codes by priority: a command with several results returns the first of these.
PRECEDENCE = (130, 70, 5, 2, 1, 4, 3, 6, 0)


def first_code(*codes: int) -> int:
    """Return the exit code of highest priority: a failed gate before a failed trial."""
    return min(codes, key=PRECEDENCE.index)


def print_json(value: Any) -> None:
    """Print one JSON document with a schema version; non-finite numbers become null."""
    document = strict(to_json({"schema_version": 1, **value}))
    click.echo(json.dumps(document, indent=1, default=str, allow_nan=False))


def print_table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Print aligned columns, with control characters in names escaped."""
    lines = [[printable(cell) for cell in row] for row in (header, *rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        padded = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        click.echo("  ".join(padded).rstrip())
