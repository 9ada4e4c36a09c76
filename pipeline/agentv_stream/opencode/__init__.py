"""Sessions that OpenCode and Kilo keep in a database or in folders.

`store` opens it to be read, `rows` gives a session as JSON lines, `source` those lines as an input of bytes.
"""
