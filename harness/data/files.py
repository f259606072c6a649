"""Datasets from a user's own files.

A file is examined once; the results are stored in ``Dataset.file``, a mapping of plain JSON with
which a worker declares the same dataset again without reading the file. Loading verifies the bytes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.core.errors import DataError
from harness.core.model import Dataset, Table, Task
from harness.data.fact_cache import recall, remember
from harness.data.loader import File, FilesLoader
from harness.data.queries import is_query_file, query_file_of
from harness.data.reading import Format, Reading, Strict, digest_of, validated

if TYPE_CHECKING:
    from harness.data.parsers import Parsed

DETECTION_VERSION = 4  # increase when detection gives other results for the same file
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
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".xlsx": "xlsx",
    ".npz": "npz",
}
_PACKED = (".gz", ".bz2", ".xz")
NAMELESS: tuple[Format, ...] = ("svmlight", "npz")  # formats with a default target
MARKS = ("?",)  # besides the usual marks of missing values: empty, NA, NaN, null, None, n/a
_NOT_COUNTS = {"path", "sha256", "more", "reading", "name", "task", "detected", "messages"}
_HINTS = {
    "zip": "unzip it and pass the data file",
    "xls": "save the sheet as CSV",
    "json": "write one JSON object a line and name the file .jsonl, or convert it to CSV",
    "pkl": "pickles are not read, because they may run code; save it as Parquet",
    "pickle": "pickles are not read, because they may run code; save it as Parquet",
    "feather": "save it as Parquet",
    "npy": "save X and y together with numpy.savez",
}


class Detected(Strict):
    """Facts about a file for the checks, beyond its table."""

    left_out: tuple[str, ...] = ()  # text columns left out: identifiers, free text
    ambiguous_dates: tuple[str, ...] = ()  # day and month could be exchanged, so they stay text
    without_target: int = 0  # rows that have no target
    query_file: bool = False  # a file of query lengths (for ranking) is beside it


class Facts(Strict):
    """Facts about a file, from which a worker declares the dataset again."""

    path: str
    sha256: str
    more: tuple[tuple[str, str], ...] = ()  # path and SHA-256 of the further files
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
    ordered: bool = False
    given_test: bool
    detected: Detected = Detected()
    messages: tuple[str, ...] = ()  # sentences on what was detected


def dataset_from_file(
    path: str | Path | Sequence[str | Path],
    target: str | None = None,
    *,
    task: Task | str | None = None,
    weight: str | None = None,
    group: str | None = None,
    time: str | None = None,
    test: str | Path | None = None,
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
        CSV, TSV, Parquet, ARFF, svmlight, JSON lines, Excel (with openpyxl) or ``.npz``; the text
        formats also as ``.gz``, ``.bz2`` and ``.xz``. Several files of the same columns are read
        one below the other.
    target
        The column to predict; svmlight needs none, its target is called ``label``, and for
        ``.npz`` it is the name of an array (default ``y``).
    task
        The task; by default guessed from the target.
    weight, group
        Columns of case weights, and of groups that splits never separate.
    time
        A column of numbers or dates: every split trains on earlier rows than it tests. It is not a
        feature. With ``group``, earlier rows of a tested group are not trained on.
    test
        A file with the same columns and the test rows; it defines the only split.
    drop, categorical
        Columns to leave out, and columns of numbers that are categories.
    missing
        Marks of missing values besides the usual ones (empty, NA, NaN, null, None, n/a, ?).
    separator, encoding
        Of text files; by default the separator is detected from the header.
    test_rows
        Number of the last rows that are test rows.
    drop_missing_target
        Whether to leave out rows without a target; otherwise they are an error.
    name
        Name of the dataset; by default from the file's name and digest.

    Returns
    -------
    Dataset
        With ``file`` set, from which :func:`dataset_from_mapping` makes the same dataset.

    Raises
    ------
    DataError
        If the file or the arguments are invalid; the message is one line.
    """
    from harness.data.streams import sha256_of

    paths = _checked_paths(path)
    path = paths[0]
    requested = _task(task)
    if test is not None:
        if test_rows or time:
            raise DataError("a test file defines the test rows: leave out test_rows and time")
        paths.append(Path(test))
    _check_formats(paths)
    shas = [sha256_of(one) for one in paths]
    query_files = [] if group else _query_files(paths)
    paths += query_files
    shas += [sha256_of(one) for one in query_files]
    options = {
        "format": format_of(path),
        "target": target or "",
        "weight": weight or "",
        "group": group or "",
        "order": time or "",
        "drop": drop,
        "categorical": categorical or "text",
        "more_missing": [*MARKS, *missing],
        "separator": separator or "",
        "encoding": encoding,
        "test_rows": test_rows,
        "query_files": bool(query_files),
        "drop_missing_target": drop_missing_target,
        "drop_identifiers": True,
        "switches": True,
    }
    given = validated(Reading, options, "the reading options")
    names = " ".join(p.name for p in paths)
    sha = digest_of(shas, given, "")
    key = f"detected {DETECTION_VERSION}\n{names}\n{name or ''}\n{requested}\n{bool(test)}\n{sha}"
    facts = recall(key, Facts)
    if facts is None:
        facts = _detect(paths, shas, given, requested, name, has_test=test is not None)
        remember(key, facts)
    more = tuple((str(p.resolve()), sha) for p, sha in zip(paths[1:], shas[1:], strict=True))
    return _declare(facts.model_copy(update={"path": str(path.resolve()), "more": more}))


