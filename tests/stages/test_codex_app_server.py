from typing import Any

import msgspec
import pytest

from agentv_stages.model.event import AssistantText, Notification, Reasoning, SessionEnd, SessionInfo, UserText
from agentv_stages.providers.codex import PROVIDER
from agentv_stages.providers.codex.app_server_catalogue import OFTEN_QUIET, OFTEN_TOLD, PIECE
from support.app_server import SERVER, ended, item, note, started, used
from support.decoding import best, calls, check_laws, decoded, lines, results, texts, usages


def test_a_time_that_no_date_can_name_is_none() -> None:
    odd = note("item/completed", item={"type": "agentMessage", "id": "i1", "text": "x"}, completedAtMs=10**30)
    times = [event.source.time_ms for event in decoded(SERVER, lines(*started(), odd)).events]
    assert (times[-1], 2000 in times) == (None, True)


def test_a_turn_gives_session_prompt_texts_calls_tokens_and_end() -> None:
    command = {"command": "ls", "cwd": "/w"}
    given = lines(
        *started(),
        note("thread/status/changed", status={"type": "active"}),
        item("completed", "reasoning", 1, summary=["A", "B"], content=[]),
        item("started", "commandExecution", 2, status="inProgress", **command),
        note("item/commandExecution/outputDelta", itemId="i2", delta="x"),
        item(
            "completed",
            "commandExecution",
            2,
            status="failed",
            exitCode=2,
            aggregatedOutput="x",
            durationMs=7,
            **command,
        ),
        item("started", "agentMessage", 3, text=""),
        note("item/agentMessage/delta", itemId="i3", delta="Do"),
        note("item/agentMessage/delta", itemId="i3", delta="ne."),
        item("completed", "agentMessage", 3, text="Done."),
        used(10, 10),
        used(10, 10),
        used(30, 20),
        ended(),
    )
    assert best(PROVIDER, given) == ("codex-app-server", 1.0)
    batch = decoded(SERVER, given)
    events = batch.events
    assert batch.unknown == {}
    assert [(e.session_id, e.model, e.version, e.cwd) for e in events if isinstance(e, SessionInfo)] == [
        ("t-1", "m-1", "0.142.5", "/w")
    ]
    assert [e.text for e in events if isinstance(e, UserText)] == ["Go."]
    assert [e.text for e in events if isinstance(e, Reasoning)] == ["A\n\nB"]
    assert texts(events) == ["Done."]
    assert [(c.name, c.input, c.source.time_ms) for c in calls(events)] == [
        ("command_execution", {"command": "ls"}, 1000)
    ]
    (result,) = results(events)
    assert (result.output, result.outcome, result.exit_code, result.duration_ms) == ("x", "error", 2, 7)
    assert [(u.input, u.output) for u in usages(events)] == [(9, 1), (19, 1)]
    assert [(e.status, e.duration_ms) for e in events if isinstance(e, SessionEnd)] == [("complete", 12)]
    check_laws(SERVER, given)


def test_a_list_of_things_to_do_keeps_its_items() -> None:
    todo = [{"text": "look", "completed": True}, {"text": "mend", "completed": False}]
    given = lines(*started(), item("completed", "todoList", 1, items=todo), ended())
    assert [(c.name, c.input) for c in calls(decoded(SERVER, given).events)] == [("todo_list", {"items": todo})]


def test_a_text_that_never_comes_whole_is_told_from_its_pieces() -> None:
    pieces = [note("item/agentMessage/delta", itemId="i3", delta=text) for text in ("Do", "ne.")]
    given = lines(*started(), *pieces, ended("interrupted"))
    events = decoded(SERVER, given).events
    assert texts(events) == ["Done."]
    assert [e.status for e in events if isinstance(e, SessionEnd)] == ["interrupted"]
    assert texts(decoded(SERVER, lines(*started(), *pieces)).events) == ["Done."]
    check_laws(SERVER, given)


def piece(text: str, number: int = 3, thread: str = "t-1") -> dict[str, Any]:
    return note("item/agentMessage/delta", thread, itemId=f"i{number}", delta=text)


@pytest.mark.parametrize("pieces", [["Do", "n"], ["Done."], ["Do"]])
def test_a_text_that_comes_whole_after_its_turn_ended_is_told_once(pieces: list[str]) -> None:
    whole = item("completed", "agentMessage", 3, text="Done.")
    given = lines(*started(), *map(piece, pieces), ended(), whole, whole)
    events = decoded(SERVER, given).events
    assert "".join(texts(events)) == "Done."
    assert len({e.message_id for e in events if isinstance(e, AssistantText)}) == 1
    check_laws(SERVER, given)
    late = lines(*started(), piece("Do"), ended(), piece("ne"), ended(id="v"), whole)
    assert texts(decoded(SERVER, late).events) == ["Do", "ne", "."]
    check_laws(SERVER, late)


