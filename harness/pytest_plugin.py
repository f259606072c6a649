"""Pytest plugin that collects the conformance checks named in a pytest setting.

With these pytest settings of a project ::

    [tool.pytest.ini_options]
    harness_plugins = ["my_package.plugin"]

pytest also runs one test for each rule of the plugin contract if it is started without paths.
``pytest --harness-plugin my_package.plugin`` always collects these tests. Without the setting and
the option, this module imports nothing but pytest.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from harness.testing import Case

SETTING = "harness_plugins"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the setting and the option."""
    summary = "plugin modules or files to test against the plugin contract of tree-harness"
    parser.addini(SETTING, summary, type="args", default=[])
    parser.getgroup("tree-harness").addoption(
        "--harness-plugin",
        action="append",
        default=[],
        metavar="MODULE",
        help=f"test a plugin against the contract of tree-harness, as the setting {SETTING} does",
    )


@pytest.hookimpl(tryfirst=True)  # so that -k and -m apply to these tests, too
def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Add the tests of each named plugin."""
    named = list(config.getoption("--harness-plugin"))
    if config.args_source is not pytest.Config.ArgsSource.ARGS:
        named += config.getini(SETTING)
    for plugin in dict.fromkeys(named):
        items += collected(session, plugin)


def collected(session: pytest.Session, plugin: str) -> Iterable[pytest.Item]:
    """Yield the tests of a plugin."""
    from harness.testing import every_case

    for case in every_case(plugin):
        yield ContractItem.from_parent(session, name=f"{plugin}[{case.name}]", case=case)


class ContractItem(pytest.Item):
    """Conformance check of a plugin as a pytest item."""

    def __init__(self, *, case: Case, **given: Any) -> None:
        super().__init__(**given)
        self.case = case

    def runtest(self) -> None:
        """Run the check."""
        self.case.run()

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return the rule that is broken and the message of the check."""
        if isinstance(excinfo.value, AssertionError):
            return f"{self.case.promise}: {excinfo.value}"
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Any, int | None, str]:
        """Return the location and the name shown in the summary."""
        return self.path, None, self.name
