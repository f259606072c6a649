"""Whether an algorithm keeps the contract: one small check a promise, each told in a sentence.

``checks`` holds them by name; ``supervised`` runs them in a process of their own, so that a
plugin that crashes or hangs is a finding too; ``claims`` holds the rungs that it claims against
those it reaches; `harness.testing` makes pytest tests of them.
"""
