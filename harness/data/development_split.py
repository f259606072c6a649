"""Split of datasets into a development half and a validation half.

Decisions about an algorithm's defaults are made on the development half only. The validation half
is evaluated once a candidate is frozen. The half follows from the SHA-256 of the identity of the
source table, so datasets that are made from one table are always in the same half.
"""

from __future__ import annotations

import hashlib
from typing import Literal

Half = Literal["development", "validation"]


def half_of(family: str) -> Half:
    """Return the half of a source table.

    Parameters
    ----------
    family
        Identity of the source table, such as "adult". Case and surrounding blanks do not count.
    """
    digest = hashlib.sha256(family.strip().lower().encode()).digest()
    return "validation" if digest[0] & 1 else "development"
