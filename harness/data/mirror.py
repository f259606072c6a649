"""Mirror: a local folder of datasets with a ``MANIFEST.json``; every file is verified.

The manifest is a list of datasets. Each entry has the files, the reading options (``read``, ``na``,
``na_numeric``, ``label_map``, ``bad_labels``, ``drop``, ``cat``, ``weight``, ``group``), task,
target, counts, and the SHA-256 of every file (``file_details``); other keys are ignored.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from harness.core.errors import DataError
from harness.core.model import Dataset, Task
from harness.data.development_split import half_of
from harness.data.folders import mirror_folder
from harness.data.loader import File, FilesLoader
from harness.data.queries import is_query_file
from harness.data.reading import Reading, digest_of, validated

MANIFEST = "MANIFEST.json"


class _Part(BaseModel):
    """Base model of the manifest; unknown keys are ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class _ParserOptions(BaseModel):
    """Parser options in pandas' terms; unknown options are an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Literal["csv", "npz", "mat", "svmlight"]
    header: Literal[0] | None = 0
    names: tuple[str, ...] = ()
    sep: str = ","
    quotechar: str = '"'
    comment: str = ""
    skipinitialspace: bool = False
    encoding: str = "utf-8"
    query: str = ""


class _Detail(_Part):
    file: str
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")


class _DatasetFacts(_Part):
    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")
    files: tuple[str, ...] = Field(min_length=1)
    rows: int = Field(ge=1)
    n_columns: int = Field(ge=1)
    n_categorical: int = 0
    n_classes: int | None = None
    task: Literal["binary", "multiclass", "regression", "ranking"]
    target: str
    missing: bool = False
    read: _ParserOptions
    na: tuple[str, ...] | None = None
    na_numeric: tuple[float, ...] | None = None
    cat: Literal["all", "auto"] | tuple[str, ...] | None = None
    drop: tuple[str, ...] = ()
    weight: str | None = None
    group: str | None = None
    label_map: dict[str, str] | None = None
    bad_labels: tuple[str, ...] | None = None
    n_cols: int | None = None
    n_test_rows: int | None = None
    origin: str = ""
    family: str = ""  # source table, if several datasets are made from it
    license: str = ""
    file_details: tuple[_Detail, ...] = ()


@dataclass(frozen=True)
class Entry:
    """Dataset of the mirror: its declaration, or the reason why it cannot be used."""

    name: str
    folder: Path
    facts: _DatasetFacts | None
    refused: str = ""

    def dataset(self, suites: tuple[str, ...] = (), group: str = "") -> Dataset:
        """Return the declaration.

        Its suites are those of the card, "mirror", and the half of its source table:
        "development" or "validation" (`development_split`).

        ``group`` is the group column of the dataset's card. It is used only if the manifest drops
        that column and has no group column itself.
        """
        assert self.facts is not None
        facts, reading = self.facts, _reading(self.facts)
        if group in facts.drop and not facts.group:
            kept = tuple(name for name in facts.drop if name != group)
            reading = reading.model_copy(update={"group": group, "drop": kept})
        task = Task(facts.task)
        sums = {detail.file: detail.sha256 for detail in facts.file_details}
        files = tuple(File(str(self.folder / name), sums[name]) for name in facts.files)
        return Dataset(
            name=self.name,
            task=task,
            load=FilesLoader(self.name, task, files, reading),
            digest=digest_of([file.sha256 for file in files], reading, task),
            rows=facts.rows,
            columns=facts.n_columns,
            n_classes=(facts.n_classes or 0) if task.is_classification else 0,
            categorical=facts.n_categorical,
            missing=facts.missing,
            sparse=facts.read.kind == "svmlight",
            weighted=bool(facts.weight),
            grouped=bool(reading.group) or task is Task.RANKING,
            given_test=bool(facts.n_test_rows),
            source="mirror",
            suites=(*suites, "mirror", half_of(facts.family or self.name)),
            summary=facts.origin,
            license=facts.license,
        )


def entries() -> list[Entry]:
    """Return the datasets of the mirror; empty without a mirror.

    Raises
    ------
    DataError
        If the folder or its manifest cannot be read.
    """
    folder = mirror_folder()
    if folder is None:
        return []
    try:
        content = (folder / MANIFEST).read_bytes()
    except OSError as error:
        raise _unreadable(folder, error.strerror or str(error)) from None
    return list(_entries_of(folder.resolve(), content))


@lru_cache(maxsize=1)
def _entries_of(folder: Path, content: bytes) -> tuple[Entry, ...]:
    """Return the datasets of a manifest; cached, because every lookup of a dataset needs it."""
    try:
        items = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise _unreadable(folder, f"it is not JSON: {error}") from None
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise _unreadable(folder, "it is not a list of datasets")
    by_name: dict[str, Entry] = {}
    for item in items:
        entry = _entry(item, folder)
        if entry.name in by_name:
            raise _unreadable(folder, f"it has two datasets named {entry.name[:80]!r}")
        by_name[entry.name] = entry
    return tuple(by_name.values())


def _unreadable(folder: Path, reason: str) -> DataError:
    return DataError(
        f"HARNESS_MIRROR names {folder}, but {folder / MANIFEST} cannot be read: {reason}; "
        "correct the variable, or unset it to do without a mirror"
    )


def check_mirror(name: str = "") -> None:
    """Raise DataError if the configured mirror cannot be used, instead of using the network.

    Parameters
    ----------
    name
        A requested dataset: its entry in the mirror must have no mistakes.

    Raises
    ------
    DataError
        With the mistakes, in one line.
    """
    for entry in entries():
        if entry.name == name and entry.facts is None:
            raise DataError(entry.refused)


def mirrored_names() -> frozenset[str]:
    """Return the names of the mirror's datasets; empty if it is absent or broken."""
    try:
        return frozenset(entry.name for entry in entries() if not entry.refused)
    except DataError:
        return frozenset()


