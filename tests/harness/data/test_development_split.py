"""The split of datasets into a development half and a validation half is fixed."""

import hashlib

import pytest

from harness.data.development_split import half_of

EXPECTED = {
    "adult": "validation",
    "digits": "development",
    "delve": "development",
    "california": "development",
}


@pytest.mark.parametrize("family", ["adult", "wine_quality", "digits", "covertype"])
def test_half_is_the_first_byte_of_the_hash(family):
    is_odd = int(hashlib.sha256(family.encode()).hexdigest()[:2], 16) % 2
    assert half_of(family) == ("validation" if is_odd else "development")


def test_halves_of_known_tables_do_not_change():
    halves = {family: half_of(family) for family in EXPECTED}
    assert halves == EXPECTED


def test_case_and_blanks_do_not_count():
    assert half_of(" Adult ") == half_of("adult")
