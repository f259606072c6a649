"""Accept the parameters of another library by every name that it has for them.

A table lists the library's parameters, each with its aliases. A parameter is either read by an
attribute of our estimator, or has no effect here (it is about output, memory or seeds), or cannot
be had: then every value but the harmless ones is refused when the model is trained.

Names that are not arguments of the constructor come as ``**kwargs``. `get_params` returns them
too, as in LightGBM and XGBoost. Training reads them on a copy of the estimator, see `resolved`.
"""

import difflib
import inspect
import warnings
from copy import copy
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

# scikit-learn's checks of estimators take the argument ``**kwargs`` for one of this name.
CATCH_ALL = "kwargs"


@dataclass(frozen=True)
class Parameter:
    """One parameter of a library."""

    name: str
    aliases: tuple = ()
    attribute: str = ""  # of our estimator, which has its meaning
    harmless: tuple = ()  # values that change nothing, of a parameter that cannot be had
    reason: str = ""  # why it has no effect, or why it cannot be had
    ignored: bool = False  # whether any value is taken, without effect

    @property
    def names(self):
        """All names, the library's main one first, then short before long."""
        return (self.name, *sorted(self.aliases, key=lambda alias: (len(alias), alias)))

    def check(self, class_name, name, value):
        """Raise ValueError where a value cannot be had."""
        if self.attribute or self.ignored or any(is_same(value, one) for one in self.harmless):
            return
        wanted = " or ".join(repr(one) for one in self.harmless if one is not None)
        wanted = f"; only {wanted} is supported" if wanted else ""
        raise ValueError(f"{class_name} does not support {name}={value!r}{wanted}: {self.reason}")


class ParameterTable:
    """The parameters of a library.

    Parameters
    ----------
    library : name of the library, for messages
    rows : of `Parameter`
    """

    def __init__(self, library, rows):
        self.library = library
        self.rows = tuple(rows)
        self.by_name = {name: row for row in self.rows for name in row.names}

    def __contains__(self, name):
        return name in self.by_name


class LibraryParameters:
    """An estimator whose constructor also takes the names of a `ParameterTable`.

    A class has the table as ``_parameter_table``; its constructor takes ``**kwargs``.
    """

    _parameter_table: ParameterTable
    _own_parameters: ClassVar[frozenset] = frozenset()  # of ours, not the library's

    def _set_constructor_params(self, given):
        """Set the arguments of a constructor, ``locals()``, those in ``kwargs`` too."""
        extra = given.get("kwargs", {})
        for name, value in given.items():
            if name not in ("self", "kwargs", "__class__"):
                setattr(self, name, value)
        for name, value in extra.items():
            if name == CATCH_ALL:
                continue
            if name not in self._parameter_table:
                raise TypeError(unknown_parameter(type(self), name))
            self._set_extra(name, value)

    def _set_extra(self, name, value):
        """Keep a parameter that is no argument of the constructor."""
        self.__dict__.setdefault("_extra_params", {})[name] = value
        setattr(self, name, value)

    @classmethod
    def _get_param_names(cls):
        """Return the names of constructor arguments, of base classes too that get ``**kwargs``."""
        return sorted(constructor_defaults(cls))

    def get_params(self, deep=True):
        """Return all parameters, also those of other names that were given."""
        found = super().get_params(deep)
        found.update({name: getattr(self, name) for name in self.__dict__.get("_extra_params", ())})
        return found

    def set_params(self, **params):
        """Set parameters by any of their names.

        Raises
        ------
        ValueError
            Where there is no parameter of a name.
        """
        own = set(self._get_param_names())
        for name, value in params.items():
            if name in own:
                setattr(self, name, value)
            elif name in self._parameter_table:
                self._set_extra(name, value)
            elif name != CATCH_ALL:
                raise ValueError(unknown_parameter(type(self), name))
        return self

    def _resolved(self):
        """Return a shallow copy whose constructor arguments hold what all given names say.

        Raises
        ------
        ValueError
            Where a parameter cannot be had.
        """
        found = copy(self)
        own = constructor_defaults(type(self))
        for row in self._parameter_table.rows:
            if row.name in own and row.name not in self._own_parameters:
                row.check(type(self).__name__, row.name, getattr(self, row.name))
        for row, name in self._given_rows():
            value = getattr(self, name)
            row.check(type(self).__name__, name, value)
            if row.attribute:
                setattr(found, row.attribute, value)
        return found

    def _take_fitted(self, core):
        """Take what training has left on a resolved copy of this estimator."""
        params = set(self._get_param_names()) | set(self.__dict__.get("_extra_params", ()))
        params |= {row.attribute for row in self._parameter_table.rows} | {"_extra_params"}
        left = {name: value for name, value in core.__dict__.items() if name not in params}
        for name in self.__dict__.keys() - params - left.keys():
            del self.__dict__[name]
        self.__dict__.update(left)

    def _given_rows(self):
        """Yield each parameter that was given in ``kwargs``, and the name that counts.

        As in LightGBM they count more than the arguments of the constructor; among themselves the
        library's main name does, then the shortest one.
        """
        extra = self.__dict__.get("_extra_params", {})
        table = self._parameter_table
        for row in dict.fromkeys(table.by_name[name] for name in extra):
            given = [name for name in row.names if name in extra]
            values = [getattr(self, name) for name in given]
            if not all(is_same(values[0], other) for other in values[1:]):
                told = ", ".join(f"{n}={v!r}" for n, v in zip(given, values, strict=True))
                warnings.warn(
                    f"{type(self).__name__} got {told}, which mean the same: {given[0]} counts",
                    stacklevel=5,
                )
            yield row, given[0]


def constructor_defaults(cls):
    """Return the constructor arguments of a class, name → default.

    Where the constructor passes ``**kwargs`` on, those of the next class are among them.
    """
    found = {}
    for one in cls.__mro__:
        if "__init__" not in one.__dict__ or one is object:
            continue
        parameters = inspect.signature(one.__init__).parameters.values()
        for parameter in parameters:
            if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
                found.setdefault(parameter.name, parameter.default)
        if not any(parameter.kind == parameter.VAR_KEYWORD for parameter in parameters):
            break
    found.pop("self", None)
    return found


def unknown_parameter(cls, name):
    """Return what to say of a name that no parameter has."""
    groups = [*constructor_defaults(cls)], [*cls._parameter_table.by_name]
    close = [one for known in groups for one in difflib.get_close_matches(name, known, n=1)]
    hint = f"; did you mean {close[0]!r}?" if close else ""
    return f"{cls.__name__} has no parameter {name!r}{hint}"


def is_same(one: Any, other: Any) -> bool:
    """Return whether two values of parameters are equal; NaN equals NaN."""
    if one is other:
        return True
    if isinstance(one, bool) != isinstance(other, bool):
        return False  # 1 is no True
    try:
        same = one == other
        if isinstance(same, np.ndarray):
            return bool(np.shape(one) == np.shape(other) and same.all())
        return bool(same) or bool(one != one and other != other)  # noqa: PLR0124 - NaN
    except (TypeError, ValueError):
        return False
