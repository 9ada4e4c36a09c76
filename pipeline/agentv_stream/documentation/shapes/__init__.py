"""The shapes of what commands print and write as JSON. Writers build plain values; tests check them against these."""
