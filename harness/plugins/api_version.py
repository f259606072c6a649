"""Version of the plugin API that a plugin declares, compared with that of this harness."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

from harness import __plugin_api__, __version__
from harness.core.errors import OtherPluginAPIError

NAME = "__plugin_api__"


def check_version(declared: Any, path: str) -> None:
    """Raise OtherPluginAPIError if a plugin declares another version of the plugin API."""
    if declared == __plugin_api__:
        return
    if type(declared) is not int:
        fault, remedy = f"sets {NAME} to {declared!r}", f"set it to {__plugin_api__}"
    elif declared > __plugin_api__:
        fault = f"was written for plugin API {declared}"
        remedy = "install a newer tree-harness, or an older release of the plugin"
    else:
        fault = f"was written for plugin API {declared}"
        remedy = (
            "install a newer release of the plugin, or change it as the changelog of tree-harness "
            f"describes and set {NAME} = {__plugin_api__}"
        )
    has = f"tree-harness {__version__} has plugin API {__plugin_api__}"
    raise OtherPluginAPIError(f"{path} {fault}, but {has}: {remedy}")


def check_source(path: Path) -> None:
    """Check the version that a source file declares, before its import fails for that reason."""
    try:
        body = ast.parse(path.read_bytes()).body
    except (OSError, SyntaxError, ValueError):
        return  # the import reports it
    declared = [
        node.value.value
        for node in body
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Constant)
        and NAME in map(ast.unparse, node.targets)
    ]
    for version in declared[-1:]:
        check_version(version, str(path))
