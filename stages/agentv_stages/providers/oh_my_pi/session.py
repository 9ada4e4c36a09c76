"""oh-my-pi's session files to events: Pi's version 3 with a slot for the title first, and entries of its own.

The end of a process is an entry, too (`session_exit`): a signal before the final answer interrupted the run.
Source: oh-my-pi 13.19.0 to 18.2.3.
"""

from agentv_stages.chain.pruning import REFUSED
from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import Notification, SessionEnd, SessionInfo, Source
from agentv_stages.model.payload import has_value
from agentv_stages.providers.oh_my_pi.calls import other, refine
from agentv_stages.providers.oh_my_pi.catalogue import ENTRIES, EXIT, SILENT_ENTRIES
from agentv_stages.providers.oh_my_pi.wire import OwnEntry, decode_exit, decode_own_entry
from agentv_stages.providers.pi.messages import spent, tokens
from agentv_stages.providers.pi.session import IGNORED
from agentv_stages.providers.pi.session import SessionDecoder as PiSessionDecoder
from agentv_stages.providers.pi.wire import Entry

_OWN = ENTRIES | {"custom", "model_change", "title"}


class SessionDecoder(PiSessionDecoder):
    """Decoder of `oh-my-pi-session`."""

    ignored = (IGNORED - {"custom"}) | SILENT_ENTRIES
    other = staticmethod(other)

    def decode(self, record: Record, batch: Batch) -> None:
        begin, leaf = len(batch.events), self.state.leaf
        try:
            super().decode(record, batch)
        except REFUSED:  # its own entries are decoded again, for members that Pi's do not have
            del batch.events[begin:]
            self.state.leaf = leaf
            raise
        refine(batch, begin, record)

    def _other(self, source: Source, record: Record, batch: Batch, entry: Entry) -> None:
        kind = entry.type
        if kind not in _OWN:
            super()._other(source, record, batch, entry)
            return
        own = decode_own_entry(record.data)
        if kind == "custom":
            self._custom(own, source, batch)
        elif kind == "model_change":
            self._model(own.model, own.role, source, batch)
        elif kind in ("title", "title_change"):
            batch.events.append(SessionInfo(source, "", title=own.title)) if own.title else batch.ignore(kind)
        elif kind == "reset_boundary":
            batch.events.append(Notification(source, "", kind, "what the model sees begins anew"))
        elif own.error_message:
            batch.events.append(Notification(source, "", kind, own.error_message, "error"))
        if kind == "model_usage" and own.usage is not None and spent(own.usage):
            key = f"{entry.id or f'm{record.row}'}@{entry.timestamp}"  # a fork of the session repeats the entry
            batch.events.append(tokens(source, key, own.model, own.usage))

    def _custom(self, own: OwnEntry, source: Source, batch: Batch) -> None:
        if own.custom_type != EXIT or not has_value(own.data):
            batch.ignore("custom")
            return
        end = decode_exit(own.data)
        if end.kind == "fatal":
            batch.events.append(SessionEnd(source, "-end", "error", end.reason))
        elif end.kind == "signal" and (end.pending_tool_calls or self.state.running):
            batch.events.append(SessionEnd(source, "-end", "interrupted", end.reason))
        else:
            batch.ignore(f"custom/{EXIT}")

    def _model(self, model: str | None, role: str | None, source: Source, batch: Batch) -> None:
        """The conversation's model; those of other roles (`smol`, `plan`) answer side calls."""
        if not model or role not in (None, "default"):
            batch.ignore("model_change")
            return
        name = model.partition("/")[2] or model
        self.state.model = name
        batch.events.append(SessionInfo(source, "", None, name))
