"""Two drawn trees in plain text, side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from harness.analysis.difference import Line


def as_text(titles: tuple[str, str], drawings: tuple[Sequence[Line], Sequence[Line]]) -> str:
    """Return two drawn trees side by side, in plain text."""
    columns = [[title, *_text_lines(lines)] for title, lines in zip(titles, drawings, strict=True)]
    width = max(map(len, columns[0]))
    height = max(map(len, columns))
    padded = [column + [""] * (height - len(column)) for column in columns]
    rows = (f"{one.ljust(width)}   {other}".rstrip() for one, other in zip(*padded, strict=True))
    return "\n".join(rows)


def _text_lines(lines: Sequence[Line]) -> Iterator[str]:
    for line, trunk in zip(lines, trunks(lines), strict=True):
        stem = "".join("│  " if goes_on else "   " for goes_on in trunk[:-1])
        fork = ("├─ " if trunk[-1] else "└─ ") if trunk else ""
        side = f"{line.side}: " if line.side in {"left", "right"} else ""
        mark = "▶ " if line.marked else ""
        rows = f"  ({line.rows} row{'s' * (line.rows != 1)})"
        yield f"{stem}{fork}{side}{mark}{line.text}{rows}"


def trunks(lines: Sequence[Line]) -> list[tuple[bool, ...]]:
    """Return for each line, at every depth up to its own, whether that branch continues below."""
    result: list[tuple[bool, ...]] = []
    open_at: dict[int, bool] = {}
    for line in reversed(lines):
        for deeper in [d for d in open_at if d > line.depth]:
            del open_at[deeper]
        result.append(tuple(open_at.get(d, False) for d in range(1, line.depth + 1)))
        open_at[line.depth] = True
    return result[::-1]
