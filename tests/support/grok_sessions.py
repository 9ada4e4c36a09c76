"""Sessions of Grok Build as they lie on disk, made of the fixtures: one with a sub-agent, and a fork of it."""

import json
import shutil
from pathlib import Path

from support.decoding import FIXTURES

FOLDER = FIXTURES / "grok"
MAIN = "0199a0a2-0000-7000-8000-000000000001"
CHILD = "0199a0b2-0000-7000-8000-000000000001"
FORK = "0199a0c2-0000-7000-8000-000000000001"
GROUP = "%2Fhome%2Fada%2Forchard"


def lay_out(root: Path, group: str = GROUP, child_group: str = GROUP) -> Path:
    """`root` is `~/.grok/sessions`; gives the main log of the session that has a sub-agent."""
    for session, name, where in (
        (MAIN, "session.jsonl", group),
        (CHILD, "subagent.jsonl", child_group),
        (FORK, "fork.jsonl", group),
    ):
        place = root / where / session
        place.mkdir(parents=True)
        shutil.copy(FOLDER / name, place / "updates.jsonl")
        (place / "chat_history.jsonl").write_bytes(b'{"type":"system","content":"You are Grok."}\n')
        (place / "events.jsonl").write_bytes(b'{"ts":"2026-03-02T09:30:00.000Z","type":"turn_started"}\n')
    meta = root / group / MAIN / "subagents" / CHILD / "meta.json"
    meta.parent.mkdir(parents=True)
    meta.write_text(json.dumps({"subagent_id": CHILD, "parent_session_id": MAIN, "child_session_id": CHILD}, indent=2))
    return root / group / MAIN / "updates.jsonl"
