"""Distributed training: connections between ranks, collective operations and Dask driver."""
