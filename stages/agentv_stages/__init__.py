"""The pure core of agentv-stream: bytes and events in, events and bytes out. No I/O, no clock, no async.

    event, message, batch     what flows: events, completed messages, the envelope that bears them
    provider, tools, stage    what a provider of your own is made of; the contract of a stage
    result, merge, schemas    a session's result, sums over many, the shapes of all outputs
    trajectory                verdicts

Whole sessions are read by `agentv_stream`, the public API.
"""
