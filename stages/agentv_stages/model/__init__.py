"""The things that flow through a session: records, events, messages, faults, and the contracts around them."""
