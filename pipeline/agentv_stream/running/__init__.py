"""Starting an agent, reading its stream, ending it."""
