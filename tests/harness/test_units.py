import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.core.errors import ConfigError
from harness.core.units import parse_duration, parse_share, parse_size, show_duration, utc_now


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("60s", 60), ("2m30s", 150), ("1.5h", 5400), ("250ms", 0.25), (7, 7), ("1h 5m", 3900)],
)
def test_durations(text, seconds):
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    "text",
    [
        "",
        "soon",
        "5",
        "5 parsecs",
        "0s",
        "-3s",
        float("inf"),
        0,
        -1,
        True,
        None,
        [1],
        "9" * 400 + "s",
    ],
)
def test_invalid_duration_is_refused(text):
    with pytest.raises(ConfigError, match="duration"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("text", "size"), [("4GiB", 4 * 2**30), ("500MB", 500_000_000), ("1.5KiB", 1536), (9, 9)]
)
def test_sizes(text, size):
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "4 gib", "iB", "-4GiB", "4TiB", -1, True, [1], "9" * 400])
def test_invalid_size_is_refused(text):
    with pytest.raises(ConfigError, match="size"):
        parse_size(text)


@pytest.mark.parametrize(("text", "share"), [("2%", 0.02), (" 0.5 % ", 0.005), (0.1, 0.1)])
def test_shares(text, share):
    assert parse_share(text) == pytest.approx(share)


@pytest.mark.parametrize("text", ["", "%", "two", "200%", 0, 1, -0.1, "nan"])
def test_invalid_share_is_refused(text):
    with pytest.raises(ConfigError, match="share"):
        parse_share(text)


@given(st.floats(min_value=1e-6, max_value=1e6))
def test_every_duration_is_shown_with_a_unit(seconds):
    assert show_duration(seconds).split()[-1] in {"ms", "s", "min"}


def test_timestamps_are_utc_to_the_millisecond():
    assert utc_now().endswith("+00:00")
    assert len(utc_now()) == len("2026-11-21T09:42:00.000+00:00")
