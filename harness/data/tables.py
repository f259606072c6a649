"""Convert parsed columns to a table: target, weight, groups, and typed feature columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from harness.core.errors import DataError, unknown
from harness.core.model import Table, Task
from harness.data.columns import as_numbers, column_of, encode_classes, identifiers, labels_of
from harness.data.dates import date_features, feature_names
from harness.data.frames import Blocks, Column, assemble, gather, numeric_blocks
from harness.data.queries import check_ranking
from harness.data.reading import Reading
from harness.data.safe_names import count, listed, shown

if TYPE_CHECKING:
    from harness.data.parsers import Parsed

MAX_CLASSES = 1000
FEW_CLASSES = 20  # number of classes allowed for any number of rows


def tabulate(parsed: Parsed, reading: Reading, task: Task, place: str) -> Table:
    """Return the table for parsed files.

    Parameters
    ----------
    parsed
        A frame that includes the target, or a matrix and a separate target.
    reading
        Roles of the columns and reading options.
    task
        The task, which determines the encoding of the target.

    Raises
    ------
    DataError
        If a named column does not exist, or the target is unsuitable.
    """
    notes: list[str] = []
    is_frame = parsed.target is None
    if is_frame:
        check_columns(parsed.data, reading, place)
    target = parsed.data[reading.target] if is_frame else pd.Series(parsed.target)
    kept, labels = _kept_rows(target, reading, task, place, notes)
    y, classes = encode_target(labels, task, place, reading.target)
    data = parsed.data if kept.all() else parsed.data[kept]
    test = np.arange(len(target)) >= len(target) - reading.test_rows
    group = _groups(data[reading.group]) if is_frame and reading.group else None
    if group is None and parsed.queries is not None:
        group = _groups(pd.Series(parsed.queries[kept]))
    if task is Task.RANKING:
        check_ranking(y, group, place)
    return Table(
        X=_features(data, reading, place, notes) if is_frame else _sparse(data, place),
        y=y,
        classes=classes,
        weight=_weights(data[reading.weight], place) if is_frame and reading.weight else None,
        group=group,
        order=_order(data[reading.order], place) if is_frame and reading.order else None,
        test_rows=test[kept] if reading.test_rows else None,
        notes=tuple(notes),
    )


def check_columns(frame: pd.DataFrame, reading: Reading, place: str) -> None:
    """Raise DataError if a column named in the reading options does not exist."""
    known = [str(name) for name in frame.columns]
    if not reading.target:
        raise DataError(f"{place}: which column is the target? It has {listed(known)}")
    roles: dict[str, tuple[str, ...]] = {
        "target": (reading.target,),
        "weight": (reading.weight,),
        "group": (reading.group,),
        "column of time": (reading.order,),
        "dropped column": reading.drop,
        "date column": tuple(reading.dates),
    }
    if not isinstance(reading.categorical, str):
        roles["categorical column"] = reading.categorical
    names = set(known)
    for role, role_names in roles.items():
        for name in role_names:
            if name and name not in names:
                message = unknown(role, name[:80], known, f"the columns are {listed(known)}")
                raise DataError(f"{place}: {message}")


def _kept_rows(
    target: pd.Series[Any], reading: Reading, task: Task, place: str, notes: list[str]
) -> tuple[np.ndarray, pd.Series[Any]]:
    """Return the mask of used rows, and their targets with the label map applied."""
    labels = target
    if reading.labels or reading.leave_out:
        text = labels_of(target)
        mapped = text.map(lambda label: reading.labels.get(label, label), na_action="ignore")
        labels = mapped if task.is_classification else as_numbers(mapped)
        left_out = mapped.isin(reading.leave_out).to_numpy(bool)
    else:
        left_out = np.zeros(len(target), bool)
    missing = labels.isna().to_numpy(bool)
    if missing.any() and not reading.drop_missing_target:
        raise DataError(
            f"{place}: the target {shown(reading.target)} is missing in {missing.sum():,} of "
            f"{len(target):,} rows; fill them in or delete these rows"
        )
    kept = ~(missing | left_out)
    if (dropped := int((~kept).sum())) > 0:
        notes.append(f"{count(dropped, 'row')} without a usable target left out")
    if not kept.any():
        raise DataError(f"{place}: no row has a usable target {shown(reading.target)}")
    return kept, labels if kept.all() else labels[kept]


def encode_target(
    target: pd.Series[Any], task: Task, place: str, name: str
) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return targets as float64 values, or as int64 codes with the label of each code.

    Labels are sorted as numbers if all are numbers, else as text.
    """
    if task.is_classification:
        codes, classes = encode_classes(target)
        n_classes = len(classes)
        if n_classes < 2:
            raise DataError(
                f"{place}: the target {shown(name)} has one class only ({listed(classes)}), "
                "so there is nothing to predict; name another column"
            )
        if task is Task.BINARY and n_classes != 2:
            raise DataError(
                f"{place}: the target {shown(name)} has {n_classes:,} classes, not 2; "
                "use the task multiclass"
            )
        if n_classes > MAX_CLASSES or (n_classes > FEW_CLASSES and n_classes > len(codes) / 2):
            raise DataError(
                f"{place}: the target {shown(name)} has {n_classes:,} different labels in "
                f"{len(codes):,} rows, so they are not classes; name another column"
            )
        return codes, classes
    values = as_numbers(target).to_numpy(np.float64, na_value=np.nan)
    if np.isnan(values).any():
        first = target[np.isnan(values)].iloc[0]
        raise DataError(
            f"{place}: the target {shown(name)} holds text such as {shown(first)}, "
            "so it cannot be a regression; use a classification task"
        )
    if not np.isfinite(values).all():
        raise DataError(
            f"{place}: the target {shown(name)} is infinite in "
            f"{count(int((~np.isfinite(values)).sum()), 'row')}; correct or delete them"
        )
    if values.min() == values.max():
        raise DataError(
            f"{place}: the target {shown(name)} has the same value in every row, "
            "so there is nothing to predict; name another column"
        )
    return values, ()


