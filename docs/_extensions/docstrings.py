"""Escape what reStructuredText would read as markup in our docstrings."""

import re

CODE = re.compile(r"(``.+?``|`[^`]+`)")
MARKUP = re.compile(r"(?<=\w)_(?!\w)|\||\*")


def escape(_app, _what, _name, _object, _options, lines):
    """Escape trailing underscores, bars and stars outside code; runs before napoleon."""
    for number, line in enumerate(lines):
        parts = CODE.split(line)
        parts[::2] = [MARKUP.sub(lambda found: "\\" + found.group(), part) for part in parts[::2]]
        lines[number] = "".join(parts)


def setup(app):
    """Connect before napoleon, which turns sections into fields."""
    app.connect("autodoc-process-docstring", escape, priority=100)
    return {"parallel_read_safe": True}
