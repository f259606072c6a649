"""Real datasets bundled with scikit-learn; they need no network."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.core.errors import DataError
from harness.core.model import Table, Task
from harness.data.loader import Loader

if TYPE_CHECKING:
    import numpy as np

OPTIONS: dict[str, dict[str, Any]] = {
    "breast_cancer": {},
    "diabetes": {"scaled": False},  # unscaled, because scaling may round differently by machine
    "digits": {},
    "iris": {},
    "wine": {},
}


@dataclass(frozen=True)
class BundledLoader(Loader):
    """Loader of a dataset of the installed scikit-learn; ``sha256`` is the digest of its values."""

    name: str
    task: Task
    sha256: str

    def __call__(self, **_: Any) -> Table:
        """Return the verified table."""
        import numpy as np
        from sklearn import datasets

        from harness.data.frames import assemble, numeric_blocks

        bunch = getattr(datasets, f"load_{self.name}")(**OPTIONS[self.name])
        names = [str(name) for name in bunch.feature_names]
        numbers = np.asfortranarray(bunch.data, dtype=np.float64)
        if (found := content_digest(names, numbers, np.asarray(bunch.target))) != self.sha256:
            raise DataError(
                f"{self.name} of the installed scikit-learn has SHA-256 {found[:16]}…, not "
                f"{self.sha256[:16]}… as its card says; correct the card if the release changed it"
            )
        X = assemble(numeric_blocks(names, numbers))
        if not self.task.is_classification:
            return Table(X, np.asarray(bunch.target, dtype=np.float64))
        classes = tuple(str(name) for name in bunch.target_names)
        return Table(X, np.asarray(bunch.target, dtype=np.int64), classes)

    def verify(self) -> None:
        """Do nothing: cached tables are built from verified values."""


def content_digest(names: list[str], X: np.ndarray, y: np.ndarray) -> str:
    """Return the SHA-256 of column names, values by row, and targets, as float64."""
    import numpy as np

    digest = hashlib.sha256("\n".join(names).encode())
    digest.update(np.ascontiguousarray(X, dtype="<f8").tobytes())
    digest.update(np.ascontiguousarray(y, dtype="<f8").tobytes())
    return digest.hexdigest()
