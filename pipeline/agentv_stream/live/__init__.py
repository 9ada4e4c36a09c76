"""One live session: tasks on bounded channels, signals, the line on the terminal."""
