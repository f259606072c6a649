"""Format words and numbers for people: safe names, significant digits, units."""

from __future__ import annotations

import math
import re
import unicodedata
import zlib
from collections.abc import Iterable, Sequence

from reports.text.palette import LABEL

SPACE = "\N{NO-BREAK SPACE}"
DASH = "\N{EN DASH}"  # means "no value"
MINUS = "\N{MINUS SIGN}"
TIMES = "\N{MULTIPLICATION SIGN}"
# Text without unsafe characters: printable ASCII and the characters of our own numbers.
_ORDINARY = re.compile(r"[ -~\u00a0\u202f×−–…±µ·≈▲▼●]*")
_ORDINARY_LINES = re.compile(_ORDINARY.pattern.replace("[", r"[\n\t", 1))
_SHOWN_AS_THEY_ARE = (
    "\N{ZERO WIDTH NON-JOINER}\N{ZERO WIDTH JOINER}"  # joiners that occur inside words
)


def plain(value: object, *, lines: bool = False) -> str:
    """Return text without invisible characters: no control, bidi or surrogate character.

    ``lines`` keeps line breaks and tabs, for multi-line text.
    """
    text = str(value)
    if (_ORDINARY_LINES if lines else _ORDINARY).fullmatch(text):
        return text
    return "".join(c if lines and c in "\n\t" else _visible(c) for c in text)


def _visible(char: str) -> str:
    code, category = ord(char), unicodedata.category(char)
    if category == "Cc" and code < 0x20:
        return chr(0x2400 + code)  # the symbol of the control character
    hidden = category in ("Cc", "Cf", "Cs", "Cn", "Zl", "Zp") and char not in _SHOWN_AS_THEY_ARE
    return f"[U+{code:04X}]" if hidden else char


def short(value: object, limit: int = 64) -> str:
    """Return text of at most ``limit`` characters; different names stay different."""
    text = plain(value)
    if len(text) <= limit:
        return text
    digest = zlib.crc32(text.encode()) & 0xFFFF
    return f"{text[: limit - 5]}…{digest:04x}"


def slug(value: object) -> str:
    """Return an anchor for a name; different names give different anchors."""
    text = str(value)
    kept = "".join(c if c.isascii() and (c.isalnum() or c in "-_.") else "-" for c in text)[:64]
    if kept == text and kept:
        return kept
    return f"{kept}-{zlib.crc32(text.encode(errors='surrogatepass')):08x}"


def listing(parts: Iterable[str]) -> str:
    """Return "a, b and c"."""
    words = list(parts)
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def few(names: Sequence[str], limit: int = 4) -> str:
    """Return the first names and the number of others."""
    shown = [short(name, LABEL) for name in names[:limit]]
    more = len(names) - limit
    return listing([*shown, f"{more} more"] if more > 0 else shown)


def plural(number: int, noun: str) -> str:
    """Return "1 trial", "3 trials", "6 launches"."""
    ending = "" if number == 1 else "es" if noun.endswith("ch") else "s"
    return f"{count(number)}{SPACE}{noun}{ending}"


def digits(value: float | None, significant: int = 3) -> str:
    """Return a number with so many significant digits, without exponent up to 10^15."""
    if value is None or math.isnan(value):
        return DASH
    if math.isinf(value):
        return "∞" if value > 0 else f"{MINUS}∞"
    if value == 0:
        return "0"
    rounded = float(f"{value:.{significant - 1}e}")  # rounded first: 0.9996 becomes 1.00
    exponent = math.floor(math.log10(abs(rounded)))
    if not -7 <= exponent < 15:
        return f"{rounded:.{significant - 1}e}".replace("-", MINUS)
    text = f"{rounded:.{max(0, significant - 1 - exponent)}f}"
    return text.replace("-", MINUS)


def count(value: float | None) -> str:
    """Return a whole number with separated thousands: 12 345."""
    if value is None or not math.isfinite(value):
        return DASH
    return f"{round(value):,}".replace(",", "\N{NARROW NO-BREAK SPACE}").replace("-", MINUS)


def steps(number: float | None) -> str:
    """Return a number of steps; above a million in exponent form: 4e15."""
    return count(number) if number is None or number < 1e6 else f"{number:.0e}".replace("+", "")


def signed(value: float | None) -> str:
    """Return a difference with its sign: +0.0123; below 10^-12 it is rounding."""
    if value is not None and abs(value) < 1e-12:
        return "0"
    return f"+{digits(value)}" if value is not None and value > 0 else digits(value)


def loss(value: float | None) -> str:
    """Return a loss with four significant digits."""
    return digits(value, 4)


def seconds(value: float | None) -> str:
    """Return a time: 12.3 µs, 45.0 ms, 1.23 s, 4 min 10 s."""
    if value is None or not math.isfinite(value):
        return DASH
    if abs(value) >= 100:
        minutes, rest = divmod(round(value), 60)
        hours, minutes = divmod(minutes, 60)
        parts = [(hours, "h"), (minutes, "min"), (0 if hours else rest, "s")]
        return SPACE.join(f"{number}{SPACE}{unit}" for number, unit in parts if number)
    for factor, unit in ((1.0, "s"), (1e3, "ms")):
        if abs(value) * factor >= 0.9995:
            return f"{digits(value * factor)}{SPACE}{unit}"
    return f"{digits(value * 1e6)}{SPACE}µs" if value else f"0{SPACE}s"


def size(value: float | None) -> str:
    """Return bytes: 12.3 MiB."""
    if value is None or not math.isfinite(value):
        return DASH
    scaled, unit = float(value), "B"
    for bigger in ("KiB", "MiB", "GiB", "TiB"):
        if abs(scaled) < 1000:
            break
        scaled, unit = scaled / 1024, bigger
    return f"{count(scaled) if unit == 'B' else digits(scaled)}{SPACE}{unit}"


def ratio(value: float | None) -> str:
    """Return a ratio: ×3.42."""
    return DASH if value is None or math.isnan(value) else f"{TIMES}{digits(value)}"


def share(value: float | None) -> str:
    """Return a probability with two decimals; values near 0 or 1 are shown as "<" or ">"."""
    if value is None or not math.isfinite(value):
        return DASH
    if 0 < value < 0.005:
        return "<0.01"
    return ">0.99" if 0.995 <= value < 1 else f"{value:.2f}"


def moment(value: str) -> str:
    """Return a time of day from ISO 8601 in UTC: 2026-01-02 03:04:05 UTC."""
    return f"{value[:19].replace('T', ' ')} UTC" if value else ""


def bounds(low: float, high: float) -> str:
    """Return an interval without line breaks: [3.10, 3.71]."""
    return f"[{digits(low)},{SPACE}{digits(high)}]"
