"""Claude's sessions on disk as its terminal writes them: refusals, interrupts, commands, what is queued, rewinds."""

from typing import Any

import pytest

from agentv_stages.model.batch import Batch
from agentv_stages.model.event import Notification, Retract, SlashCommand, TokenUsage, UserText
from agentv_stages.model.provider import DecodeContext
from agentv_stages.providers.claude.branches import MOST_RECORDS
from agentv_stages.providers.claude.notices import Queue
from support.claude_disk import DISK, answer, line, only, tell, user
from support.decoding import lines, pushed, results

REJECTED = "The user doesn't want to proceed with this tool use. The tool use was rejected. "
STOP = REJECTED + "STOP what you are doing and wait for the user to tell you how to proceed."
OTHERWISE = REJECTED + "To tell you how to proceed, the user said:\ndo it otherwise"
NOT_BEGUN = "The user doesn't want to take this action right now. STOP what you are doing and wait."
REFUSED_BY_USER = {"toolDenialKind": "user-rejected"}
BEFORE = {**REFUSED_BY_USER, "toolDenialBeforeRun": True}


def ended(content: str, **more: Any) -> tuple[str | None, int | None]:
    block = {"type": "tool_result", "tool_use_id": "t", "content": content, "is_error": True}
    (told,) = results(tell(user([block], **more)).events)
    return told.outcome, told.exit_code


@pytest.mark.parametrize(
    ("content", "more", "outcome"),
    [
        (STOP, {**BEFORE, "version": "2.1.330"}, ("denied", None)),
        (STOP, {**REFUSED_BY_USER, "version": "2.1.330"}, ("cancelled", None)),
        (OTHERWISE, {**REFUSED_BY_USER, "version": "2.1.330"}, ("denied", None)),
        (STOP, {**REFUSED_BY_USER, "version": "2.1.282"}, ("denied", None)),
        (STOP, {**REFUSED_BY_USER, "version": "next"}, ("denied", None)),
        (STOP, {"version": "2.1.330"}, ("denied", None)),
        (NOT_BEGUN, {"version": "2.1.90"}, ("cancelled", None)),
        ("Exit code 137\n[Request interrupted by user for tool use]\nbegun", {}, ("cancelled", 137)),
        ("Exit code 137\nKilled", {}, ("error", 137)),
        ("policy says no", {"toolDenialKind": "permission-rule"}, ("denied", None)),
        ("not now", {"toolDenialKind": "automode-blocked"}, ("denied", None)),
        (
            "<tool_use_error>Cancelled: another call failed</tool_use_error>",
            {"toolDenialKind": "cancelled"},
            ("cancelled", None),
        ),
        ("stopped", {"toolDenialKind": "interrupted"}, ("cancelled", None)),
        (
            "because",
            {**REFUSED_BY_USER, "permissionDecision": {"decision": "reject", "source": "config"}},
            ("denied", None),
        ),
        ("fails", {"permissionDecision": {"decision": "accept", "source": "config"}}, ("error", None)),
        ("Permission for this tool use was denied.", {**REFUSED_BY_USER, "version": "2.1.330"}, ("denied", None)),
        ("touch in '/w' needs approval", {**REFUSED_BY_USER, "version": "2.1.200"}, ("denied", None)),  # nobody there
        ("new", {"toolDenialKind": "of-a-later-version"}, ("error", None)),
        ("Exit code 1\nit says [Request interrupted by user]", {}, ("error", 1)),
    ],
)
def test_a_refusal_and_an_interrupt_are_told_apart(content: str, more: Any, outcome: Any) -> None:
    """From version 2.1.326 on Escape while a call runs leaves the sentence of a refusal."""
    assert ended(content, **more) == outcome


def test_a_command_of_the_terminal_is_a_slash_command_in_tags_too() -> None:
    tags = "<command-name>/context</command-name>\n<command-args>all</command-args>"
    command = only(tell(line("system", subtype="local_command", content=tags)), SlashCommand)
    assert (command.name, command.args) == ("/context", "all")
    printed = line("system", subtype="local_command", content="<local-command-stdout>1k</local-command-stdout>")
    assert only(tell(printed), Notification).name == "local_command"


def test_a_queued_notice_of_a_background_task_is_no_prompt() -> None:
    notice = {"type": "queued_command", "prompt": "<task-notification>done</task-notification>"}
    assert only(tell(line("attachment", attachment={**notice, "commandMode": "task-notification"})), UserText).injected
    typed = {"type": "queued_command", "prompt": "and this", "commandMode": "prompt"}
    assert not only(tell(line("attachment", attachment=typed)), UserText).injected


def prompt(own: str, parent: str | None, **more: Any) -> dict[str, Any]:
    return user(f"prompt {own}", **{"uuid": own, "parentUuid": parent, **more})


def reply(own: str, parent: str | None) -> Any:
    return answer({"type": "text", "text": own}, own=f"msg_{own}", used=9, uuid=own, parentUuid=parent)


def taken_back(*lines: Any) -> list[tuple[str, ...]]:
    return [event.message_ids for event in tell(*lines).events if isinstance(event, Retract)]


def test_a_prompt_that_follows_an_earlier_message_takes_back_what_came_since() -> None:
    first = (prompt("p1", None), reply("a1", "p1"))
    second = (prompt("p2", "a1"), reply("a2", "p2"), prompt("p3", "a2"), reply("a3", "p3"))
    assert taken_back(*first, *second, prompt("p4", "a3")) == []
    assert taken_back(*first, *second, prompt("p4", "a2")) == [("p3", "msg_a3")]
    assert taken_back(*first, *second, prompt("p4", "a1")) == [("p2", "msg_a2", "p3", "msg_a3")]
    assert taken_back(*first, prompt("p2", None)) == [("p1", "msg_a1")]
    again = (*first, *second, prompt("p4", "a1"), reply("a4", "p4"), prompt("p5", "a1"))
    assert taken_back(*again) == [("p2", "msg_a2", "p3", "msg_a3"), ("p4", "msg_a4")]


