"""Experiment: a TOML file, read into frozen pydantic models that reject unknown keys.

All mistakes of a file are reported together, each with its place and, for a misspelled key, the
closest known key. The resolved experiment is stored with the run and hashed.
"""

from __future__ import annotations

import tomllib
import warnings
from collections.abc import Iterable, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from harness.config.diagnostics import Diagnostics
from harness.config.files import find_experiment, read_toml
from harness.config.splits import Seed, Splits
from harness.core.errors import ConfigError, unknown
from harness.core.model import JSON
from harness.core.parity_level import PARITY_LEVELS
from harness.core.units import parse_budget, parse_duration, parse_share, parse_size


def _read_by(parse: Any, given: Any) -> BeforeValidator:
    """Return a validator that calls ``parse``; pydantic collects its errors with all others.

    ``given`` is the input type in the JSON Schema.
    """

    def validate(value: Any) -> Any:
        try:
            return parse(value)
        except ConfigError as error:
            raise ValueError(str(error)) from None

    return BeforeValidator(validate, json_schema_input_type=given)


Duration = Annotated[float, _read_by(parse_duration, float | str)]
Size = Annotated[int, _read_by(parse_size, int | str)]
Budget = Annotated[float, _read_by(parse_budget, float | str)]
Share = Annotated[float, _read_by(parse_share, float | str)]
# Params from the table ``[capacity]``; each library's own defaults; a search of equal budget; an
# ensemble of the configurations of such a search.
Track = Literal["equal", "default", "tuned", "ensembled"]
SEARCHED = frozenset({"tuned", "ensembled"})  # tracks that search configurations
NAMED = "[A-Za-z0-9][A-Za-z0-9._-]{0,63}"


