"""Reading options of data files: one model for cards, mirrors and a user's own file."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from harness.core.errors import DataError, unknown
from harness.core.ids import canonical

READING_VERSION = 1  # increase when the same options and bytes give another table

Format = Literal[
    "csv", "parquet", "arff", "sparse_arff", "svmlight", "npz", "mat", "frame", "jsonl", "xlsx"
]
Model = TypeVar("Model", bound=BaseModel)


class Strict(BaseModel):
    """Base model that rejects unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Reading(Strict):
    """Options for reading a dataset's files, with defaults.

    Columns are named by the header, by ``names``, or ``f0``, ``f1``, … and ``target`` (the last)
    if a file has neither. The format ``frame`` is a DataFrame from a library.
    """

    format: Format = "csv"
    member: str = ""  # the file to read inside a zip archive
    header: bool = True
    names: tuple[str, ...] = ()
    separator: str = ","  # r"\s+" for any run of blanks
    quote: str = Field('"', min_length=1, max_length=1)
    comment: str = Field("", max_length=1)
    decimal: str = Field(".", min_length=1, max_length=1)  # "," in much of Europe
    skip_spaces: bool = False  # ignore blanks after a separator
    encoding: str = "utf-8"
    columns: int = Field(0, ge=0)  # of svmlight files, which do not contain it
    zero_based: bool = True  # svmlight indices start at 0
    target: str = ""
    categorical: Literal["text", "all"] | tuple[str, ...] = "text"  # text columns always are
    missing: tuple[str, ...] | None = None  # marks instead of the usual empty, NA, NaN, null, …
    more_missing: tuple[str, ...] = ()  # marks besides the usual ones
    missing_numbers: tuple[float, ...] = ()
    drop: tuple[str, ...] = ()
    weight: str = ""  # column of case weights or exposure
    group: str = ""  # splits never separate rows of one group
    order: str = ""  # column of time: test rows come later than training rows
    labels: dict[str, str] = {}  # label in the file → label of the class
    topics: dict[str, str] = {}  # topic → label of the class; the last file has topics by id
    leave_out: tuple[str, ...] = ()  # labels whose rows are left out
    drop_missing_target: bool = False
    query_files: bool = False  # beside each file is one with the numbers of rows of its queries
    test_rows: int = Field(0, ge=0)  # number of test rows: the last rows over all files in order
    drop_identifiers: bool = False  # leave out text columns that identify rows
    dates: dict[str, str] = {}  # column of dates → its format; it becomes numeric columns
    switches: bool = False  # true/false columns are numbers 0 and 1, not categories

    def used_columns(self, names: Iterable[str]) -> list[str]:
        """Return the feature columns: all but target, weight, group, order and dropped ones."""
        roles = {self.target, self.weight, self.group, self.order, *self.drop}
        return [name for name in names if name not in roles]

    def declared_categories(self, names: Sequence[str]) -> list[str]:
        """Return the columns declared as categorical; text columns are always categorical."""
        if isinstance(self.categorical, str):
            return list(names) if self.categorical == "all" else []
        return [name for name in names if name in self.categorical]

    @model_validator(mode="after")
    def _topics_need_ids(self) -> Reading:
        if self.topics and self.format != "svmlight":
            raise ValueError('topics need format = "svmlight", whose rows begin with their ids')
        return self


def digest_of(checksums: Sequence[str], reading: Reading, task: str) -> str:
    """Return the digest of a dataset: of its checksums, reading options and task."""
    options = reading.model_dump(mode="json", exclude_defaults=True)
    parts = {"bytes": list(checksums), "reading": options, "task": str(task)}
    return hashlib.sha256(canonical({"version": READING_VERSION, **parts}).encode()).hexdigest()


def validated(model: type[Model], data: Mapping[str, Any], place: str) -> Model:
    """Return a pydantic model of data from a file; raise DataError with all mistakes."""
    try:
        return model.model_validate(data)
    except ValidationError as error:
        lines = [_explained(model, e["loc"], e["type"], e["msg"]) for e in error.errors()]
        mistakes = "; ".join(dict.fromkeys(lines))
        plural = "s" if len(lines) > 1 else ""
        raise DataError(f"{place}: {len(lines)} mistake{plural}: {mistakes}") from None


def _explained(model: type[BaseModel], loc: tuple[int | str, ...], kind: str, message: str) -> str:
    place = ".".join(str(part) for part in loc) or "the file"
    if kind != "extra_forbidden":
        return f"{place}: {message.removeprefix('Value error, ')}"
    known = _fields_at(model, loc[:-1])
    hint = f"known here: {', '.join(sorted(known))}"
    return f"{place[:80]}: {unknown('key', str(loc[-1])[:80], known, hint)}"


def _fields_at(model: type[BaseModel], loc: tuple[int | str, ...]) -> list[str]:
    """Return the known keys of the (nested) table at a place."""
    for part in loc:
        field = model.model_fields.get(str(part))
        if field is None:
            continue  # the number of a list's entry
        inner = [field.annotation, *get_args(field.annotation)]
        tables = [t for t in inner if isinstance(t, type) and issubclass(t, BaseModel)]
        model = tables[0] if tables else model
    return list(model.model_fields)
