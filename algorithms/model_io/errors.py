"""The one error of a model file."""

from harness import HarnessError


class ModelFileError(HarnessError, ValueError):
    """A file that holds no model that can be read here, or a model that a file cannot hold."""
