"""The typed blocks that a section returns: paragraphs, tables, figures."""
