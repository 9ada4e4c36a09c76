"""Specs and targets as YAML files, and the verdicts on a stream according to them."""
