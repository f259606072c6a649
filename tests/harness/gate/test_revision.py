"""Tests of bases in real repositories: found, checked out, removed at the end."""

import subprocess
import sys

import pytest
from scratch_project import commit, git, new_project, plant

from harness.core.errors import ConfigError
from harness.data.folders import cache_folder
from harness.gate.revision import belongs, changed_files, checked_out, find_revision, head_of


@pytest.fixture
def project(tmp_path):
    return new_project(tmp_path / "project")


def silent(_):
    """Ignore a line."""


def test_revision_is_found_by_any_of_its_names(project):
    revision = find_revision(project, "main")
    assert len(revision.commit) == 40
    assert (revision.repository, revision.short) == (project.resolve(), revision.commit[:8])
    inner = project / "deep" / "down"
    inner.mkdir(parents=True)
    assert find_revision(inner, revision.short).commit == revision.commit


def test_gate_in_a_hook_keeps_staged_files(project, monkeypatch):
    commit_of = find_revision(project, "main")
    (project / "more.py").write_text("x = 1\n")
    commit(project, "more")
    (project / "staged.py").write_text("y = 1\n")
    git(project, "add", "staged.py")
    monkeypatch.setenv("GIT_INDEX_FILE", str(project / ".git/index"))  # as git does for a hook
    monkeypatch.setenv("GIT_DIR", str(project / ".git"))
    with checked_out(commit_of, silent) as tree:
        assert not (tree / "more.py").exists()
    assert git(project, "status", "--porcelain") == "A  staged.py"
    assert head_of(project).endswith("with uncommitted changes")


@pytest.mark.parametrize("name", ["nowhere", "--all", "-x", "main..main", ""])
def test_missing_revision_is_an_error(project, name):
    with pytest.raises(ConfigError, match="there is no revision"):
        find_revision(project, name)


def test_missing_repository_and_missing_git_are_errors(tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    with pytest.raises(ConfigError, match="is in no git repository"):
        find_revision(tmp_path, "main")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ConfigError, match="git cannot be started"):
        find_revision(tmp_path, "main")


def test_shallow_clone_gives_the_command_for_the_rest(project, tmp_path):
    first = git(project, "rev-parse", "HEAD")
    plant(project, "comment")
    commit(project, "another")
    shallow = tmp_path / "shallow"
    git(tmp_path, "clone", "--quiet", "--depth=1", project.as_uri(), str(shallow))
    assert find_revision(shallow, "main").commit == git(project, "rev-parse", "HEAD")
    with pytest.raises(ConfigError, match=r"shallow clone.*git fetch --unshallow.*fetch-depth: 0"):
        find_revision(shallow, first)


def test_head_is_the_working_tree_and_is_named_so(project):
    commit_id = git(project, "rev-parse", "--short=8", "HEAD")
    assert head_of(project) == f"the working tree at {commit_id}"
    plant(project, "comment")
    assert head_of(project) == f"the working tree at {commit_id} with uncommitted changes"
    revision = find_revision(project, "main")
    assert changed_files(revision, project) == ["ridge.py"]
    assert changed_files(revision, project / "short.toml") == []


def test_packages_installed_inside_a_repository_are_not_its_own(project):
    assert belongs(project / "ridge.py", project)
    assert not belongs(project / ".venv/lib/python3.11/site-packages/x.py", project)
    assert not belongs(project.parent / "other.py", project)


def test_base_is_checked_out_separately_and_removed(project):
    revision = find_revision(project, "main")
    base = (project / "ridge.py").read_text()
    plant(project, "comment")
    with checked_out(revision, silent) as tree:
        assert tree.is_relative_to(cache_folder())
        assert (tree / "ridge.py").read_text() == base
        when = int(git(project, "show", "--no-patch", "--format=%ct"))
        assert (tree / "ridge.py").stat().st_mtime == when
        assert str(tree) in git(project, "worktree", "list")
    assert not tree.exists()
    assert git(project, "worktree", "list").count("\n") == 0
    with checked_out(revision, silent) as again:
        assert again == tree  # so that compiled kernels are found again


SIGNATURE = "-----BEGIN PGP SIGNATURE-----\n \n made up\n -----END PGP SIGNATURE-----"


def test_signature_shown_by_git_is_no_part_of_the_time(project, tmp_path):
    head, _, message = git(project, "cat-file", "commit", "HEAD").partition("\n\n")
    (tmp_path / "signed").write_text(f"{head}\ngpgsig {SIGNATURE}\n\n{message}\n")
    signed = git(project, "hash-object", "-t", "commit", "-w", str(tmp_path / "signed"))
    git(project, "reset", "--quiet", "--hard", signed)
    judge = tmp_path / "judge"
    judge.write_text("#!/bin/sh\ncat > /dev/null\necho 'gpg: Good signature' >&2\n")
    judge.chmod(0o755)
    git(project, "config", "gpg.program", str(judge))
    git(project, "config", "log.showSignature", "true")
    assert "Good signature" in git(project, "show", "--no-patch", "--format=%ct")
    with checked_out(find_revision(project, "main"), silent) as tree:
        assert (tree / "ridge.py").stat().st_mtime == int(head.split()[-2])


def test_other_temporarily_missing_worktrees_stay_registered(project, tmp_path):
    away = tmp_path / "away"
    git(project, "worktree", "add", "--quiet", "--detach", str(away))
    away.rename(tmp_path / "unplugged")
    with checked_out(find_revision(project, "main"), silent):
        pass
    assert str(away) in git(project, "worktree", "list")


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_base_is_always_removed(project, error):
    revision = find_revision(project, "main")
    trees = []

    def interrupted():
        with checked_out(revision, silent) as tree:
            trees.append(tree)
            (tree / "results").mkdir()  # what git does not know of
            raise error

    with pytest.raises(error):
        interrupted()
    assert not trees[0].exists()
    assert git(project, "worktree", "list").count("\n") == 0


def test_leftovers_of_a_killed_gate_do_not_interfere(project):
    revision = find_revision(project, "main")
    with checked_out(revision, silent) as tree:
        pass
    tree.mkdir(parents=True)
    (tree / "ridge.py").write_text("left over")
    with checked_out(revision, silent):
        assert "left over" not in (tree / "ridge.py").read_text()


def test_no_hook_of_the_repository_is_run(project):
    hook = project / ".git" / "hooks" / "post-checkout"
    hook.write_text(f"#!/bin/sh\ntouch {project}/hooked\n")
    hook.chmod(0o755)
    with checked_out(find_revision(project, "main"), silent):
        pass
    assert not (project / "hooked").exists()


def test_two_gates_against_one_base_take_turns(project):
    revision = find_revision(project, "main")
    with checked_out(revision, silent) as tree:
        code = (
            "import sys; from pathlib import Path\n"
            "from harness.gate.revision import checked_out, find_revision\n"
            "with checked_out(find_revision(Path(sys.argv[1]), 'main'), print): pass\n"
        )
        command = [sys.executable, "-c", code, str(project)]
        other = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert "waiting" in other.stdout.readline()
        assert tree.is_dir()
    assert other.communicate(timeout=60)[0] == ""
    assert other.returncode == 0
