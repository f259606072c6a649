"""Parts of the Dask executor: its workers, their hosts, and their jobs."""
