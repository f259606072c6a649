"""Commands that measure the cost of training; they are not part of the asv suite.

Run them in a checkout: ``python -m costs.dask_cost``, ``dask_bytes`` and ``dask_comparison`` for
many machines, ``python -m costs.hist_limit`` for one machine.
"""

import benchmarks  # noqa: F401 - one thread for every pool, before numpy is loaded
