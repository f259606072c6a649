"""Tests that the wheel contains the three packages, their data and the dataset cards."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from harness.__main__ import NEEDED

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("harness", "algorithms", "reports")
# A broken reference library disables only its algorithms; the harness starts without it.
LIBRARIES = {"catboost", "lightgbm", "xgboost"}
LOCKS = sorted(ROOT.glob("requirements*.lock"))
NOT_LOCKED = {"boosters", "optuna"}  # libraries that only some users need
PYTHON_OF_LOCK = re.compile(r"-(3\.\d+)\.lock$")
PIN = re.compile(r"\S+==")
WITHOUT_KERNELS = os.environ | {"HARNESS_PACKAGED_KERNELS": "0"}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Build both distributions from a copy, which leaves no build folder in the checkout."""
    copy = tmp_path_factory.mktemp("source")
    unwanted = shutil.ignore_patterns("__pycache__", "*.egg-info", "compiled")
    for folder in (*PACKAGES, "datasets"):
        shutil.copytree(ROOT / folder, copy / folder, ignore=unwanted)
    for file in ("pyproject.toml", "README.md", "LICENSE", "MANIFEST.in", "build_backend.py"):
        shutil.copy(ROOT / file, copy)
    (copy / "datasets/small.csv.gz").write_bytes(b"a data file beside the cards")
    code = "import build_backend as b; b.build_wheel('dist'); b.build_sdist('dist')"
    subprocess.run(
        [sys.executable, "-c", code], cwd=copy, env=WITHOUT_KERNELS, check=True, capture_output=True
    )
    (wheel,) = (copy / "dist").glob("*.whl")
    (sdist,) = (copy / "dist").glob("*.tar.gz")
    return {"source": copy, "wheel": wheel, "sdist": sdist}


def files(folder: Path) -> set[str]:
    paths = (p for p in folder.rglob("*") if p.is_file() and "__pycache__" not in p.parts)
    return {p.relative_to(folder.parent).as_posix() for p in paths}


def test_wheel_has_every_source_file_and_nothing_else(built: dict[str, Path]) -> None:
    expected = set().union(*(files(built["source"] / name) for name in PACKAGES))
    cards = files(built["source"] / "datasets")
    expected |= {card.replace("datasets/", "harness/_cards/", 1) for card in cards}
    with zipfile.ZipFile(built["wheel"]) as wheel:
        names = {n for n in wheel.namelist() if ".dist-info/" not in n}
    assert names == expected
    assert "harness/_cards/small.csv.gz" in names
    assert {PurePosixPath(n).parts[0] for n in names} == set(PACKAGES)


def test_source_distribution_has_everything_a_build_needs(built: dict[str, Path]) -> None:
    with tarfile.open(built["sdist"]) as archive:
        names = {n.partition("/")[2] for n in archive.getnames()}
    needed = {"pyproject.toml", "build_backend.py", "datasets/small.csv.gz", "harness/py.typed"}
    assert needed <= names


@pytest.mark.slow
def test_source_distribution_builds_the_same_wheel(built: dict[str, Path], tmp_path: Path) -> None:
    """An installation from it has every file of the wheel, byte for byte."""
    with tarfile.open(built["sdist"]) as archive:
        archive.extractall(tmp_path, filter="data")
    (unpacked,) = tmp_path.iterdir()
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check"]
    offline = ["--no-deps", "--no-index", "--no-build-isolation", "--wheel-dir", "dist"]
    command = [*pip, *offline, str(unpacked)]
    subprocess.run(command, cwd=tmp_path, env=WITHOUT_KERNELS, check=True, capture_output=True)
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    assert wheel.name == built["wheel"].name
    assert sums(wheel) == sums(built["wheel"])


def sums(wheel: Path) -> dict[str, int]:
    """Return each file of a wheel with the checksum of its bytes."""
    with zipfile.ZipFile(wheel) as archive:
        return {info.filename: info.CRC for info in archive.infolist()}


