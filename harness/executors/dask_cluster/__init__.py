"""The parts of the Dask executor: its workers, their hosts, and the jobs they run."""
