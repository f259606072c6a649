"""Saved model: a trained model with its preparation, which predicts unprepared rows.

The file is a pickle, as with scikit-learn: loading it runs code, so load only files that you trust.
It needs the versions of the libraries that wrote it.
"""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from harness.core.errors import DataError
from harness.core.model import Task
from harness.data.columns import as_numbers, column_of, labels_of
from harness.data.frames import Categories
from harness.data.safe_names import listed, shown

if TYPE_CHECKING:
    from harness.data.preparation import Preparation


@dataclass
class SavedModel:
    """Model trained on all rows of a table, with the fitted preparation and adapter."""

    algorithm: str
    params: Mapping[str, Any]
    task: Task
    classes: tuple[str, ...]
    schema: pd.DataFrame  # columns of the table with their dtypes and categories, without rows
    preparation: Preparation
    adapter: Any
    versions: Mapping[str, str]
    target: str = ""

    def predict(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return ``prediction`` for each row, and the probability of each class.

        Parameters
        ----------
        frame
            The columns of the training table by name; others are ignored. A category that did not
            occur in training counts as missing.

        Raises
        ------
        DataError
            If a column is missing or of another kind.
        """
        X = self.preparation.apply(self._columns(frame))
        output = np.asarray(self.adapter.predict(X))
        if not self.task.is_classification:
            return pd.DataFrame({"prediction": output})
        labels = np.asarray(self.classes, dtype=object)[output.argmax(axis=1)]
        shares = {f"p_{label}": output[:, k] for k, label in enumerate(self.classes)}
        return pd.DataFrame({"prediction": labels, **shares})

    def _columns(self, frame: pd.DataFrame) -> pd.DataFrame:
        names = {str(name): name for name in frame.columns}
        missing = [str(name) for name in self.schema.columns if str(name) not in names]
        if missing:
            raise DataError(f"the new rows have no column {listed(missing)}")
        columns = {
            str(name): _of_kind(frame[names[str(name)]], kind)
            for name, kind in zip(self.schema.columns, self.schema.dtypes, strict=True)
        }
        return pd.DataFrame(columns, index=frame.index)


def _of_kind(values: pd.Series[Any], kind: Any) -> pd.Series[Any]:
    """Return a column of new rows as numbers or categories, as in training."""
    if isinstance(kind, pd.CategoricalDtype):
        is_number = pd.api.types.is_numeric_dtype(kind.categories.dtype)
        labels = as_numbers(values) if is_number else labels_of(values).astype(object)
        return labels.where(labels.isin(kind.categories)).astype(kind)
    column = column_of(values, forced=False, switches=True)
    if isinstance(column, Categories):
        raise DataError(
            f"the column {shown(values.name)} was numeric in training and is text in the new rows"
        )
    return pd.Series(column, index=values.index)


def load_model(path: Path) -> SavedModel:
    """Return a model saved by ``harness best --save``; load only files that you trust."""
    try:
        with path.open("rb") as file:
            model = pickle.load(file)  # noqa: S301 - documented: only trusted files
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from None
    except Exception as error:
        raise DataError(f"{path} is not a model that can be opened here: {error}") from error
    if not isinstance(model, SavedModel):
        raise DataError(f"{path} is not a model written by `harness best --save`")
    return model


def read_rows(path: Path) -> pd.DataFrame:
    """Return the rows of a file of any supported format, without a target."""
    from harness.data.detect import find_separator
    from harness.data.files import MARKS, format_of
    from harness.data.parsers import parse
    from harness.data.reading import Reading
    from harness.data.streams import check_readable

    check_readable(path)
    kind = format_of(path)
    if kind == "svmlight":
        raise DataError(f"{path}: svmlight has no column names; write the rows as CSV")
    reading = Reading(format=kind, more_missing=MARKS)
    if kind == "csv":
        separator = find_separator(path, reading.encoding)
        reading = reading.model_copy(update={"separator": separator})
    frame: pd.DataFrame = parse([path], reading).data
    return frame
