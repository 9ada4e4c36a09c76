"""Sessions that OpenCode and Kilo keep in a database or in folders.

`store` opens it for reading, `rows` returns a session as JSON lines, `source` those lines as a byte source.
"""
