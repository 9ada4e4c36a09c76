"""SWE-agent's trajectories, by a hand-made run."""

import json
from typing import Any

import pytest

from agentv_stages.chain.normalize import Normalize
from agentv_stages.model.event import SessionEnd, SessionInfo, TokenUsage, ToolCall
from agentv_stages.providers.swe_agent import PROVIDER
from support.decoding import (
    FIXTURES,
    best,
    calls,
    check_laws,
    check_odd_shapes,
    decoded,
    dialect,
    document,
    events_of,
    lines,
    results,
    texts,
)

SWE_AGENT = dialect(PROVIDER, "swe-agent")
RUN: dict[str, Any] = json.loads((FIXTURES / "swe-agent" / "run.json").read_bytes())
DEMONSTRATION: dict[str, Any] = json.loads((FIXTURES / "swe-agent" / "demonstration.json").read_bytes())


def test_a_trajectory_is_recognised_and_keeps_the_laws() -> None:
    assert best(PROVIDER, document(RUN)) == ("swe-agent", 1.0)
    assert best(PROVIDER, document(DEMONSTRATION)) == ("swe-agent", 0.9)
    for value in (RUN, DEMONSTRATION):
        check_laws(SWE_AGENT, document(value))
        check_odd_shapes(PROVIDER, lines(value))


def test_an_element_is_an_answer_with_one_call_named_by_the_first_word_of_its_action() -> None:
    batch = decoded(SWE_AGENT, document(RUN))
    assert len(texts(batch.events)) == 8
    assert [(call.name, call.input.get("path")) for call in calls(batch.events)] == [
        ("find_file", None),
        ("open", "slug.py"),
        ("str_replace_editor", "/orchard/slug.py"),
        ("str_replace_editor", "/orchard/slug.py"),
        ("create", "b.py"),
        ("bash", None),
        ("submit", None),
    ]
    assert {result.outcome for result in results(batch.events)} == {None}
    assert results(batch.events)[0].duration_ms == 250
    for events in Normalize(PROVIDER.tools).push(batch):
        tools = [call.tool for call in events.events if isinstance(call, ToolCall)]
        assert tools == ["Glob", "Read", "Read", "Edit", "Write", "Bash", "submit"]


@pytest.mark.parametrize(
    ("action", "tool"),
    [
        ("goto 5", "Read"),
        ("scroll_down", "Read"),
        ("insert 3\nx\nend_of_insert", "Edit"),
        ("search_file slug", "Grep"),
        ("search_dir slug", "Grep"),
        ("str_replace_editor create /a", "Write"),
        ("str_replace_editor insert /a", "Edit"),
        ("str_replace_editor undo_edit /a", "Edit"),
        ("pytest -q", "Bash"),
    ],
)
def test_the_first_words_of_an_action_are_its_tool(action: str, tool: str) -> None:
    step = {"action": action, "observation": "", "response": "", "thought": ""}
    batch = decoded(SWE_AGENT, document({**RUN, "trajectory": [step]}))
    (found,) = Normalize(PROVIDER.tools).push(batch)
    assert [call.tool for call in calls(found.events)] == [tool]


def test_a_run_has_its_cost_and_the_folder_of_its_first_state() -> None:
    events = events_of(SWE_AGENT, document(RUN))
    (used,) = [event for event in events if isinstance(event, TokenUsage)]
    assert (used.scope, used.cost_usd) == ("session", 0.25)
    assert [event.cwd for event in events if isinstance(event, SessionInfo)] == ["/orchard"]


@pytest.mark.parametrize(
    ("status", "end"),
    [
        ("submitted", ("complete", None)),
        ("submitted (exit_cost)", ("complete", "submitted (exit_cost)")),
        ("exit_context", ("error", "exit_context")),
        ("exit_forfeit", ("interrupted", "exit_forfeit")),
        ("later", ("unknown", "later")),
        ("early_exit", None),
        (None, None),
    ],
)
def test_the_exit_status_is_the_end(status: str | None, end: tuple[str, str | None] | None) -> None:
    events = events_of(SWE_AGENT, document({**RUN, "info": {"exit_status": status}}))
    found = [(event.status, event.reason) for event in events if isinstance(event, SessionEnd)]
    assert found == ([] if end is None else [end])


def test_totals_of_zero_are_unknown() -> None:
    stats = {"total_cost": 0, "instance_cost": 0, "tokens_sent": 0, "tokens_received": 0, "api_calls": 0}
    events = events_of(SWE_AGENT, document({**RUN, "info": {"model_stats": stats}}))
    assert not any(isinstance(event, TokenUsage) for event in events)
