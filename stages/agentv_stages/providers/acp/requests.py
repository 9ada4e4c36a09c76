"""Requests in ACP, of the client and of the agent, and the answers to them. In: a message. Out: its events."""

import msgspec

from agentv_stages.chain.foreign import other_session
from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import Notification, Source, UserText
from agentv_stages.model.payload import text_json, text_of
from agentv_stages.model.recent import remember
from agentv_stages.model.repeats import Repeats
from agentv_stages.providers.acp import endings, permissions, terminals, updates, wire
from agentv_stages.providers.acp.catalogue import FROM_AGENT, FROM_CLIENT, QUIET_METHODS
from agentv_stages.providers.acp.habits import agent_of
from agentv_stages.providers.acp.speech import Connection, release
from agentv_stages.providers.acp.state import MOST, AcpState
from agentv_stages.providers.acp.updates import facts


def called(at: Connection, line: wire.Line, data: bytes, record: Record, source: Source, batch: Batch) -> None:
    """Handles a request or a notification."""
    method = line.method or ""
    if method == "session/update":
        updates.updated(at, wire.decode_message(data).params, record, source, batch)
    elif method == "session/request_permission":
        permissions.requested(at, line, wire.decode_message(data).params, source, batch)
    elif method == "session/prompt":
        params = wire.decode_message(data).params
        _remember(at.state, line, method)
        release(at, batch)
        at.state.prompting, at.state.called, at.state.failure = True, False, None
        at.state.answers.clear()
        if params is not None and params.prompt not in wire.NOTHING:
            body = params.prompt if bytes(params.prompt)[:1] == b"[" else text_json(params.prompt)
            batch.events.append(UserText(source, "", body, f"p{source.row}"))
    elif method == "session/cancel":
        batch.events.append(Notification(source, "", method, "", "warning"))
    elif method in ("terminal/output", "terminal/wait_for_exit"):
        params = wire.decode_message(data).params
        if line.id is not None and params is not None and params.terminalId:
            remember(at.state.waits, str(line.id), params.terminalId, MOST)
        batch.ignore(method)
    elif method in ("session/new", "session/set_model"):
        params = wire.decode_message(data).params
        _remember(at.state, line, method)
        if params is not None and (params.cwd or params.modelId):
            facts(at, source, batch, cwd=params.cwd, model=params.modelId)
        else:
            batch.ignore(method)
    elif method in QUIET_METHODS or method.startswith("_"):
        _remember(at.state, line, method)
        batch.ignore("_extension" if method.startswith("_") else method)
    else:
        batch.unknown_type(method, record)


def _remember(state: AcpState, line: wire.Line, method: str) -> None:
    """Only the client's requests are remembered; the agent's have an id space of their own."""
    if line.id is not None and not method.startswith(("fs/", "terminal/", "_", "elicitation/")):
        remember(state.requests, str(line.id), method, MOST)
        if method == "session/load":
            state.replay = str(line.id)


def answered(
    at: Connection, line: wire.Line, data: bytes, side: str, record: Record, source: Source, batch: Batch
) -> None:
    """Handles an answer; `side` is the side that gave it, if the recorder notes that."""
    if side not in FROM_CLIENT and at.state.replay == str(line.id):
        at.state.replay = None
    if bytes(line.result)[:1] != b"{":
        batch.ignore("response")
        return
    try:
        result = wire.decode_answer(data).result
    except msgspec.ValidationError:
        if side in FROM_CLIENT:  # other answers of the client are not used
            batch.ignore("response")
            return
        raise
    if result is None:
        batch.ignore("response")
    elif result.outcome is not None and side not in FROM_AGENT:
        permissions.decided(at.state, str(line.id), result.outcome, batch)
    elif side not in FROM_AGENT and str(line.id) in at.state.waits and _of_terminal(result):
        terminals.answered(at.state, at.state.waits.pop(str(line.id)), result)
        batch.ignore("response")
    elif result.stopReason is not None:
        # if a request or a new connection reused an id, it belongs to another prompt
        waited = at.state.requests.pop(str(line.id), None) is not None
        again = at.state.answered.again(str(line.id)) and not waited
        if again and not at.state.answers:
            batch.ignore("response/again")
        else:
            endings.end(at, result, line.result, source, again, batch)
    elif result.agentInfo is not None or result.agentCapabilities not in wire.NOTHING or result.info is not None:
        info = result.agentInfo or result.info or wire.AgentInfo()
        offers = tuple(a.id for a in result.authMethods or () if a.id)
        at.state.agent = agent_of(info.name, offers) or at.state.agent
        at.state.answered = Repeats()
        if info.version:
            facts(at, source, batch, version=info.version)
        else:
            batch.ignore("response")
    elif result.sessionId or result.models is not None or result.configOptions:
        model = result.models.currentModelId if result.models else None
        for option in result.configOptions or ():
            if option.id == "model" and bytes(option.currentValue)[:1] == b'"':
                model = model or text_of(option.currentValue)
        if other_session(record, result.sessionId, at.state.session_id, batch):
            at.state.answered = Repeats()  # another client, which counts its requests from the start
        facts(at, source, batch, session_id=result.sessionId, model=model)
    else:
        batch.ignore("response")


def _of_terminal(result: wire.Result) -> bool:
    return result.exitCode is not None or result.signal is not None or result.output not in wire.NOTHING