def _checked_paths(path: str | Path | Sequence[str | Path]) -> list[Path]:
    """Return the paths of one file or several, each checked."""
    from harness.data.streams import check_path

    paths = [Path(path)] if isinstance(path, (str, Path)) else [Path(one) for one in path]
    for one in paths:
        check_path(one)
    return paths


def _query_files(paths: Sequence[Path]) -> list[Path]:
    """Return the files of query lengths of all files; an empty list if none has one."""
    query_files = [one for one in map(query_file_of, paths) if one is not None]
    if query_files and len(query_files) < len(paths):
        raise DataError(f"{query_files[0]} has query lengths, but some other file has none")
    return query_files


def _check_formats(paths: Sequence[Path]) -> None:
    for other in paths[1:]:
        if format_of(other) != format_of(paths[0]):
            raise DataError(f"{other} is of another format than {paths[0]}; convert one of them")


def _detect(
    paths: Sequence[Path],
    shas: Sequence[str],
    given: Reading,
    requested: Task | None,
    name: str | None,
    *,
    has_test: bool,
) -> Facts:
    """Parse the files, store their table in the cache, and return the facts."""
    from harness.data import cache
    from harness.data.dates import text_date_formats
    from harness.data.detect import complete, detection_sentences, guess_task
    from harness.data.parsers import count_rows, parse
    from harness.data.streams import check_sha256
    from harness.data.tables import check_columns, facts_of, tabulate

    path = paths[0]
    reading = complete(path, given)
    if has_test:
        rows = [one for one in paths if not is_query_file(one)]
        reading = reading.model_copy(update={"test_rows": count_rows(rows[-1], reading)})
    parsed = parse(paths, reading)
    for one, sha256 in zip(paths, shas, strict=True):
        check_sha256(one, sha256)  # the file may have changed since it was hashed
    if parsed.target is None:
        check_columns(parsed.data, reading, str(path))
        used = reading.used_columns(parsed.data.columns)
        declared = set(reading.declared_categories(used))
        dates = text_date_formats(parsed.data, [n for n in used if n not in declared])
        reading = reading.model_copy(update={"dates": dates})
    values = parsed.data[reading.target] if parsed.target is None else parsed.target
    guessed, why = guess_task(values, str(path), reading.target, parsed.queries)
    task = requested or guessed
    table = tabulate(parsed, reading, task, str(path))
    digest = digest_of(shas, reading, task)
    with cache.locked(digest):
        cache.put(digest, table)
    sentences = detection_sentences(
        path, reading, table, task, "as requested" if requested else f"guessed: {why}"
    )
    return Facts(
        path=str(path),
        sha256=shas[0],
        reading=reading,
        name=name or _name(path, digest),
        task=task,
        detected=_detected(path, parsed, reading, table),
        messages=tuple(sentences),
        **facts_of(table),
    )


