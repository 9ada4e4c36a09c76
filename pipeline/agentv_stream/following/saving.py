"""The state of a followed session in the cursors: saved at a line end, restored after a restart.

For logs that are read from their beginning at each change (a document, a session that is not known yet) no state is
kept, only their files.
"""

from agentv_stages.model.provider import Provider
from agentv_stages.providers import get_provider
from agentv_stream.following.cursors import CursorStore, InputRow, SessionRow
from agentv_stream.following.followed import Followed
from agentv_stream.following.growing import GrowingFile
from agentv_stream.following.inputs import Input, Repeated
from agentv_stream.following.stored import is_stored
from agentv_stream.sources.folder import context_of


def committable(session: Followed) -> bool:
    """Whether everything that was read is in the outputs: finally, or until the session continues."""
    if session.strange:
        return True
    if session.chain is None or (session.merged is not None and not session.merged.ready):
        return False
    if any(log.file.position < max(log.mute_until, log.told_until) for log in session.inputs):
        return False
    if any(log.file.reader.spilling for log in session.inputs):
        return False  # a record over the cap is read and counted again from its beginning
    return session.outputs is None or session.outputs.ready or session.outputs.settled


def anew(session: Followed) -> bool:
    """Whether it is read from its beginning when it continues: neither state nor hashes of records are kept."""
    waits = session.outputs is not None and not session.outputs.ready
    return session.strange or session.document or session.undecided is not None or waits


def save(session: Followed, store: CursorStore) -> None:
    """Writes its state into the cursors, within a transaction; call `saved` when that succeeded. Raises:
    CursorError."""
    seen, delivered = session.seen, session.delivered
    store.put(_row(session))
    store.note_seen(session.number, () if anew(session) else seen.new, seen.anew or anew(session))
    store.note_delivered(session.number, delivered.new, delivered.anew)


def saved(session: Followed) -> None:
    """Records that the session is in the cursors."""
    session.saved = True
    session.dirty = False
    session.delivered.new, session.delivered.anew = [], False
    if not anew(session):  # else the hashes are written with the first state that is kept
        session.seen.new, session.seen.anew = [], False


def _row(session: Followed) -> SessionRow:
    chain, outputs = session.chain, session.outputs
    decided = chain if session.undecided is None else None
    row = SessionRow(
        session.number, session.main,
        decided.provider.name if decided is not None else None, decided.dialect.name if decided is not None else None,
        session.native_id, not session.unsettled, 0, session.active_ms,
    )  # fmt: skip
    whole_document = session.document
    for log in session.inputs:
        state = "gone" if log.gone and log.state == "live" else log.state
        state = "other" if session.strange else "document" if whole_document and state == "live" else state
        read, mark = log.file.signature_read(), log.file.mark()
        repeated = log.repeated
        row.inputs.append(
            InputRow(log.path, state, log.generation, read, mark, repeated.skipped, log.context, repeated.repeating)
        )
    if chain is not None and not session.strange:
        row.outputs = outputs.snapshot() if outputs is not None else None
        if not anew(session):
            row.merged = session.merged.snapshot() if session.merged is not None else None
            row.state = chain.snapshot()
    return row


def _forked_since(row: SessionRow, provider: Provider) -> bool:
    """Whether the log was not yet known to begin with records of another session."""
    main = row.inputs[0]
    parent = main.context.session_id
    return row.state is not None and context_of(provider, main.path).session_id != parent


def restore(session: Followed, row: SessionRow) -> None:
    """Restores the committed state. Raises: msgspec.MsgspecError, KeyError when it is of another version."""
    session.saved = True
    session.main, session.active_ms = row.main, row.active_ms
    session.unsettled = not row.settled
    if row.provider is not None and row.inputs and _forked_since(row, get_provider(row.provider)):
        row.state = None  # it is read again
    for kept in row.inputs:
        mark = kept.mark if row.state is not None else None
        file = session.log(kept.path, mark)
        is_gone = kept.state == "gone"
        state = "live" if kept.state in ("gone", "document", "other") else kept.state
        session.printed = session.printed or kept.state == "document"
        log = Input(file, kept.context, state, kept.generation, Repeated(None, kept.skipped, kept.repeating), is_gone)
        file.identity = None if kept.signature is None else (kept.signature.device, kept.signature.inode)
        session.inputs.append(log)
        if kept.generation and file.position and not is_stored(kept.path):
            again = GrowingFile(log.path, session.makes.files, cap=session.makes.cap)
            session.seen.gone_on(log.repeated, again, file.position)
            session.makes.files.close(again)
    if row.outputs is not None and session.outputs is not None:
        session.outputs.restore(row.outputs)
    if row.merged is not None and session.merged is not None and row.state is not None:
        session.merged.restore(row.merged)
    if row.provider is None or row.dialect is None:
        return
    provider = get_provider(row.provider)
    dialect = next(d for d in provider.dialects if d.name == row.dialect)
    chain = session.start(provider, dialect)
    session.detector = None
    if row.state is not None:
        chain.restore(row.state)
        session.open_all(chain)
    for listener in session.makes.listeners:
        listener.restored(session)
