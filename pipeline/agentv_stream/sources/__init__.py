"""Where bytes come from: pipes, files, compressed files, folders."""
