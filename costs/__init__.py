"""What training costs, measured by commands; no part of the asv suite.

They are run in a checkout: ``python -m costs.dask_cost``, ``dask_bytes`` and ``dask_against`` for
many machines, ``python -m costs.hist_limit`` for one.
"""

import benchmarks  # noqa: F401 - one thread for every pool, before numpy is loaded
