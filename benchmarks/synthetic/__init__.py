"""Made-up sessions of coding agents, in the exact wire shapes of the programs that write them."""
