"""Forks and resumed sessions of Claude on disk: what they copied from their parent's log is not told again."""

from typing import Any

import pytest

from agentv_stages.chain.foreign import COPIED
from agentv_stages.model.batch import Batch
from agentv_stages.model.event import AnyEvent, AssistantText, SessionInfo, UserText
from agentv_stages.model.provider import DecodeContext
from agentv_stages.providers.claude import PROVIDER
from support.decoding import check_laws, decoded, dialect, lines, usages

DISK = dialect(PROVIDER, "claude-session")
EARLIER, FORKED = "2026-03-01T10:00", "2026-03-01T11:00"


def line(kind: str, time: str, own: str, session: str = "fork", **members: Any) -> dict[str, Any]:
    return {"type": kind, "uuid": own, "parentUuid": "before", "isSidechain": False, "sessionId": session,
            "version": "2.1.300", "cwd": "/w", "timestamp": f"{time}Z", **members}  # fmt: skip


def user(text: str, time: str, **members: Any) -> dict[str, Any]:
    return line("user", time, f"u-{text}", message={"role": "user", "content": text}, **members)


def answer(text: str, time: str, **members: Any) -> dict[str, Any]:
    message: Any = {"id": f"msg_{text}", "model": "claude-x", "content": [{"type": "text", "text": text}],
               "stop_reason": "end_turn", "usage": {"input_tokens": 10, "output_tokens": 20}}  # fmt: skip
    return line("assistant", time, f"a-{text}", **{"message": message, **members})


def queued(time: str, **members: Any) -> dict[str, Any]:
    return {"type": "queue-operation", "operation": "enqueue", "timestamp": f"{time}Z", "sessionId": "fork", **members}


def snapshot(prompt: str, time: str) -> dict[str, Any]:
    inner: dict[str, Any] = {"messageId": prompt, "trackedFileBackups": {}, "timestamp": f"{time}Z"}
    return {"type": "file-history-snapshot", "messageId": prompt, "snapshot": inner, "isSnapshotUpdate": False}


def history(**members: Any) -> list[dict[str, Any]]:
    asked = {name: members.pop(name) for name in ("requestSessionId",) if name in members}  # of answers alone
    said = answer("old answer", f"{EARLIER}:03.250", **members, **asked)
    return [user("old prompt", f"{EARLIER}:01.100", **members), said]


def own(**members: Any) -> list[dict[str, Any]]:
    return [user("new prompt", f"{FORKED}:00.120", **members), answer("new answer", f"{FORKED}:02.340", **members)]


def at(time: str, *values: dict[str, Any], **members: Any) -> list[dict[str, Any]]:
    """The lines as one that copies at `time` writes them."""
    return [{**value, "timestamp": f"{time}Z", **members} for value in values]


def since(clock: str, time: str, *values: dict[str, Any]) -> list[dict[str, Any]]:
    """The lines of a run whose clock was set back before the first of them."""
    return [{**value, "timestamp": value["timestamp"].replace(time, clock)} for value in values]


ASKED = queued(f"{FORKED}:00.100", content="new prompt")
FORKED_FROM = {"forkedFrom": {"sessionId": "parent", "messageUuid": "m"}}
FORKS = {
    "headless": [queued(f"{FORKED}:00.100"), queued(f"{FORKED}:00.101"), *history(), *own()],
    "headless, users of the parent": [
        queued(f"{FORKED}:00.100"),
        user("old prompt", f"{EARLIER}:01.100", sessionId="parent", version="2.0.30"),
        answer("old answer", f"{EARLIER}:03.250", version="2.0.30"),
        *own(version="2.0.30"),
    ],
    "of a session that began with the same prompt": [
        ASKED, user("new prompt", f"{EARLIER}:01.100"), answer("old answer", f"{EARLIER}:03.250"), *own()],
    "that was asked something else": [ASKED, *history(), *own()],
    "in the terminal": [{"type": "mode", "sessionId": "fork"}, snapshot("u-new prompt", f"{FORKED}:00.130"),
                        *history(), *own()],
    "a fork of a fork": [snapshot("u-old prompt", f"{EARLIER}:01.101"), snapshot("u-new prompt", f"{FORKED}:00.130"),
                         *history(), *own()],
    "a branch": [*history(**FORKED_FROM), *own()],
    "a fork of a branch": [snapshot("u-new prompt", f"{FORKED}:00.130"), *history(**FORKED_FROM),
                           answer("the branch's own", f"{EARLIER}:30.000"), *own()],
    "of which the answers say who asked for them": [
        queued(f"{FORKED}:00.100"), *history(requestSessionId="parent"), *own()],
    "a fork of such a fork": [
        queued(f"{FORKED}:00.100"), *history(requestSessionId="its parent"),
        user("a prompt of the parent", f"{EARLIER}:20.000"),
        answer("the parent's answer", f"{EARLIER}:30.000", requestSessionId="parent"), *own()],
    "stamped anew": [{"type": "summary", "summary": "a title", "leafUuid": "x"},
                     *at(f"{FORKED}:00.117", *history(), version="1.0.96"), *own(version="1.0.96")],
    "stamped anew, in two milliseconds": [*at(f"{FORKED}:00.117", *history(), version="2.0.0"),
                                          *at(f"{FORKED}:00.118", *history(), version="2.0.0"), *own(version="2.0.0")],
}  # fmt: skip


def texts(events: list[AnyEvent]) -> list[str]:
    return [event.text for event in events if isinstance(event, (UserText, AssistantText))]


def told(events: list[AnyEvent]) -> tuple[list[str], list[str | None]]:
    return texts(events), [usage.key for usage in usages(events)]


