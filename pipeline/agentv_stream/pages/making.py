"""Makes the page of one session while it is read: batches in, the document out, in bounded memory."""

from collections.abc import Iterator
from typing import Any

import msgspec

from agentv_stages.figures.result import Evidence, Result, SessionFacts
from agentv_stages.findings import Findings
from agentv_stages.model.batch import Batch
from agentv_stages.model.message import Message
from agentv_stages.redaction.redactor import Redactor
from agentv_stages.session.saved import SavedMessages
from agentv_stream.costs.rates import Rates
from agentv_stream.outputs.step_spool import StepSpool
from agentv_stream.pages.page import Page

PAGE = ".html"
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(SavedMessages).decode


class PageMaker:
    """The page as a `Document`. `redactor` is for a session whose records are not redacted; its page is. `rates`
    estimate costs that the agent does not report."""

    name, suffix = "page", PAGE

    def __init__(self, redactor: Redactor | None = None, full: bool = False, rates: Rates | None = None) -> None:
        self._redactor = redactor
        self._page = Page(full, rates)
        self._findings = Findings()
        self._spool = StepSpool()

    @property
    def empty(self) -> bool:
        """Whether there was no message."""
        return not self._page.streams

    def take(self, batch: Batch) -> None:
        """Raises: SinkError."""
        self._page.take(batch)
        self._findings.observe(batch)
        for message in batch.messages:
            self._spool.add(message, self._page.message(self._redacted(message)))

    def title(self, about: Result) -> str:
        """The title at the head of the page."""
        return self._page.title(about if self._redactor is None else _without_secrets(about, self._redactor))

    def document(self, about: Result) -> Iterator[bytes]:
        """The page in pieces; `about` is the result of the session."""
        if self._redactor is not None:
            about = _without_secrets(about, self._redactor)
        found = self._findings.finish()
        if self._redactor is not None:
            for finding in found:
                finding.text = self._redactor.hide_text(finding.text)
        return self._page.document(about, self._spool.lines, found)

    def close(self) -> None:
        """Discards the stored messages."""
        self._spool.close()

    def _redacted(self, message: Message) -> Message:
        if self._redactor is None:
            return message
        data = _encode(SavedMessages.of([message]))
        redacted = self._redactor.redact(data)
        return message if redacted is data else _decode(redacted).back()[0]


def _without_secrets(about: Result, redactor: Redactor) -> Result:
    """The result with its texts redacted: who the session is, why it ended, its verdicts."""
    session = msgspec.json.decode(redactor.hide(_encode(about.session)), type=SessionFacts)
    evidence = msgspec.json.decode(redactor.hide(_encode(about.evidence)), type=Evidence)
    verdicts = about.verdicts
    if verdicts is not msgspec.UNSET:
        verdicts = msgspec.json.decode(redactor.hide(_encode(verdicts)), type=list[Any])
    return msgspec.structs.replace(about, session=session, evidence=evidence, verdicts=verdicts)