class Strict(BaseModel):
    """Base class of the tables of an experiment: frozen, without unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)


Model = TypeVar("Model", bound=Strict)


class Choice(Strict):
    """Algorithms selected by a glob, with common params and a grid of further params.

    With a ``label`` it selects one algorithm, which has this name in all results of a run and in
    ``pairs``. So one algorithm may occur several times with different params.
    """

    name: str
    label: str = Field("", pattern=f"^({NAMED})?$")
    params: dict[str, Any] = {}
    grid: dict[str, Annotated[list[Any], Field(min_length=1)]] = {}

    @model_validator(mode="after")
    def _check_label(self) -> Choice:
        if self.label and not set("*?[").isdisjoint(self.name):
            raise ValueError(f"label {self.label!r} is for one algorithm, not for a glob")
        return self


class Run(Strict):
    """Settings of the execution of trials."""

    seeds: Annotated[list[Seed], Field(min_length=1)] = [0]
    threads: int = Field(1, ge=1, le=1024)
    jobs: int = Field(0, ge=0, le=1024)  # 0: as many as the cores allow
    timeout: Duration = 600.0
    memory: Size = 0  # 0: no cap
    budget: Budget = 0.0  # of the whole run; 0: none. Reduces splits, then training rows


class Duels(Strict):
    """Pairs of algorithms that are timed in interleaved runs, their datasets, and how often.

    With ``precision`` or ``claim`` a duel ends at the first interim analysis, on a fixed schedule,
    that meets the target; ``launches`` is ignored then.
    """

    pairs: list[tuple[str, str]] | None = None  # None: algorithms against their references
    algorithms: list[str] = ["*"]  # globs: the algorithms of these pairs; not used with `pairs`
    datasets: list[str] = []
    launches: int = Field(8, ge=1, le=1000)
    blocks: int = Field(4, ge=1, le=1000)
    threads: int = Field(1, ge=1, le=1024)
    # phase of the stopping rule
    phase: Literal["train", "native", "fit", "predict", "predict_one"] = "train"
    precision: Share | None = None  # target half-width of the interval, such as "2%"
    claim: float | None = Field(None, gt=0)  # "B takes at least so many times as long as A"
    noise: bool = False  # also time an algorithm against itself on each dataset


class Parity(Strict):
    """Pairs of algorithms whose trees are compared, and the datasets for it."""

    pairs: list[tuple[str, str]] | None = None  # None: every algorithm against its reference
    datasets: list[str] = []  # globs
    most_rows: int = Field(0, ge=0)  # datasets with more rows are left out; 0: no limit


class Verdicts(Strict):
    """Equivalence margin, as a share of the gap between the best and the constant model."""

    margin: float = Field(0.01, gt=0, lt=1)
    metric: str = ""  # the primary one; "": log loss or RMSE
    pairs: list[tuple[str, str]] | None = None  # None: every algorithm against its reference


class Training(Strict):
    """Class weights and early stopping, for every algorithm that supports them."""

    class_weight: Literal["", "balanced"] = ""
    early_stopping: int = Field(0, ge=0)  # rounds without improvement; 0: all rounds are trained
    validation_share: float = Field(0.1, gt=0, lt=0.5)  # of the training rows, for early stopping


class Tuning(Strict):
    """The search of the tracks tuned and ensembled, the same for every algorithm."""

    configurations: int = Field(10, ge=1, le=1000)  # the first is the algorithm's own defaults
    inner_folds: int = Field(3, ge=2, le=20)  # cross-validation folds of the training rows
    seed: Seed = 0
    # random search, successive halving, or proposals of Optuna, which is an optional package
    method: Literal["random", "halving", "optuna"] = "random"
    reduction: int = Field(
        3, ge=2, le=10
    )  # factor of successive halving from one iteration to the next
    ensemble_rounds: int = Field(25, ge=1, le=1000)  # of the track ensembled
    keep_predictions: bool = False  # store the held-out predictions of every configuration


def _rename_kind(kind: Any) -> Any:
    if kind != "rung":
        return kind
    message = 'kind = "rung" of a gate is now called "parity_level"'
    warnings.warn(message, DeprecationWarning, stacklevel=2)
    return "parity_level"


GateKind = Annotated[
    Literal["accuracy", "speed", "memory", "parity_level"], BeforeValidator(_rename_kind)
]


class Gate(Strict):
    """Claim about stored results that decides an exit code; see ``harness.analysis.gates``.

    ``limit`` depends on the kind: the allowed increase of the loss, as a share of the gap (default:
    the margin of the verdicts); the least ratio of the reference's time or memory to ours (default:
    1); the least parity level, such as ``"L2"``.
    """

    kind: GateKind
    algorithm: str  # glob
    reference: str = "*"  # glob
    datasets: Annotated[list[str], Field(min_length=1)] = ["*"]  # globs
    limit: float | str | None = None
    phase: str = "train"  # of a gate on speed: train, native, fit, predict, predict_one
    track: Track | None = None  # of a gate on accuracy in a run of several tracks; None: each
    pooled: bool = False  # compare the value pooled over datasets with the limit, not each one

    @model_validator(mode="after")
    def _check_limit(self) -> Gate:
        if self.kind == "parity_level":
            levels = sorted(filter(None, PARITY_LEVELS))
            if self.limit not in levels:
                raise ValueError(f"limit of {self.kind} must be one of {', '.join(levels)}")
            if self.pooled:
                raise ValueError("a parity level is per dataset: pooled = true has no meaning here")
        elif isinstance(self.limit, str) or (self.limit is not None and not self.limit > 0):
            raise ValueError(f"limit of {self.kind} is a number above 0")
        return self


class GateFile(Strict):
    """File that contains only gates, for ``harness gate FILE``."""

    gate: Annotated[list[Gate], Field(min_length=1)]


class Experiment(Strict):
    """All settings of a run."""

    name: str = Field(pattern=f"^{NAMED}$")
    summary: str = ""
    algorithms: Annotated[list[str | Choice], Field(min_length=1)] = ["*"]
    datasets: Annotated[list[str], Field(min_length=1)]
    capacity: dict[str, int | float] = {}  # canonical: trees, depth, leaves, rate, …
    tracks: Annotated[list[Track], Field(min_length=1)] = ["equal"]
    track_datasets: dict[Track, list[str]] = {}  # globs; a track that is not named has all datasets
    tuning: Tuning = Tuning()
    training: Training = Training()
    splits: Splits = Splits()
    run: Run = Run()
    duels: Duels = Duels()
    parity: Parity = Parity()
    verdicts: Verdicts = Verdicts()
    diagnostics: Diagnostics = Diagnostics()
    gate: list[Gate] = []

    @model_validator(mode="after")
    def _check_labels(self) -> Experiment:
        chosen = [c.label for c in self.algorithms if isinstance(c, Choice) and c.label]
        if twice := sorted({label for label in chosen if chosen.count(label) > 1}):
            raise ValueError(f"labels given twice: {', '.join(twice)}")
        return self


def load_experiment(
    named: str | Mapping[str, Any],
    *,
    overrides: Iterable[str] = (),
    changes: Mapping[str, Any] | None = None,
) -> Experiment:
    """Read an experiment by shipped name or by path, with ``key=value`` overrides.

    Parameters
    ----------
    named
        ``quick``, the path of a TOML file, or the content of such a file.
    overrides
        Texts such as ``run.threads=2``; the value is TOML, or plain text if it is not TOML.
    changes
        Dotted keys with ready values, set before validation.

    Raises
    ------
    ConfigError
        With every mistake of the file, one per line.
    """
    if isinstance(named, str):
        path = find_experiment(named)
        data, place = read_toml(path), str(path)
        data.setdefault("name", path.stem)
        _anchor_files(data, path.parent)
    else:
        data, place = deepcopy(dict(named)), "the experiment"
        data.setdefault("name", "experiment")
    settings: JSON = {}
    for text in overrides:
        key, separator, value = text.partition("=")
        if not separator or not key.strip():
            raise ConfigError(f"--set takes key=value, such as run.threads=2, not {text!r}")
        settings[key.strip()] = _toml_value(value.strip())
    settings |= changes or {}
    for key, value in settings.items():
        _set(data, key, value)
    return parse_experiment(
        data, f"{place} with {', '.join(settings)} as requested" if settings else place
    )


def _anchor_files(data: JSON, folder: Path) -> None:
    """Make the paths of ``splits.files`` relative to the folder of the experiment's file."""
    splits = data.get("splits")
    files = splits.get("files") if isinstance(splits, dict) else None
    if isinstance(files, dict):
        for name, path in files.items():
            files[name] = str(folder / path) if isinstance(path, str) else path


