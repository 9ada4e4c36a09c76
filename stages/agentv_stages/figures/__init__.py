"""What is counted: statistics, totals, the result of a session."""
