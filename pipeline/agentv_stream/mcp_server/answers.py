"""The answers of the MCP server. In: the roots that the user named, a question. Out: a bounded JSON object.

Every answer cites its sources: session id, turn, and the row of the message, which `agentv-stream show --turn`
finds again. Sessions are named by their ids, never by paths, so nothing outside the roots can be read.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, cast

from msgspec import json, to_builtins

from agentv_stages.model.event import MAIN
from agentv_stages.model.message import Message, PairedCall
from agentv_stages.model.payload import printable_path, text_of
from agentv_stages.model.times import iso, nearest_date_ms
from agentv_stages.session.parts import NONE, Parts
from agentv_stream.api.in_order import messages_in_order
from agentv_stream.checks.check import Checker, cases_of_source
from agentv_stream.checks.spec import check_judges, load_spec
from agentv_stream.discovery.discover import Session, find_sessions, in_project, only, pick, project_of
from agentv_stream.discovery.header import HeaderCache
from agentv_stream.discovery.period import Period
from agentv_stream.discovery.places import Root, cache_file
from agentv_stream.discovery.show import session_pieces
from agentv_stream.errors import UsageError
from agentv_stream.redaction.redaction import Redaction, redactor_of
from agentv_stream.searching.search import search_sessions
from agentv_stream.stores.store import split_stored
from agentv_stream.summary import SessionReader

MOST_BYTES = 20_000  # of an answer
MOST_SESSIONS, MOST_PLACES, MOST_MESSAGES, MOST_CHARS = 100, 50, 100, 8_000
MOST_SEARCHED = 20  # sessions that a search names
Answer = dict[str, Any]


class Answers:
    """Answers about the sessions below `roots`. `specs` are the files that may judge; without `redaction` secrets are
    shown."""

    def __init__(self, roots: Sequence[Root], specs: Iterable[Path] = (), redaction: Redaction | None = None) -> None:
        self.roots = roots
        self._places = [os.path.realpath(root.path) for root in roots]
        self.specs = {path.name: path for path in specs}
        self.redaction = redaction
        self.parts = NONE if redaction is None else Parts(redactor=redactor_of(redaction))

    def list_sessions(
        self, period: Period, provider: str | None = None, project: str | None = None, limit: int = 20
    ) -> Answer:
        """The sessions that changed in the period, the one updated last first. Raises: UsageError."""
        wanted = only(provider)
        found = [
            session
            for session in self._sessions(period.since_ms)
            if wanted(session)
            and period.holds(session.updated_ms)
            and (project is None or in_project(session, project))
        ]
        limit = _clamped(limit, MOST_SESSIONS)
        return self._bounded("sessions", map(self._listed, found[:limit]), {"total": len(found)})

    def search(self, text: str, period: Period, provider: str | None = None, limit: int = 20) -> Answer:
        """The places that hold a text, newest session first. Raises: UsageError."""
        if not text.strip():
            raise UsageError("text is empty: give the words to look for")
        outcome = search_sessions(
            text, self.roots, period=period, provider=provider, limit=MOST_SEARCHED, redaction=self.redaction
        )
        limit = _clamped(limit, MOST_PLACES)
        places = [
            {
                "session_id": printable_path(hits.session.id),
                "turn": place.turn,
                "stream": place.stream,
                "role": place.role,
                "where": place.where,
                "tool": place.tool,
                "snippet": f"{place.before}{place.found}{place.after}",
            }
            for hits in outcome.hits
            if self._is_below_roots(hits.session.path)
            for place in hits.places
        ]
        about = {"total": len(places), "sessions_not_read": outcome.unread, "troubles": outcome.troubles[:5]}
        return self._bounded("places", places[:limit], about)

    def read_session(self, session_id: str, first: int = 0, limit: int = 20, most_chars: int = 2_000) -> Answer:
        """Messages from the row `first` on, in the order in which they began.

        Raises: UsageError, SourceError, NotALog, EmptyInput.
        """
        session = self._session(session_id)
        limit, most_chars = _clamped(limit, MOST_MESSAGES), _clamped(most_chars, MOST_CHARS)
        reader = self._reader(session, messages=True)
        messages = (m for m in messages_in_order(reader, reader.batches()) if m.index >= first and not m.retracted)
        rows = (_message(message, most_chars) for message, _ in zip(messages, range(limit), strict=False))
        answer = self._bounded("messages", rows, {"session_id": printable_path(session.id)})
        shown: list[Answer] = answer["messages"]
        more = len(shown) == limit or answer["truncated"]
        return answer | {"next_row": shown[-1]["row"] + 1 if shown and more else None}

    def statistics(self, session_id: str) -> Answer:
        """The figures of a session, as docs/metrics.md defines them. Raises: as `read_session`."""
        reader = self._reader(self._session(session_id), messages=False)
        for _ in reader.batches():
            pass
        return self._whole(to_builtins(reader.result()))

    def check(self, session_id: str, spec: str, case: str | None = None) -> Answer:
        """The verdicts of a named spec. Raises: SpecError; as `read_session`."""
        if spec not in self.specs:
            raise UsageError(f"no spec is called {spec!r}; the user named: {', '.join(self.specs) or 'none (--spec)'}")
        loaded = load_spec(str(self.specs[spec]))
        check_judges([loaded])
        session = self._session(session_id)
        reader = self._reader(session, messages=False)
        checker = Checker([chosen for _, chosen in cases_of_source(Path(session.path), [loaded], case)])
        for batch in reader.batches():
            checker.observe(self.parts.original(batch))
        return self._whole({"session_id": printable_path(session.id), "cases": to_builtins(checker.finish())})

    def hidden_text(self, text: str) -> str:
        """A message without secrets."""
        return text if self.parts.redactor is None else self.parts.redactor.hide_text(text)

    def _session(self, session_id: str) -> Session:
        return pick(self._sessions(), session_id)

    def _sessions(self, since_ms: int | None = None) -> list[Session]:
        found = find_sessions(self.roots, HeaderCache(cache_file()), since_ms)
        return [session for session in found if self._is_below_roots(session.path)]

    def _is_below_roots(self, path: str) -> bool:
        """Whether a log is below a root, also if links are followed."""
        real = os.path.realpath(split_stored(path)[0])
        return any(real == place or real.startswith(place.rstrip("/") + "/") for place in self._places)

    def _reader(self, session: Session, messages: bool) -> SessionReader:
        pieces, provider = session_pieces(session.path), session.header.provider
        return SessionReader(pieces, session.path, provider, messages=messages, parts=self.parts)

    def _listed(self, session: Session) -> Answer:
        session.read_texts(self.parts.redactor)
        header = session.header
        return {
            "session_id": printable_path(session.id),
            "provider": header.provider,
            "project": project_of(header.cwd),
            "about": (header.title or header.prompt or "")[:200],
            "updated_at": iso(nearest_date_ms(session.updated_ms)),
            "size_bytes": session.size,
            "subagents": len(session.agents),
        }

    def _bounded(self, name: str, rows: Iterable[Answer], about: Answer) -> Answer:
        """As many rows as fit into an answer, without secrets."""
        shown: list[Answer] = []
        left, truncated = MOST_BYTES, False
        for row in self._hidden(rows):
            left -= len(json.encode(row))
            if left < 0 and shown:
                truncated = True
                break
            shown.append(row)
        return {**about, name: shown, "truncated": truncated}

    def _whole(self, answer: Answer) -> Answer:
        """An answer whose longest lists are cut until it fits; `left_out` says how many members each lacks."""
        [answer] = self._hidden([answer])
        left_out: dict[str, int] = {}
        while len(json.encode(answer)) > MOST_BYTES:
            longest = max(_lists(answer), key=lambda found: len(json.encode(found[1])), default=None)
            if longest is None or not longest[1]:
                break
            place, values = longest
            removed = len(values) - len(values) // 2
            del values[len(values) - removed :]
            left_out[place] = left_out.get(place, 0) + removed
        return answer | {"left_out": left_out}

    def _hidden(self, rows: Iterable[Answer]) -> Iterator[Answer]:
        redactor = self.parts.redactor
        for row in rows:
            yield row if redactor is None else json.decode(redactor.hide(json.encode(row)))


def _clamped(wanted: int, most: int) -> int:
    return max(1, min(wanted, most))


def _lists(value: Any, place: str = "") -> Iterator[tuple[str, list[Any]]]:
    """The lists in an answer, with their paths."""
    if not isinstance(value, dict):
        return
    for key, member in cast("Answer", value).items():
        path = f"{place}.{key}" if place else key
        if isinstance(member, list):
            yield path, member
        yield from _lists(member, path)


def _message(message: Message, most: int) -> Answer:
    def cut(text: str) -> str:
        return text if len(text) <= most else f"{text[:most]}… [{len(text) - most} more characters]"

    row: Answer = {
        "row": message.index,
        "turn": message.turn,
        "role": message.role,
        "stream": message.source.stream,
        "time": None if message.source.time_ms is None else iso(nearest_date_ms(message.source.time_ms)),
        "text": cut(message.text),
    }
    if message.source.stream == MAIN:
        del row["stream"]
    if message.calls:
        row["calls"] = [_call(paired, cut) for paired in message.calls]
    return row


def _call(paired: PairedCall, cut: Callable[[str], str]) -> Answer:
    call, result = paired.call, paired.result
    return {
        "id": call.call_id,
        "tool": call.tool or call.name,
        "input": cut(bytes(call.input_json).decode("utf-8", "replace")),
        "outcome": "unpaired" if result is None else result.outcome or "ok",
        "exit_code": None if result is None else result.exit_code,
        "output": "" if result is None or result.output_json is None else cut(text_of(result.output_json)),
    }
