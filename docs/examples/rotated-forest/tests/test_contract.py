"""One test for each rule of the plugin contract."""

from harness.testing import conformance

test_conformance = conformance("rotated_forest.plugin")
