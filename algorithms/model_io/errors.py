"""Exception for model files, and the check of column names that raises it."""

from harness import HarnessError


class ModelFileError(HarnessError, ValueError):
    """A file that is not a readable model, or a model that the file format cannot store."""


def check_name(name, form):
    """Raise ModelFileError if a library would truncate or misread a column name."""
    if "\0" in name or not is_unicode(name):
        raise ModelFileError(f"{form} cannot store a column named {name!r}: rename it")


def is_unicode(name):
    """Return whether a text can be encoded as UTF-8, that is, has no lone surrogates."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
