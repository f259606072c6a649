"""Lookup of datasets by name, by name with options, and by a worker's reference."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from harness.core.errors import ConfigError, DataError, unknown
from harness.core.ids import canonical
from harness.core.model import Dataset, DatasetRef, Table
from harness.data.loader import Loader

if TYPE_CHECKING:
    from harness.plugins.registry import Registry

MAX_ROWS = 10**9
MAX_COLUMNS = 10**6


def resolve(name: str, registry: Registry) -> Dataset:
    """Return the dataset for a name.

    Parameters
    ----------
    name
        ``NAME``, or ``NAME:key=value,key=value`` for one that takes options (a generated one),
        such as ``higgs_like:rows=100000,seed=3``.
    registry
        Registry of datasets.

    Raises
    ------
    ConfigError
        For an unknown name, option or value, with the closest known one.
    DataError
        If the card of the name has mistakes, if the mirror's dataset of the name cannot be used,
        or if the configured mirror cannot be read.
    """
    from harness.data.mirror import check_mirror

    base, separator, text = name.partition(":")
    check_mirror(base)
    return with_options(_registered(base, registry), _parsed(text, name) if separator else {})


def load_table(ref: DatasetRef, registry: Registry) -> Table:
    """Return the verified table for a reference.

    Raises
    ------
    DataError
        If the dataset here differs from the planned one, with both digests, or if its data is
        missing or damaged.
    """
    from harness.data.loading import table_of

    dataset = _referred(ref, registry)
    if dataset.digest != ref.digest:
        raise DataError(
            f"{ref.name} has the digest {dataset.digest[:16]}… here, but {ref.digest[:16]}… was "
            "planned: its bytes, its card or the mirror differ; plan the run again"
        )
    return table_of(dataset)


def pins_of(ref: DatasetRef, registry: Registry) -> dict[str, str]:
    """Return the pinned checksums of the downloads of a referenced dataset."""
    load = _referred(ref, registry).load
    pins = load.pins() if isinstance(load, Loader) else {}
    return {key: sha256 for key, sha256 in pins.items() if sha256}


def _referred(ref: DatasetRef, registry: Registry) -> Dataset:
    if ref.file is not None:
        from harness.data.files import dataset_from_mapping

        return dataset_from_mapping(ref.file)
    base, _, _ = ref.name.partition(":")
    dataset = with_options(_registered(base, registry), ref.options)
    return replace(dataset, name=ref.name)


def _registered(name: str, registry: Registry) -> Dataset:
    try:
        return registry.dataset(name)
    except ConfigError as error:
        from harness.data.cards import fault_of
        from harness.data.mirror import refusal_of

        if reason := fault_of(name) or refusal_of(name):
            raise DataError(reason) from None
        raise error from None


def with_options(dataset: Dataset, given: Mapping[str, Any]) -> Dataset:
    """Return a dataset with some options set, and name, counts and digest changed accordingly.

    The options ``rows`` and ``columns`` set the declared counts.
    """
    for key in given:
        if key not in dataset.options:
            known = list(dataset.options)
            hint = f"it takes {', '.join(known)}" if known else "it takes none"
            raise ConfigError(f"{dataset.name}: {unknown('option', key[:80], known, hint)}")
    values = {k: _checked(dataset, k, given[k]) for k in dataset.options if k in given}
    if not values:
        return dataset
    merged = {**dataset.options, **values}
    changed = {k: v for k, v in merged.items() if v != dataset.options[k]}
    digest = hashlib.sha256(canonical([dataset.digest, changed]).encode()).hexdigest()
    return replace(
        dataset,
        name=f"{dataset.name}:" + ",".join(f"{k}={v}" for k, v in values.items()),
        options=merged,
        digest=digest if changed else dataset.digest,
        rows=merged.get("rows", dataset.rows),
        columns=merged.get("columns", dataset.columns),
    )


def _parsed(text: str, name: str) -> dict[str, str]:
    """Return the options of ``NAME:key=value,…``."""
    options: dict[str, str] = {}
    for part in text.split(","):
        key, separator, value = (piece.strip() for piece in part.partition("="))
        if not separator or not key or not value or key in options:
            raise ConfigError(
                f"{name[:120]!r}: options are written NAME:key=value,key=value, each once, "
                "such as higgs_like:rows=100000,seed=3"
            )
        options[key] = value
    return options


def _checked(dataset: Dataset, key: str, value: Any) -> Any:
    """Return an option's value, converted to the type of its default and checked."""
    default = dataset.options[key]
    kind = type(default)
    place = f"{dataset.name}: {key}"
    if kind in (int, float):
        try:
            number = kind(value)
        except (TypeError, ValueError, OverflowError):
            words = "a whole number" if kind is int else "a number"
            raise ConfigError(f"{place} must be {words}, not {str(value)[:80]!r}") from None
        most = {"rows": MAX_ROWS, "columns": MAX_COLUMNS}.get(key, 2**63 - 1)
        least = 2 if key == "rows" else 1 if key == "columns" else 0
        if not least <= number <= most:
            raise ConfigError(f"{place} must lie from {least:,} to {most:,}, not {number}")
        return number
    return str(value)
