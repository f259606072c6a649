"""Planning: turn an experiment into jobs, trials and duels, without loading data."""
