"""A user's own file: what it is, is found out once, told, and written into a mapping.

``Dataset.file`` is that mapping: plain JSON with which a worker declares the same dataset again
without looking at the file; loading verifies the bytes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.core.errors import DataError
from harness.core.model import Dataset, Task
from harness.data.fact_cache import recall, remember
from harness.data.loader import File, FilesLoader
from harness.data.reading import Format, Reading, Strict, digest_of, validated

DETECTION_VERSION = 2  # raise when something else is found out about the same file
FORMATS: dict[str, Format] = {
    ".csv": "csv",
    ".tsv": "csv",
    ".tab": "csv",
    ".txt": "csv",
    ".data": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arff": "arff",
    ".svm": "svmlight",
    ".svmlight": "svmlight",
    ".libsvm": "svmlight",
    ".npz": "npz",
}
_PACKED = (".gz", ".bz2", ".xz")
NAMELESS: tuple[Format, ...] = ("svmlight", "npz")  # their target need not be said
_MARKS = ("?",)  # beside the usual marks of missing values: empty, NA, NaN, null, None, n/a
_HINTS = {
    "xlsx": "save the sheet as CSV",
    "xls": "save the sheet as CSV",
    "json": "convert it to CSV or Parquet",
    "pkl": "a pickle may run code when it is read, so it never is; save it as Parquet",
    "pickle": "a pickle may run code when it is read, so it never is; save it as Parquet",
    "feather": "save it as Parquet",
    "npy": "save X and y together with numpy.savez",
}


class Facts(Strict):
    """What was found out about a file; all that a worker needs to declare the dataset again."""

    path: str
    sha256: str
    reading: Reading
    name: str
    task: Task
    rows: int
    columns: int
    n_classes: int
    categorical: int
    missing: bool
    sparse: bool
    weighted: bool
    grouped: bool
    given_test: bool
    told: tuple[str, ...] = ()  # what was detected, in words


def dataset_from_file(
    path: str | Path,
    target: str | None = None,
    *,
    task: Task | str | None = None,
    weight: str | None = None,
    group: str | None = None,
    drop: Sequence[str] = (),
    categorical: Sequence[str] = (),
    missing: Sequence[str] = (),
    separator: str | None = None,
    encoding: str = "utf-8",
    test_rows: int = 0,
    drop_missing_target: bool = False,
    name: str | None = None,
) -> Dataset:
    """Read a user's own file and declare it as a dataset.

    Parameters
    ----------
    path
        CSV, TSV, Parquet, ARFF, svmlight or ``.npz``; the text formats also as ``.gz``, ``.bz2``
        and ``.xz``.
    target
        The column to predict; svmlight needs none, its target is called ``label``, and for
        ``.npz`` it is the name of an array (default ``y``).
    task
        What is asked for; guessed from the target where it is not said.
    weight, group
        Columns of case weights, and of groups that are never parted.
    drop, categorical
        Columns to leave out, and columns of numbers that are categories.
    missing
        Marks of missing values beside the usual ones (empty, NA, NaN, null, None, n/a, ?).
    separator, encoding
        Of text files; the separator is found in the header where it is not said.
    test_rows
        How many of the last rows are for testing.
    drop_missing_target
        Leave out rows without a target instead of refusing the file.
    name
        Instead of one made of the file's name and its digest.

    Returns
    -------
    Dataset
        With ``file`` set; :func:`dataset_from_mapping` turns that into the same dataset.

    Raises
    ------
    DataError
        For anything wrong with the file or the arguments, in one line.
    """
    from harness.data.streams import check_path, sha256_of

    path = Path(path)
    check_path(path)
    wanted = _task(task)
    sha256 = sha256_of(path)
    options = {
        "format": format_of(path),
        "target": target or "",
        "weight": weight or "",
        "group": group or "",
        "drop": drop,
        "categorical": categorical or "text",
        "more_missing": [*_MARKS, *missing],
        "separator": separator or "",
        "encoding": encoding,
        "test_rows": test_rows,
        "drop_missing_target": drop_missing_target,
        "drop_identifiers": True,
        "switches": True,
    }
    given = validated(Reading, options, "the reading options")
    told = f"{path.name}\n{name or ''}\n{wanted}\n{digest_of([sha256], given, '')}"
    memory = f"detected {DETECTION_VERSION}\n{told}"
    facts = recall(memory, Facts)
    if facts is None:
        facts = _found_out(path, sha256, given, wanted, name)
        remember(memory, facts)
    return _declare(facts.model_copy(update={"path": str(path.resolve())}))


def _found_out(
    path: Path, sha256: str, given: Reading, wanted: Task | None, name: str | None
) -> Facts:
    """Parse a file, keep its table in the cache, and return what it is."""
    from harness.data import cache
    from harness.data.detect import complete, guess_task, told_of
    from harness.data.parsers import parse
    from harness.data.streams import check_sha256
    from harness.data.tables import check_columns, facts_of, tabulate

    reading = complete(path, given)
    parsed = parse([path], reading)
    check_sha256(path, sha256)  # it may have changed since it was hashed
    if parsed.target is None:
        check_columns(parsed.data, reading, str(path))
    values = parsed.data[reading.target] if parsed.target is None else parsed.target
    guessed, why = guess_task(values, str(path), reading.target)
    task = wanted or guessed
    table = tabulate(parsed, reading, task, str(path))
    digest = digest_of([sha256], reading, task)
    with cache.locked(digest):
        cache.put(digest, table)
    told = told_of(path, reading, table, task, "as asked for" if wanted else f"guessed: {why}")
    return Facts(
        path=str(path),
        sha256=sha256,
        reading=reading,
        name=name or _name(path, digest),
        task=task,
        told=tuple(told),
        **facts_of(table),
    )


def dataset_from_mapping(mapping: Mapping[str, Any]) -> Dataset:
    """Return the dataset that a mapping of :func:`dataset_from_file` stands for; reads no file."""
    return _declare(validated(Facts, mapping, "the mapping of a data file"))


def describe(dataset: Dataset) -> list[str]:
    """Return in words, a line each, what a dataset is and what was detected in its file."""
    if dataset.file is not None:
        return list(dataset.file.get("told", ()))
    kinds = f"{dataset.columns:,} columns"
    if dataset.categorical:
        kinds += f" ({dataset.categorical:,} categorical)"
    traits = [
        word
        for word, holds in (
            ("missing values", dataset.missing),
            ("sparse", dataset.sparse),
            ("weighted", dataset.weighted),
            ("grouped", dataset.grouped),
            ("given test rows", dataset.given_test),
        )
        if holds
    ]
    classes = f", {dataset.n_classes} classes" if dataset.n_classes else ""
    lines = [f"{dataset.name}: {dataset.task.value}{classes}, {dataset.rows:,} rows, {kinds}"]
    return [*lines, *([", ".join(traits)] if traits else [])]


def _declare(facts: Facts) -> Dataset:
    counts = facts.model_dump(exclude={"path", "sha256", "reading", "name", "task", "told"})
    files = (File(facts.path, facts.sha256),)
    return Dataset(
        name=facts.name,
        task=facts.task,
        load=FilesLoader(facts.name, facts.task, files, facts.reading),
        digest=digest_of([facts.sha256], facts.reading, facts.task),
        source="file",
        summary=facts.told[0] if facts.told else "",
        file=facts.model_dump(mode="json"),
        **counts,
    )


def _task(task: Task | str | None) -> Task | None:
    try:
        return None if task is None else Task(task)
    except ValueError:
        known = ", ".join(Task)
        raise DataError(f"unknown task {str(task)[:80]!r}; the tasks are {known}") from None


def format_of(path: Path) -> Format:
    """Return the format that a file's name promises."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    packed = bool(suffixes) and suffixes[-1] in _PACKED
    suffix = (suffixes[:-1] if packed else suffixes)[-1:] or [""]
    found = FORMATS.get(suffix[0])
    if found is None:
        hint = _HINTS.get(suffix[0][1:], f"the known endings are {', '.join(FORMATS)}")
        raise DataError(f"{path} ends in {suffix[0][:20]!r}, which is not read; {hint}")
    if packed and found in ("parquet", "npz"):
        raise DataError(f"{path}: {found} files are compressed inside; unpack this one")
    return found


def _name(path: Path, digest: str) -> str:
    """Return a name that is safe everywhere: a slug of the file's, and part of the digest."""
    stem = path.name.lower()
    for suffix in reversed(path.suffixes):
        stem = stem.removesuffix(suffix.lower())
    slug = re.sub(r"[^a-z0-9]+", "-", stem).strip("-")[:40].strip("-") or "data"
    return f"{slug}-{digest[:8]}"
