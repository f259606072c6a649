"""Old names of arguments and fields, which work with a DeprecationWarning."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])
Class = TypeVar("Class", bound=type)


def renamed_arguments(**new_names: str) -> Callable[[Function], Function]:
    """Return a decorator for a function whose keyword arguments were renamed.

    Parameters
    ----------
    **new_names
        Old name → new name.
    """

    def decorate(function: Function) -> Function:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            for old in new_names.keys() & kwargs.keys():
                _warn(old, new_names[old])
                if new_names[old] in kwargs:
                    raise TypeError(f"give {new_names[old]!r} only, not its old name {old!r} too")
                kwargs[new_names[old]] = kwargs.pop(old)
            return function(*args, **kwargs)

        return call  # type: ignore[return-value]

    return decorate


def renamed_fields(**new_names: str) -> Callable[[Class], Class]:
    """Return a decorator for a class whose fields were renamed: arguments and attributes.

    Parameters
    ----------
    **new_names
        Old name → new name.
    """

    def decorate(cls: Class) -> Class:
        cls.__init__ = renamed_arguments(**new_names)(cls.__init__)  # type: ignore[misc]
        for old, new in new_names.items():
            setattr(cls, old, property(functools.partial(_read, old=old, new=new)))
        return cls

    return decorate


def _read(instance: Any, old: str, new: str) -> Any:
    _warn(old, new)
    return getattr(instance, new)


def _warn(old: str, new: str) -> None:
    message = f"{old!r} is now called {new!r}; the old name will be removed"
    warnings.warn(message, DeprecationWarning, stacklevel=3)
