"""Tests that the asv suite follows the rules that keep its results comparable."""

import contextlib
import inspect
import json
import os
import subprocess
import sys
import sysconfig
from importlib import import_module
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

from harness.plugins.registry import load_registry

ROOT = Path(__file__).resolve().parents[2]

# The suite caps threads in its process's environment; that of the tests stays as it is.
with mock.patch.dict(os.environ), mock.patch.object(sys, "path", [str(ROOT), *sys.path]):
    data = import_module("benchmarks.data")
    drive = import_module("benchmarks.drive")
    models = import_module("benchmarks.models")
    names = import_module("benchmarks.names")
    startup = import_module("benchmarks.startup")

CASES = [
    case
    for module in (models, startup)
    for name, case in vars(module).items()
    if inspect.isclass(case) and not name.startswith("_") and case is not drive.Suite
]


def methods(case: type) -> list[str]:
    kinds = ("time_", "timeraw_", "track_", "peakmem_")
    return [name for name in dir(case) if name.startswith(kinds)]


def test_static_names_equal_the_registry() -> None:
    """A list made at run time would give one algorithm's times another's name in asv."""
    assert load_registry(strangers=False).names("algorithm") == names.ALGORITHMS


def test_data_matches_the_names() -> None:
    assert sorted(name for name, *_ in data.tables()) == names.DATASETS


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.__name__)
def test_every_case_takes_enough_samples_and_has_a_version(case: type) -> None:
    assert methods(case)
    assert isinstance(case.version, str), "else every edit of the suite hides the history"
    assert case.rounds * case.repeat[0] >= 8, "asv's test of significance is blind at 6"
    if any(name.startswith("time_") for name in methods(case)):
        assert case.warmup_time > 0, "else the first sample is a compilation"
    for name in methods(case):
        if name.startswith("track_"):
            assert "loss" in name, "asv takes lower for better"


def test_threads_are_limited_before_numpy_is_loaded() -> None:
    code = (
        "import os, sys, benchmarks; print(os.environ['OMP_NUM_THREADS'], 'numpy' in sys.modules)"
    )
    clean = {k: v for k, v in os.environ.items() if not k.endswith("_NUM_THREADS")}
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=clean,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["1", "False"]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict]:
    folder = tmp_path_factory.mktemp("asv")
    with contextlib.chdir(folder), mock.patch.object(drive, "TREES", 2):
        return folder, drive.Suite().setup_cache()


@pytest.fixture
def cache(made: tuple[Path, dict], monkeypatch: pytest.MonkeyPatch) -> dict:
    """Return the facts that asv passes to a case, in the folder in which asv runs it."""
    monkeypatch.chdir(made[0])
    return made[1]


def test_case_of_each_kind_runs(cache: dict) -> None:
    for case, dataset in ((models.Fit(), "breast_cancer"), (models.Memory(), "diabetes")):
        case.setup(cache, "sklearn.decision_tree", dataset)
        for name in methods(type(case)):
            getattr(case, name)(cache, "sklearn.decision_tree", dataset)
    case = models.Predict()
    case.setup(cache, "sklearn.decision_tree", "diabetes")
    case.time_predict(cache, "sklearn.decision_tree", "diabetes")
    assert 0 < case.track_loss(cache, "sklearn.decision_tree", "diabetes") < 2


def test_repeated_setup_does_no_work(cache: dict) -> None:
    case = models.Predict()
    arguments = (cache, "sklearn.decision_tree", "breast_cancer")
    case.setup(*arguments)
    fitted = case.model
    case.setup(*arguments)
    assert case.model is fitted


def test_algorithms_missing_in_a_commit_are_skipped_not_failed(cache: dict) -> None:
    with pytest.raises(NotImplementedError):
        models.Fit().setup(cache, "not-yet-written", "digits")
    with pytest.raises(NotImplementedError):
        startup.FirstFit().setup(cache, "not-yet-written")


def test_training_and_test_rows_do_not_overlap(cache: dict) -> None:
    whole = {name: len(y) for name, _, _, y in data.tables()}
    for name, rows in whole.items():
        X, y = data.read(name, "train")
        X_test, y_test = data.read(name, "test")
        assert len(X) + len(X_test) == len(y) + len(y_test) == rows
        assert isinstance(X, np.memmap)


def test_loss_is_lower_for_the_better_model() -> None:
    y = np.array([0, 1, 1])
    good, bad = np.array([[0.9, 0.1], [0.1, 0.9], [0.2, 0.8]]), np.full((3, 2), 0.5)
    assert drive.loss(good, y, 2) < drive.loss(bad, y, 2)
    target = np.array([1.0, 2.0, 4.0])
    assert drive.loss(target + 0.1, target, 0) < drive.loss(np.zeros(3), target, 0)


