"""Find columns that the recommended model can do without (permutation importance)."""

from __future__ import annotations

from collections.abc import Iterator

from harness.checks.check import Check, Report
from harness.checks.run_scores import RunScores
from harness.core.model import Severity
from harness.data.safe_names import listed

MAX_SHARE = 0.001  # of the loss: an upper end of the interval below it is no importance


def find_useless_columns(run: RunScores) -> Iterator[Report]:
    """Report columns whose shuffling does not increase the loss on test rows."""
    for diagnostic in run.view.diagnostics:
        found = diagnostic.found
        if diagnostic.name != "permutation" or not found or not found["loss"] > 0:
            continue
        limit = MAX_SHARE * found["loss"]
        pairs = zip(found["columns"], found["high"], strict=True)
        useless = [column for column, high in pairs if high <= limit]
        if not useless:
            continue
        verb = "does" if len(useless) == 1 else "do"
        yield Report(
            Severity.NOTE,
            f"{len(useless)} of {len(found['columns'])} columns {verb} not help "
            f"{diagnostic.algorithm}: shuffling one of {listed(useless)} increases the "
            f"{found['metric']} by at most 0.1 %; a model without them may be as good "
            "(two columns with the same content each look useless, so drop them one by one)",
            {"columns": useless, "algorithm": diagnostic.algorithm},
            diagnostic.dataset,
        )


CHECK = Check("RUN014", "Useless columns", find_useless_columns)
