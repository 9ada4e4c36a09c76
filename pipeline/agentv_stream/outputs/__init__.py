"""What a session leaves on disk and on the terminal: sinks for each output, the files that they write, their names."""
