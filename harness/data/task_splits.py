"""Splits of OpenML tasks, read from their ARFF files.

A file has a line for each row of each fold: ``type`` (TRAIN or TEST), ``rowid`` (from 0, in the
order of OpenML's data file), ``repeat``, ``fold`` and, for learning curves, ``sample``.
"""

from __future__ import annotations

import warnings
import zlib
from functools import lru_cache
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple

from harness.core.errors import ConfigError, DataError
from harness.core.model import Split
from harness.data.safe_names import count, shown
from harness.data.streams import open_data, sha256_of

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

NUMBERS = ("rowid", "repeat", "fold", "sample")
NEEDED = ("type", *NUMBERS[:-1])
KEPT_FILES = 4  # parsed files that a process keeps
_LARGEST = 2**31  # of the numbers of a file
_LONGEST_LINE = 2**16  # bytes, above @data


class TaskSplits(NamedTuple):
    """Rows of all splits of a file; ``part`` numbers the splits in the order of ``keys``."""

    digest: str  # first 12 hex digits of the SHA-256 of the file
    keys: tuple[tuple[int, int, int], ...]  # (repeat, fold, sample) of each split
    row: np.ndarray  # (n,) int64
    part: np.ndarray  # (n,) int64
    is_test: np.ndarray  # (n,) bool


def task_splits(path: str, dataset: str, rows: int, sample: int | None) -> list[Split]:
    """Return the splits that a file defines for a dataset of ``rows`` rows.

    Parameters
    ----------
    sample
        The sample of a learning curve; None: the last one of each fold.

    Raises
    ------
    DataError
        If the file cannot be read, contradicts itself, or is for another number of rows.
    ConfigError
        If the file has no such sample.
    """
    import numpy as np

    known = read_task_splits(path)
    check_rows(path, known, dataset, rows)
    last = {(repeat, fold): number for repeat, fold, number in known.keys}  # keys are sorted
    if sample is not None:
        if not {(*key, sample) for key in last}.issubset(known.keys):
            raise ConfigError(
                f"splits.sample is {sample}, but a fold of {path} has the samples 0 to "
                f"{min(last.values())} only"
            )
        last = dict.fromkeys(last, sample)
    sizes = np.bincount(known.part)
    shares = np.bincount(known.part, known.is_test) / sizes
    return [
        Split(
            "openml",
            folds=sum(other == repeat for other, _ in last),
            fold=fold,
            repeat=repeat,
            test_share=float(shares[known.keys.index((repeat, fold, number))]),
            sample=number,
            file=path,
            digest=known.digest,
        )
        for (repeat, fold), number in last.items()
    ]


