"""Class codes of the labels that a library's model was trained on."""

from __future__ import annotations

import numpy as np


def codes_of_labels(labels):
    """Return a code for each label: the label itself if all are integers, else its index."""
    labels = np.asarray(labels)
    is_code = labels.dtype.kind in "iub"
    return tuple(int(label) for label in labels) if is_code else tuple(range(len(labels)))
