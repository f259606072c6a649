"""Import a plugin from a file, and report the line of the file that raised an error."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType

from harness.core.errors import HarnessError, PluginError


class _TextLoader(SourceFileLoader):
    """Source loader that ignores ``.pyc`` files.

    Python validates its cache by modification second and size, so it would miss an edit of the
    same length within one second.
    """

    def get_code(self, fullname: str) -> CodeType:  # noqa: ARG002 - the loader's own signature
        return self.source_to_code(self.get_data(self.path), self.path)


def import_file(path: Path) -> ModuleType:
    """Import a plugin file under a private name; the file must exist and import cleanly.

    A file with unchanged content is imported once per process, because objects of a second copy
    of its classes could not be pickled.
    """
    if not path.is_file():
        raise PluginError(f"no plugin file {path}; --plugin takes the path of a .py file")
    path = path.resolve()
    digest = hashlib.sha256(str(path).encode() + b"\0" + path.read_bytes()).hexdigest()
    name = f"harness_plugin_{digest[:12]}"
    if name in sys.modules:
        return sys.modules[name]
    loader = _TextLoader(name, str(path))
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    if spec is None or path.suffix != ".py":
        raise PluginError(f"{path} is not a Python file; --plugin takes the path of a .py file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        with plugin_errors(path, "fails to import"):
            loader.exec_module(module)
    except PluginError:
        del sys.modules[name]
        raise
    return module


@contextmanager
def plugin_errors(path: Path, what: str) -> Iterator[None]:
    """Convert errors of a plugin file to a one-line PluginError with the file's line number."""
    try:
        yield
    except HarnessError:
        raise
    except (Exception, SystemExit) as error:  # a plugin may also call sys.exit
        reason = f"{type(error).__name__}: {error}"
        raise PluginError(f"{_place(error, path)} {what}: {reason}") from error


def _place(error: BaseException, path: Path) -> str:
    """Return ``path:line`` of the error, or the path if no line of the file is in the traceback."""
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == str(path)]
    if isinstance(error, SyntaxError) and error.filename == str(path):
        lines.append(error.lineno)
    return f"{path}:{lines[-1]}" if lines else str(path)


def is_file(plugin: str) -> bool:
    """Return whether a plugin is given as a file, not as a module name."""
    return plugin.endswith(".py") or "/" in plugin
