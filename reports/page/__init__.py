"""Convert blocks to one HTML page, and runs to summaries in Markdown and JSON."""
