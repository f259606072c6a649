"""Charts, drawn as static SVG."""
