"""Tests of the environment of a base that needs other libraries."""

import hashlib
import subprocess
import sys
import zipfile
from dataclasses import replace
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

import harness
from harness.core.model import Environment
from harness.gate import libraries as module
from harness.gate.base import probe
from harness.gate.libraries import (
    BaseError,
    Source,
    environment_name,
    libraries_digest,
    own_python,
    running_harness,
    same_libraries,
)

ROOT = Path(harness.__file__).resolve().parents[1]
REACHED = 'entry-points.harness = {x = "x"}\n'


def tree(folder, lock="numpy==2.3\n", dependencies='["numpy"]', more=""):
    folder.mkdir()
    (folder / "requirements.lock").write_text(lock)
    text = f"[project]\nname = 'x'\ndependencies = {dependencies}\n{more}"
    (folder / "pyproject.toml").write_text(text)
    return folder


def bare(folder):
    folder.mkdir()
    return folder


def test_only_installed_packages_make_libraries_differ(tmp_path):
    one = tree(tmp_path / "one")
    assert same_libraries(one, tree(tmp_path / "two", more="[tool.ruff]\nline-length = 99\n"))
    assert not same_libraries(one, tree(tmp_path / "three", lock="numpy==2.4\n"))
    assert not same_libraries(one, tree(tmp_path / "four", dependencies='["numpy", "scipy"]'))
    assert not same_libraries(one, bare(tmp_path / "bare"))
    broken = tree(tmp_path / "broken", more="= nothing")
    with pytest.raises(BaseError, match="is not TOML"):
        same_libraries(one, broken)


def test_failed_installation_leaves_the_gate_undecided():
    with pytest.raises(BaseError, match=r"cannot be installed: this was planted") as caught:
        module._run_setup([sys.executable, "-c", "import sys; sys.exit('this was planted')"])
    assert caught.value.exit_code == 6


# ------------------------------------------------------------------ made once


class Installer:
    """A fake runner of setup commands; an environment is a link to this interpreter."""

    def __init__(self, patch, packages):
        self.commands, self.told = [], []
        self.packages, self.copied = packages, []
        patch.setattr(module, "_run_setup", self)

    def __call__(self, command):
        self.commands.append(command)
        if "venv" in command:
            python = Path(command[-1]) / "bin/python"
            python.parent.mkdir(parents=True, exist_ok=True)
            python.unlink(missing_ok=True)
            python.symlink_to(sys.executable)
        elif "-c" in command:
            return f"{self.packages}\n"
        self.copied.append(sorted(p.name for p in self.packages.rglob("*.py")))
        return ""

    @property
    def asked(self):
        """Return the requirements passed to pip."""
        return [c[c.index("install") + 1 :] for c in self.commands if "install" in c]

    def python(self, folder, *, stranger=True):
        return Path(own_python(folder, self.told.append, stranger=stranger))


@pytest.fixture
def installer(tmp_path, monkeypatch):
    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path / "cache"))
    return Installer(monkeypatch, tmp_path / "packages")


def test_other_libraries_are_installed_once(tmp_path, installer):
    other = tree(tmp_path / "other")
    python = installer.python(other)
    assert installer.commands[0][:4] == [sys.executable, "-I", "-m", "venv"]
    locked = ["--require-hashes", "--requirement", str(other / "requirements.lock")]
    assert installer.asked == [locked, ["--editable", str(ROOT)]]
    assert len(installer.told) == 1
    assert installer.python(other) == python
    assert (len(installer.commands), len(installer.told)) == (3, 1)


def test_lock_of_this_python_is_preferred(tmp_path, installer):
    other = tree(tmp_path / "other")
    before = libraries_digest(other)
    own = other / "requirements-{}.{}.lock".format(*sys.version_info[:2])
    own.write_text("numpy==2.4\n")
    (other / "requirements-3.10.lock").write_text("numpy==1.0\n")  # of another version of Python
    assert libraries_digest(other) != before
    installer.python(other, stranger=False)
    assert installer.asked == [["--require-hashes", "--requirement", str(own)]]
    own.unlink()
    assert libraries_digest(other) == before


