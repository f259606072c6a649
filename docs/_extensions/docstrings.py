"""Prepare our docstrings for napoleon: escape markup, and add types and defaults of fields."""

import dataclasses
import re

CODE = re.compile(r"(``.+?``|`[^`]+`)")
MARKUP = re.compile(r"(?<=\w)_(?!\w)|\||\*")


def escape(_app, _what, _name, _object, _options, lines):
    """Escape trailing underscores, bars and stars outside code; runs before napoleon."""
    for number, line in enumerate(lines):
        parts = CODE.split(line)
        parts[::2] = [MARKUP.sub(lambda found: "\\" + found.group(), part) for part in parts[::2]]
        lines[number] = "".join(parts)


def describe_field(field):
    """Return the type of a dataclass field and its default, such as ``int, default 0``."""
    kind = field.type if isinstance(field.type, str) else field.type.__name__
    if field.default is not dataclasses.MISSING:
        return f"{kind}, default {field.default!r}"
    if field.default_factory is not dataclasses.MISSING:
        return f"{kind}, default {field.default_factory()!r}"
    return f"{kind}, required"


def add_types(_app, what, _name, documented, _options, lines):
    """Add the type and the default to each field in a dataclass's section ``Attributes``."""
    if what != "class" or not dataclasses.is_dataclass(documented) or "Attributes" not in lines:
        return
    fields = {field.name: field for field in dataclasses.fields(documented)}
    for number in range(lines.index("Attributes") + 2, len(lines)):
        name = lines[number].replace("\\", "")
        if name in fields:
            lines[number] = f"{name} : {describe_field(fields[name])}"


def setup(app):
    """Connect before napoleon, which turns sections into fields."""
    app.connect("autodoc-process-docstring", escape, priority=100)
    app.connect("autodoc-process-docstring", add_types, priority=101)
    return {"parallel_read_safe": True}
