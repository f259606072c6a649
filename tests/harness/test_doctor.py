"""Tests that each check names the problem and the remedy, and passes on a healthy machine."""

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from harness import doctor
from harness.core import machine
from harness.core.errors import PluginError
from harness.doctor import Check
from harness.plugins.registry import Broken
from harness.runs.overhead import FirstCall
from harness.store import DATABASE

QUIET = {
    "governor": "performance",
    "turbo": False,
    "virtualized": False,
    "load": [0.1, 0.1, 0.1],
    "cores": 8,
}


def by_name(checks: object) -> dict[str, Check]:
    return {check.name: check for check in checks}


def test_quiet_machine_gets_no_advice() -> None:
    checks = list(doctor.timing(QUIET))
    assert {c.state for c in checks} == {"ok"}
    assert all(not c.advice for c in checks)


@pytest.mark.parametrize(
    ("fact", "check"),
    [
        ({"governor": "powersave"}, "cpu governor"),
        ({"turbo": True}, "turbo"),
        ({"virtualized": True}, "hardware"),
        ({"load": [3.0, 1.0, 1.0]}, "load"),
    ],
)
def test_noise_sources_give_a_warning_with_advice(fact: dict, check: str) -> None:
    result = by_name(doctor.timing(QUIET | fact))
    assert result[check].state == "warn"
    assert result[check].advice
    assert [c.name for c in result.values() if c.state == "warn"] == [check]


def test_unknown_system_facts_give_no_warning() -> None:
    unknown = QUIET | {"governor": "", "turbo": None, "virtualized": None}
    assert {c.state for c in doctor.timing(unknown)} == {"ok"}


def test_fingerprint_has_every_judged_fact() -> None:
    assert {*QUIET} <= {*machine.fingerprint()}


@pytest.mark.parametrize(
    ("name", "complaint", "state", "message"),
    [
        ("no-such-library", "", "fail", "not installed"),
        ("lightgbm", "OSError: libgomp.so.1: cannot open", "fail", "libgomp1"),
        ("numpy", "", "ok", "."),
    ],
)
def test_library_is_judged_by_version_and_import(
    name: str, complaint: str, state: str, message: str
) -> None:
    check = doctor.library(name, complaint)
    assert check.state == state
    assert message in check.message + check.advice


def test_library_series_unsupported_by_parity_gives_a_warning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(doctor, "version", lambda _: "3.20.1")
    check = doctor.library("xgboost", "")
    assert check.state == "warn"
    assert "3.2" in check.message
    newest = "3.2" if sys.version_info < (3, 12) else "3.4"  # later releases need Python 3.12
    assert f"xgboost=={newest}.*" in check.advice
    for installed in ("3.2.7", "3.4.1"):
        monkeypatch.setattr(doctor, "version", lambda _, installed=installed: installed)
        assert doctor.library("xgboost", "").state == "ok"


def test_supported_parity_series_equal_the_requirements() -> None:
    lines = (Path(doctor.__file__).parent.parent / "pyproject.toml").read_text().splitlines()
    required = {line.strip().strip('",').partition(">=") for line in lines if ">=" in line}
    series = {name: rest for name, _, rest in required}
    for name, (oldest, *_) in doctor.FOLLOWED.items():
        assert series[name].startswith((f"{oldest}.", f"{oldest},"))


def test_threading_layer_without_openmp_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "ask", lambda code: ("", "ImportError: no such pool"))
    check = doctor.threading_layer()
    assert check.state == "warn"
    assert "libgomp1" in check.advice


@pytest.mark.parametrize(
    ("text", "expected"), [("150000 100000\n", 1.5), ("max 100000\n", None), ("", None)]
)
def test_container_quota_is_read(text: str, expected: float | None, tmp_path: Path) -> None:
    file = tmp_path / "cpu.max"
    file.write_text(text)
    assert doctor.cpu_quota(file) == expected