def _detected(path: Path, parsed: Parsed, reading: Reading, table: Table) -> Detected:
    """Return facts about a file for the checks, beyond its table."""
    import pandas as pd

    from harness.data.dates import matching_formats

    query_file = query_file_of(path) is not None
    if not isinstance(parsed.data, pd.DataFrame) or not isinstance(table.X, pd.DataFrame):
        return Detected(query_file=query_file)
    used = [name for name in reading.used_columns(parsed.data.columns) if name not in reading.dates]
    kinds = table.X.dtypes
    texts = [n for n in used if n in kinds and isinstance(kinds[n], pd.CategoricalDtype)]
    return Detected(
        left_out=tuple(name for name in used if name not in kinds),
        ambiguous_dates=tuple(n for n in texts if len(matching_formats(kinds[n].categories)) > 1),
        without_target=int(parsed.data[reading.target].isna().sum()),
        query_file=query_file,
    )


def dataset_without(dataset: Dataset, columns: Sequence[str]) -> Dataset:
    """Return the dataset of a user's own file without some of its columns."""
    if not columns or dataset.file is None:
        return dataset
    facts = validated(Facts, dataset.file, "the mapping of a data file")
    path, reading = Path(facts.path), facts.reading
    given = reading.model_copy(update={"drop": (*reading.drop, *columns), "dates": {}})
    name = None if facts.name == _name(path, dataset.digest) else facts.name
    paths = [path, *(Path(more) for more, _ in facts.more)]
    shas = [facts.sha256, *(sha for _, sha in facts.more)]
    changed = _detect(paths, shas, given, facts.task, name, has_test=False)
    return _declare(changed.model_copy(update={"path": facts.path, "more": facts.more}))


def dataset_from_mapping(mapping: Mapping[str, Any]) -> Dataset:
    """Return the dataset for a mapping of :func:`dataset_from_file`; reads no file."""
    return _declare(validated(Facts, mapping, "the mapping of a data file"))


def describe(dataset: Dataset) -> list[str]:
    """Return a description of a dataset and of what was detected in its file, one per line."""
    if dataset.file is not None:
        return list(dataset.file.get("messages", ()))
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
            ("in order of time", dataset.ordered),
            ("given test rows", dataset.given_test),
        )
        if holds
    ]
    classes = f", {dataset.n_classes} classes" if dataset.n_classes else ""
    lines = [f"{dataset.name}: {dataset.task.value}{classes}, {dataset.rows:,} rows, {kinds}"]
    return [*lines, *([", ".join(traits)] if traits else [])]


def _declare(facts: Facts) -> Dataset:
    counts = facts.model_dump(exclude=_NOT_COUNTS)
    files = (File(facts.path, facts.sha256), *(File(*other) for other in facts.more))
    return Dataset(
        name=facts.name,
        task=facts.task,
        load=FilesLoader(facts.name, facts.task, files, facts.reading),
        digest=digest_of([file.sha256 for file in files], facts.reading, facts.task),
        source="file",
        summary=facts.messages[0] if facts.messages else "",
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
    """Return the format of a file by its name."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    packed = bool(suffixes) and suffixes[-1] in _PACKED
    suffix = (suffixes[:-1] if packed else suffixes)[-1:] or [""]
    known_format = FORMATS.get(suffix[0])
    if known_format is None:
        hint = _HINTS.get(suffix[0][1:], f"the known endings are {', '.join(FORMATS)}")
        raise DataError(f"{path} ends in {suffix[0][:20]!r}, which is not read; {hint}")
    if packed and known_format in ("parquet", "npz"):
        raise DataError(f"{path}: {known_format} files are compressed inside; unpack this one")
    return known_format


def _name(path: Path, digest: str) -> str:
    """Return a dataset name: a slug of the file's name, and the start of the digest."""
    stem = path.name.lower()
    for suffix in reversed(path.suffixes):
        stem = stem.removesuffix(suffix.lower())
    slug = re.sub(r"[^a-z0-9]+", "-", stem).strip("-")[:40].strip("-") or "data"
    return f"{slug}-{digest[:8]}"
