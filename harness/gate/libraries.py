"""The libraries of a base that needs other versions than the head: a separate environment.

The environment is identified by everything that goes into it: what the tree declares, the
interpreter, and the harness if the tree has none of its own. It is made once; other gates wait for
it and reuse it.

The harness in it is a copy of the running one. It is never installed from an index, where its name
may belong to another project: pip gets the path of a checkout, and the files of an installed
harness are copied before pip sees anything that requires it.
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
OWN_LOCK = "requirements-{}.{}.lock"  # of one version of Python; preferred to LOCK
READY = ".ready"  # the last file of an environment: an unfinished one does not have it
SETUP_SECONDS = 1800
START_SECONDS = 60
WAIT = "another gate installs the libraries of the base; waiting for it"


class BaseError(HarnessError):
    """Error for a base that cannot be run; the gate is undecided, as the head is not at fault."""

    exit_code = 6


@dataclass(frozen=True)
class Source:
    """A way to put the running harness into another environment."""

    packages: tuple[str, ...]  # arguments of pip install
    files: Mapping[str, Path] = field(default_factory=dict)  # path there → file here
    version: str = ""  # of the files
    libraries: str = ""  # of a checkout: the digest of its libraries

    @property
    def digest(self) -> str:
        """Return a digest of the location and the contents of the files."""
        digests = {
            name: hashlib.sha256(path.read_bytes()).hexdigest()
            for name, path in sorted(self.files.items())
        }
        return ids.digest([list(self.packages), digests, self.libraries])


def same_libraries(tree: Path, head: Path) -> bool:
    """Return whether two trees require the same libraries, by lock and declared dependencies."""
    return libraries_digest(tree) == libraries_digest(head)


def libraries_digest(tree: Path) -> str:
    """Return a digest of a tree's lock, Python version and dependencies."""
    lock, project = find_lock(tree), _project(tree)
    return ids.digest(
        [
            lock.read_text(encoding="utf-8") if lock else "",
            project.get("requires-python", ""),
            sorted(project.get("dependencies", ())),
        ]
    )


def find_lock(tree: Path) -> Path | None:
    """Return a tree's lock file for this version of Python, or its common one, or None."""
    names = (OWN_LOCK.format(*sys.version_info[:2]), LOCK)
    return next((tree / name for name in names if (tree / name).is_file()), None)


def _project(tree: Path) -> JSON:
    """Return the project table of a tree's pyproject.toml; empty if there is none."""
    file = tree / "pyproject.toml"
    if not file.is_file():
        return {}
    try:
        project: JSON = tomllib.loads(file.read_text(encoding="utf-8")).get("project", {})
    except tomllib.TOMLDecodeError as error:
        raise BaseError(f"{file} is not TOML: {error}") from error
    return project


# ------------------------------------------------------------------ an environment


def own_python(tree: Path, on_wait: Callable[[str], None], *, stranger: bool) -> str:
    """Return an interpreter with the libraries that a tree requires.

    Parameters
    ----------
    tree
        A checked-out revision.
    on_wait
        Called with a sentence before a long step.
    stranger
        Whether the tree has no harness of its own, so that base and head share the running one.

    Raises
    ------
    BaseError
        If the environment cannot be made.
    """
    source = running_harness() if stranger else None
    folder = cache_folder() / "environments" / environment_name(tree, source)
    python, ready = folder / "bin" / "python", folder / READY
    try:
        with turn(folder.with_name(f"{folder.name}.lock"), WAIT, on_wait):
            if not (ready.is_file() and _starts(python)):
                on_wait(f"the base needs other libraries; installing them once, into {folder}")
                ready.unlink(missing_ok=True)
                _run_setup([sys.executable, "-I", "-m", "venv", "--clear", str(folder)])
                _install(tree, python, source)
                ready.touch()
    except OSError as error:
        raise BaseError(f"the base's environment cannot be made: {error}") from error
    return str(python)


def environment_name(tree: Path, source: Source | None) -> str:
    """Return the name of a tree's environment, a digest of everything that goes into it."""
    entry_points = _project(tree).get("entry-points", {})
    harness = source.digest if source else ""
    made_from = [libraries_digest(tree), entry_points, harness, *_interpreter()]
    return f"{sys.implementation.cache_tag}-{ids.digest(made_from)}"


