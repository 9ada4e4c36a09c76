"""Drift: parts of a log that this version has never seen, by names and shapes only.

`shapes` takes a record apart, `known` has the contents of recordings, `report` compares the two, `learn` writes the
catalogue of known names.
"""
