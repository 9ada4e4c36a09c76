"""Finding sessions: where each agent keeps its logs, and what the head of a log says."""
