"""The sources of bytes: pipes, files, compressed files, folders."""