@pytest.mark.parametrize("name", FORKS)
def test_what_a_fork_copied_is_not_told(name: str) -> None:
    given = lines(*FORKS[name])
    batch = decoded(DISK, given)
    assert told(batch.events) == (["new prompt", "new answer"], ["msg_new answer"])
    assert batch.ignored[COPIED] == sum("message" in value for value in FORKS[name]) - 2
    assert (batch.unknown, batch.faults) == ({}, [])
    first = next(e for e in batch.events if isinstance(e, SessionInfo) and e.session_id)
    assert first.session_id == "fork"
    check_laws(DISK, given)


@pytest.mark.parametrize("name", FORKS)
def test_a_fork_begins_when_it_was_made(name: str) -> None:
    """Else its duration would be that of the parent, too."""
    times = [e.source.time_ms for e in decoded(DISK, lines(*FORKS[name])).events if e.source.time_ms is not None]
    assert min(times) >= 1772362800000


@pytest.mark.parametrize(
    ("name", "parent"),
    [
        ("a branch", "parent"),
        ("headless, users of the parent", "parent"),
        ("headless", None),
        ("of which the answers say who asked for them", "parent"),
        ("a fork of such a fork", "parent"),
    ],
)
def test_a_fork_names_its_parent_where_the_copies_do(name: str, parent: str | None) -> None:
    infos = [e.parent_session_id for e in decoded(DISK, lines(*FORKS[name])).events if isinstance(e, SessionInfo)]
    assert [named for named in infos if named] == ([parent] if parent else [])


def test_the_total_of_a_fork_is_not_its_own() -> None:
    """It goes on counting where its parent was."""
    spent = {"m": {"inputTokens": 100, "outputTokens": 200, "costUSD": 1.0}}
    total = {"type": "cost-state", "sessionId": "fork", "totalCostUSD": 1.0, "modelUsage": spent}
    assert len(usages(decoded(DISK, lines(*FORKS["headless"], total)).events)) == 1
    assert len(usages(decoded(DISK, lines(queued(f"{FORKED}:00.100"), *own(), total)).events)) > 1


def test_a_fork_without_a_prompt_of_its_own_is_empty() -> None:
    batch = decoded(DISK, lines(*history(**FORKED_FROM)))
    assert told(batch.events) == ([], [])
    assert [e.session_id for e in batch.events if isinstance(e, SessionInfo)] == ["fork", None]


HOOK = line("attachment", f"{FORKED}:00.010", "h", attachment={"type": "hook_success", "hookName": "SessionStart"})
CAVEAT = user("<local-command-caveat>", f"{FORKED}:00.020", isMeta=True)
SET_BACK = [
    queued(f"{FORKED}:00.100", content="first prompt"),
    user("first prompt", f"{EARLIER}:01.100"),
    answer("first answer", f"{EARLIER}:03.250"),
]
EARLY_CAVEAT = user("<local-command-caveat>", f"{EARLIER}:00.900", isMeta=True)
NOT_COPIED = {
    "a plain session": own(),
    "a clock that was set back": [ASKED, *since(EARLIER, FORKED, *own())],
    "a clock that was set back and on again": [*SET_BACK, *own()],
    "a clock that was set back before a command": [SET_BACK[0], EARLY_CAVEAT, *SET_BACK[1:], *own()],
    "a clock that was set back in a long run": [
        *SET_BACK,
        *(answer(f"{n}", f"{EARLIER}:10.{n:03}") for n in range(100)),
        *since(EARLIER, FORKED, *own()),
    ],
    "a hook before the queue": [queued(f"{FORKED}:00.100"), HOOK, *own()],
    "commands before the prompt": [snapshot("u-new prompt", f"{FORKED}:00.130"), HOOK, CAVEAT, *own()],
    "commands alone before an answer": [snapshot("another", f"{FORKED}:00.130"), HOOK, CAVEAT, *own()],
    "an old version": own(version="1.0.96"),
    "whole seconds": at(f"{FORKED}:00.000", *own(), version="1.0.96"),
    "another program's version": at(f"{FORKED}:00.117", *own(), version="made-by-another"),
    "times that stand still": at(f"{FORKED}:00.117", *own()),
}


@pytest.mark.parametrize("name", NOT_COPIED)
def test_what_was_not_copied_is_told(name: str) -> None:
    given = lines(*NOT_COPIED[name])
    batch = decoded(DISK, given)
    assert told(batch.events)[0][-2:] == ["new prompt", "new answer"]
    assert COPIED not in batch.ignored
    check_laws(DISK, given)


def test_an_answer_that_no_model_gave_is_no_sign_of_a_copy() -> None:
    """The program itself writes it, within the millisecond of the prompt."""
    refused = {"id": "x", "model": "<synthetic>", "content": [{"type": "text", "text": "API Error"}]}
    given = at(f"{FORKED}:00.117", user("prompt", ""), answer("error", "", message=refused), version="1.0.96")
    assert texts(decoded(DISK, lines(*given)).events) == ["prompt", "API Error"]


def test_a_prompt_that_waits_is_told_at_the_end() -> None:
    waiting = lines(user("old version", f"{FORKED}:00.100", version="1.0.96"))
    assert texts(decoded(DISK, waiting).events) == ["old version"]


def test_not_more_than_some_records_wait() -> None:
    many = [user(f"{n}", f"{FORKED}:00.{n:03}", version="1.0.96") for n in range(1, 100)]
    decoder = DISK.decoder(DecodeContext("log"))
    batch = Batch()
    for record in lines(*many):
        decoder.decode(record, batch)
    assert texts(batch.events) == [f"{n}" for n in range(1, 100)]


def test_a_sub_agents_file_copies_nothing() -> None:
    given = lines(queued(f"{FORKED}:00.100"), *history())
    batch = decoded(DISK, given, DecodeContext("log", "sidechain:x"))
    assert texts(batch.events) == ["old prompt", "old answer"]
