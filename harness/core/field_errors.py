"""Errors of dataclass constructors that name the fields that exist."""

from __future__ import annotations

import dataclasses
import difflib
import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

T = TypeVar("T")


def explain_fields(cls: type[T]) -> type[T]:
    """Let a dataclass's constructor list the fields that exist if the given ones do not fit.

    Use it as a decorator above ``@dataclass``. The error stays a TypeError.
    """
    construct: Any = cls.__init__

    @functools.wraps(construct)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        try:
            construct(self, *args, **kwargs)
        except TypeError:
            if fault := field_fault(cls, args, kwargs):
                raise TypeError(fault) from None
            raise

    cls.__init__ = init  # type: ignore[method-assign]
    return cls


def field_fault(cls: type[Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    """Return one line on arguments that do not fit a dataclass's fields, or "" if they fit."""
    fields = [field for field in dataclasses.fields(cls) if field.init]
    names = [field.name for field in fields]
    required = [field.name for field in fields if _is_required(field)]
    close = {name: _closest(name, names) for name in kwargs if name not in names}
    given = {*names[: len(args)], *kwargs, *close.values()}
    parts = [
        f"has no field {name[:80]!r}" + (f" (did you mean {near!r}?)" if near else "")
        for name, near in close.items()
    ]
    if twice := [name for name in names[: len(args)] if name in kwargs]:
        parts.append(f"gets {_listed(twice)} twice, by position and by name")
    if len(args) > len(names):
        parts.append(f"takes at most {len(names)} values, not {len(args)}")
    if missing := [name for name in required if name not in given]:
        parts.append(f"needs {_listed(missing)}")
    if not parts:
        return ""
    optional = ", ".join(name for name in names if name not in required)
    has = f"required: {', '.join(required)}" + (f"; optional: {optional}" if optional else "")
    return f"{cls.__module__.partition('.')[0]}.{cls.__name__} {' and '.join(parts)}; fields {has}"


def _is_required(field: dataclasses.Field[Any]) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def _closest(name: str, names: Iterable[str]) -> str:
    """Return the known name most like another one, or ""."""
    return next(iter(difflib.get_close_matches(name, list(names), n=1, cutoff=0.6)), "")


def _listed(names: Sequence[str]) -> str:
    return f"the field{'s' if len(names) > 1 else ''} {', '.join(map(repr, names))}"
