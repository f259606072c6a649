"""Executors that run a plan: on this machine, or on a Dask cluster."""
