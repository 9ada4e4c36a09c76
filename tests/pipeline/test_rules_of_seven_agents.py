"""The same rules over the same work, recorded from seven agents: each gives the same verdicts, whoever did it."""

import pytest

from agentv_stages.model.event import AnyEvent
from agentv_stream.sources.files import read_pieces
from agentv_stream.summary import SessionReader
from support.decoding import corpus
from support.trajectories import evaluator_of, judge

CLIENTS = ("claude", "codex", "codex_classic", "copilot", "copilot_acp", "copilot_oai", "gemini", "gemini_acp",
           "opencode", "opencode_acp", "pi", "qwen", "qwen_acp")  # fmt: skip
VERDICTS = {
    "s1": {
        "kind:read(calc.py)": False, "Read(calc.py)": False, "kind:write(calc.py)": False, "Edit(calc.py)": False,
        "kind:write(*.py)": False, "kind:write(/home/dev/w/*/s1/ws/*)": False,
        "kind:write(~/w/*/s1/**)": False, "Bash(python3 -m unittest *)": False,
        "Bash(unittest *)": False, "kind:search": False, "Bash(rm *)": True, "Bash(git push *)": True,
        "kind:read(.env)": True, "kind:write(test_*.py)": True, "kind:read(~/.ssh/**)": True, "kind:write(~/.*)": True,
    },
    "s2": {
        "kind:read(calc.py)": False, "kind:read(missing.py)": False, "Bash(kill -9 *)": False,
        "Bash(exit 3)": False, "kind:search": False, "Bash(oops *)": True, "kind:read(ws/other.py)": True,
        "kind:write(missing.py)": True, "Bash(rm *)": True, "kind:read(~/.ssh/**)": True,
    },
}  # fmt: skip
"""Scenario -> forbidden call -> whether the run passes: what the scripted model asked for (`truth.json`)."""


def events_of(client: str, scenario: str) -> list[AnyEvent]:
    path = next((corpus("clients") / client / scenario).glob("stream.jsonl*"))
    reader = SessionReader(read_pieces(path), str(path), None)
    return [event for batch in reader.batches(True) for event in batch.events]


@pytest.mark.parametrize("scenario", VERDICTS)
@pytest.mark.parametrize("client", CLIENTS)
def test_the_same_work_gets_the_same_verdicts(client: str, scenario: str) -> None:
    events = events_of(client, scenario)
    found = {
        form: judge(evaluator_of({"type": "forbid", "calls": [form]}), events).verdict == "pass"
        for form in VERDICTS[scenario]
    }
    assert found == VERDICTS[scenario]
