"""Functions of the commands ``harness data list|show|fetch|verify|add``; they return plain data."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.core.errors import DataError, HarnessError
from harness.core.model import JSON, Dataset, Task
from harness.core.renamed import renamed
from harness.data.cards import Card, every_card, read_card
from harness.data.files import dataset_from_file, describe
from harness.data.folders import own_card_folders
from harness.data.loader import FilesLoader, Loader
from harness.data.mirror import entries
from harness.data.openml import OpenMLLoader
from harness.data.openml_files import API
from harness.data.remote import UnreachableError
from harness.data.safe_names import count

if TYPE_CHECKING:
    from harness.plugins.registry import Registry

READY, TO_FETCH, REFUSED, BROKEN = "ready", "to fetch", "refused", "broken"


def list_datasets(registry: Registry) -> list[JSON]:
    """Return a row for every dataset, and for unusable ones with the reason, sorted by name.

    ``state`` is ``ready``, ``to fetch`` (needs a download), ``refused`` (a dataset of the mirror
    whose entry has mistakes) or ``broken`` (a card with mistakes).
    """
    rows = [_row(dataset) for dataset in registry.all("dataset")]
    known = {row["name"] for row in rows}
    unusable = [(path.stem, BROKEN, str(c)) for path, c in every_card() if isinstance(c, DataError)]
    try:
        unusable += [(e.name, REFUSED, e.refused) for e in entries() if e.refused]
    except DataError as error:
        unusable.append(("(mirror)", BROKEN, str(error)))
    rows += [
        {"name": name, "state": state, "reason": reason}
        for name, state, reason in unusable
        if name not in known or state == BROKEN
    ]
    return sorted(rows, key=lambda row: str(row["name"]))


def _size_and_kinds(dataset: Dataset) -> JSON:
    names = ("rows", "columns", "n_classes", "categorical", "missing", "sparse")
    return {name.removeprefix("n_"): getattr(dataset, name) for name in names}


def _row(dataset: Dataset) -> JSON:
    return {
        "name": dataset.name,
        "state": state_of(dataset),
        "task": dataset.task.value,
        **_size_and_kinds(dataset),
        "source": dataset.source,
        "suites": list(dataset.suites),
        "summary": dataset.summary,
    }


def state_of(dataset: Dataset) -> str:
    """Return ``ready`` if a dataset can be loaded without a network, else ``to fetch``."""
    load = dataset.load
    if isinstance(load, OpenMLLoader):
        return READY if load.files.is_here() else TO_FETCH
    if isinstance(load, FilesLoader):
        from harness.data.remote import place_of

        remote = (place_of(file.place) for file in load.files if file.is_remote)
        return READY if all(path.is_file() for path in remote) else TO_FETCH
    return READY


def show(dataset: Dataset) -> JSON:
    """Return the declaration of a dataset and the sources of its data."""
    facts = {
        **_row(dataset),
        "weighted": dataset.weighted,
        "grouped": dataset.grouped,
        "given_test": dataset.given_test,
        "license": dataset.license,
        "digest": dataset.digest,
        "options": dict(dataset.options),
        "described": describe(dataset),
    }
    load = dataset.load
    if isinstance(load, OpenMLLoader):
        from harness.data.remote import pin_of

        pinned = load.sha256 or pin_of(f"openml:{load.number}") or "at the first fetch"
        facts |= {"openml": load.number, "sha256": pinned}
    if isinstance(load, FilesLoader):
        files = [{"place": f.place, "sha256": f.sha256 or "at the first fetch"} for f in load.files]
        facts |= {"files": files}
    if isinstance(load, (FilesLoader, OpenMLLoader)):
        facts["reading"] = load.reading.model_dump(mode="json", exclude_defaults=True)
    return facts


def hosts_of(dataset: Dataset) -> set[str]:
    """Return the hosts from which a dataset must be downloaded."""
    from harness.data.remote import host_of, place_of

    load = dataset.load
    if state_of(dataset) == READY:
        return set()
    if isinstance(load, OpenMLLoader):
        return {host_of(API)}
    assert isinstance(load, FilesLoader)
    return {host_of(f.place) for f in load.files if f.is_remote and not place_of(f.place).is_file()}


def fetch_all(datasets: Iterable[Dataset], report: Callable[[str], None]) -> tuple[list[JSON], int]:
    """Load datasets into the cache; return the loaded ones and the number of failures.

    An unreachable host is tried once; its other datasets are reported in one line.
    """
    fetched: list[JSON] = []
    failed: list[str] = []
    unreachable: dict[str, int] = {}
    for dataset in datasets:
        if hosts := hosts_of(dataset) & set(unreachable):
            unreachable[min(hosts)] += 1
            failed.append(dataset.name)
            continue
        try:
            fetched.append(fetch(dataset))
        except HarnessError as error:
            failed.append(dataset.name)
            report(
                str(error) if str(error).startswith(dataset.name) else f"{dataset.name}: {error}"
            )
            if isinstance(error, UnreachableError):
                unreachable.setdefault(error.host, 0)
    for host, others in unreachable.items():
        if others:
            report(f"{count(others, 'more dataset')} of {host} not tried: it cannot be reached")
    return fetched, len(failed)


def fetch(dataset: Dataset) -> JSON:
    """Load a dataset into the cache, with a download if needed."""
    from harness.data.loading import table_of

    before = state_of(dataset)
    table = table_of(dataset)
    return {
        "name": dataset.name,
        "state": before,
        "rows": int(table.X.shape[0]),
        "columns": int(table.X.shape[1]),
        "notes": list(table.notes),
    }


def verify(dataset: Dataset) -> list[JSON]:
    """Read the source again, without the cache, and compare it with every declared fact.

    Returns
    -------
    list of dict
        ``check``, ``expected``, ``found``, ``ok``; wrong bytes are a failed check, not an error.
    """
    from harness.data.loading import check
    from harness.data.tables import facts_of

    try:
        table = check(dataset.load(**dataset.options), dataset)
    except DataError as error:
        return [{"check": "bytes", "expected": "as declared", "found": str(error), "ok": False}]
    verified = isinstance(dataset.load, Loader)
    bytes_row = {"check": "bytes", "expected": "as declared", "ok": verified}
    bytes_row["found"] = "as declared" if verified else "third-party dataset, not verified"
    found = facts_of(table)
    declared = {fact: getattr(dataset, fact) for fact in found}
    facts = [
        {"check": fact, "expected": declared[fact], "found": found[fact],
         "ok": declared[fact] == found[fact]}
        for fact in found
    ]  # fmt: skip
    return [bytes_row, *facts]


@renamed(licence="license")
def add(
    path: str | Path,
    target: str | None,
    name: str,
    *,
    task: Task | str | None = None,
    suites: tuple[str, ...] = (),
    summary: str = "",
    license: str = "",  # noqa: A002 - the name of the field
    known: Collection[str] = (),
    **reading: Any,
) -> Path:
    """Write a card for a file, so that its dataset is available by name.

    Parameters
    ----------
    path, target, task, reading
        As for :func:`harness.data.dataset_from_file`.
    name
        1 to 64 letters, digits, dots, dashes or underscores.
    known
        Names of existing datasets.

    Returns
    -------
    Path
        The card, in the first folder of ``HARNESS_DATASETS``, by default the user's folder.

    Raises
    ------
    DataError
        For an invalid or existing name, and anything wrong with the file.
    """
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", name):
        raise DataError(
            f"{name[:80]!r} cannot name a dataset: use 1 to 64 letters, digits, dots, dashes or "
            "underscores, beginning with a letter or digit"
        )
    taken = [card for card, _ in every_card() if card.stem == name]
    if taken:
        raise DataError(f"{name} is taken by {taken[0]}; choose another name or delete that card")
    if name in known:
        raise DataError(f"{name} is the name of an existing dataset; choose another")
    dataset = dataset_from_file(path, target, task=task, **reading)
    card = _card(replace(dataset, name=name, suites=suites, license=license), summary)
    place = own_card_folders()[0] / f"{name}.toml"
    from harness.data.writing import write_atomically

    try:
        write_atomically(place, card_text(card).encode())
    except OSError as error:
        raise DataError(f"{place} cannot be written: {error.strerror}") from None
    read_card(place)
    return place


def _card(dataset: Dataset, summary: str) -> Card:
    assert dataset.file is not None
    reading = {**dataset.file["reading"], "target": ""}
    return Card.model_validate(
        {
            "name": dataset.name,
            "task": dataset.task,
            "target": dataset.file["reading"]["target"],
            "summary": summary,
            **_size_and_kinds(dataset),
            "source": "file",
            "files": [{"path": dataset.file["path"], "sha256": dataset.file["sha256"]}],
            "read": reading,
            "suites": dataset.suites,
            "license": dataset.license,
        }
    )


def card_text(card: Card) -> str:
    """Return a card as TOML, without keys that have the default value."""
    data = card.model_dump(mode="json", exclude_defaults=True)
    files, read = data.pop("files", []), data.pop("read", {})
    maps = {key: read.pop(key, {}) for key in ("labels", "topics")}
    lines = [f"{key} = {_toml(value)}" for key, value in data.items()]
    for file in files:
        lines += ["", "[[files]]", *(f"{key} = {_toml(value)}" for key, value in file.items())]
    if read:
        lines += ["", "[read]", *(f"{key} = {_toml(value)}" for key, value in read.items())]
    for key, pairs in maps.items():
        if pairs:
            lines += ["", f"[read.{key}]", *(f"{_toml(k)} = {_toml(v)}" for k, v in pairs.items())]
    return "\n".join(lines) + "\n"


def _toml(value: Any) -> str:
    """Return a string, number, boolean or list of these as TOML."""
    if isinstance(value, list):
        return f"[{', '.join(_toml(item) for item in value)}]"
    # JSON strings are TOML strings, except for DEL, which TOML requires escaped.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
