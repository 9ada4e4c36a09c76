"""Sessions for agents that ask: a server of the Model Context Protocol on standard input and output."""
