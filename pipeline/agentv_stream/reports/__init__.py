"""Compares the results of many runs: figures, text, HTML."""
