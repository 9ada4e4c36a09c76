"""The figures: statistics, totals, the result of a session."""
