"""Separate cache and card folders for every test of the data layer, without a network."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HARNESS_DATASETS", str(tmp_path / "cards"))
    monkeypatch.setenv("HARNESS_OFFLINE", "1")
    monkeypatch.delenv("HARNESS_MAX_BYTES", raising=False)
    monkeypatch.delenv("HARNESS_MIRROR", raising=False)


@pytest.fixture
def shared_mirror(mirror: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of shared datasets, configured as by a user."""
    monkeypatch.setenv("HARNESS_MIRROR", str(mirror))
    return mirror
