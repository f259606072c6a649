"""From blocks to one HTML page; summaries as Markdown and JSON."""
