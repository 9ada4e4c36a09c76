"""Amp's threads to events: `threads/T-<id>.json`, one document, rewritten at each change.

Newer versions keep threads on the server; `amp threads export` prints the same document (unverified).
End rule: there is no end record; an answer that asks for no tool is a good end.
Source: threads of August 2026; third-party parsers.
"""

from msgspec import Struct

from agentv_stages.chain.pruning import read_each
from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import Notification, SessionEnd, SessionInfo, Source, Status, TokenUsage
from agentv_stages.model.payload import one_line
from agentv_stages.model.provider import DecodeContext
from agentv_stages.model.times import epoch_ms, parse_iso
from agentv_stages.providers.amp.blocks import add_answer, add_input, blocks_of
from agentv_stages.providers.amp.wire import Entry, Spent, Thread, decode_entry, decode_thread

LOSSES = (
    "cost (credits are no dollars)",
    "the work of sub-agents",
    "the version of the program",
)
_FILE = "file://"


class State(Struct):
    """Empty: a thread is one record."""


class ThreadDecoder:
    """Decoder of `amp-thread`."""

    def __init__(self, context: DecodeContext) -> None:
        self.context = context
        self.state = State()

    def decode(self, record: Record, batch: Batch) -> None:
        thread = decode_thread(one_line(record.data))
        if thread.messages is None:
            batch.unknown_type("(no messages)", record)
            return
        entries = read_each(thread.messages, decode_entry, "messages", record, batch)
        source = self.context.source(record, epoch_ms(thread.created))
        batch.events.append(SessionInfo(source, "", thread.id, cwd=_folder(thread), title=thread.title))
        for place, entry in entries:
            self._entry(entry, place, record, batch)

    def flush(self, batch: Batch) -> None:
        """Nothing is held back."""

    def _entry(self, entry: Entry, place: int, record: Record, batch: Batch) -> None:
        used, part = entry.usage, f"-{place}"
        sent = epoch_ms(entry.meta.sentAt) if entry.meta is not None else None
        source = self.context.source(record, parse_iso(used.timestamp) if used is not None else sent)
        message_id, blocks = f"m{place}", blocks_of(entry.content)
        if entry.role == "user":
            add_input(blocks, part, message_id, source, batch)
        elif entry.role == "assistant":
            model = used.model if used is not None else None
            if model is not None:
                batch.events.append(SessionInfo(source, f"{part}-model", model=model))
            asks = add_answer(blocks, part, message_id, source, batch, model, None)
            if used is not None and any((used.inputTokens, used.outputTokens, used.totalInputTokens)):
                batch.events.append(_usage(used, message_id, source))
            stopped = entry.state is None or entry.state.type in (None, "complete")
            if not asks and blocks and stopped:
                batch.events.append(SessionEnd(source, part, "complete"))
            elif entry.state is not None and entry.state.type in ("cancelled", "error"):
                status: Status = "interrupted" if entry.state.type == "cancelled" else "error"
                batch.events.append(SessionEnd(source, part, status, entry.state.type))
        elif entry.role == "info":
            batch.events.append(Notification(source, part, "compact_boundary", ""))
        else:
            batch.unknown_type(f"message/{entry.role}", record)


def _folder(thread: Thread) -> str | None:
    initial = thread.env.initial if thread.env is not None else None
    if initial is None:
        return None
    uris = [tree.uri for tree in initial.trees or () if tree.uri is not None and tree.uri.startswith(_FILE)]
    return initial.workingDirectory or (uris[0].removeprefix(_FILE) if uris else None)


def _usage(used: Spent, message_id: str, source: Source) -> TokenUsage:
    """Models of OpenAI have their uncached input under the name of cache writes."""
    parts = (used.inputTokens, used.cacheCreationInputTokens, used.cacheReadInputTokens)
    known = any(count is not None for count in parts)
    total = used.totalInputTokens or (sum(count or 0 for count in parts) if known else None)
    uncached = not used.inputTokens and (used.model or "").startswith(("gpt-", "openai/"))
    written = None if uncached else used.cacheCreationInputTokens
    return TokenUsage(
        source,
        f"-{message_id}",
        message_id,
        "call",
        used.model,
        total,
        used.cacheReadInputTokens,
        written,
        None,
        used.outputTokens,
    )
