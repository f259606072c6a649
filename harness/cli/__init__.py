"""Command line: each command parses options, calls the API and prints the result.

stdout carries data, stderr progress and messages. Commands are imported when used, so that
``harness --help`` needs only click.
"""

from __future__ import annotations

import contextlib
import errno
import importlib
import os
import signal
import sys
import traceback

import click

from harness.core.errors import HarnessError

INTERRUPTED = 130  # exit code, as shells give it
OUTPUT_FAILED = 5
OUTPUT_ERRORS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EBADF})
CUT_OFF = 141  # likewise, if the reader of the output has closed the pipe

# command → (module, one-line help), so that the help of the group imports no command
COMMANDS = {
    "run": ("run", "Run an experiment and write its report."),
    "report": ("report", "Write the report of a run again."),
    "best": ("best", "Print what a run recommends, with code; train it on all rows."),
    "predict": ("predict", "Apply a saved model to new rows."),
    "duel": ("duel", "Time two algorithms in interleaved pairs."),
    "serving": ("serving", "Time the predictions of loaded models: rows, batches, first calls."),
    "parity": ("parity", "Compare the trees of two algorithms, node by node."),
    "compare": ("compare", "Compare two stored runs and print the changes."),
    "gate": ("gate", "Check a run against gates, or this tree against a revision."),
    "bisect": ("bisect", "Find the commit that made an algorithm slower."),
    "history": ("history", "Draw losses and times over commits, with their steps."),
    "site": ("site", "Write all reports and the history as a static site."),
    "compile": ("compile", "Compile the kernels of the algorithms in advance."),
    "list": ("listing", "List what is registered, shipped or stored."),
    "show": ("show", "Show everything known about a name or an id."),
    "explain": ("explain", "Explain why a trial would run again, or would not."),
    "export": ("export", "Write outcomes as CSV, Parquet or results of asv."),
    "data": ("data", "List, show, fetch, verify and add datasets."),
    "plugin": ("plugin", "Write a new plugin package, or test a plugin's contract."),
    "clean": ("clean", "Remove stored files that no run needs."),
    "doctor": ("doctor", "Check this machine and this installation."),
}


class LazyGroup(click.Group):
    """A click group that imports a command when it is called or its help is shown."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands in the order of use."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command's module and return its ``command``."""
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"harness.cli.{COMMANDS[cmd_name][0]}")
        command: click.Command = module.command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Resolve a command; for a misspelled one the error suggests a similar name."""
        from harness.core.errors import unknown

        if args and not args[0].startswith("-") and args[0] not in COMMANDS:
            raise click.UsageError(
                unknown("command", args[0], COMMANDS, "`harness --help` lists them"), ctx
            )
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands' one-line helps without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="tree-harness", prog_name="harness")
def harness() -> None:
    """Compare tree ensembles: same trees, accuracy and speed."""


def main() -> int:
    """Run the command line and return its exit code, as the README lists them."""
    handle_signals()
    stdout = sys.stdout
    try:
        return int(harness.main(prog_name="harness", standalone_mode=False) or 0)
    except BaseException as error:  # noqa: BLE001 - any other exception is a bug: exit code 70
        if isinstance(error, BrokenPipeError) or sys.stdout is not stdout:
            # The reader of stdout has closed the pipe (click then wraps stdout, and exits). This
            # prevents an error message of the interpreter at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), stdout.fileno())
            return CUT_OFF
        message, code = _message_and_code(error)
        with contextlib.suppress(OSError):  # stderr is on a full disk
            click.echo(message, err=True)
        return code


def handle_signals() -> None:
    """Handle ``kill`` and a closed terminal like Ctrl-C: save, and print how to continue."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:  # not under nohup or inside another program
            signal.signal(number, signal.default_int_handler)


def _message_and_code(error: BaseException) -> tuple[str, int]:
    """Return the message for an error, and the exit code."""
    if isinstance(error, HarnessError):
        return f"harness: {error}", error.exit_code
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        return error.format_message(), 2
    if isinstance(error, click.ClickException):
        return f"harness: {error.format_message()}", 2
    if isinstance(error, (KeyboardInterrupt, click.exceptions.Abort)):
        return "harness: interrupted; the same command goes on where it stopped", INTERRUPTED
    if isinstance(error, OSError) and error.errno in OUTPUT_ERRORS:
        return f"harness: the output cannot be written: {error.strerror}", OUTPUT_FAILED
    detail = "".join(traceback.format_exception(error))
    return f"{detail}\nharness: internal error; please report the lines above", 70
