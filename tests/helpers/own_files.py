"""Helpers of the tests of a user's own files."""

import json

from harness.core.model import DatasetRef
from harness.data import load_table
from harness.plugins.registry import Registry


def loaded(dataset):
    """Load from JSON, like a worker."""
    ref = DatasetRef(dataset.name, dataset.digest, {}, json.loads(json.dumps(dataset.file)))
    return load_table(ref, Registry())
