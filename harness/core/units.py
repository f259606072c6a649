"""Parse and format durations (``2m30s``), sizes (``4GiB``) and shares (``2%``); time; JSON."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime
from typing import Any

from harness.core.errors import ConfigError

MAX_VALUE = 2**63  # bytes, or seconds: what the store can hold
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_BYTES = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9}
_BYTES |= {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30}


def parse_duration(text: str | float) -> float:
    """Return seconds from a number of seconds or a text such as ``90s``, ``2m30s``, ``1.5h``."""
    if isinstance(text, (int, float)) and not isinstance(text, bool):
        seconds = float(min(text, MAX_VALUE))
    else:
        string = text if isinstance(text, str) else ""
        parts = re.findall(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h)", string)
        rest = re.sub(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h)", "", string).strip()
        if not parts or rest:
            raise ConfigError(
                f"{str(text)[:80]!r} is not a duration; write it like 60s, 2m30s or 1.5h"
            )
        seconds = sum(float(number) * _SECONDS[unit] for number, unit in parts)
    if not 0 < seconds < MAX_VALUE:
        raise ConfigError(f"a duration must be above zero and finite, not {str(text)[:80]!r}")
    return seconds


def parse_size(text: str | int) -> int:
    """Return bytes from a number of bytes or a text such as ``4GiB`` or ``500MB``."""
    if isinstance(text, int) and not isinstance(text, bool):
        size: float = text
    else:
        string = text if isinstance(text, str) else ""
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMG]?i?B)?\s*", string)
        if match is None or (match[2] or "") not in _BYTES:
            raise ConfigError(f"{str(text)[:80]!r} is not a size; write it like 4GiB or 500MB")
        size = float(match[1]) * _BYTES[match[2] or ""]
    if not 0 <= size < MAX_VALUE:
        raise ConfigError(f"a size must lie from 0 to 8 EiB, not {str(text)[:80]!r}")
    return int(size)


def parse_share(text: str | float) -> float:
    """Return a share between 0 and 1 from a number or a text such as ``2%`` or ``0.02``."""
    try:
        percent = isinstance(text, str) and text.strip().endswith("%")
        share = float(str(text).strip().removesuffix("%")) / (100 if percent else 1)
    except ValueError:
        raise ConfigError(f"{text!r} is not a share; write it like 2% or 0.02") from None
    if not 0 < share < 1:
        raise ConfigError(f"a share must lie between 0 and 1, not {text!r}")
    return share


def parse_budget(text: str | float) -> float:
    """Return the seconds of a time budget; 0: no budget."""
    return 0.0 if text == 0 else parse_duration(text)


def show_size(size: float) -> str:
    """Return a size as text with three digits: ``812 B``, ``3.4 MB``."""
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000 or unit == "GB":
            break
        size /= 1000
    return f"{size:.3g} {unit}"


def show_duration(seconds: float) -> str:
    """Return a duration as short text: ``41 ms``, ``3.2 s``, ``4 min 10 s``."""
    if seconds < 1:
        return f"{seconds * 1000:.3g} ms"
    if seconds < 60:
        return f"{seconds:.3g} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def utc_now() -> str:
    """Return the time in UTC, ISO 8601, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def strict(value: Any) -> Any:
    """Return JSON data with None in place of NaN and infinity."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {key: strict(part) for key, part in value.items()}
    return [strict(part) for part in value] if isinstance(value, list) else value