def refusal_of(name: str) -> str:
    """Return the reason why the mirror's dataset of a name cannot be used, or ""."""
    try:
        return next((e.refused for e in entries() if e.name == name and e.refused), "")
    except DataError as error:
        return str(error)


def _entry(item: dict[str, Any], folder: Path) -> Entry:
    name = str(item.get("name", ""))
    try:
        facts = validated(_DatasetFacts, item, f"{folder / MANIFEST}: {name[:80]!r}")
        _check_files(facts, folder)
    except DataError as error:
        return Entry(name, folder, None, str(error))
    return Entry(name, folder, facts)


def _check_files(facts: _DatasetFacts, folder: Path) -> None:
    """Raise DataError for files outside the folder and files without a checksum."""
    sums = {detail.file for detail in facts.file_details}
    for file in facts.files:
        parts = PurePosixPath(file).parts
        inside = ".." not in parts and (folder / file).resolve().is_relative_to(folder)
        if PurePosixPath(file).is_absolute() or not inside:
            raise DataError(f"{facts.name} names a file outside the mirror: {file[:80]!r}")
        if file not in sums:
            raise DataError(f"{facts.name} has no SHA-256 of {file[:80]!r}")


def _reading(facts: _DatasetFacts) -> Reading:
    read = facts.read
    return Reading(
        format=read.kind,
        header=read.header is not None,
        names=read.names,
        separator=read.sep,
        quote=read.quotechar,
        comment=read.comment,
        skip_spaces=read.skipinitialspace,
        encoding=read.encoding,
        columns=facts.n_cols or 0,
        target=facts.target,
        categorical=facts.cat if facts.cat is not None and facts.cat != "auto" else "text",
        missing=facts.na,
        missing_numbers=facts.na_numeric or (),
        drop=facts.drop,
        weight=facts.weight or "",
        group=facts.group or "",
        labels=facts.label_map or {},
        leave_out=facts.bad_labels or (),
        drop_missing_target=True,
        query_files=any(is_query_file(PurePosixPath(name)) for name in facts.files),
        test_rows=facts.n_test_rows or 0,
    )
