"""What training on many machines costs, measured by commands; no part of the asv suite.

They are run in a checkout: ``python -m costs.dask_cost``, ``dask_bytes`` and ``dask_against``.
"""

import benchmarks  # noqa: F401 - one thread for every pool, before numpy is loaded
