"""Conformance checks of plugins: one small check for each rule of the plugin contract.

``checks`` lists them; ``supervised`` runs them in a separate process, so that a crash or hang of
the plugin is reported too; ``claims`` compares claimed and reached parity levels; `harness.testing`
turns them into pytest tests.
"""
