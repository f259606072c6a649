"""Built-in datasets, registered as plugins: cards, mirrors, generators."""
