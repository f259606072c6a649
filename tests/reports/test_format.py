import math
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports.text import format as formatting

NBSP = "\N{NO-BREAK SPACE}"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0, "0"),
        (1, "1.00"),
        (0.9996, "1.00"),
        (9.995, "9.99"),  # the float lies below 9.995
        (12.345, "12.3"),
        (1234.5, "1230"),
        (0.00123456, "0.00123"),
        (-0.5, "\N{MINUS SIGN}0.500"),
        (1e-9, "1.00e\N{MINUS SIGN}09"),
        (math.nan, "\N{EN DASH}"),
        (None, "\N{EN DASH}"),
        (math.inf, "∞"),
        (-math.inf, "\N{MINUS SIGN}∞"),
    ],
)
def test_digits(value, shown) -> None:
    assert formatting.digits(value) == shown


@given(st.floats(1e-6, 1e12), st.integers(2, 6))
def test_digits_keeps_that_many_digits(value, significant) -> None:
    shown = float(formatting.digits(value, significant))
    assert shown == pytest.approx(value, rel=0.51 * 10 ** (1 - significant))


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0, "0 s"),
        (3.2e-6, "3.20 µs"),
        (0.0449, "44.9 ms"),
        (0.9999, "1.00 s"),
        (1.234, "1.23 s"),
        (99.99, "100 s"),
        (100, "1 min 40 s"),
        (250.2, "4 min 10 s"),
        (120, "2 min"),
        (7260, "2 h 1 min"),
        (math.nan, "\N{EN DASH}"),
    ],
)
def test_seconds(value, shown) -> None:
    assert formatting.seconds(value).replace(NBSP, " ") == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1024, "1.00 KiB"),
        (12.34 * 2**20, "12.3 MiB"),
        (None, "\N{EN DASH}"),
    ],
)
def test_size(value, shown) -> None:
    assert formatting.size(value).replace(NBSP, " ") == shown


def test_counts_ratios_and_differences() -> None:
    assert formatting.count(1234567) == "1\u202f234\u202f567"
    assert formatting.ratio(3.417) == "\N{MULTIPLICATION SIGN}3.42"
    assert formatting.signed(0.0123) == "+0.0123"
    assert formatting.signed(-0.0123) == "\N{MINUS SIGN}0.0123"
    assert formatting.bounds(3.1, 3.71) == "[3.10,\N{NO-BREAK SPACE}3.71]"
    assert formatting.plural(1, "trial") == f"1{NBSP}trial"
    assert formatting.plural(2, "trial") == f"2{NBSP}trials"
    assert formatting.plural(6, "launch") == f"6{NBSP}launches"
    assert formatting.listing(["a", "b", "c"]) == "a, b and c"
    assert formatting.listing([]) == ""
    assert formatting.few(["a", "b", "c"], 2) == "a, b and 1 more"
    assert formatting.moment("2026-01-02T03:04:05.123+00:00") == "2026-01-02 03:04:05 UTC"


@given(st.text(st.characters()))
def test_plain_text_shows_control_characters(text) -> None:
    shown = formatting.plain(text)
    hidden = {c for c in shown if unicodedata.category(c) in ("Cc", "Cs", "Cn", "Zl", "Zp", "Cf")}
    assert hidden <= set("\u200c\u200d"), "joiners are part of words"
    shown.encode()
    assert formatting.plain(shown) == shown


def test_plain_text_keeps_lines_if_requested() -> None:
    assert formatting.plain("a\n\tb\x00", lines=True) == "a\n\tb␀"
    assert formatting.plain("a\n\tb") == "a␊␉b"
    assert formatting.plain("x\u202etxt.exe") == "x[U+202E]txt.exe"
    assert formatting.plain("שלום") == "שלום"


@given(st.text(max_size=40), st.integers(10, 30))
def test_short_text_fits(text, limit) -> None:
    shown = formatting.short(text, limit)
    assert len(shown) <= limit
    if len(formatting.plain(text)) <= limit:
        assert shown == formatting.plain(text)


def test_long_names_with_one_prefix_stay_different() -> None:
    assert formatting.short("x" * 1000 + "a") != formatting.short("x" * 1000 + "b")
    assert len(formatting.short("x" * 1000)) == 64


@given(st.text(max_size=80))
def test_slug_is_an_anchor(text) -> None:
    assert formatting.slug(text)
    assert all(c.isascii() and (c.isalnum() or c in "-_.") for c in formatting.slug(text))


@given(st.text(max_size=20), st.text(max_size=20))
def test_slugs_of_different_names_differ(one, other) -> None:
    assert (formatting.slug(one) == formatting.slug(other)) == (one == other)