def rows_of_split(split: Split, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the training and the test rows of a split of a file, int64, each ascending.

    Raises
    ------
    DataError
        If the file has changed since the run was planned, or is for another number of rows.
    """
    import numpy as np

    known = read_task_splits(split.file)
    if known.digest != split.digest:
        raise DataError(f"{split.file} has changed since the run was planned; run it again")
    check_rows(split.file, known, "the table", rows)
    mine = known.part == known.keys.index((split.repeat, split.fold, split.sample))
    train, test = (known.row[mine & (known.is_test == side)] for side in (False, True))
    return np.sort(train), np.sort(test)


def check_rows(path: str, known: TaskSplits, dataset: str, rows: int) -> None:
    """Raise DataError unless a file names exactly the rows of a dataset."""
    import numpy as np

    named = np.unique(known.row)
    advice = "it is for another dataset or another version of it, or rows were left out"
    if named[-1] >= rows:
        raise DataError(
            f"{path} has the row {named[-1]:,}, but {dataset} has {count(rows, 'row')} (the first "
            f"one is 0): {advice}"
        )
    if len(named) != rows:
        raise DataError(
            f"{path} has {len(named):,} different rows, but {dataset} has {rows:,}: {advice}"
        )


def read_task_splits(path: str) -> TaskSplits:
    """Return the splits of a file; each file is parsed once by a process.

    Raises
    ------
    DataError
        If the file is not such an ARFF file, or a row occurs twice in one split.
    """
    return _parsed(path, sha256_of(Path(path))[:12])


@lru_cache(maxsize=KEPT_FILES)
def _parsed(path: str, digest: str) -> TaskSplits:
    frame = _frame(path)
    kinds = frame["type"].astype(str).str.strip(" \t'\"").str.upper()
    is_test = (kinds == "TEST").to_numpy()
    if (wrong := ~(is_test | (kinds == "TRAIN").to_numpy())).any():
        raise _bad_value(path, frame, "type", wrong, "TRAIN or TEST")
    numbers = frame[[]].assign(**{name: _whole_numbers(path, frame, name) for name in NUMBERS})
    grouped = numbers.groupby(list(NUMBERS[1:]), sort=True)
    part = grouped.ngroup().to_numpy("int64")
    keys = tuple((int(r), int(f), int(s)) for r, f, s in grouped.size().index)
    known = TaskSplits(digest, keys, numbers["rowid"].to_numpy(), part, is_test)
    _check_parts(path, known)
    return known


def _frame(path: str) -> pd.DataFrame:
    """Return the lines of a file as a frame with all five columns."""
    import pandas as pd

    with open_data(Path(path)) as stream, warnings.catch_warnings():
        names = _column_names(path, stream)
        if missing := [name for name in NEEDED if name not in names]:
            raise DataError(
                f"{path} has no column {', '.join(missing)}: the splits of an OpenML task have the "
                "columns type, rowid, repeat and fold, and for a learning curve also sample"
            )
        warnings.simplefilter("error", pd.errors.ParserWarning)  # a line with too many values
        try:
            frame = pd.read_csv(
                stream,
                header=None,
                names=names,
                index_col=False,
                comment="%",
                skipinitialspace=True,
            )
        except (ValueError, OSError, EOFError, zlib.error, pd.errors.ParserWarning) as error:
            raise DataError(f"{path} is not an ARFF file of splits: {error}") from None
    if frame.empty:
        raise DataError(f"{path} has no line below @data")
    return frame if "sample" in names else frame.assign(sample=0)


def _column_names(path: str, stream: IO[bytes]) -> list[str]:
    """Return the lower-case names of the attributes, and leave the stream at the first row."""
    names = []
    while line := stream.readline(_LONGEST_LINE):
        words = line.decode("utf-8", "replace").split()
        keyword = words[0].lower() if words else ""
        if keyword == "@attribute" and len(words) > 1:
            names.append(words[1].strip("'\"").lower())
        elif keyword == "@data":
            return names
    raise DataError(f"{path} is not ARFF: it has no line @data")


def _whole_numbers(path: str, frame: pd.DataFrame, name: str) -> np.ndarray:
    import numpy as np
    import pandas as pd

    values = pd.to_numeric(frame[name], errors="coerce").to_numpy(np.float64)
    right = (values >= 0) & (values < _LARGEST) & (values == np.floor(values))
    if not right.all():
        raise _bad_value(path, frame, name, ~right, "a whole number from 0")
    return values.astype(np.int64)


def _bad_value(
    path: str, frame: pd.DataFrame, name: str, wrong: np.ndarray, valid: str
) -> DataError:
    first = int(wrong.argmax())
    value = shown(frame[name].iloc[first])
    return DataError(f"{path}: {name} is {value} in row {first + 1:,} below @data, not {valid}")


def _check_sides(path: str, known: TaskSplits) -> None:
    """Raise DataError if a split has no training or no test rows."""
    import numpy as np

    parts = known.part, known.part[known.is_test]
    n_rows, n_test = (np.bincount(part, minlength=len(known.keys)) for part in parts)
    for (repeat, fold, sample), total, test in zip(known.keys, n_rows, n_test, strict=True):
        if test in (0, total):
            side = "test" if test == 0 else "training"
            raise DataError(
                f"{path}: repeat {repeat}, fold {fold}, sample {sample} has no {side} rows; "
                "correct the file or leave it out of splits.files"
            )


def _check_parts(path: str, known: TaskSplits) -> None:
    """Raise DataError if a row occurs twice in one split, or a split has no rows on one side."""
    import numpy as np

    order = np.lexsort((known.row, known.part))
    row, part = known.row[order], known.part[order]
    twice = np.flatnonzero((row[1:] == row[:-1]) & (part[1:] == part[:-1]))
    if not len(twice):
        _check_sides(path, known)
        return
    is_test = known.is_test[order]
    mixed = twice[is_test[twice] != is_test[twice + 1]]
    at = int((mixed if len(mixed) else twice)[0])
    repeat, fold, sample = known.keys[part[at]]
    side = "test" if is_test[at] else "training"
    how = "both in training and in test" if len(mixed) else f"twice in {side}"
    raise DataError(
        f"{path}: row {row[at]:,} is {how} of repeat {repeat}, fold {fold}, sample {sample}; "
        "correct the file or leave it out of splits.files"
    )
