"""What every test shares: an environment of its own, and the folder of shared datasets."""

import os

import hypothesis
import pytest

# A test says itself how long its examples may take: none is timed, on busy machines least of all.
hypothesis.settings.register_profile("local", deadline=None)
hypothesis.settings.register_profile("ci", deadline=None, derandomize=True)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "local")

KEPT = {"HARNESS_MIRROR"}


def pytest_configure(config: pytest.Config) -> None:
    """Keep the developer's settings and caches out of the tests, and the tests out of them."""
    for name in [name for name in os.environ if name.startswith("HARNESS_")]:
        if name not in KEPT:
            del os.environ[name]
