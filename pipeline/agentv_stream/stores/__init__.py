"""Sessions that agents keep in databases or in folders.

`store` opens one for reading and lists its sessions, `rows` returns a session as JSON lines, `source` those lines as a
byte source.
"""
