"""The asv suite of rotated-forest: how its speed and its loss move from commit to commit."""

import os

# Use one thread for every case; the variables must be set before numpy is imported.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