def _weights(column: pd.Series[Any], place: str) -> np.ndarray:
    values = as_numbers(column).to_numpy(np.float64, na_value=np.nan)
    bad = ~(np.isfinite(values) & (values >= 0))
    if bad.any() or not values.any():
        raise DataError(
            f"{place}: the weight {shown(column.name)} must be 0 or more everywhere and not 0 "
            f"in every row; it is missing, negative or no number in {count(int(bad.sum()), 'row')}"
        )
    return values


def _groups(column: pd.Series[Any]) -> np.ndarray:
    """Return group codes; rows without a group form one group."""
    codes, _ = pd.factorize(column, use_na_sentinel=False)
    return codes.astype(np.int64)


def _order(column: pd.Series[Any], place: str) -> np.ndarray:
    """Return the number of earlier rows for each row; times are numbers or texts of dates."""
    name = shown(column.name)
    if column.isna().any():
        raise DataError(f"{place}: the column of time {name} is missing in some rows; fill them in")
    numbers = as_numbers(column)
    if numbers.isna().any():
        try:
            times = pd.to_datetime(column, format="mixed")
        except (ValueError, TypeError):
            example = shown(column[numbers.isna()].iloc[0])
            raise DataError(
                f"{place}: the column of time {name} holds {example}, "
                "which is neither a number nor a date"
            ) from None
        numbers = times
    values = numbers.to_numpy()
    ordered = np.sort(values)
    return np.searchsorted(ordered, values).astype(np.int64)


def _features(frame: pd.DataFrame, reading: Reading, place: str, notes: list[str]) -> pd.DataFrame:
    names = reading.used_columns(frame.columns)
    if not names:
        raise DataError(f"{place} has no feature column besides the target")
    blocks = _blocks(frame, names, reading, notes)
    if not blocks.names:
        raise DataError(f"{place} has only identifiers and free text as feature columns")
    _check_infinite(blocks, place)
    _note_empty_and_constant(blocks, notes)
    return assemble(blocks)