def _interpreter() -> list[str]:
    """Return the identity of this interpreter; library versions and speed depend on it."""
    return [
        sys.implementation.name,
        platform.python_version(),
        str(sysconfig.get_config_var("SOABI")),
        sysconfig.get_platform(),
        os.path.realpath(sys.base_prefix),
    ]


def _starts(python: Path) -> bool:
    """Return whether the interpreter of an environment still starts."""
    command = [str(python), "-I", "-c", "import platform; print(platform.python_version())"]
    try:
        done = subprocess.run(  # noqa: S603 - the interpreter of the environment
            command, capture_output=True, text=True, timeout=START_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.stdout.strip() == platform.python_version()


def _install(tree: Path, python: Path, source: Source | None) -> None:
    """Install the libraries of a tree into a new environment.

    A tree with a lock file is installed itself only if it has entry points, which its plugins need.
    """
    pip = [str(python), "-I", "-m", "pip", "--disable-pip-version-check", "--quiet"]
    packages, only = list(source.packages) if source else [], []
    lock = find_lock(tree)
    if lock:
        _run_setup([*pip, "install", "--require-hashes", "--requirement", str(lock)])
    elif (tree / "pyproject.toml").is_file() or (tree / "setup.py").is_file():
        packages.append(str(tree))
    if source and source.files:
        _run_setup([*pip, "uninstall", "--yes", NAME])  # the lock may name another version
        _copy(source.files, python)
        this = python.parents[1] / "harness.txt"
        this.write_text(f"{NAME}=={source.version}\n", encoding="utf-8")
        only = ["--constraint", str(this)]  # keeps pip from installing another version
    if packages:
        _run_setup([*pip, "install", *only, *packages])
    if lock and source and "harness" in _project(tree).get("entry-points", {}):
        _run_setup([*pip, "install", "--no-deps", str(tree)])


def _copy(files: Mapping[str, Path], python: Path) -> None:
    """Copy files into the site-packages of an environment."""
    script = "import sysconfig; print(sysconfig.get_path('purelib'))"
    place = Path(_run_setup([str(python), "-I", "-c", script]).strip())
    for name, file in files.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, place / name)


def _run_setup(command: list[str]) -> str:
    """Run a command of the set-up and return its output; raise BaseError if it fails.

    No kernels are compiled into the environment: that takes minutes, and a run needs few of them.
    """
    try:
        done = subprocess.run(  # noqa: S603 - python and pip, with a list of arguments
            command,
            env=os.environ | {"HARNESS_PACKAGED_KERNELS": "0"},
            capture_output=True,
            text=True,
            timeout=SETUP_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise BaseError(
            f"the command {' '.join(command[:4])} did not end within {SETUP_SECONDS} s"
        ) from None
    if done.returncode:
        last = (done.stderr or done.stdout).strip().splitlines()
        raise BaseError(f"the base's libraries cannot be installed: {last[-1] if last else ''}")
    return done.stdout


# ------------------------------------------------------------------ the running harness


def is_checkout(root: Path) -> bool:
    """Return whether the harness runs from its source tree, not from an installed copy."""
    return (root / "pyproject.toml").is_file()


def running_harness(root: Path = HARNESS_ROOT) -> Source:
    """Return a way to put the harness of a folder, unchanged, into another environment.

    Raises
    ------
    BaseError
        If the folder is neither a checkout nor an installation with a list of its files.
    """
    if is_checkout(root):
        return Source(("--editable", str(root)), libraries=libraries_digest(root))
    try:
        installed = distribution(NAME)
    except PackageNotFoundError:
        installed = None
    here = installed and Path(str(installed.locate_file("harness"))).resolve() == root / "harness"
    if not installed or not here or not installed.files:
        raise BaseError(
            f"the base needs other libraries, but the harness in {root} cannot be copied to them: "
            "it is not a checkout, and no list of its files exists; install it with pip"
        )
    requirements = tuple(line for line in installed.requires or () if "extra ==" not in line)
    kept = [f for f in installed.files if ".." not in f.parts and f.suffix != ".pyc"]
    return Source(requirements, {str(f): Path(str(f.locate())) for f in kept}, installed.version)
