"""Run jobs in worker processes: start, supervise and reuse them."""
