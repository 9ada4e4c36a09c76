"""Specs and targets as YAML files, and the verdicts that a stream gets by them."""
