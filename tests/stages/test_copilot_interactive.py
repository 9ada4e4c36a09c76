"""What Copilot's terminal writes that headless runs do not: forks, interruptions, compactions, reads of its own."""

from typing import Any

from agentv_stages.model.event import Notification, SessionEnd, SessionInfo, UserText
from agentv_stages.providers.copilot import PROVIDER
from support.decoding import calls, check_laws, decoded, dialect, events_of, lines, results, texts, usages

SESSION = dialect(PROVIDER, "copilot-session")
PARENT = "11111111-2222-4333-8444-555555555555"
FORK = "99999999-2222-4333-8444-555555555555"


def at(second: int, kind: str, data: dict[str, Any], **more: Any) -> dict[str, Any]:
    time = f"2026-03-01T10:{second // 60:02}:{second % 60:02}.000Z"
    return {"type": kind, "data": data, "id": f"e{second}-{kind}", "timestamp": time, "parentId": None, **more}


def start(second: int, session_id: str) -> dict[str, Any]:
    return at(second, "session.start", {"sessionId": session_id, "selectedModel": "model-1"}, id="e-start")


def answer(second: int, text: str, *call_ids: str, **more: Any) -> list[dict[str, Any]]:
    """A model call: its record of usage, and the message with its calls."""
    call, asked = f"api-{second}", [{"toolCallId": c, "name": "bash", "arguments": {"command": "ls"}} for c in call_ids]
    usage = {"model": "model-1", "inputTokens": 100, "outputTokens": 5, "apiCallId": call}
    said = {"messageId": f"m{second}", "model": "model-1", "content": text, "toolRequests": asked, "apiCallId": call}
    return [
        at(second, "session.usage_record", {"usage": usage}, **more),
        at(second, "assistant.message", said, **more),
    ]


def shutdown(second: int, asked: int) -> dict[str, Any]:
    usage = {"inputTokens": 100 * asked, "outputTokens": 5 * asked, "cacheReadTokens": 0, "cacheWriteTokens": 0}
    metrics = {"model-1": {"usage": usage}}
    return at(
        second, "session.shutdown", {"accountingSnapshot": {}, "modelMetrics": metrics, "currentModel": "model-1"}
    )


def ask(second: int, text: str) -> dict[str, Any]:
    return at(second, "user.message", {"content": text, "messageId": f"u{second}"})


def abort(second: int, **more: Any) -> dict[str, Any]:
    return at(second, "abort", {"reason": "user_abort"}, **more)


def test_a_forks_copied_history_is_its_parents() -> None:
    told = 'Forked from "[[x]] (y)" (' + PARENT + ') as "x (fork)" (' + FORK + ")."
    copied = [at(1, "session.model_change", {"newModel": "model-1"}), ask(2, "Go."), *answer(3, "Old.", "c1")]
    end = at(4, "tool.execution_complete", {"toolCallId": "c1", "success": True, "result": {"content": "a"}})
    own = [
        at(60, "session.info", {"infoType": "fork", "message": told}),
        at(61, "session.resume", {}),
        ask(62, "More."),
    ]
    given = lines(start(60, FORK), *copied, end, *own, *answer(63, "New."), shutdown(64, 2))
    check_laws(SESSION, given)
    batch = decoded(SESSION, given)
    assert batch.ignored["copied from the parent session"] == 5
    assert texts(batch.events) == ["New."]
    assert calls(batch.events) == [] and results(batch.events) == []
    assert [(u.scope, u.input) for u in usages(batch.events)] == [("call", 100)]
    info = [e for e in batch.events if isinstance(e, SessionInfo)]
    assert (info[0].session_id, info[1].parent_session_id) == (FORK, PARENT)
    assert [e.status for e in batch.events if isinstance(e, SessionEnd)] == ["complete"]


def test_a_session_that_was_forked_and_resumed_tells_all() -> None:
    told = 'Forked this session into "x (fork)" (' + FORK + ")."
    given = lines(
        start(0, PARENT),
        ask(1, "Go."),
        *answer(2, "Old."),
        at(3, "session.info", {"infoType": "fork", "message": told}),
    )
    events = events_of(SESSION, given)
    assert texts(events) == ["Old."]
    assert not [e for e in events if isinstance(e, SessionInfo) and e.parent_session_id]


