"""Plugin: generated datasets of any size: standard test functions and difficult data shapes.

Each has options, written ``NAME:rows=100000,seed=3``. The same options give the same table. If a
generator changes, its version, which is part of the digest, must be increased.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from harness.core.ids import canonical
from harness.core.model import Dataset, Table, Task
from harness.data import generation
from harness.data.loader import Loader
from harness.plugins.hookspecs import hookimpl


@dataclass(frozen=True)
class GeneratorLoader(Loader):
    """Loader that generates a table; the options are the arguments."""

    draw: Callable[..., Table]

    def __call__(self, **options: Any) -> Table:
        """Return the table for these options."""
        return self.draw(**options)

    def verify(self) -> None:
        """Do nothing: there is no data outside the cache."""


@dataclass(frozen=True)
class Generator:
    """Generator with its default options; ``version`` must change with its output."""

    name: str
    task: Task
    draw: Callable[..., Table]
    summary: str
    columns: int
    classes: int = 0
    rows: int = 10_000
    version: int = 1
    options: Mapping[str, int | float | str] = field(default_factory=dict)
    categorical: int = 0
    missing: bool = False
    sparse: bool = False
    weighted: bool = False
    license: str = "none needed: generated"

    def dataset(self) -> Dataset:
        """Return the declaration with default options."""
        options = {"rows": self.rows, "seed": 0, **self.options}
        parts = ["generator", self.name, self.version, options]
        return Dataset(
            name=self.name,
            task=self.task,
            load=GeneratorLoader(self.draw),
            digest=hashlib.sha256(canonical(parts).encode()).hexdigest(),
            rows=self.rows,
            columns=self.columns,
            n_classes=self.classes,
            categorical=self.categorical,
            missing=self.missing,
            sparse=self.sparse,
            weighted=self.weighted,
            source="generated",
            suites=("generated",),
            summary=self.summary,
            license=self.license,
            options=options,
        )


GENERATORS = (
    Generator(
        "friedman1",
        Task.REGRESSION,
        generation.friedman1,
        "Friedman (1991) #1: 10 sin(π x0 x1) + 20 (x2 - ½)² + 10 x3 + 5 x4, other columns idle.",
        columns=10,
        options={"columns": 10, "noise": 1.0, "noise_kind": "normal"},
    ),
    Generator(
        "friedman2",
        Task.REGRESSION,
        generation.friedman2,
        "Friedman (1991) #2: √(x0² + (x1 x2 - 1 / (x1 x3))²).",
        columns=4,
        options={"noise": 125.0, "noise_kind": "normal"},
    ),
    Generator(
        "friedman3",
        Task.REGRESSION,
        generation.friedman3,
        "Friedman (1991) #3: arctan((x1 x2 - 1 / (x1 x3)) / x0).",
        columns=4,
        options={"noise": 0.1, "noise_kind": "normal"},
    ),
    Generator(
        "hastie_10_2",
        Task.BINARY,
        generation.hastie_10_2,
        "Hastie, Tibshirani, Friedman (2009) 10.2: is the sum of ten squared normals above 9.34?",
        columns=10,
        classes=2,
        rows=12_000,
    ),
    Generator(
        "waveform",
        Task.MULTICLASS,
        generation.waveform,
        "Breiman et al. (1984): three mixtures of two of three waves plus noise; 21 and more "
        "columns, those above 21 are noise.",
        columns=21,
        classes=3,
        rows=5_000,
        options={"columns": 21},
    ),
    Generator(
        "higgs_like",
        Task.BINARY,
        generation.higgs_like,
        "The shape of HIGGS: 21 measured columns, 7 derived from them, a target hard to learn.",
        columns=28,
        classes=2,
        rows=100_000,
    ),
    Generator(
        "onehot_sparse",
        Task.BINARY,
        generation.onehot_sparse,
        "Thirty categorical fields in one-hot columns, as a CSR matrix with 30 ones a row.",
        columns=3_330,
        classes=2,
        rows=20_000,
        options={"columns": 3_330},
        sparse=True,
    ),
    Generator(
        "onehot_gaps",
        Task.BINARY,
        generation.onehot_gaps,
        "The rows of onehot_sparse as a dense array, missing values in place of absent entries.",
        columns=990,
        classes=2,
        rows=20_000,
        options={"columns": 990},
        missing=True,
    ),
    Generator(
        "heavy_tailed",
        Task.REGRESSION,
        generation.heavy_tailed,
        "A target whose largest values are thousands of times its median (log-normal).",
        columns=12,
        options={"columns": 12, "spread": 2.0},
    ),
    Generator(
        "skewed_weights",
        Task.REGRESSION,
        generation.skewed_weights,
        "The heavy-tailed target with row weights over six orders of magnitude.",
        columns=12,
        options={"columns": 12, "spread": 2.0, "decades": 6.0},
        weighted=True,
    ),
    Generator(
        "rare_positive",
        Task.BINARY,
        generation.rare_positive,
        "One row in 500 is positive, in places that can be learned.",
        columns=15,
        classes=2,
        rows=50_000,
        options={"columns": 15, "share": 0.002},
    ),
    Generator(
        "categorical_high",
        Task.BINARY,
        generation.categorical_high,
        "Six numeric columns with gaps and six categorical ones with 10 to `levels` levels.",
        columns=12,
        classes=2,
        rows=20_000,
        options={"levels": 2_000},
        categorical=6,
        missing=True,
    ),
    Generator(
        "multiclass_like",
        Task.MULTICLASS,
        generation.multiclass_like,
        "The shape of Covertype: 10 numeric and 44 binary columns, 7 very unequal classes.",
        columns=54,
        classes=7,
        rows=50_000,
    ),
)


@hookimpl
def register_datasets(register: Callable[[Dataset], None]) -> None:
    """Register every generator with its default options."""
    for generator in GENERATORS:
        register(generator.dataset())
