"""The libraries of a base that wants others than the head: an environment of its own, made once.

An environment is known by all that it is made from: what the tree declares, the interpreter, and
the harness where the tree has none of its own. One gate makes it; the others wait and find it.

That harness is the one that runs, file by file, and never what an index has under its name, for
that may be somebody else's: pip is given the place of a checkout, and the files of an installed one
are copied before pip sees anything that asks for them.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from harness.core import ids
from harness.core.errors import HarnessError
from harness.core.model import JSON
from harness.data.folders import cache_folder
from harness.gate.revision import turn

HARNESS_ROOT = Path(__file__).resolve().parents[2]
NAME = "tree-harness"
LOCK = "requirements.lock"
READY = ".ready"  # the last file of an environment: what a killed gate leaves has none
SETUP_SECONDS = 1800
START_SECONDS = 60
WAIT = "another gate installs what the base wants; waiting for it"


class BaseError(HarnessError):
    """The base cannot be run at all; the gate is undecided, for that is no fault of the head."""

    exit_code = 6


@dataclass(frozen=True)
class Source:
    """How the running harness gets into another environment."""

    asked: tuple[str, ...]  # of pip
    files: Mapping[str, Path] = field(default_factory=dict)  # path there → file here
    version: str = ""  # of the files
    wanted: str = ""  # of a checkout: the digest of its libraries

    @property
    def digest(self) -> str:
        """Return what tells it from others: its place, or what stands in its files."""
        told = {
            name: hashlib.sha256(path.read_bytes()).hexdigest()
            for name, path in sorted(self.files.items())
        }
        return ids.digest([list(self.asked), told, self.wanted])


def same_libraries(tree: Path, head: Path) -> bool:
    """Return whether two trees ask for the same libraries, by lock and declared dependencies."""
    return wanted_libraries(tree) == wanted_libraries(head)


def wanted_libraries(tree: Path) -> str:
    """Return a digest of what a tree wants installed; other lines of its files do not count."""
    lock, project = tree / LOCK, _project(tree)
    return ids.digest(
        [
            lock.read_text(encoding="utf-8") if lock.is_file() else "",
            project.get("requires-python", ""),
            sorted(project.get("dependencies", ())),
        ]
    )


def _project(tree: Path) -> JSON:
    """Return what a tree declares of itself, if it does."""
    file = tree / "pyproject.toml"
    if not file.is_file():
        return {}
    try:
        found: JSON = tomllib.loads(file.read_text(encoding="utf-8")).get("project", {})
    except tomllib.TOMLDecodeError as error:
        raise BaseError(f"{file} is not TOML: {error}") from error
    return found


# ------------------------------------------------------------------ an environment


def own_python(tree: Path, told: Callable[[str], None], *, stranger: bool) -> str:
    """Return an interpreter with the libraries that a tree wants.

    Parameters
    ----------
    tree
        A checked-out revision.
    told
        Receives a line where something takes long.
    stranger
        Whether the tree has no harness of its own: base and head share the one that runs.

    Raises
    ------
    BaseError
        Where the environment cannot be made.
    """
    source = running_harness() if stranger else None
    folder = cache_folder() / "environments" / environment_name(tree, source)
    python, ready = folder / "bin" / "python", folder / READY
    try:
        with turn(folder.with_name(f"{folder.name}.lock"), WAIT, told):
            if not (ready.is_file() and _starts(python)):
                told(f"the base wants other libraries; installing them once, into {folder}")
                ready.unlink(missing_ok=True)
                _must([sys.executable, "-I", "-m", "venv", "--clear", str(folder)])
                _install(tree, python, source)
                ready.touch()
    except OSError as error:
        raise BaseError(f"the base's environment cannot be made: {error}") from error
    return str(python)


def environment_name(tree: Path, source: Source | None) -> str:
    """Return the name of the environment of a tree, from all that it is made from."""
    entry_points = _project(tree).get("entry-points", {})
    harness = source.digest if source else ""
    made_from = [wanted_libraries(tree), entry_points, harness, *_interpreter()]
    return f"{sys.implementation.cache_tag}-{ids.digest(made_from)}"


def _interpreter() -> list[str]:
    """Return what tells this interpreter from others: neither libraries nor speed are the same."""
    return [
        sys.implementation.name,
        platform.python_version(),
        str(sysconfig.get_config_var("SOABI")),
        sysconfig.get_platform(),
        os.path.realpath(sys.base_prefix),
    ]


def _starts(python: Path) -> bool:
    """Return whether an environment still has its interpreter, which may have been removed."""
    asked = [str(python), "-I", "-c", "import platform; print(platform.python_version())"]
    try:
        done = subprocess.run(  # noqa: S603 - an interpreter of ours
            asked, capture_output=True, text=True, timeout=START_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.stdout.strip() == platform.python_version()


def _install(tree: Path, python: Path, source: Source | None) -> None:
    """Install what a tree wants into a new environment.

    A locked tree is itself installed only where it has entry points, as no plugin would be found.
    """
    pip = [str(python), "-I", "-m", "pip", "--disable-pip-version-check", "--quiet"]
    asked, only = list(source.asked) if source else [], []
    lock, locked = tree / LOCK, (tree / LOCK).is_file()
    if locked:
        _must([*pip, "install", "--require-hashes", "--requirement", str(lock)])
    elif (tree / "pyproject.toml").is_file() or (tree / "setup.py").is_file():
        asked.append(str(tree))
    if source and source.files:
        _must([*pip, "uninstall", "--yes", NAME])  # a locked one need not be the one that runs
        _copy(source.files, python)
        this = python.parents[1] / "harness.txt"
        this.write_text(f"{NAME}=={source.version}\n", encoding="utf-8")
        only = ["--constraint", str(this)]  # no other one, whatever a project wants
    if asked:
        _must([*pip, "install", *only, *asked])
    if locked and source and "harness" in _project(tree).get("entry-points", {}):
        _must([*pip, "install", "--no-deps", str(tree)])


def _copy(files: Mapping[str, Path], python: Path) -> None:
    """Copy files to where an environment has its packages."""
    asked = "import sysconfig; print(sysconfig.get_path('purelib'))"
    place = Path(_must([str(python), "-I", "-c", asked]).strip())
    for name, file in files.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, place / name)


def _must(command: list[str]) -> str:
    """Run a command of the set-up and return what it prints, or say why the base cannot be had."""
    try:
        done = subprocess.run(  # noqa: S603 - python and pip, with a list of arguments
            command, capture_output=True, text=True, timeout=SETUP_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise BaseError(f"no end of {' '.join(command[:4])} in {SETUP_SECONDS} s") from None
    if done.returncode:
        last = (done.stderr or done.stdout).strip().splitlines()
        raise BaseError(f"the base's libraries cannot be installed: {last[-1] if last else ''}")
    return done.stdout


# ------------------------------------------------------------------ the running harness


def is_checkout(root: Path) -> bool:
    """Return whether a harness is run from its source tree, not from an installed copy."""
    return (root / "pyproject.toml").is_file()


def running_harness(root: Path = HARNESS_ROOT) -> Source:
    """Return how the harness in a folder gets into another environment as it is.

    Raises
    ------
    BaseError
        Where it is neither a checkout nor what an installer has written down.
    """
    if is_checkout(root):
        return Source(("--editable", str(root)), wanted=wanted_libraries(root))
    try:
        found = distribution(NAME)
    except PackageNotFoundError:
        found = None
    here = found and Path(str(found.locate_file("harness"))).resolve() == root / "harness"
    if not found or not here or not found.files:
        raise BaseError(
            f"the base wants libraries of its own, and the harness in {root} cannot be put beside "
            "them: it is no checkout, and no installer has listed its files; install it with pip"
        )
    asked = tuple(wanted for wanted in found.requires or () if "extra ==" not in wanted)
    kept = [f for f in found.files if ".." not in f.parts and f.suffix != ".pyc"]
    return Source(asked, {str(f): Path(str(f.locate())) for f in kept}, found.version)
