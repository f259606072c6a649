"""Read the number of bytes that crossed the loopback device."""

from pathlib import Path

SENT = 8  # the column of sent bytes, after the device's name


def bytes_sent(counters=Path("/proc/net/dev")):
    """Return the bytes sent over the loopback device of this network namespace."""
    lines = counters.read_text(encoding="ascii").splitlines()
    named = (line.split(":") for line in lines if ":" in line)
    return next(int(counts.split()[SENT]) for name, counts in named if name.strip() == "lo")