def experiment_schema() -> JSON:
    """Return the JSON Schema of an experiment's file, for editors and other programs."""
    return Experiment.model_json_schema()


def load_gates(path: Path) -> list[Gate]:
    """Return the gates of an experiment file or of a file with gates only."""
    data = read_toml(path)
    if set(data) <= {"gate"}:
        return _parse(GateFile, data, str(path)).gate
    return parse_experiment({"name": path.stem, **data}, str(path)).gate


def parse_experiment(data: Mapping[str, Any], place: str) -> Experiment:
    """Return a validated experiment; raise ConfigError with all its mistakes."""
    return _parse(Experiment, data, place)


def _parse(model: type[Model], data: Mapping[str, Any], place: str) -> Model:
    try:
        return model.model_validate(data)
    except ValidationError as error:
        lines = [_explain(e["loc"], e["type"], e["msg"]) for e in error.errors()]
        head = f"{place}: {len(lines)} mistake{'s' if len(lines) > 1 else ''}"
        raise ConfigError("\n  ".join([head, *dict.fromkeys(lines)])) from None


def _explain(loc: tuple[int | str, ...], kind: str, message: str) -> str:
    """Return a message for one mistake; for a misspelled key, with the closest known key."""
    # pydantic adds the names of a union's members to the place; they are omitted here.
    parts = [str(p) for p in loc if p not in ("str", "Choice", "int", "float")]
    place = ".".join(parts) or "the file"
    if kind == "extra_forbidden":
        fields = _fields_at(loc[:-1])
        known = f"known here: {', '.join(sorted(fields))}"
        return f"{place}: {unknown('key', parts[-1], fields, known)}"
    return f"{place}: {message.removeprefix('Value error, ')}"


def _fields_at(loc: tuple[int | str, ...]) -> list[str]:
    """Return the known keys of the table at a place."""
    tables: dict[str, type[BaseModel]] = {"splits": Splits, "run": Run, "duels": Duels}
    tables["parity"] = Parity
    tables |= {
        "verdicts": Verdicts,
        "algorithms": Choice,
        "gate": Gate,
        "tuning": Tuning,
        "training": Training,
    }
    tables["diagnostics"] = Diagnostics
    model = tables.get(str(loc[0]), Experiment) if loc else Experiment
    return list(model.model_fields)


def _set(data: JSON, dotted: str, value: Any) -> None:
    *path, last = dotted.split(".")
    for part in path:
        data = data.setdefault(part, {})
        if not isinstance(data, dict):
            raise ConfigError(f"{dotted!r}: {part!r} is a value, not a table")
    data[last] = value


def _toml_value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
