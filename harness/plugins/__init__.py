"""Plugin contract: hook specifications, registry, adapters, and a scaffold for new plugins."""
