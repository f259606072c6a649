"""Parameters of another library, under all of its aliases.

A table lists the library's parameters with their aliases. A parameter is either supported (it maps
to an attribute of our estimator), or ignored (it concerns output, memory or seeds), or rejected:
then all values except harmless ones raise an error in training.

Names that are not constructor arguments are passed as ``**kwargs``. `get_params` returns them too,
as in LightGBM and XGBoost. Training resolves aliases on a copy of the estimator, see `_resolved`.
"""

import difflib
import inspect
import warnings
from copy import copy
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import validate_parameter_constraints

# scikit-learn's estimator checks treat the argument ``**kwargs`` as a parameter of this name.
CATCH_ALL = "kwargs"


@dataclass(frozen=True, eq=False)  # a value may be a list, which has no hash
class Parameter:
    """One parameter of a library."""

    name: str
    aliases: tuple = ()
    attribute: str = ""  # equivalent attribute of our estimator; empty if not supported
    harmless: tuple = ()  # accepted values of a rejected parameter
    reason: str = ""  # why it is ignored or rejected
    ignored: bool = False  # whether all values are accepted without effect

    @property
    def names(self):
        """All names: the library's main one, then the aliases by length."""
        return (self.name, *sorted(self.aliases, key=lambda alias: (len(alias), alias)))

    def check(self, class_name, name, value):
        """Raise ValueError if a value is not supported."""
        if self.attribute or self.ignored or any(is_same(value, one) for one in self.harmless):
            return
        wanted = " or ".join(repr(one) for one in self.harmless if one is not None)
        wanted = f"; only {wanted} is supported" if wanted else ""
        raise ValueError(f"{class_name} does not support {name}={value!r}{wanted}: {self.reason}")


class ParameterTable:
    """Table of a library's parameters.

    Parameters
    ----------
    library : name of the library, for messages
    rows : iterable of `Parameter`
    """

    def __init__(self, library, rows):
        self.library = library
        self.rows = tuple(rows)
        self.by_name = {name: row for row in self.rows for name in row.names}

    def __contains__(self, name):
        return name in self.by_name


