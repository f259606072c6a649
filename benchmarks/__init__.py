"""Suite of asv benchmarks: speed, loss and memory of every algorithm from commit to commit.

asv takes these files from the working tree and the project from each commit, so they import
nothing of the project at the top, and they skip (n/a) algorithms that a commit lacks.
"""

import os

# Before numpy is imported anywhere: asv ignores its own matrix in an `existing` environment.
for _name in (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
):
    os.environ.setdefault(_name, "1")