def test_what_is_no_prompt_takes_nothing_back() -> None:
    first = (prompt("p1", None), reply("a1", "p1"), prompt("p2", "a1"))
    result = [{"type": "tool_result", "tool_use_id": "t", "content": "x"}]
    assert taken_back(*first, user(result, uuid="r", parentUuid="a1")) == []
    assert taken_back(*first, prompt("s", None, isCompactSummary=True)) == []
    assert taken_back(*first, prompt("b", "a1", isSidechain=True)) == []
    unlinked = (prompt("p1", None), reply("a1", None), prompt("p2", None))
    assert taken_back(*unlinked) == []
    other = pushed(DISK, lines(*first[:2], prompt("p9", None, sessionId="another")), None)
    assert not [event for event in other.events if isinstance(event, Retract)]


def test_of_a_rewind_that_goes_far_back_the_last_messages_are_named() -> None:
    turns: list[Any] = [prompt("p0", None), reply("a0", "p0")]
    for n in range(1, 3 * MOST_RECORDS):
        turns += [prompt(f"p{n}", f"a{n - 1}"), reply(f"a{n}", f"p{n}")]
    assert taken_back(*turns, prompt("next", turns[-1]["uuid"])) == []
    (back,) = [event for event in tell(*turns, prompt("far", "a1")).events if isinstance(event, Retract)]
    assert back.since == "a1"
    assert back.message_ids == tuple(i for n in range(88, 96) for i in (f"p{n}", f"msg_a{n}"))


def test_notices_between_a_prompt_and_its_answer_are_no_branches() -> None:
    notices = [line("attachment", uuid=f"n{n}", parentUuid="p1", attachment={"type": "x"}) for n in range(5)]
    log = (prompt("p0", None), reply("a0", "p0"), prompt("p1", "a0"), *notices, reply("a1", "n0"), prompt("p2", "n4"))
    assert taken_back(*log) == []
    assert taken_back(*log, prompt("p2", "n4")) == []  # the line comes twice


def test_what_is_remembered_for_a_rewind_does_not_grow() -> None:
    decoder = DISK.decoder(DecodeContext("log"))
    for record in lines(*(prompt(f"p{n}", f"p{n - 1}" if n else None) for n in range(100))):
        decoder.decode(record, Batch())
    assert len(decoder.state.branches.recent) == MOST_RECORDS


def queued(operation: str, content: str | None = None) -> dict[str, Any]:
    return {"type": "queue-operation", "operation": operation, "sessionId": "s",
            **({} if content is None else {"content": content})}  # fmt: skip


def prompts(version: str, *operations: Any) -> list[str]:
    told = tell(user("go", version=version), *operations).events
    typed = [event for event in told if isinstance(event, UserText) and not event.injected]
    assert len({event.message_id for event in typed}) == len(typed)
    return [event.text for event in typed][1:]


def test_a_prompt_that_reached_the_model_within_a_turn_is_told_where_only_the_queue_says_so() -> None:
    notice = "<task-notification>done</task-notification>"
    one, two = queued("enqueue", "one"), queued("enqueue", "two")
    for version in ("2.0.30", "2.1.101"):
        assert prompts(version, one, two, queued("remove"), queued("remove")) == ["one", "two"]
        assert prompts(version, one, two, queued("remove", "two"), queued("remove", "one")) == ["two", "one"]
        assert prompts(version, one, two, queued("dequeue"), queued("remove")) == ["two"]
        assert prompts(version, one, queued("popAll", "one"), two, queued("remove")) == ["two"]
        assert prompts(version, queued("enqueue", notice), queued("remove")) == []
        assert prompts(version, one, queued("enqueue", notice), queued("remove")) == []  # which of them is not said
        assert prompts(version, queued("enqueue", "/cost"), queued("remove", "/cost"), queued("remove")) == []
    assert prompts("2.1.104", one, queued("remove")) == []
    assert prompts("2.1.330", one, queued("remove", "one")) == []


def test_texts_that_wait_in_the_queue_are_bounded() -> None:
    queue = Queue()
    for n in range(1000):
        queue.delivered("enqueue", f"{n}", "2.1.90")
    assert len(queue.waiting) == 64
    assert queue.delivered("enqueue", "x", None) is queue.delivered("remove", None, None) is None
    assert queue.delivered("remove", "999", "2.1.90") == "999"


@pytest.mark.parametrize(
    "said",
    [
        *("Unknown skill: nosuch", "Unknown slash command: nosuch"),
        *("<user-memory-input>remember it</user-memory-input>", "<bash-input>ls</bash-input>"),
    ],
)
def test_what_the_model_is_not_asked_is_no_prompt(said: str) -> None:
    assert only(tell(user(said)), UserText).injected


def test_of_the_file_of_a_compaction_only_tokens_are_told() -> None:
    """Up to 2.1.9x it holds the session once more, then the request for the summary and the summary."""
    context = DecodeContext("agent", "sidechain:acompact-60de", None, "s")
    copy = (prompt("p1", None, isSidechain=True), {**reply("a1", "p1"), "isSidechain": True})
    batch = tell(
        *copy, prompt("p2", "a1", isSidechain=True), {**reply("a2", "p2"), "isSidechain": True}, context=context
    )
    assert [(event.key, event.output) for event in batch.events if isinstance(event, TokenUsage)] == [
        ("msg_a1", 9), ("msg_a2", 9)]  # fmt: skip
    assert len(batch.events) == 2
    assert batch.ignored == {"compaction": 2}
