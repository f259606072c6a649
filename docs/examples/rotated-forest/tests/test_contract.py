"""Every promise of the plugin contract, a test each."""

from harness.testing import conformance

test_conformance = conformance("rotated_forest.plugin")
