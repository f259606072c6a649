"""Tests of the start: a hostile current folder, missing dependencies, imports of ``--help``."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness import __main__ as start

ROOT = Path(start.ROOT)
HOSTILE = 'raise SystemExit("the file in the current folder was imported")\n'


def run(*command: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=cwd,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        [sys.executable, "-m", "harness"],
        [str(Path(sys.executable).with_name("harness"))],
    ],
    ids=["python -m harness", "harness"],
)
def test_files_in_the_current_folder_do_not_shadow_our_modules(
    command: list[str], tmp_path: Path
) -> None:
    for name in ("algorithms", "reports", "numpy", "click", "pluggy", "json", "data"):
        (tmp_path / f"{name}.py").write_text(HOSTILE)
    done = run(*command, "list", "plugins", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert str(tmp_path) not in done.stdout


@pytest.mark.parametrize("first", ["", ".", "here"])
def test_current_folder_is_removed_from_the_path(
    first: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path) if first == "here" else first, *sys.path])
    before = sys.path[1:]
    start.drop_current_folder()
    assert sys.path == before


def test_checkout_stays_on_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    before = list(sys.path)
    start.drop_current_folder()
    assert sys.path == before


def test_missing_dependencies_give_one_line_with_the_install_command() -> None:
    # -S and -I leave the standard library only, as on a machine where nothing was installed.
    code = "import sys; sys.path.append(sys.argv[1]); from harness.__main__ import main; "
    done = run(sys.executable, "-I", "-S", "-c", code + "sys.exit(main())", str(ROOT), cwd=ROOT)
    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert "numpy" in done.stderr
    assert f"make -C {ROOT} setup" in done.stderr


def test_installed_copy_names_pip(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(start, "ROOT", str(tmp_path))
    monkeypatch.setattr(start, "NEEDED", {"no_such_module": "no-such-thing", "click": "click"})
    assert start.missing().endswith(f"{sys.executable} -m pip install no-such-thing")


def test_no_dependency_is_missing_here() -> None:
    assert start.missing() == ""


def test_help_imports_no_heavy_library() -> None:
    heavy = {"numpy", "pandas", "sklearn", "numba", "rich", "pydantic"}
    code = f"""
import sys
from harness.__main__ import main
sys.argv = ["harness", "--help"]
main()
print(sorted({heavy} & set(sys.modules)))
"""
    done = run(sys.executable, "-c", code, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert "Commands:" in done.stdout
    assert done.stdout.splitlines()[-1] == "[]"


def test_early_ctrl_c_prints_no_traceback(tmp_path: Path) -> None:
    code = "import sys; from harness import __main__ as start\n"
    code += "def interrupted(): raise KeyboardInterrupt\n"
    code += "start.missing = interrupted; start.main()"
    done = run(sys.executable, "-c", code, cwd=ROOT)
    assert done.returncode == 130
    assert done.stderr == "harness: interrupted before anything was done\n"


def test_closed_pipe_gives_an_exit_code_only(tmp_path: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "harness", "list", "algorithms"],
            cwd=tmp_path,
            stdout=write,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    finally:
        os.close(write)
    assert (done.returncode, done.stderr) == (141, "")