def test_a_rewind_takes_no_call_from_what_a_follower_counted() -> None:
    """The terminal rewrites the log, and its totals leave out what was rewound; the follower goes on behind it."""
    rewound = at(5, "session.info", {"infoType": "rewind", "message": "Rewound the conversation."})
    begun = (start(0, PARENT), *answer(1, "One."), *answer(3, "Two."), rewound, *answer(6, "Three."))
    told = usages(events_of(SESSION, lines(*begun, shutdown(7, 2))))
    assert [(u.scope, u.input) for u in told] == [("call", 100)] * 3
    unseen = usages(events_of(SESSION, lines(start(0, PARENT), rewound, shutdown(7, 2))))
    assert [(u.scope, u.input) for u in unseen] == [("session", 200)]


def test_calls_that_escape_stopped_are_cancelled() -> None:
    started = at(3, "subagent.started", {"toolCallId": "c2", "agentName": "a"}, agentId="a1")
    background = at(2, "subagent.started", {"toolCallId": "c0", "agentName": "b"}, agentId="b1")
    given = lines(
        start(0, PARENT),
        *answer(1, "", "c0"),
        background,
        at(2, "tool.execution_complete", {"toolCallId": "c0", "success": True, "result": {"content": "runs"}}),
        *answer(4, "", "b-1", agentId="b1"),
        *answer(5, "", "c1", "c2"),
        started,
        *answer(6, "", "a-1", agentId="a1"),
        abort(7),
        ask(8, "Go on."),
        *answer(9, "", "c3"),
    )
    check_laws(SESSION, given)
    events = events_of(SESSION, given)
    assert [(r.call_id, r.outcome) for r in results(events)] == [
        ("c0", "ok"),
        ("c1", "cancelled"),
        ("c2", "cancelled"),
        ("a-1", "cancelled"),
    ]


def test_an_agent_that_was_stopped_alone_cancels_its_own_calls() -> None:
    started = at(3, "subagent.started", {"toolCallId": "c1", "agentName": "a"}, agentId="a1")
    given = lines(
        start(0, PARENT), *answer(1, "", "c1"), started, *answer(4, "", "a-1", agentId="a1"), abort(5, agentId="a1")
    )
    assert [(r.call_id, r.outcome) for r in results(events_of(SESSION, given))] == [("a-1", "cancelled")]


def test_the_model_call_of_a_compaction_counts_once() -> None:
    used = {"inputTokens": 400, "outputTokens": 7, "cacheReadTokens": 300, "cacheWriteTokens": 50, "model": "model-1"}
    compacted = {"success": True, "summaryContent": "All.", "compactionTokensUsed": used, "requestId": "r1"}
    steps = ("turn_started", "model_call_started", "model_call_success", "message", "response", "turn_ended")
    inside = [at(3, f"model.{kind}", {"kind": kind}) for kind in (*steps, "messages_snapshot")]
    begun = (start(0, PARENT), *answer(1, "Hi."), *inside, at(4, "session.compaction_complete", compacted))
    batch = decoded(SESSION, lines(*begun))
    assert batch.unknown == {}
    assert sum(u.input or 0 for u in usages(batch.events)) == 500
    ended = usages(events_of(SESSION, lines(*begun, shutdown(5, 1))))
    assert [(u.scope, u.input, u.cached, u.output) for u in ended][-1] == ("session", 500, 300, 12)
    old = {**compacted, "compactionTokensUsed": {"input": 400, "output": 7}}
    assert usages(events_of(SESSION, lines(start(0, PARENT), at(4, "session.compaction_complete", old)))) == []


def test_what_copilot_reads_by_itself_is_no_answer_and_no_call() -> None:
    asked = {"toolCallId": "c1", "name": "read_bash", "arguments": {"shellId": "3"}}
    notice = at(3, "system.notification", {"content": "Shell command has completed."})
    given = [
        start(0, PARENT),
        *answer(1, "Hi."),
        notice,
        at(4, "assistant.message", {"messageId": "m4", "content": "", "toolRequests": [asked]}, parentId=notice["id"]),
        at(5, "tool.execution_start", {"toolCallId": "c1", "toolName": "read_bash", "arguments": {"shellId": "3"}}),
        at(6, "tool.execution_complete", {"toolCallId": "c1", "success": True, "result": {"content": "a"}}),
    ]
    check_laws(SESSION, lines(*given))
    events = events_of(SESSION, lines(*given))
    assert calls(events) == [] and results(events) == []
    assert [(e.name, e.message) for e in events if isinstance(e, Notification)] == [("tool.automatic", "read_bash")]
    assert [e.injected for e in events if isinstance(e, UserText)] == [True]
    answers = [*given[:4], {**given[4], "parentId": "e-turn"}, *given[5:]]
    assert [c.call_id for c in calls(events_of(SESSION, lines(*answers)))] == ["c1"]