def test_requirements_of_a_tree(tmp_path, installer):
    ours = tree(tmp_path / "ours")
    installer.python(ours, stranger=False)
    assert [requested[0] for requested in installer.asked] == ["--require-hashes"]
    reached = tree(tmp_path / "reached", more=REACHED)
    installer.python(reached)
    assert installer.asked[-1] == ["--no-deps", str(reached)]  # otherwise its plugin is not found
    unlocked = tree(tmp_path / "unlocked")
    (unlocked / "requirements.lock").unlink()
    installer.python(unlocked)
    assert installer.asked[-1] == ["--editable", str(ROOT), str(unlocked)]
    installer.python(bare(tmp_path / "bare"))  # a plugin file alone
    assert installer.asked[-1] == ["--editable", str(ROOT)]


def test_environment_name_depends_on_all_its_inputs(tmp_path, monkeypatch):
    one, source = tree(tmp_path / "one"), Source(("numpy",))
    names = [
        environment_name(one, source),
        environment_name(one, None),
        environment_name(one, Source(("scipy",))),
        environment_name(one, Source(("numpy",), libraries="more")),
        environment_name(tree(tmp_path / "two", more=REACHED), source),
        environment_name(tree(tmp_path / "three", lock="numpy==2.4\n"), source),
    ]
    (tmp_path / "file").write_text("x")
    copied = Source(("numpy",), {"file": tmp_path / "file"})
    names.append(environment_name(one, copied))
    (tmp_path / "file").write_text("y")
    names.append(environment_name(one, copied))
    for place, name in [
        (module.platform, "python_version"),
        (module.sysconfig, "get_platform"),
        (module.os.path, "realpath"),
    ]:
        with monkeypatch.context() as patch:
            patch.setattr(place, name, lambda *_: "another")
            names.append(environment_name(one, source))
    assert len(set(names)) == len(names) == 11
    again = tree(tmp_path / "again", more="[tool.ruff]\nline-length = 99\n")
    assert environment_name(again, source) == names[0]


HOLD = """
import sys
from filelock import FileLock

with FileLock(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_two_gates_with_the_same_libraries_take_turns(tmp_path, installer):
    """The second waits, reports it, and uses what the first has installed."""
    expected = tree(tmp_path / "wanted")
    folder = installer.python(expected).parents[1]
    (folder / ".ready").rename(folder / "kept")
    lock = folder.with_name(f"{folder.name}.lock")
    before = len(installer.commands)
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(lock)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as other:
        assert other.stdout.readline() == "held\n"

        def finish(line):
            installer.told.append(line)
            (folder / "kept").rename(folder / ".ready")
            other.stdin.close()

        own_python(expected, finish, stranger=True)
    assert installer.told[-1] == module.WAIT
    assert len(installer.commands) == before


@pytest.mark.parametrize("now", ["gone", "another version", "broken"])
def test_environment_without_an_interpreter_is_rebuilt(tmp_path, installer, now):
    expected = tree(tmp_path / "wanted")
    python = installer.python(expected)
    python.unlink()
    if now == "gone":
        python.symlink_to(tmp_path / "nowhere")
    else:
        message = "echo 3.0.0" if now == "another version" else "exit 1"
        python.write_text(f"#!/bin/sh\n{message}\n")
        python.chmod(0o755)
    before = len(installer.commands)
    assert installer.python(expected) == python
    assert len(installer.commands) == 2 * before
    assert python.resolve() == Path(sys.executable).resolve()


def test_interrupted_installation_is_rebuilt(tmp_path, installer, monkeypatch):
    expected = tree(tmp_path / "wanted")
    with monkeypatch.context() as patch:
        patch.setattr(module, "_install", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            installer.python(expected)
    before = len(installer.commands)
    installer.python(expected)
    assert len(installer.commands) == before + 3


def test_operating_system_errors_are_reported(tmp_path, installer, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path / "file"))
    with pytest.raises(BaseError, match="environment cannot be made"):
        installer.python(tree(tmp_path / "wanted"))
    with pytest.raises(BaseError, match=r"does not start: .*nowhere"):
        probe(Environment("b", str(tmp_path / "nowhere"), ""), ())


# ------------------------------------------------------------------ the running harness


METADATA = """Metadata-Version: 2.1
Name: tree-harness
Version: 0.1.0
Requires-Dist: filelock>=3
Requires-Dist: dask>=2026; extra == "dask"
"""
FILES = ["harness/__init__.py", "harness/_cards/a.toml", "reports/__init__.py"]
RECORD = [*FILES, "harness/__pycache__/x.pyc", "../../bin/harness", "tree_harness-0.1.0.dist-info/"]


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A folder on the path in which a harness is installed."""
    folder = tmp_path / "site"
    for name in FILES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"# {name}\n")
    info = folder / "tree_harness-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(METADATA)
    listed = [*RECORD[:-1], *(f"{info.name}/{name}" for name in ("METADATA", "RECORD"))]
    (info / "RECORD").write_text("".join(f"{name},,\n" for name in listed))
    monkeypatch.syspath_prepend(str(folder))
    return folder


