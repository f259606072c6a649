"""The error of a model file, and the names of columns that raise it."""

from harness import HarnessError


class ModelFileError(HarnessError, ValueError):
    """A file that holds no model that can be read here, or a model that a file cannot hold."""


def check_name(name, form):
    """Raise ModelFileError where a library would cut the name of a column, or read another one."""
    if "\0" in name or not is_unicode(name):
        raise ModelFileError(f"{form} cannot hold a column named {name!r}: rename it")


def is_unicode(name):
    """Return whether a text can be written as UTF-8: it has no lone surrogates."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
