"""Finding sessions: the places of each agent's logs, and the facts in the head of a log."""
