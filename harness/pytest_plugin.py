"""The checks of a plugin collected by pytest itself: a setting instead of a test file.

With this in the pytest settings of a project ::

    [tool.pytest.ini_options]
    harness_plugins = ["my_package.plugin"]

each promise that its plugin makes is a test of its own, beside the project's others, wherever
pytest is started without paths; ``pytest --harness-plugin my_package.plugin`` collects them always.
Who sets neither pays nothing: this module imports pytest alone until it is asked for tests.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from harness.testing import Case

SETTING = "harness_plugins"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Offer the setting and the option."""
    told = "modules or files whose plugins are held to the contract of tree-harness, test by test"
    parser.addini(SETTING, told, type="args", default=[])
    parser.getgroup("tree-harness").addoption(
        "--harness-plugin",
        action="append",
        default=[],
        metavar="MODULE",
        help=f"hold a plugin to the contract of tree-harness, as the setting {SETTING} does",
    )


@pytest.hookimpl(tryfirst=True)  # so that -k and -m choose among these, too
def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Add a test for each promise of each plugin that is named."""
    named = list(config.getoption("--harness-plugin"))
    if config.args_source is not pytest.Config.ArgsSource.ARGS:
        named += config.getini(SETTING)
    for plugin in dict.fromkeys(named):
        items += collected(session, plugin)


def collected(session: pytest.Session, plugin: str) -> Iterable[pytest.Item]:
    """Yield the tests of a plugin."""
    from harness.testing import every_case

    for case in every_case(plugin):
        yield Promise.from_parent(session, name=f"{plugin}[{case.name}]", case=case)


class Promise(pytest.Item):
    """A promise of a plugin as a test."""

    def __init__(self, *, case: Case, **given: Any) -> None:
        super().__init__(**given)
        self.case = case

    def runtest(self) -> None:
        """Try it."""
        self.case.run()

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Say which promise is broken and how, in the author's words."""
        if isinstance(excinfo.value, AssertionError):
            return f"{self.case.promise}: {excinfo.value}"
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Any, int | None, str]:
        """Name it in the summary."""
        return self.path, None, self.name
