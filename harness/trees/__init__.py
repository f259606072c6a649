"""`TreeEnsemble`, the common form of a fitted tree ensemble; needs numpy only."""
