"""How prompts end in ACP. In: the answer to a prompt, or an error. Out: the tokens and the end of a session."""

from msgspec import Raw

from agentv_stages.chain.pruning import decode_member
from agentv_stages.model.batch import Batch
from agentv_stages.model.event import EMPTY_OBJECT, Notification, SessionEnd, Source
from agentv_stages.model.payload import text_of
from agentv_stages.providers.acp import calls, usage, wire
from agentv_stages.providers.acp.catalogue import ENDS, FROM_CLIENT
from agentv_stages.providers.acp.speech import Connection, release


def end(at: Connection, result: wire.Result, raw: Raw, source: Source, again: bool, batch: Batch) -> None:
    """Ends a prompt; `again` means that its end was reported before, so that it adds no usage."""
    release(at, batch)
    calls.early(at, batch)
    reason = result.stopReason or ""
    status, why = ENDS.get(reason, "complete"), None if reason == "end_turn" else reason
    if status == "interrupted":
        calls.cancel(at, source, batch)
    elif at.state.failure is not None and status == "complete":
        status, why = "error", at.state.failure
    total = None if again else usage.of_prompt(at.state, result, source)
    if total is not None:
        batch.events.append(total)
    batch.events.append(SessionEnd(source, "", status, why, at.state.cost, result_json=raw))
    at.state.prompting = at.state.called = at.state.thoughts = False
    at.state.failure = None
    at.state.answers.clear()
    at.state.tasks.clear()


def failed(at: Connection, line: wire.Line, side: str, source: Source, batch: Batch) -> None:
    """An error instead of an answer: it ends the run if a prompt or a new session was requested."""
    text = _reason_of(line.error)
    if side not in FROM_CLIENT and at.state.replay == str(line.id):
        at.state.replay = None
    method = at.state.requests.pop(str(line.id), None) if side not in FROM_CLIENT else "client"
    if method in (None, "session/prompt", "session/new"):
        release(at, batch)
        batch.events.append(SessionEnd(source, "", "error", text, at.state.cost, result_json=line.error))
        at.state.prompting = False
    else:
        batch.events.append(Notification(source, "", f"{method} error", text, "error"))


def _reason_of(error: Raw) -> str:
    """The message of an error, with the details that Qwen adds."""
    if bytes(error)[:1] != b"{":
        return text_of(error) if bytes(error)[:1] == b'"' else ""
    value = decode_member(error, wire.decode_error, "error")
    data = value.data if bytes(value.data)[:1] == b"{" else EMPTY_OBJECT
    details = (
        decode_member(data, wire.decode_details, "error.data").details if value.message == "Internal error" else None
    )
    return ": ".join(filter(None, (value.message, details)))
