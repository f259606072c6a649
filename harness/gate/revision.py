"""The base of a gate: a revision of a git repository, checked out beside the working tree.

The base's working tree lies in the cache folder. Its path depends on repository and commit only and
its files carry the time of the commit, so compiled kernels are reused by the next gate.
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

NO_HOOKS = ("-c", "core.hooksPath=/dev/null")  # checking out a base must not run git hooks
# A git hook sets these variables; with them, git would write to the wrong working tree.
OF_A_HOOK = frozenset(
    {"GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_PREFIX"}
)
WAIT = "another gate uses the same base; waiting for it"
FOREVER = -1.0  # seconds, of `FileLock`


@dataclass(frozen=True)
class Revision:
    """A commit of a repository."""

    repository: Path  # its top folder
    commit: str  # 40 hex digits
    named: str  # as the user gave it: a branch, a tag, the start of a commit

    @property
    def short(self) -> str:
        """Return the first eight digits of the commit."""
        return self.commit[:8]


@dataclass(frozen=True)
class Commit:
    """A commit of a range."""

    id: str  # 40 hex digits
    subject: str
    is_merge: bool


def find_revision(folder: Path, named: str) -> Revision:
    """Return a revision of the repository that a folder lies in.

    Raises
    ------
    ConfigError
        If the folder is in no repository, or the revision does not exist; for a shallow clone the
        message has the command that fetches it.
    """
    repository = _top(folder)
    expression = f"{named}^{{commit}}"
    commit, error_text = _git(
        repository, "rev-parse", "--verify", "--quiet", "--end-of-options", expression
    )
    if commit:
        return Revision(repository, commit, named)
    shallow, _ = _git(repository, "rev-parse", "--is-shallow-repository")
    if shallow == "true":
        raise ConfigError(
            f"{named[:80]!r} is not in this shallow clone of {repository}: `git fetch --unshallow` "
            "brings the whole history (in GitHub Actions: `fetch-depth: 0` of actions/checkout)"
        )
    why = f" ({error_text.splitlines()[-1]})" if error_text else ""
    raise ConfigError(f"there is no revision {named[:80]!r} in {repository}{why}")


def belongs(path: Path, repository: Path) -> bool:
    """Return whether a file belongs to a repository; installed packages inside it do not."""
    resolved = path.resolve()
    return resolved.is_relative_to(repository) and "site-packages" not in resolved.parts


def lies_in(file: str, tree: Path) -> bool:
    """Return whether a file lies in a working tree."""
    return Path(file).resolve().is_relative_to(tree.resolve())


def in_tree(file: str, repository: Path, tree: Path) -> str:
    """Return the path of a repository's file in another working tree of it."""
    path = Path(file).resolve()
    return str(tree / path.relative_to(repository)) if belongs(path, repository) else file


def head_of(repository: Path) -> str:
    """Describe the working tree: its commit, and whether it has uncommitted changes."""
    commit, _ = _git(repository, "rev-parse", "--short=8", "HEAD")
    changed, _ = _git(repository, "status", "--porcelain")
    edited = " with uncommitted changes" if changed else ""
    return f"the working tree at {commit or 'no commit'}{edited}"


def changed_files(revision: Revision, folder: Path) -> list[str]:
    """Return the files under a folder that differ between a revision and the working tree."""
    error_text, _ = _git(
        revision.repository, "diff", "--name-only", revision.commit, "--", str(folder)
    )
    return error_text.splitlines()


def commits_between(good: Revision, bad: Revision) -> list[Commit]:
    """Return the commits after one revision up to another, the oldest first.

    Of a merge only the first parent is followed, so a merged branch is one commit.

    Raises
    ------
    ConfigError
        If ``bad`` does not come after ``good`` on that line.
    """
    form = "--first-parent", "--no-show-signature", "--format=%H%x09%P%x09%s%x00"
    lines, _ = _git(good.repository, "log", *form, f"{good.commit}..{bad.commit}")
    commits, parents = [], ""
    for line in lines.split("\0")[:-1]:  # the newest first
        commit, parents, subject = line.strip("\n").split("\t", 2)
        commits.append(Commit(commit, subject, " " in parents))
    if parents.partition(" ")[0] != good.commit:
        raise ConfigError(
            f"{bad.named} does not come after {good.named} on its line of first parents: name a "
            f"commit that `git log --first-parent {bad.named}` lists, but not {bad.named} itself"
        )
    return commits[::-1]