def test_checkout_is_installed_from_its_folder():
    source = running_harness()
    assert (source.packages, source.files) == (("--editable", str(ROOT)), {})
    assert source.libraries == module.libraries_digest(ROOT)


def test_installed_harness_is_copied_and_never_requested_by_name(site):
    source = running_harness(site)
    assert source.packages == ("filelock>=3",)
    info = "tree_harness-0.1.0.dist-info"
    assert set(source.files) == {*FILES, f"{info}/METADATA", f"{info}/RECORD"}
    assert source.files[FILES[0]] == site / FILES[0]


def test_harness_without_installation_leaves_the_gate_undecided(site, tmp_path, monkeypatch):
    with pytest.raises(BaseError, match="install it with pip") as caught:
        running_harness(tmp_path)  # the distribution is another one's
    assert caught.value.exit_code == 6
    (site / "tree_harness-0.1.0.dist-info/RECORD").unlink()
    with pytest.raises(BaseError, match="no list of its files exists"):
        running_harness(site)

    def absent(_):
        raise PackageNotFoundError

    monkeypatch.setattr(module, "distribution", absent)
    with pytest.raises(BaseError, match="it is not a checkout"):
        running_harness(site)


def test_files_are_copied_before_pip_looks_for_them(site, tmp_path, installer, monkeypatch):
    source = running_harness(site)
    monkeypatch.setattr(module, "running_harness", lambda: source)
    unlocked = tree(tmp_path / "unlocked", dependencies='["tree-harness"]')
    (unlocked / "requirements.lock").unlink()
    installer.python(unlocked)
    ((option, file, *requested),) = installer.asked
    assert (option, requested) == ("--constraint", ["filelock>=3", str(unlocked)])
    assert Path(file).read_text() == "tree-harness==0.1.0\n"
    assert installer.copied == [[], [], ["__init__.py", "__init__.py"]]  # of pip the last
    copied = installer.packages / "tree_harness-0.1.0.dist-info/METADATA"
    assert copied.read_text() == METADATA


def wheel(folder, version):
    """Write a foreign wheel with the name of the harness."""
    info = f"tree_harness-{version}.dist-info"
    parts = {
        "harness/__init__.py": "# somebody else's\n",
        "harness/theirs.py": "",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: tree-harness\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    listed = "".join(f"{name},,\n" for name in [*parts, f"{info}/RECORD"])
    path = folder / f"tree_harness-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in {**parts, f"{info}/RECORD": listed}.items():
            archive.writestr(name, text)
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.slow
def test_base_gets_the_files_of_the_running_harness(site, tmp_path, monkeypatch):
    """Real environments, and a real pip that finds another package of the same name."""
    settings = {"HARNESS_CACHE": "cache", "PIP_FIND_LINKS": "index"}
    for name, value in settings.items():
        monkeypatch.setenv(name, str(bare(tmp_path / value)))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    results = {version: wheel(tmp_path / "index", version) for version in ("0.1.0", "0.2.0")}
    (site / "tree_harness-0.1.0.dist-info/METADATA").write_text(METADATA.partition("Requires")[0])
    source = replace(running_harness(site), packages=("tree-harness",))  # as a project may
    monkeypatch.setattr(module, "running_harness", lambda: source)
    expected = tree(
        tmp_path / "wanted", lock=f"tree-harness==0.2.0 --hash=sha256:{results['0.2.0']}\n"
    )
    python = own_python(expected, print, stranger=True)
    message = (
        "import harness, importlib.util as u; print(open(harness.__file__).read(), end='');"
        "print(u.find_spec('harness.theirs'))"
    )
    done = subprocess.run([python, "-I", "-c", message], capture_output=True, text=True, check=True)
    assert done.stdout == "# harness/__init__.py\nNone\n"
    newer = replace(source, packages=("tree-harness>=0.2",))
    with pytest.raises(BaseError, match="cannot be installed"):
        module._install(expected, Path(python), newer)