def _blocks(frame: pd.DataFrame, names: list[str], reading: Reading, notes: list[str]) -> Blocks:
    """Return the feature columns, each as numbers or as categories."""
    forced = set(reading.declared_categories(names))
    if not forced and not reading.dates and all(kind.kind in "iuf" for kind in frame.dtypes):
        values = frame.to_numpy(np.float64)  # selecting many columns is slow
        used = set(names)
        return numeric_blocks(names, values[:, [name in used for name in frame.columns]])
    columns = _columns(frame, names, reading, forced)
    left_out = identifiers(columns) if reading.drop_identifiers else []
    if left_out:
        notes.append(
            f"left out as identifiers or free text (more than {len(frame) // 2:,} different "
            f"values in {len(frame):,} rows): {listed(left_out)}"
        )
    return gather(len(frame), {n: column for n, column in columns.items() if n not in left_out})


def _columns(
    frame: pd.DataFrame, names: list[str], reading: Reading, forced: set[str]
) -> dict[str, Column]:
    """Return the feature columns; a date gives several numeric columns."""
    dates = {name: pattern for name, pattern in reading.dates.items() if name in names}
    created = feature_names(dates, names)
    columns: dict[str, Column] = {}
    for name in names:
        if name not in dates:
            columns[name] = column_of(frame[name], name in forced, switches=reading.switches)
            continue
        parts = date_features(frame[name], dates[name])
        columns |= {created[name][part]: values for part, values in parts.items()}
    return columns


def _check_infinite(blocks: Blocks, place: str) -> None:
    rows = np.isinf(blocks.numbers).sum(axis=0)
    bad = np.flatnonzero(rows)
    if len(bad):
        name = blocks.numeric_names()[bad[0]]
        where = count(int(rows[bad[0]]), "row")
        more = f" (and {count(len(bad) - 1, 'more column')})" if len(bad) > 1 else ""
        raise DataError(
            f"{place}: the column {shown(name)} is infinite in {where}{more}; "
            "several libraries reject infinities: make them missing or finite"
        )


def _note_empty_and_constant(blocks: Blocks, notes: list[str]) -> None:
    """Append notes on empty and constant columns."""
    least, most = (f.reduce(blocks.numbers, axis=0) for f in (np.fmin, np.fmax))
    whole = ~np.isnan(blocks.numbers).any(axis=0)
    names = np.array(blocks.numeric_names(), dtype=object)
    empty, constant = list(names[np.isnan(least)]), list(names[(least == most) & whole])
    filled = [bool((column >= 0).all()) for column in blocks.codes.T]
    texts = [(n, lv) for n, lv in zip(blocks.names, blocks.levels, strict=True) if lv is not None]
    for (name, levels), full in zip(texts, filled, strict=True):
        if not levels:
            empty.append(name)
        elif len(levels) == 1 and full:
            constant.append(name)
    for found, what in ((empty, "no value"), (constant, "the same value in every row")):
        if found:
            notes.append(f"{what} in {count(len(found), 'column')}: {listed(found)}")


def _sparse(X: Any, place: str) -> Any:
    if np.isinf(X.data).any():
        raise DataError(f"{place} holds infinite values; make them missing or finite")
    X = X.tocsr().astype(np.float64)
    X.sum_duplicates()
    return X


def facts_of(table: Table) -> dict[str, Any]:
    """Return the facts of a table for a declaration: rows, columns, classes, kinds, missing."""
    sparse = not isinstance(table.X, pd.DataFrame)
    kinds: Sequence[Any] = [] if sparse else list(table.X.dtypes)
    missing = np.isnan(table.X.data).any() if sparse else table.X.isna().to_numpy().any()
    return {
        "rows": int(table.X.shape[0]),
        "columns": int(table.X.shape[1]),
        "n_classes": len(table.classes),
        "categorical": sum(isinstance(kind, pd.CategoricalDtype) for kind in kinds),
        "missing": bool(missing),
        "sparse": sparse,
        "weighted": table.weight is not None,
        "grouped": table.group is not None,
        "ordered": table.order is not None,
        "given_test": table.test_rows is not None,
    }
