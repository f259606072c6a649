"""One file, one section of the report; each is a plugin."""
