"""Drift: what a log contains that this version has never seen, by names and shapes only.

`shapes` takes a record apart, `known` has what recordings contain, `report` compares the two, `learn` writes the
catalogue of what is known.
"""
