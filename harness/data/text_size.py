"""Size of a text file, counted in blocks before a parser holds all of it in memory.

A parser needs memory for each field as well as for each byte, and a packed file can unpack to a
thousand times its size. So bytes, lines and fields are counted first, in a constant amount of
memory, and a file that is too large is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import IO, NamedTuple

from harness.core.errors import DataError
from harness.data.columns import MAX_COLUMNS
from harness.data.folders import max_bytes
from harness.data.reading import Reading
from harness.data.streams import open_data, packed_size

BLOCK = 2**19  # bytes; fewer than `MAX_COLUMNS`, so a line inside a block never has too many fields
LONGEST_LINE = 64 * 2**20  # bytes
FIELD = 24  # bytes of memory that a parser needs for each field, beside the text itself
ALWAYS_ALLOWED = 2**30  # bytes of memory that a parser may need for any file
# A parser may need a multiple of the bytes that data may have once unpacked.
MULTIPLE, MULTIPLE_PACKED = 2, 4


class TextSize(NamedTuple):
    """Size of a text file once unpacked."""

    bytes: int
    lines: int  # upper bound
    fields: int  # upper bound


def checked_size(path: Path, reading: Reading) -> TextSize:
    """Return the size of a text file; raise DataError if it is too large to be parsed."""
    size = TextSize(*_count(path, reading))
    check_memory(path, size.bytes + FIELD * size.fields, "while it is read")
    return size


def check_table(path: Path, rows: int, columns: int) -> None:
    """Raise DataError if a table of numbers would need too much memory."""
    check_memory(path, 8 * rows * columns, f"as a table of {rows:,} rows and {columns:,} columns")


def check_memory(path: Path, needed: int, when: str) -> None:
    """Raise DataError if a text file needs more memory than allowed."""
    packed = packed_size(path)
    multiple = MULTIPLE if packed is None else MULTIPLE_PACKED
    allowed = max(ALWAYS_ALLOWED, multiple * max_bytes(packed))
    if needed > allowed:
        raise DataError(
            f"{path} needs about {needed:,} bytes of memory {when}, above the limit of "
            f"{allowed:,}; set HARNESS_MAX_BYTES=20GiB (or so) to read it"
        )


def bounded_lines(stream: IO[bytes], path: Path, separators: str = "") -> Iterator[bytes]:
    """Yield the lines of a stream; raise DataError for a line that is too long.

    Parameters
    ----------
    separators
        Characters between fields; their number per line is limited.
    """
    number = 0
    while line := stream.readline(LONGEST_LINE + 1):
        number += 1
        if len(line) > LONGEST_LINE:
            raise _too_long(path, number)
        if len(line) > MAX_COLUMNS:
            fields = sum(line.count(char.encode()) for char in separators)
            _check_fields(path, number, fields)
        yield line


def _count(path: Path, reading: Reading) -> tuple[int, int, int]:
    """Return the bytes, lines and fields of a file; raise DataError for a line that is too long."""
    separators = _separators(reading)
    total = lines = fields = 0
    line_bytes = line_fields = 0  # of the line that continues in the next block
    with open_data(path, reading.member) as stream:
        while block := stream.read(BLOCK):
            total += len(block)
            ends = max(block.count(b"\n"), block.count(b"\r"))
            in_block = sum(block.count(separator) for separator in separators)
            first = _first_end(block)
            head = block if first < 0 else block[:first]
            line_bytes += len(head)
            line_fields += sum(head.count(separator) for separator in separators)
            if line_bytes > LONGEST_LINE:
                raise _too_long(path, lines + 1)
            _check_fields(path, lines + 1, line_fields)
            if first >= 0:
                tail = block[max(block.rfind(b"\n"), block.rfind(b"\r")) + 1 :]
                line_bytes = len(tail)
                line_fields = sum(tail.count(separator) for separator in separators)
            lines += ends
            fields += in_block + ends
    return total, lines + 1, fields + 1


def _first_end(block: bytes) -> int:
    """Return the position of the first line end in a block, or −1."""
    places = [place for place in (block.find(b"\n"), block.find(b"\r")) if place >= 0]
    return min(places, default=-1)


def _separators(reading: Reading) -> tuple[bytes, ...]:
    if reading.format == "svmlight" or reading.separator == r"\s+":
        return b" ", b"\t"
    if reading.format != "csv":
        return (b",",)
    return (reading.separator.encode(),)


def _check_fields(path: Path, line: int, separators: int) -> None:
    if separators >= MAX_COLUMNS + 1:
        raise DataError(
            f"{path} has more than {MAX_COLUMNS:,} columns in line {line:,}; "
            f"at most {MAX_COLUMNS:,} are read"
        )


def _too_long(path: Path, line: int) -> DataError:
    return DataError(f"{path}: line {line:,} is longer than {LONGEST_LINE:,} bytes")
