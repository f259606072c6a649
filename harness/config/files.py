"""The files of experiments: those that come with the harness, and your own."""

from __future__ import annotations

import tomllib
from pathlib import Path

from harness.core.errors import ConfigError, unknown
from harness.core.model import JSON

SHIPPED = Path(__file__).parents[1] / "experiments"


def shipped_experiments() -> dict[str, Path]:
    """Return what comes with the harness: ``quick``, or ``speed/wide``, one of a series."""
    paths = sorted(SHIPPED.rglob("*.toml"))
    return {path.relative_to(SHIPPED).with_suffix("").as_posix(): path for path in paths}


def experiments_of(named: str) -> list[str]:
    """Return the experiments of a series, which is a folder of files; of one, its own name.

    The folder may be shipped, such as ``speed``, or your own.

    Raises
    ------
    ConfigError
        Where a folder holds no TOML file.
    """
    shipped = [name for name in shipped_experiments() if name.rpartition("/")[0] == named]
    if shipped or not Path(named).is_dir():
        return shipped or [named]
    found = sorted(Path(named).glob("*.toml"))
    if not found:
        raise ConfigError(f"{named} holds no experiment: a series is a folder of TOML files")
    return [str(path) for path in found]


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
    """Read a TOML file, or say where it is not TOML."""
    try:
        with path.open("rb") as file:
            return tomllib.load(file)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not TOML: {error}") from error
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from error
