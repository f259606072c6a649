"""Lookup of experiment files: those shipped with the harness, and the user's own."""

from __future__ import annotations

import tomllib
from pathlib import Path

from harness.core.errors import ConfigError, unknown
from harness.core.model import JSON

SHIPPED = Path(__file__).parents[1] / "experiments"


def shipped_experiments() -> dict[str, Path]:
    """Return the shipped experiments by name, such as ``quick``, or ``speed/wide`` of a series."""
    paths = sorted(SHIPPED.rglob("*.toml"))
    return {path.relative_to(SHIPPED).with_suffix("").as_posix(): path for path in paths}


def experiments_of(named: str) -> list[str]:
    """Return the experiments of a series (a folder of TOML files), or ``[named]`` if it is none.

    The folder may be shipped, such as ``speed``, or the user's own.

    Raises
    ------
    ConfigError
        If the folder contains no TOML file.
    """
    shipped = [name for name in shipped_experiments() if name.rpartition("/")[0] == named]
    if shipped or not Path(named).is_dir():
        return shipped or [named]
    files = sorted(Path(named).glob("*.toml"))
    if not files:
        raise ConfigError(f"{named} holds no experiment: a series is a folder of TOML files")
    return [str(path) for path in files]


def find_experiment(name_or_path: str) -> Path:
    """Return the file of an experiment given by name or path."""
    known = shipped_experiments()
    if name_or_path in known:
        return known[name_or_path]
    path = Path(name_or_path)
    if path.is_file():
        return path
    if path.suffix == ".toml" or len(path.parts) > 1:
        raise ConfigError(f"no experiment file {name_or_path}")
    raise ConfigError(unknown("experiment", name_or_path, known))


def read_toml(path: Path) -> JSON:
    """Return the content of a TOML file; raise ConfigError if it cannot be read."""
    try:
        with path.open("rb") as file:
            return tomllib.load(file)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not TOML: {error}") from error
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from error
