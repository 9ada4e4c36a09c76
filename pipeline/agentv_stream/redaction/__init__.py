"""Redaction around the pure rules: the key of this installation, faster search, the filter."""
