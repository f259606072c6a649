"""Error of models whose trees cannot be written as a TreeEnsemble."""

from __future__ import annotations

from harness import HarnessError


def not_exportable(reason):
    """Return the error with the reason why a model cannot be exported."""
    return HarnessError(f"trees are not exportable: {reason}")
