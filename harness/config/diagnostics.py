"""The ``[diagnostics]`` table of an experiment: further measurements of its models."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Name = Literal[
    "staged",
    "determinism",
    "scaling",
    "calibration",
    "importance",
    "agreement",
    "margins",
    "strength",
    "bias_variance",
    "permutation",
]
Part = Annotated[float, Field(gt=0, le=1)]


class Diagnostics(BaseModel):
    """Selected diagnostics, their datasets and pairs, and the sizes at which ``scaling`` is timed.

    Each diagnostic uses the first split and the first seed of an algorithm on a dataset, except
    ``calibration`` and ``agreement``, which use every split of the first repeat, and
    ``bias_variance``, which uses all training sets of one size.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    names: list[Name] = []
    recommended_only: bool = False  # only for the algorithm that the run recommends
    datasets: list[str] = ["*"]  # globs over the run's own datasets
    pairs: list[tuple[str, str]] | None = None  # None: those that have a verdict
    rows: list[Part] = [0.125, 0.25, 0.5, 1.0]  # shares of the training rows
    columns: list[Part] = []  # shares of the prepared columns
    bins: list[Annotated[int, Field(ge=2, le=65536)]] = []
    depth: list[Annotated[int, Field(ge=1, le=64)]] = []
    threads: list[Annotated[int, Field(ge=1, le=1024)]] = []
    calls: int = Field(3, ge=1, le=100)  # timed at each size, after a cold one