def test_without_a_control_group_there_is_no_quota(tmp_path: Path) -> None:
    assert doctor.cpu_quota(tmp_path / "absent") is None


def test_quota_below_the_processors_gives_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "cpu_quota", lambda: 0.5)
    assert doctor.processors().state == "warn"
    monkeypatch.setattr(doctor, "cpu_quota", lambda: None)
    assert doctor.processors().state == "ok"


def test_broken_plugins_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    registry = SimpleNamespace(
        broken=[Broken("their.plugin", "KeyError: 1", "")], names=lambda _: []
    )
    monkeypatch.setattr(doctor, "load_registry", lambda: registry)
    check = doctor.plugins()
    assert check.state == "warn"
    assert "their.plugin: KeyError: 1" in check.message


def test_broken_contract_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise PluginError("two plugins register 'x'")

    monkeypatch.setattr(doctor, "load_registry", refuse)
    assert doctor.plugins() == Check("plugins", "fail", "two plugins register 'x'")


def test_damaged_store_is_a_failure(tmp_path: Path) -> None:
    assert doctor.store(tmp_path).state == "ok"
    (tmp_path / DATABASE).write_bytes(b"this is no database, but long enough to be read as one" * 9)
    assert doctor.store(tmp_path).state == "fail"


def test_ask_returns_the_output_or_the_last_error_line() -> None:
    assert doctor.ask("print(6 * 7)") == ("42", "")
    assert doctor.ask("raise ValueError('why')") == ("", "ValueError: why")
    assert doctor.ask("import sys; sys.exit(9)") == ("", "ended with 9")


def test_python_is_named() -> None:
    assert sys.executable in doctor.python().message


@pytest.mark.parametrize(
    ("answer", "state", "message"),
    [
        (("/folder|", ""), "ok", "/folder"),
        (("None|", ""), "ok", "the package has none"),
        (("None|compiled for numba 0.1", ""), "warn", "not used: compiled for numba 0.1"),
        (("", "ImportError: no"), "warn", "not used: ImportError: no"),
    ],
)
def test_a_package_whose_kernels_are_not_used_is_a_warning_with_the_reason(
    monkeypatch: pytest.MonkeyPatch, answer: tuple[str, str], state: str, message: str
) -> None:
    monkeypatch.setattr(doctor, "ask", lambda _: answer)
    check = doctor.packaged_kernels()
    assert check.state == state
    assert message in check.message
    assert "--into-package" in check.advice or message == "/folder"


def test_kernel_cache_is_named_by_its_digest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HARNESS_KERNEL_CACHE", str(tmp_path))
    check = doctor.kernel_cache()
    assert check.state == "ok"
    (folder,) = tmp_path.iterdir()
    assert str(folder) in check.message


def test_unwritable_cache_gives_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a file"
    file.touch()
    monkeypatch.setenv("HARNESS_KERNEL_CACHE", str(file))
    check = doctor.kernel_cache()
    assert check.state == "warn"
    assert "HARNESS_KERNEL_CACHE" in check.advice


@pytest.mark.parametrize(
    ("warm", "cpu", "notes", "states", "message"),
    [
        (0.9, 59.0, (), ["ok", "ok"], ""),
        (1.1, 59.0, (), ["warn", "ok"], "is the machine busy?"),
        (0.9, 59.0, ("binary with {}: no",), ["warn", "ok"], "binary with {}: no"),
        (0.9, 61.0, (), ["ok", "warn"], "the aim is 60"),
    ],
)
def test_first_calls_and_compiling_have_limits(monkeypatch, warm, cpu, notes, states, message):
    call = FirstCall("bagging", cpu, 12, warm, notes)
    monkeypatch.setattr("harness.runs.overhead.measure_first_calls", lambda entries: [call])
    first, all_kernels = doctor.first_calls()
    assert [first.state, all_kernels.state] == states
    assert first.name == "first call of bagging"
    assert message in first.advice + all_kernels.advice
    assert f"{cpu:.0f} CPU seconds" in all_kernels.message
