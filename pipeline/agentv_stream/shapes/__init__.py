"""The shapes of what commands print and write as JSON. The writers build plain values; tests hold them against these."""
