"""The store of outcomes: one SQLite file and content-addressed arrays, safe against kill −9."""

from harness.store.write import DATABASE, Store

__all__ = ["DATABASE", "Store"]
