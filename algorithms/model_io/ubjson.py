"""Reader and writer of Universal Binary JSON, the binary form of XGBoost's model files.

Keys and texts have a 64-bit length; arrays of numbers are stored with one type for all entries.
Numbers are big-endian.
"""

import struct

import numpy as np

NUMBERS = {  # marker → dtype
    b"i": np.dtype(">i1"),
    b"U": np.dtype(">u1"),
    b"I": np.dtype(">i2"),
    b"l": np.dtype(">i4"),
    b"L": np.dtype(">i8"),
    b"d": np.dtype(">f4"),
    b"D": np.dtype(">f8"),
}
CONSTANTS = {b"Z": None, b"T": True, b"F": False}
ARRAYS = {  # type of the arrays that XGBoost reads with one type
    **dict.fromkeys(("base_weights", "loss_changes", "split_conditions", "sum_hessian"), b"d"),
    "leaf_weights": b"d",
    **dict.fromkeys(("default_left", "split_type"), b"U"),
    **dict.fromkeys(("categories_segments", "categories_sizes"), b"L"),
    **dict.fromkeys(("left_children", "right_children", "parents", "split_indices"), b"l"),
    **dict.fromkeys(("categories", "categories_nodes", "sorted_idx", "feature_segments"), b"l"),
    "offsets": b"l",
}
OF_CATEGORIES = {9: b"i", 10: b"U", 11: b"I", 13: b"l", 15: b"L"}  # XGBoost's numbers of dtypes


def encode(document):
    """Return a document as bytes.

    Parameters
    ----------
    document : dict of dict, list, str, int, float, bool or None

    Raises
    ------
    ValueError
        If integer categories have a dtype that the format lacks.
    """
    parts = []
    add_value(parts, document)
    return b"".join(parts)


def add_value(parts, value, kind=None):
    """Append a value to the parts of a file; ``kind`` is the type of an array's entries."""
    if isinstance(value, dict):
        parts.append(b"{")
        for key, own in value.items():
            parts.append(as_text(key))
            add_value(parts, own, kind_of(key, value))
        parts.append(b"}")
    elif isinstance(value, list) and kind is not None:
        parts.append(b"[$" + kind + b"#L" + struct.pack(">q", len(value)))
        parts.append(np.array(value, NUMBERS[kind]).tobytes())
    elif isinstance(value, list):
        parts.append(b"[#L" + struct.pack(">q", len(value)))
        for one in value:
            add_value(parts, one)
    elif isinstance(value, str):
        parts.append(b"S" + as_text(value))
    elif value is None or isinstance(value, bool):
        parts.append({None: b"Z", True: b"T", False: b"F"}[value])
    elif isinstance(value, int):
        kind = next(one for one, most in ((b"i", 1 << 7), (b"l", 1 << 31), (b"L", 1 << 63))
                    if -most <= value < most)  # fmt: skip
        parts.append(kind + np.array(value, NUMBERS[kind]).tobytes())
    else:
        parts.append(b"D" + struct.pack(">d", value))


def kind_of(key, parent):
    """Return the type of an array's entries by its key, or None if they have their own."""
    if key != "values" or ("type" not in parent and "offsets" not in parent):
        return ARRAYS.get(key)
    number = parent.get("type", 9)  # names of categories are stored as signed bytes
    if number not in OF_CATEGORIES:
        raise ValueError(f"categories of XGBoost's dtype {number} have no type in UBJSON")
    return OF_CATEGORIES[number]


def as_text(text):
    """Return the length and the UTF-8 bytes of a text."""
    data = text.encode("utf-8")
    return b"L" + struct.pack(">q", len(data)) + data


def decode(data):
    """Return the document of a file.

    Parameters
    ----------
    data : bytes

    Raises
    ------
    ValueError
        If the data are not valid, or end too early.
    """
    return Reader(data).value()


class Reader:
    """Reader of one file."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, count):
        """Return the next bytes."""
        if count < 0 or count > len(self.data) - self.at:
            raise ValueError(f"the file ends {count} bytes too early")
        self.at += count
        return self.data[self.at - count : self.at]

    def numbers(self, kind, count):
        """Return numbers of one type as a list."""
        if kind not in NUMBERS:
            raise ValueError(f"{kind!r} is not a type of numbers")
        dtype = NUMBERS[kind]
        return np.frombuffer(self.take(count * dtype.itemsize), dtype).tolist()

    def count(self):
        """Return a length."""
        (found,) = self.numbers(self.take(1), 1)
        if not isinstance(found, int) or not 0 <= found <= len(self.data):
            raise ValueError(f"{found} is not a length")
        return found

    def text(self):
        """Return a text."""
        return self.take(self.count()).decode("utf-8")

    def value(self, kind=None):
        """Return the next value; ``kind`` is its marker if that was read before."""
        kind = self.take(1) if kind is None else kind
        if kind == b"{":
            return self.object()
        if kind == b"[":
            return self.array()
        if kind == b"S":
            return self.text()
        return CONSTANTS[kind] if kind in CONSTANTS else self.numbers(kind, 1)[0]

    def object(self):
        """Return an object."""
        found = {}
        while self.data[self.at : self.at + 1] != b"}":
            key = self.text()
            found[key] = self.value()
        self.at += 1
        return found

    def array(self):
        """Return an array."""
        kind = self.take(1)
        if kind == b"$":
            kind = self.take(1)
            if self.take(1) != b"#":
                raise ValueError("an array with a type has no length")
            return self.numbers(kind, self.count())
        if kind == b"#":
            return [self.value() for _ in range(self.count())]
        found = []
        while kind != b"]":
            found.append(self.value(kind))
            kind = self.take(1)
        return found
