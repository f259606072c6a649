"""Old names of arguments and fields, which work with a DeprecationWarning."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

T = TypeVar("T", bound=Callable[..., Any])


def renamed(**new_names: str) -> Callable[[T], T]:
    """Return a decorator for a function or class whose arguments were renamed.

    The old names of a class's arguments are also attributes, and arguments of
    ``dataclasses.replace``.

    Parameters
    ----------
    **new_names
        Old name → new name.
    """

    def decorate(target: T) -> T:
        if not isinstance(target, type):
            return _with_old_arguments(target, new_names)  # type: ignore[return-value]
        construct: Any = target.__init__  # type: ignore[misc]
        fields = getattr(target, "__match_args__", ())
        target.__init__ = _with_old_arguments(construct, new_names, fields)  # type: ignore[misc]
        for old, new in new_names.items():
            setattr(target, old, property(functools.partial(_read, old=old, new=new)))
        return target

    return decorate


def _with_old_arguments(
    function: Callable[..., Any], new_names: Mapping[str, str], fields: tuple[str, ...] = ()
) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        # dataclasses.replace passes every field, those to change under the given names
        is_copy = bool(fields) and kwargs.keys() >= set(fields)
        for old in new_names.keys() & kwargs.keys():
            new = new_names[old]
            _warn(old, new)
            if new in kwargs and not (is_copy and len(fields) > 1):
                raise TypeError(f"got both {new!r} and its old name {old!r}; use {new!r}")
            kwargs[new] = kwargs.pop(old)
        return function(*args, **kwargs)

    return call


def _read(instance: Any, old: str, new: str) -> Any:
    _warn(old, new)
    return getattr(instance, new)


def _warn(old: str, new: str) -> None:
    message = f"{old!r} is now called {new!r}; the old name will be removed"
    warnings.warn(message, DeprecationWarning, stacklevel=3)
