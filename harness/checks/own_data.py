"""The checks of a user's own data: the facts of its file, and the flagged columns."""

from __future__ import annotations

from harness.checks.table_checks import check_table, flagged_columns
from harness.checks.table_sample import Source
from harness.core.model import Dataset, Finding
from harness.data.files import Detected, dataset_without
from harness.data.loading import table_of


def source_of(dataset: Dataset) -> Source:
    """Return the known facts about the file of a dataset, besides its table."""
    if dataset.file is None:
        return Source()
    reading = dataset.file["reading"]
    detected = Detected.model_validate(dataset.file.get("detected", {}))
    return Source(
        target=reading["target"],
        dates=reading.get("dates", {}),
        left_out=detected.left_out,
        ambiguous_dates=detected.ambiguous_dates,
        without_target=detected.without_target,
        query_file=detected.query_file,
        time=reading.get("time", ""),
    )


def check_dataset(dataset: Dataset) -> list[Finding]:
    """Load a dataset and return the findings of the table checks."""
    return check_table(table_of(dataset), dataset.task, source_of(dataset), dataset.name)


def without_flagged(dataset: Dataset) -> Dataset:
    """Return a user's own dataset without the columns that are flagged as identifiers."""
    flagged = flagged_columns(table_of(dataset), dataset.task, source_of(dataset))
    return dataset_without(dataset, flagged)
