"""The base of a gate: a revision of a git repository, checked out beside the working tree.

The working tree lies in the cache folder at a path that depends on repository and commit only, and
its files carry the time of the commit: so what was compiled for it once is found the next time.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from harness.core.errors import ConfigError
from harness.data.folders import cache_folder

NO_HOOKS = ("-c", "core.hooksPath=/dev/null")  # checking out a base runs nobody's scripts
# Where git starts us, from a hook, it names these; another working tree would be written into them.
OF_A_HOOK = frozenset(
    {"GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_PREFIX"}
)
WAIT = "another gate uses the same base; waiting for it"


@dataclass(frozen=True)
class Revision:
    """A commit of a repository."""

    repository: Path  # its top folder
    commit: str  # 40 hex digits
    named: str  # as it was asked for: a branch, a tag, the start of a commit

    @property
    def short(self) -> str:
        """Return the commit as people know it."""
        return self.commit[:8]


def find_revision(folder: Path, named: str) -> Revision:
    """Return a revision of the repository that a folder lies in.

    Raises
    ------
    ConfigError
        Where the folder is in no repository, or the revision is not there; in a shallow clone
        with the command that brings it.
    """
    repository = _top(folder)
    wanted = f"{named}^{{commit}}"
    commit, told = _git(repository, "rev-parse", "--verify", "--quiet", "--end-of-options", wanted)
    if commit:
        return Revision(repository, commit, named)
    shallow, _ = _git(repository, "rev-parse", "--is-shallow-repository")
    if shallow == "true":
        raise ConfigError(
            f"{named[:80]!r} is not in this shallow clone of {repository}: `git fetch --unshallow` "
            "brings the whole history (in GitHub Actions: `fetch-depth: 0` of actions/checkout)"
        )
    why = f" ({told.splitlines()[-1]})" if told else ""
    raise ConfigError(f"there is no revision {named[:80]!r} in {repository}{why}")


def belongs(path: Path, repository: Path) -> bool:
    """Return whether a file is a repository's own: not one installed in an environment inside."""
    found = path.resolve()
    return found.is_relative_to(repository) and "site-packages" not in found.parts


def lies_in(file: str, tree: Path) -> bool:
    """Return whether a file is one of a working tree."""
    return Path(file).resolve().is_relative_to(tree.resolve())


def in_tree(file: str, repository: Path, tree: Path) -> str:
    """Return where a file of a repository lies in another working tree of it."""
    path = Path(file).resolve()
    return str(tree / path.relative_to(repository)) if belongs(path, repository) else file


def head_of(repository: Path) -> str:
    """Return what the working tree is: its commit, and whether it was edited since."""
    commit, _ = _git(repository, "rev-parse", "--short=8", "HEAD")
    changed, _ = _git(repository, "status", "--porcelain")
    edited = " with uncommitted changes" if changed else ""
    return f"the working tree at {commit or 'no commit'}{edited}"


def changed_files(revision: Revision, folder: Path) -> list[str]:
    """Return the files under a folder that differ between a revision and the working tree."""
    told, _ = _git(revision.repository, "diff", "--name-only", revision.commit, "--", str(folder))
    return told.splitlines()


@contextmanager
def checked_out(revision: Revision, on_wait: Callable[[str], None]) -> Iterator[Path]:
    """Offer a working tree of a revision; it is removed at the end, whatever the end is."""
    name = hashlib.sha256(str(revision.repository).encode()).hexdigest()[:12]
    folder = cache_folder() / "bases" / name
    path = folder / revision.commit
    with turn(folder / f"{revision.commit}.lock", WAIT, on_wait):
        _remove(revision.repository, path)  # a killed gate may have left it
        try:
            _, told = _git(
                revision.repository, *NO_HOOKS, "worktree", "add", "--detach", "--force",
                str(path), revision.commit,
            )  # fmt: skip
            if not path.is_dir():
                raise ConfigError(f"git cannot check out {revision.named}: {told}")
            _date(path, revision)
            yield path
        finally:
            _remove(revision.repository, path)


@contextmanager
def turn(lock: Path, wait: str, on_wait: Callable[[str], None]) -> Iterator[None]:
    """Hold a lock: two gates take turns, and the later one is told to `wait`."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    held = FileLock(lock)
    try:
        held.acquire(timeout=0)
    except Timeout:
        on_wait(wait)
        held.acquire()
    try:
        yield
    finally:
        held.release()


def _date(path: Path, revision: Revision) -> None:
    """Give every source file the time of the commit: compiled kernels are known by it."""
    asked = "show", "--no-patch", "--no-show-signature", "--format=%ct"
    stamp, _ = _git(revision.repository, *asked, revision.commit)
    for file in path.rglob("*.py"):
        if not file.is_symlink():
            os.utime(file, (int(stamp), int(stamp)))


def _remove(repository: Path, path: Path) -> None:
    """Remove a working tree and what git knows of it."""
    if path.exists():
        _git(repository, "worktree", "remove", "--force", "--force", str(path))
        shutil.rmtree(path, ignore_errors=True)  # what git would not, as files of its own


def _top(folder: Path) -> Path:
    top, told = _git(folder, "rev-parse", "--show-toplevel")
    if not top:
        last = told.splitlines()[-1] if told else "no answer"
        raise ConfigError(
            f"{folder} is in no git repository ({last}): a gate against a revision is started in "
            "the checkout that it is about"
        )
    return Path(top)


def _git(folder: Path, *arguments: str) -> tuple[str, str]:
    """Return what git prints, and what it complains of where it fails; then it prints nothing."""
    try:
        done = subprocess.run(  # noqa: S603 - git, with a list of arguments
            ["git", "-C", str(folder), *arguments],  # noqa: S607 - wherever the user has it
            capture_output=True,
            text=True,
            check=False,
            env={k: v for k, v in os.environ.items() if k not in OF_A_HOOK},
        )
    except OSError as error:
        raise ConfigError(f"git cannot be started: {error.strerror}; install it") from error
    return (done.stdout.strip(), "") if done.returncode == 0 else ("", done.stderr.strip())
