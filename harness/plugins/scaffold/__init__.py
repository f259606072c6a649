"""Write a new plugin package that is installable and has a passing test.

Each kind has a module and a test under ``templates``; an algorithm has an asv suite too. Comments
mark the parts to replace.
"""

from __future__ import annotations

import keyword
import re
from importlib.metadata import version
from pathlib import Path
from string import Template

from harness import __plugin_api__
from harness.core.errors import ConfigError

KINDS = ("algorithm", "dataset", "metric", "section", "executor")
TEMPLATES = Path(__file__).parent / "templates"
BENCHMARKS = {  # asv suite that uses the plugin's own declaration
    "asv.conf.json": "asv.conf.json",
    "benchmarks/__init__.py": "benchmarks_init.py",
    "benchmarks/models.py": "benchmarks.py",
}
NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


def write_package(name: str, kind: str, parent: Path) -> list[Path]:
    """Write a plugin package into a new folder, and return its files.

    Parameters
    ----------
    name
        Name of the distribution and of the registered object: lower-case letters, digits and single
        dashes, such as ``my-forest``.
    kind
        One of `KINDS`.
    parent
        Folder in which the new folder is created.

    Raises
    ------
    ConfigError
        If the name is invalid, or the folder exists already.
    """
    module = name.replace("-", "_")
    if not NAME.fullmatch(name) or keyword.iskeyword(module):
        rule = "is made of lower-case letters, digits and single dashes, such as my-forest"
        raise ConfigError(f"a plugin's name {rule}: {name!r} is not")
    folder = parent / name
    words = {"name": name, "module": module, "kind": kind, "version": version("tree-harness")}
    words["api"] = str(__plugin_api__)
    texts = {
        folder / ".gitignore": "gitignore",
        folder / "pyproject.toml": "pyproject.toml",
        folder / "README.md": f"README-{kind}.md",
        folder / "src" / module / "__init__.py": "init.py",
        folder / "src" / module / "plugin.py": f"{kind}.py",
        folder / "tests" / f"test_{module}.py": f"test_{kind}.py",
    }
    if kind == "algorithm":
        texts |= {folder / path: template for path, template in BENCHMARKS.items()}
    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        raise ConfigError(f"{folder} is there already; choose another name or --into") from None
    except OSError as error:
        raise ConfigError(f"{folder} cannot be made: {error.strerror}") from None
    for path, template in texts.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        text = (TEMPLATES / f"{template}.txt").read_text(encoding="utf-8")
        path.write_text(Template(text).substitute(words), encoding="utf-8")
    return list(texts)
