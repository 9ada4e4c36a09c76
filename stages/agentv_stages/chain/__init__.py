"""How it flows: bytes to records, records to events, events to calls and messages."""
