"""Secrets in the bytes of a log: where they are, and the same bytes with markers in their place."""