def commits_of(folder: Path, named: str) -> frozenset[str]:
    """Return the first eight digits of every commit of a branch or another revision.

    Raises
    ------
    ConfigError
        If the revision does not exist, or the folder is in no git repository.
    """
    revision = find_revision(folder, named)
    out, error = _git(revision.repository, "rev-list", revision.commit)
    if error:
        raise ConfigError(f"the commits of {named} cannot be listed: {error}")
    return frozenset(commit[:8] for commit in out.split())


@contextmanager
def checked_out(
    revision: Revision, on_wait: Callable[[str], None], patience: float = FOREVER
) -> Iterator[Path]:
    """Yield a working tree of a revision and remove it at the end.

    Raises
    ------
    Timeout
        If another gate uses this revision for more than ``patience`` seconds.
    """
    name = hashlib.sha256(str(revision.repository).encode()).hexdigest()[:12]
    folder = cache_folder() / "bases" / name
    path = folder / revision.commit
    with turn(folder / f"{revision.commit}.lock", WAIT, on_wait, patience):
        _remove(revision.repository, path)  # a leftover of a killed gate
        try:
            _, error_text = _git(
                revision.repository, *NO_HOOKS, "worktree", "add", "--detach", "--force",
                str(path), revision.commit,
            )  # fmt: skip
            if not path.is_dir():
                raise ConfigError(f"git cannot check out {revision.named}: {error_text}")
            _date(path, revision)
            yield path
        finally:
            _remove(revision.repository, path)


@contextmanager
def turn(
    lock: Path, wait: str, on_wait: Callable[[str], None], patience: float = FOREVER
) -> Iterator[None]:
    """Hold a lock; if another gate holds it, call ``on_wait`` with ``wait`` first."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    held = FileLock(lock)
    try:
        held.acquire(timeout=0)
    except Timeout:
        on_wait(wait)
        held.acquire(timeout=patience)
    try:
        yield
    finally:
        held.release()


def _date(path: Path, revision: Revision) -> None:
    """Set the time of every source file to that of the commit, the cache key of kernels."""
    arguments = "show", "--no-patch", "--no-show-signature", "--format=%ct"
    stamp, _ = _git(revision.repository, *arguments, revision.commit)
    for file in path.rglob("*.py"):
        if not file.is_symlink():
            os.utime(file, (int(stamp), int(stamp)))


def _remove(repository: Path, path: Path) -> None:
    """Remove a working tree and git's record of it."""
    if path.exists():
        _git(repository, "worktree", "remove", "--force", "--force", str(path))
        shutil.rmtree(path, ignore_errors=True)  # files that git does not know


def _top(folder: Path) -> Path:
    top, error_text = _git(folder, "rev-parse", "--show-toplevel")
    if not top:
        last = error_text.splitlines()[-1] if error_text else "no answer"
        raise ConfigError(
            f"{folder} is in no git repository ({last}): a gate against a revision is started in "
            "the checkout that it is about"
        )
    return Path(top)


def _git(folder: Path, *arguments: str) -> tuple[str, str]:
    """Return git's output and an empty error; if git fails, an empty output and its error."""
    try:
        done = subprocess.run(  # noqa: S603 - git, with a list of arguments
            ["git", "-C", str(folder), *arguments],  # noqa: S607 - git from the user's path
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=False,
            env={k: v for k, v in os.environ.items() if k not in OF_A_HOOK},
        )
    except OSError as error:
        raise ConfigError(f"git cannot be started: {error.strerror}; install it") from error
    return (done.stdout.strip(), "") if done.returncode == 0 else ("", done.stderr.strip())
