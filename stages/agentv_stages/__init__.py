"""The pure core of agentv-stream: bytes and events in, events and bytes out. No I/O, no clock, no async.

    event, message, batch     what flows: events, completed messages, the envelope that carries them
    provider, tools, stage    the parts of a provider; the interface of a stage
    result, merge, schemas    the result of a session, sums over many sessions, the shapes of all outputs
    trajectory                verdicts

To read whole sessions, use `agentv_stream`, the public API.
"""