class LibraryParameters:
    """Mixin of estimators whose constructor accepts all names of a `ParameterTable`.

    The class has the table as ``_parameter_table``, and its constructor takes ``**kwargs``.
    """

    _parameter_table: ParameterTable
    _own_parameters: ClassVar[frozenset] = frozenset()  # of ours, not the library's
    _more_parameters: ClassVar[frozenset] = frozenset()  # of ours, allowed in ``kwargs`` only
    _allows_unknown: ClassVar[bool] = False  # whether unknown parameters are stored without effect

    def _set_constructor_params(self, given):
        """Set attributes from the constructor's ``locals()``, including those in ``kwargs``."""
        extra = given.get("kwargs", {})
        for name, value in given.items():
            if name not in ("self", "kwargs", "__class__"):
                setattr(self, name, value)
        for name, value in extra.items():
            if name == CATCH_ALL:
                continue
            if not self._is_extra(name):
                raise TypeError(unknown_parameter(type(self), name))
            self._set_extra(name, value)

    def _is_extra(self, name):
        """Return whether a name that is not a constructor argument is allowed."""
        is_known = name in self._parameter_table or name in self._more_parameters
        return is_known or self._allows_unknown

    def _unknown_parameters(self):
        """Return the names of parameters that are stored without effect."""
        names = self.__dict__.get("_extra_params", {})
        known = {*self._parameter_table.by_name, *self._more_parameters}
        return [name for name in names if name not in known]

    def _set_extra(self, name, value):
        """Store a parameter that is not a constructor argument."""
        self.__dict__.setdefault("_extra_params", {})[name] = value
        setattr(self, name, value)

    @classmethod
    def _get_param_names(cls):
        """Return the names of constructor arguments, including those passed on to base classes."""
        return sorted(constructor_defaults(cls))

    def get_params(self, deep=True):
        """Return all parameters, including those given by other names."""
        params = super().get_params(deep)
        params.update(
            {name: getattr(self, name) for name in self.__dict__.get("_extra_params", ())}
        )
        return params

    def _validate_params(self):
        """Validate the parameters that differ from their defaults, as scikit-learn does."""
        defaults, given = constructor_defaults(type(self)), self.get_params(deep=False)
        changed = {n: v for n, v in given.items() if n not in defaults or v is not defaults[n]}
        validate_parameter_constraints(self._parameter_constraints, changed, type(self).__name__)

    def set_params(self, **params):
        """Set parameters by any of their names.

        Raises
        ------
        ValueError
            If a name is unknown.
        """
        own = set(self._get_param_names())
        for name, value in params.items():
            if name in own:
                setattr(self, name, value)
            elif name != CATCH_ALL and self._is_extra(name):
                self._set_extra(name, value)
            elif name != CATCH_ALL:
                raise ValueError(unknown_parameter(type(self), name))
        return self

    def _resolved(self):
        """Return a shallow copy whose constructor arguments have the values of given aliases.

        Raises
        ------
        ValueError
            If a parameter is not supported.
        """
        resolved = copy(self)
        own = constructor_defaults(type(self))
        for row in self._parameter_table.rows:
            if row.name in own and row.name not in self._own_parameters:
                row.check(type(self).__name__, row.name, getattr(self, row.name))
        for row, name in self._given_rows():
            value = getattr(self, name)
            row.check(type(self).__name__, name, value)
            if row.attribute:
                setattr(resolved, row.attribute, value)
        return resolved

    def _take_fitted(self, core):
        """Copy the fitted attributes from a resolved copy of this estimator."""
        params = set(self._get_param_names()) | set(self.__dict__.get("_extra_params", ()))
        params |= {row.attribute for row in self._parameter_table.rows} | {"_extra_params"}
        left = {name: value for name, value in core.__dict__.items() if name not in params}
        for name in self.__dict__.keys() - params - left.keys():
            del self.__dict__[name]
        self.__dict__.update(left)

    def _given_rows(self):
        """Yield each parameter given in ``kwargs``, and its name of highest precedence.

        As in LightGBM, they take precedence over constructor arguments. Among several names of a
        parameter, the library's main name takes precedence, then the shortest one.
        """
        extra = self.__dict__.get("_extra_params", {})
        table = self._parameter_table
        known = [name for name in extra if name in table]
        for row in dict.fromkeys(table.by_name[name] for name in known):
            given = [name for name in row.names if name in extra]
            values = [getattr(self, name) for name in given]
            if not all(is_same(values[0], other) for other in values[1:]):
                pairs = ", ".join(f"{n}={v!r}" for n, v in zip(given, values, strict=True))
                warnings.warn(
                    f"{type(self).__name__} got {pairs}, which mean the same: {given[0]} counts",
                    stacklevel=5,
                )
            yield row, given[0]


@lru_cache(maxsize=256)
def constructor_defaults(cls):
    """Return the constructor arguments of a class, a read-only mapping name → default.

    If the constructor has ``**kwargs``, the arguments of the next base class are included, unless
    the class has the attribute ``_first_constructor``.
    """
    defaults = {}
    for one in cls.__mro__:
        if "__init__" not in one.__dict__ or one is object:
            continue
        parameters = inspect.signature(one.__init__).parameters.values()
        for parameter in parameters:
            if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
                defaults.setdefault(parameter.name, parameter.default)
        takes_others = any(parameter.kind == parameter.VAR_KEYWORD for parameter in parameters)
        if not takes_others or "_first_constructor" in one.__dict__:
            break
    defaults.pop("self", None)
    return MappingProxyType(defaults)


def unknown_parameter(cls, name):
    """Return the error message for an unknown parameter name."""
    groups = [*constructor_defaults(cls)], [*cls._parameter_table.by_name]
    close = [one for known in groups for one in difflib.get_close_matches(name, known, n=1)]
    hint = f"; did you mean {close[0]!r}?" if close else ""
    return f"{cls.__name__} has no parameter {name!r}{hint}"


def is_same(one: Any, other: Any) -> bool:
    """Return whether two parameter values are equal; NaN equals NaN."""
    if one is other:
        return True
    if isinstance(one, bool) != isinstance(other, bool):
        return False  # 1 and True differ
    try:
        same = one == other
        if isinstance(same, np.ndarray):
            return bool(np.shape(one) == np.shape(other) and same.all())
        return bool(same) or bool(one != one and other != other)  # noqa: PLR0124 - NaN
    except (TypeError, ValueError):
        return False
