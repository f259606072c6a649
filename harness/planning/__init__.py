"""From an experiment to a plan of jobs, trials and duels; pure, no data is loaded."""
