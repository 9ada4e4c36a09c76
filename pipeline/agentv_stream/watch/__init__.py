"""The live view of running sessions (extra `watch`)."""
