"""Brings the outputs of a session at rest into the form of a finished one.

In: a session with rows that may still change. Its chain and its outputs are forked for them: they are undone when the
session continues.
"""

from agentv_stages.session.parts import transform
from agentv_stream.following.followed import Followed


def settle(session: Followed) -> None:
    """Writes what would follow if the session ended now. Raises: SinkError, OSError."""
    session.unsettled = False
    session.reopen()
    if not decide(session):
        return
    chain, files = session.chain, session.files
    assert chain is not None
    if session.outputs is None and not any(files.rewritten(log.path) for log in files.inputs):
        return
    after = chain.fork()
    read = [
        (log, done)
        for log, last in files.unfinished()
        for records in transform(after.records, last)
        for done in after.push(records)
    ]
    batches = [*(done for _, done in read), *after.flush()]
    for log, batch in read:
        if files.rewritten(log.path):  # it has no line that is final before its end
            session.deliver(batch, after, log.file.position <= log.mute_until)
    if session.outputs is None:
        return
    verdicts = [case.result() for case in after.cases]
    parts = session.shared.plan.parts
    if verdicts and parts.redactor is not None:
        from agentv_stream.checks.check import hidden_results

        verdicts = hidden_results(verdicts, parts)
    provisional = session.recognition.assumed
    written = session.outputs.settle(batches, after.observer, after.pair.left, verdicts, provisional)
    if written is not None:
        for listener in session.shared.listeners:
            listener.settled(session, after, written)
    session.dirty = True


def end_partials(session: Followed) -> None:
    """Nothing will be read any more: takes the unfinished parts of all files and stores.

    Raises: SourceError, SinkError, OSError.
    """
    for log in session.files.inputs if session.chain is not None else ():
        if log.state == "live" and not session.files.rewritten(log.path):
            session.end_partial(log)


def decide(session: Followed) -> bool:
    """Whether the dialect is known, if necessary from the records so far. Raises: SinkError, OSError."""
    if session.chain is not None:
        return True
    files, parts = session.files, session.shared.plan.parts
    last = files.unfinished_of(files.inputs[0])
    unfinished = list(transform(parts.make_records(), last)) if last is not None else []
    if last is not None:
        files.printed = last.document
    found = session.recognition.at_rest(unfinished)
    if found is not None:
        session.begin(found)
    return found is not None
