"""Measuring programs side by side: rounds, processor time, peak memory, latencies, tables."""
