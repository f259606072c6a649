"""Cards: one TOML file per dataset, read into declarations without loading data.

``docs/datasets.md`` explains every key. A card in a user's folder must not have the name of a card
of the project. A card with mistakes is not registered; the mistakes are reported when its name is
used.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import AliasChoices, Field, model_validator

from harness.core.errors import DataError
from harness.core.model import Dataset, Task
from harness.data.bundled import BundledLoader
from harness.data.fact_cache import recall, remember
from harness.data.folders import card_folders
from harness.data.loader import File, FilesLoader, Loader
from harness.data.openml import OpenMLLoader
from harness.data.reading import Reading, Strict, digest_of, validated

Checksum = Field("", pattern=r"^([0-9a-f]{64})?$")
Source = Literal["sklearn", "openml", "url", "file"]
_SOURCES = {"sklearn": "bundled", "openml": "openml", "url": "url", "file": "file"}


class CardFile(Strict):
    """File of a dataset: an https address, or a path relative to the card's folder."""

    url: str = Field("", pattern=r"^(https://\S+)?$")
    path: str = ""
    sha256: str = Checksum

    @model_validator(mode="after")
    def _one_place(self) -> CardFile:
        if bool(self.url) == bool(self.path):
            raise ValueError("give either url or path")
        if self.path and not self.sha256:
            raise ValueError("a file on disk needs its sha256; `sha256sum FILE` prints it")
        return self


class Card(Strict):
    """Description of a dataset without its rows."""

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")
    task: Task
    target: str = ""
    summary: str = ""
    rows: int = Field(ge=2)
    columns: int = Field(ge=1)
    classes: int = Field(0, ge=0)
    categorical: int = Field(0, ge=0)  # number of categorical columns
    missing: bool = False
    sparse: bool = False
    source: Source
    openml: int = Field(0, ge=0)
    openml_version: int = Field(0, ge=0)
    sha256: str = Checksum
    files: tuple[CardFile, ...] = ()
    read: Reading = Reading()
    suites: tuple[str, ...] = ()
    license: str = Field("", validation_alias=AliasChoices("license", "licence"))
    origin: str = ""  # source of the data, for display

    @model_validator(mode="after")
    def _fits_its_source(self) -> Card:
        if self.read.target:
            raise ValueError("target belongs to the card, not into [read]")
        if self.source == "openml" and not self.openml:
            raise ValueError("source openml needs the number: openml = 31")
        if self.source in ("url", "file") and not self.files:
            raise ValueError(f"source {self.source} needs [[files]]")
        if self.read.topics and len(self.files) < 2:
            raise ValueError("topics need two files or more: rows, and last the topics by id")
        if self.source == "sklearn" and not self.sha256:
            raise ValueError("source sklearn needs its sha256")
        if self.task.is_classification != (self.classes > 1):
            raise ValueError("classes is at least 2 for classification and 0 for regression")
        return self

    @property
    def reading(self) -> Reading:
        """Return the reading options of the files, including the target."""
        named: dict[str, str | bool] = {"target": self.target}
        if self.source == "openml":
            named |= {"format": "frame", "drop_missing_target": True}
        return self.read.model_copy(update=named)

    @property
    def checksums(self) -> list[str]:
        """Return the checksums for the digest; the address or OpenML id of a file without one."""
        if self.source in ("sklearn", "openml"):
            return [self.sha256 or f"openml:{self.openml}"]
        return [file.sha256 or file.url for file in self.files]

    @property
    def exact(self) -> bool:
        """Return whether the card has the checksums of all downloads."""
        return bool(self.sha256) or (bool(self.files) and all(f.sha256 for f in self.files))

    def loader(self, folder: Path) -> Loader:
        """Return the loader of the table; relative paths start at ``folder``."""
        if self.source == "sklearn":
            return BundledLoader(self.name, self.task, self.sha256)
        if self.source == "openml":
            number, version = self.openml, self.openml_version
            return OpenMLLoader(self.name, self.task, number, version, self.sha256, self.reading)
        files = tuple(File(f.url or str(folder / f.path), f.sha256) for f in self.files)
        return FilesLoader(self.name, self.task, files, self.reading)

    def dataset(self, folder: Path) -> Dataset:
        """Return the declaration; the card's relative paths start at ``folder``."""
        return Dataset(
            name=self.name,
            task=self.task,
            load=self.loader(folder),
            digest=digest_of(self.checksums, self.reading, self.task),
            rows=self.rows,
            columns=self.columns,
            n_classes=self.classes,
            categorical=self.categorical,
            missing=self.missing,
            sparse=self.sparse,
            weighted=bool(self.read.weight),
            grouped=bool(self.read.group),
            ordered=bool(self.read.order),
            given_test=self.read.test_rows > 0,
            source=_SOURCES[self.source],
            suites=self.suites,
            summary=self.summary,
            license=self.license,
        )


def read_card(path: Path) -> Card:
    """Return a card; raise DataError with all its mistakes."""
    return _parsed(path, _content(path))


def _parsed(path: Path, content: bytes | str) -> Card:
    if isinstance(content, str):
        raise DataError(content)
    try:
        data = tomllib.loads(content.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DataError(f"{path} is not TOML: {error}") from None
    except RecursionError:
        raise DataError(f"{path} is not a card: it is nested too deeply") from None
    card = validated(Card, data, str(path))
    if card.name != path.stem:
        raise DataError(f"{path} is the card of {card.name!r}; name the file {card.name}.toml")
    return card


class _CardFolder(Strict):
    """Cached cards of a folder, if all are without mistakes."""

    cards: tuple[Card, ...]


def every_card() -> Iterator[tuple[Path, Card | DataError]]:
    """Yield the cards of all folders, or a DataError in place of a card with mistakes.

    A name that an earlier folder has already is a mistake of the later card.
    """
    taken: dict[str, Path] = {}
    for folder in card_folders():
        for path, card in _cards_in(folder).items():
            if path.stem in taken:
                yield path, DataError(f"{path} has the same name as {taken[path.stem]}; rename it")
            else:
                yield path, card
            taken.setdefault(path.stem, path)


def _cards_in(folder: Path) -> dict[Path, Card | DataError]:
    paths = sorted(folder.glob("*.toml"))
    return dict(zip(paths, _cards_of(tuple(paths), tuple(map(_content, paths))), strict=True))


def _content(path: Path) -> bytes | str:
    """Return the bytes of a card, or an error message if they cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        return f"{path} cannot be read: {error.strerror}"


@cache
def _cards_of(
    paths: tuple[Path, ...], contents: tuple[bytes | str, ...]
) -> tuple[Card | DataError, ...]:
    """Return the cards of some files; whole folders are cached, because parsing TOML is slow."""
    key = f"cards {[path.stem for path in paths]} {contents}"
    if (known := recall(key, _CardFolder)) is not None:
        return known.cards
    cards: list[Card | DataError] = []
    for path, content in zip(paths, contents, strict=True):
        try:
            cards.append(_parsed(path, content))
        except DataError as error:
            cards.append(error)
    whole = tuple(card for card in cards if isinstance(card, Card))
    if len(whole) == len(cards):
        remember(key, _CardFolder(cards=whole))
    return tuple(cards)


def unpinned() -> frozenset[str]:
    """Return the names of the cards without checksums of their downloads."""
    cards = (card for _, card in every_card() if isinstance(card, Card))
    return frozenset(card.name for card in cards if not card.exact)


def fault_of(name: str) -> str:
    """Return the mistakes of the card of a name, or ""."""
    for path, card in every_card():
        if path.stem == name and isinstance(card, DataError):
            return str(card)
    return ""