def ask_backend(
    source: Path, code: str, *arguments: str, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run lines of Python beside the build backend, which is imported as ``b``."""
    return subprocess.run(
        [sys.executable, "-c", f"import sys, build_backend as b\n{code}", *arguments],
        cwd=source,
        env=os.environ | variables,
        check=True,
        capture_output=True,
        text=True,
    )


def test_wheel_with_added_kernels_installs(built: dict[str, Path], tmp_path: Path) -> None:
    """The wheel's tags and its list of files are those of the files in it."""
    pure = Path(shutil.copy(built["wheel"], tmp_path))
    kernels = tmp_path / "kernels/of-some-processor"
    kernels.mkdir(parents=True)
    (kernels / "one.bin").write_bytes(b"machine code")
    code = "print(b.add_kernels(b.Path(sys.argv[1]), b.Path(sys.argv[2])))"
    done = ask_backend(built["source"], code, str(pure), str(tmp_path / "kernels"))
    wheel = Path(done.stdout.strip())
    python = f"cp{sys.version_info[0]}{sys.version_info[1]}"
    assert f"-{python}-{python}-" in wheel.name
    assert "-none-any" not in wheel.name
    target = tmp_path / "site"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    options = ["--disable-pip-version-check", "--target", str(target)]
    subprocess.run([*pip, *options, str(wheel)], check=True, capture_output=True)
    installed = target / "algorithms/runtime/compiled/of-some-processor/one.bin"
    assert installed.read_bytes() == b"machine code"
    (record,) = target.glob("*.dist-info/RECORD")
    listed = {line.split(",")[0] for line in record.read_text().splitlines()}
    assert "algorithms/runtime/compiled/of-some-processor/one.bin" in listed
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (n for n in archive.namelist() if n.endswith(".dist-info/WHEEL"))
        about = archive.read(name).decode()
    assert "Root-Is-Purelib: false" in about
    assert f"Tag: {python}-{python}-" in about
    assert "none-any" not in about


def test_wheel_is_pure_if_no_kernel_can_be_compiled(built: dict[str, Path], tmp_path: Path) -> None:
    code = "b.compile_kernels = lambda _: 'numba is missing'; b.build_wheel(sys.argv[1])"
    done = ask_backend(built["source"], code, str(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == [built["wheel"].name]
    assert "has no compiled kernels: numba is missing" in done.stderr


def test_build_requires_numba_unless_it_has_no_kernels(
    built: dict[str, Path],
) -> None:
    code = "print(*b.get_requires_for_build_wheel(), sep='\\n')"
    required = ask_backend(built["source"], code).stdout.splitlines()
    names = {re.split(r"[^\w-]", line)[0] for line in required}
    assert {"numba", "numpy", "scikit-learn", "pandas"} <= names
    assert not LIBRARIES & names
    without = ask_backend(built["source"], code, HARNESS_PACKAGED_KERNELS="0").stdout
    assert "numba" not in without


def test_installed_copy_finds_its_cards(built: dict[str, Path], tmp_path: Path) -> None:
    target = tmp_path / "site"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    options = ["--disable-pip-version-check", "--target", str(target)]
    subprocess.run([*pip, *options, str(built["wheel"])], check=True, capture_output=True)
    empty = tmp_path / "elsewhere"
    empty.mkdir()
    environment = os.environ | {"PYTHONPATH": str(target), "HARNESS_DISABLE_PLUGINS": "1"}

    def answer(*command: str) -> str:
        done = subprocess.run(
            [sys.executable, *command],
            cwd=empty,
            env=environment,
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stdout

    where = answer("-c", "import harness, algorithms, reports; print(harness.__file__)")
    assert Path(where.strip()).is_relative_to(target)
    assert "breast_cancer" in answer("-m", "harness", "list", "datasets")


def test_start_checks_every_declared_dependency() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = {d.split(">")[0].split("=")[0] for d in project["dependencies"]}
    assert set(NEEDED.values()) | LIBRARIES == declared


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.name)
def test_lock_pins_every_declared_dependency(lock) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    names = {w.split(">")[0].split("=")[0].split("[")[0] for w in locked(project)}
    text = lock.read_text()
    assert [n for n in sorted(names) if f"\n{n}==" not in text] == []
    assert "://" not in text, "the lock names no index and no download address"
    pinned = [line for line in text.splitlines() if "==" in line and not line.startswith(" ")]
    assert all(line.endswith("\\") for line in pinned), "every pin is followed by its hashes"


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.name)
def test_pins_of_a_lock_are_of_declared_versions(lock) -> None:
    """A lock that was not written again after a change of a bound has a pin outside it."""
    python = PYTHON_OF_LOCK.search(lock.name)
    environment = {"python_version": python[1] if python else "3.11", "extra": ""}
    environment["python_full_version"] = f"{environment['python_version']}.9"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = [Requirement(text) for text in locked(project)]
    pins = [Requirement(line[:-2]) for line in lock.read_text().splitlines() if PIN.match(line)]
    pinned = {p.name: str(p.specifier)[2:] for p in pins if applies(p, environment)}
    outside = {
        r.name: pinned[r.name]
        for r in declared
        if applies(r, environment) and pinned[r.name] not in r.specifier
    }
    assert outside == {}


def locked(project: dict[str, Any]) -> list[str]:
    """Return the declared dependencies that the locks pin: all but those of some extras."""
    extras = project["optional-dependencies"]
    chosen = [extras[name] for name in extras if name not in NOT_LOCKED]
    return [text for group in (project["dependencies"], *chosen) for text in group]


def applies(requirement: Requirement, environment: dict[str, str]) -> bool:
    """Return whether a requirement holds for an interpreter."""
    return requirement.marker is None or requirement.marker.evaluate(environment)


def test_xgboost_of_python_3_12_and_newer_is_todays() -> None:
    pinned = {
        lock.name: set(re.findall(r"(?m)^xgboost==(\S+)", lock.read_text())) for lock in LOCKS
    }
    assert "3.2.0" in pinned.pop("requirements.lock")
    assert set(pinned) == {f"requirements-3.{minor}.lock" for minor in (12, 13, 14)}
    for versions in pinned.values():
        (version,) = versions
        assert Version(version) >= Version("3.4.1")
