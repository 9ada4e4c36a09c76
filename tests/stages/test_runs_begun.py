"""A run that began behind the last end record is open, whichever agent prints the stream: it was killed there."""

import json
from typing import Any

import pytest

from agentv_stages.chain.decode import Decode
from agentv_stages.figures.facts import FactsObserver
from agentv_stages.model.batch import Batch, Record
from agentv_stages.providers import get_provider

INIT = {"type": "system", "subtype": "init", "session_id": "a", "model": "m", "cwd": "/repo"}
OVER = {"type": "result", "subtype": "success", "is_error": False, "result": "hi", "session_id": "a"}
HI = {"role": "assistant", "content": [{"type": "text", "text": "hi"}]}
RUNS: dict[str, list[dict[str, Any]]] = {
    "codex-exec": [
        {"type": "thread.started", "thread_id": "a"},
        {"type": "turn.started"},
        {"type": "item.completed", "item": {"id": "i", "type": "agent_message", "text": "hi"}},
        {"type": "turn.completed", "usage": {"input_tokens": 3, "output_tokens": 1}},
    ],
    "qwen-stream": [
        {**INIT, "uuid": "u", "qwen_code_version": "0.24.4"},
        {"type": "assistant", "uuid": "v", "session_id": "a", "message": {**HI, "id": "m"}},
        {**OVER, "uuid": "w"},
    ],
    "gemini-stream": [
        {"type": "init", "timestamp": "2026-01-01T00:00:00.000Z", "session_id": "a", "model": "m"},
        {"type": "message", "role": "assistant", "content": "hi", "timestamp": "2026-01-01T00:00:01.000Z"},
        {"type": "result", "status": "success", "timestamp": "2026-01-01T00:00:02.000Z"},
    ],
    "cursor-stream": [
        INIT,
        {"type": "user", "message": {"role": "user", "content": [{"type": "text", "text": "go"}]}, "session_id": "a"},
        {"type": "assistant", "message": HI, "session_id": "a"},
        OVER,
    ],
    "grok-messages": [
        {**INIT, "apiKeySource": "user"},
        {"type": "assistant", "message": {**HI, "id": "m"}, "session_id": "a"},
        {**OVER, "stop_reason": "end_turn"},
    ],
}


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize(("of_another", "status"), [(0, "complete"), (1, "incomplete"), (None, "complete")])
def test_a_run_that_began_behind_the_last_end_record_is_open(name: str, of_another: int | None, status: str) -> None:
    run = RUNS[name]
    provider = get_provider(name.partition("-")[0])
    dialect = next(dialect for dialect in provider.dialects if dialect.name == name)
    later = [{**record, "uuid": f"{record.get('uuid')}-2"} for record in run]  # a resumed session's, appended
    written = [*run, *later[:of_another]]
    batch = Batch("log", records=[Record(json.dumps(one).encode(), 1000 * i, i) for i, one in enumerate(written)])
    Decode(dialect).push(batch)
    facts = FactsObserver()
    facts.observe(batch)
    assert facts.status(dialect.has_end, 0) == status
