"""The outputs of a session on disk and in the terminal: a sink for each output, the files they write, and their
names.
"""
