"""One session: how it is opened, read and written."""