def test_the_rest_of_a_text_that_is_not_the_last_one_is_no_row_of_its_own() -> None:
    between, whole = (item("completed", "agentMessage", n, text=text) for n, text in ((4, "Next."), (3, "Done.")))
    given = lines(*started(), piece("Do"), ended(), between, whole)
    assert texts(decoded(SERVER, given).events) == ["Do", "Next.", "Done."]
    all_of_it = lines(*started(), piece("Done."), ended(), between, whole)
    assert texts(decoded(SERVER, all_of_it).events) == ["Done.", "Next."]


def test_another_text_under_the_id_of_one_in_pieces_is_told() -> None:
    given = lines(*started(), piece("Do"), ended(), item("completed", "agentMessage", 3, text="Yes."))
    assert texts(decoded(SERVER, given).events) == ["Do", "Yes."]


def test_the_end_of_a_sub_agents_turn_ends_no_text_of_another_thread() -> None:
    sub = {"id": "t-2", "parentThreadId": "t-1"}
    given = lines(
        *started(),
        {"method": "thread/started", "params": {"thread": sub}},
        piece("Do"),
        piece("Su", 4, "t-2"),
        note("turn/completed", "t-2", turn={"id": "v", "status": "completed"}),
        piece("ne."),
        item("completed", "agentMessage", 3, text="Done."),
    )
    events = decoded(SERVER, given).events
    said = [(e.source.stream, e.text) for e in events if isinstance(e, AssistantText)]
    assert said == [("subagent:t-2", "Su"), ("main", "Done.")]
    check_laws(SERVER, given)


def test_other_threads_are_sub_agents_and_do_not_split_answers() -> None:
    events = decoded(
        SERVER,
        lines(
            *started(),
            item("completed", "agentMessage", 1, text="One."),
            item("completed", "agentMessage", 2, thread="t-2", text="Sub."),
            item("completed", "agentMessage", 3, text="Two."),
        ),
    ).events
    said = [e for e in events if e.source.row >= 4]
    assert [e.source.stream for e in said] == ["main", "subagent:t-2", "main"]
    ids = [getattr(e, "message_id", "") for e in said]
    assert ids[0] == ids[2] != ids[1]


NEWEST = ("project/changed", "modelProvider/authRecoveryStarted", "autoApprovalReview/strictReviewRequired")


@pytest.mark.parametrize("value", [*map(note, NEWEST), item("completed", "functionCallOutput", name="goal_objective")])
def test_what_the_schema_of_0_169_names_is_known(value: dict[str, Any]) -> None:
    assert decoded(SERVER, lines(*started(), value)).unknown == {}


def test_permissions_retries_errors_and_what_is_new() -> None:
    batch = decoded(
        SERVER,
        lines(
            *started(),
            {"id": 5, **note("item/commandExecution/requestApproval", itemId="i2", reason="network")},
            note("error", error={"message": "again"}, willRetry=True),
            note("error", error={"message": "bad"}, willRetry=False),
            ended("failed", error={"message": "bad"}),
            note("omen/seen"),
            item("completed", "ghost"),
            {"id": 7, "result": {}},
            {"type": "assistant", "id": "x"},
        ),
    )
    notices = [(e.name, e.message) for e in batch.events if isinstance(e, Notification)]
    assert notices == [("permission_request", "network"), ("retry", "again"), ("error", "bad")]
    assert [(e.status, e.reason) for e in batch.events if isinstance(e, SessionEnd)] == [("error", "bad")]
    assert batch.unknown == {"omen/seen": 1, "item:ghost": 1, "assistant": 1}


@pytest.mark.parametrize("method", [PIECE, *OFTEN_TOLD, *OFTEN_QUIET])
def test_a_frequent_notification_may_have_its_members_in_any_order_and_of_any_shape(method: str) -> None:
    params = note(method, item={"type": "agentMessage", "id": "i", "text": "Done."}, itemId="i", delta="Done.")[
        "params"
    ]
    first = decoded(SERVER, lines({"method": method, "params": params}))
    last = decoded(SERVER, lines({"jsonrpc": "2.0", "params": params, "method": method}))
    assert (texts(first.events), first.ignored, first.faults) == (texts(last.events), last.ignored, [])
    assert decoded(SERVER, lines({"method": method, "params": None})).ignored == {method: 1}
    if method not in OFTEN_QUIET:
        with pytest.raises(msgspec.ValidationError, match=r"\$\.params"):
            decoded(SERVER, lines({"method": method, "params": [1]}))


def test_an_id_that_a_server_uses_again_is_another_calls() -> None:
    """Items bear the ids of the model's calls; the later call was taken for a repetition of the earlier one."""

    def ran(command: str) -> list[dict[str, Any]]:
        return [item(event, "commandExecution", 1, command=command) for event in ("started", "completed")]

    events = decoded(SERVER, lines(*started(), *ran("ls"), *ran("ls"), *ran("make"))).events
    assert [c.input for c in calls(events)] == [{"command": "ls"}, {"command": "make"}]
    assert len(results(events)) == 2


def test_a_prompt_without_content_is_none() -> None:
    batch = decoded(SERVER, lines(*started(), item("completed", "userMessage", 1)))
    assert [e.text for e in batch.events if isinstance(e, UserText)] == ["Go."]
    assert batch.ignored["userMessage, empty"] == 1