def test_raw_statements_run(cache: dict, capsys: pytest.CaptureFixture[str]) -> None:
    case, first = startup.Startup(), startup.FirstFit()
    statements = [
        case.timeraw_import(),
        case.timeraw_help(),
        case.timeraw_registry(),
        first.timeraw_fit(cache, "sklearn.decision_tree"),
    ]
    with mock.patch.object(sys, "argv", []):
        for statement in statements:
            exec(inspect.cleandoc(statement), {})
    assert capsys.readouterr().out == "", "asv reads the time from what the process prints"


@pytest.mark.slow
def test_first_fit_compiles_into_its_own_folder() -> None:
    statement = inspect.cleandoc(startup.VeryFirstFit().timeraw_fit("decision_tree"))
    seen = statement.replace(
        "shutil.rmtree(folder)", "print(len(list(os.walk(folder)))); shutil.rmtree(folder)"
    )
    done = subprocess.run(
        [sys.executable, "-c", seen], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert int(done.stdout) > 1


@pytest.mark.slow
def test_asv_runs_a_case_of_each_kind(tmp_path: Path) -> None:
    """The whole suite is `make bench`; here one algorithm runs through asv itself."""
    environment = os.environ | {"HOME": str(tmp_path)}
    command = [sys.executable, "-m", "asv"]
    subprocess.run([*command, "machine", "--yes"], cwd=ROOT, env=environment, check=True)
    quick = [*command, "run", "--quick", "--show-stderr", "-E", f"existing:{sys.executable}"]
    selection = ["-b", r"sklearn.decision_tree", "-b", "Startup"]
    done = subprocess.run(
        [*quick, *selection], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


# The environments of asv borrow the libraries that are installed here, so that none is built twice.
BORROW = (
    "import sysconfig,pathlib;pathlib.Path(sysconfig.get_path('purelib'),'b.pth').write_text('{}')"
)


@pytest.fixture(scope="module")
def small_clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Clone the last two commits, with a configuration that installs only the project."""
    clone = tmp_path_factory.mktemp("asv") / "clone"
    subprocess.run(["git", "clone", "--quiet", "--local", str(ROOT), str(clone)], check=True)
    config = read_config(clone / "asv.conf.json")
    borrow = BORROW.format(sysconfig.get_path("purelib"))
    options = "--no-deps --no-build-isolation --config-settings kernels=no"
    wheel = f"python -m pip wheel {options} --wheel-dir {{build_cache_dir}} ."
    config["branches"] = ["HEAD"]
    config["build_command"] = [f'python -c "{borrow}"', wheel]
    install = "in-dir={env_dir} python -m pip install --no-deps --force-reinstall {wheel_file}"
    config["install_command"] = [install]
    (clone / "asv.conf.json").write_text(json.dumps(config))
    return clone


def read_config(path: Path) -> dict:
    """Read asv's JSON, whose lines may be comments."""
    lines = path.read_text().splitlines()
    return json.loads("\n".join(line for line in lines if not line.lstrip().startswith("//")))


def asv(clone: Path, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "asv", *words],
        cwd=clone,
        env=os.environ | {"HOME": str(clone.parent), "HARNESS_PACKAGED_KERNELS": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout + done.stderr


@pytest.mark.slow
def test_two_commits_of_a_new_clone_are_compared_and_published(small_clone: Path) -> None:
    """`asv continuous` and `asv publish`, as the workflows call them, over one quick case."""
    pytest.importorskip("virtualenv", reason="asv makes its environments with it")
    asv(small_clone, "machine", "--yes", "--machine", "ci")
    small = ("--bench", "Startup.timeraw_import", "-a", "rounds=1", "-a", "repeat=1")
    message = asv(
        small_clone, "continuous", "--machine", "ci", "--factor", "100", *small, "HEAD~1", "HEAD"
    )
    assert "startup.Startup.timeraw_import" in message
    assert "BENCHMARKS NOT SIGNIFICANTLY CHANGED" in message
    asv(small_clone, "publish")
    pages = small_clone / ".asv" / "html"
    assert (pages / "index.html").is_file()
    index = json.loads((pages / "index.json").read_text())
    assert "startup.Startup.timeraw_import" in index["benchmarks"]
    assert len(list((small_clone / ".asv" / "results" / "ci").glob("*-virtualenv-*.json"))) == 2
