"""oh-my-pi's standard output (`--mode json`, `--mode rpc`) to events: Pi's, with lines of its own.

Source: oh-my-pi 18.2.3.
"""

from agentv_stages.chain.pruning import REFUSED
from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import Level, Notification
from agentv_stages.model.payload import has_value, text_of
from agentv_stages.providers.oh_my_pi.calls import other, refine
from agentv_stages.providers.oh_my_pi.catalogue import LINES, SILENT_LINES
from agentv_stages.providers.oh_my_pi.wire import decode_own_line
from agentv_stages.providers.pi.stream import StreamDecoder as PiStreamDecoder

_LEVELS: dict[str | None, Level] = {"info": "info", "warning": "warning", "error": "error"}


class StreamDecoder(PiStreamDecoder):
    """Decoder of `oh-my-pi-stream`."""

    other = staticmethod(other)

    def decode(self, record: Record, batch: Batch) -> None:
        begin, held = len(batch.events), self.state.held_end
        try:
            super().decode(record, batch)
        except REFUSED:  # its own messages are decoded again, for members that Pi's do not have
            del batch.events[begin:]
            self.state.held_end = held
            raise
        refine(batch, begin, record)

    def _new(self, kind: str, record: Record, batch: Batch) -> None:
        if kind in SILENT_LINES:
            batch.ignore(kind)
        elif kind in LINES:
            self._notice(kind, record, batch)
        else:
            super()._new(kind, record, batch)

    def _notice(self, kind: str, record: Record, batch: Batch) -> None:
        line = decode_own_line(record.data)
        source = self._source(record, None)
        if kind == "notice":
            text = text_of(line.message) if has_value(line.message) else ""
            batch.events.append(Notification(source, "", line.source or kind, text, _LEVELS.get(line.level, "info")))
        elif kind == "todo_reminder":
            batch.events.append(Notification(source, "", kind, f"attempt {line.attempt} of {line.max_attempts}"))
        elif kind in ("retry_fallback_applied", "retry_fallback_succeeded"):
            batch.events.append(Notification(source, "", kind, line.to or line.model or "", "warning"))
        else:
            batch.events.append(Notification(source, "", kind, ""))
