"""A session of Codex in several files: rewound, it goes on in a further one; rotated, only the first part names it."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from support.following import Desk, catch_up

THREAD = "019f0000-0000-7000-8000-000000000001"
CHILD = "019f0000-0000-7000-8000-000000000002"


def rollout(second: int, prompt: str, answer: str, **meta: Any) -> bytes:
    def line(kind: str, **payload: Any) -> bytes:
        row = {"timestamp": f"2026-03-01T10:00:{second:02}.000Z", "type": kind, "payload": payload}
        return json.dumps(row).encode() + b"\n"

    def message(role: str, text: str) -> bytes:
        kind = "output_text" if role == "assistant" else "input_text"
        return line("response_item", type="message", role=role, content=[{"type": kind, "text": text}])

    return b"".join(
        (
            line("session_meta", **{"id": THREAD, "cwd": "/w", "cli_version": "0.169.0"} | meta),
            line("event_msg", type="task_started", turn_id=prompt),
            message("user", prompt),
            message("assistant", answer),
            line("event_msg", type="task_complete", turn_id=prompt),
        )
    )


@pytest.mark.parametrize("live", [True, False])
def test_a_rewound_session_takes_along_what_its_further_file_started(live: bool, tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    day = desk.logs / "2026/03/01"
    day.mkdir(parents=True)
    (day / f"rollout-2026-03-01T10-00-00-{THREAD}.jsonl").write_bytes(rollout(0, "One.", "First."))
    if live:
        desk.catch_up()
    base = {"thread_id": THREAD, "end_ordinal_exclusive": 1}
    further = rollout(10, "Two.", "Second.", history_base=base)
    (day / f"rollout-2026-03-01T10-00-10-{THREAD}_{CHILD[:-1]}9.jsonl").write_bytes(further)
    source = {"subagent": "review"}
    child = rollout(20, "Look.", "Seen.", id=CHILD, parent_thread_id=THREAD, source=source)
    (day / f"rollout-2026-03-01T10-00-20-{CHILD}.jsonl").write_bytes(child)
    desk.catch_up()
    told = {session: sorted(row["content"] for row in rows) for session, rows in desk.transcripts().items()}
    assert told == {THREAD: sorted(("One.", "First.", "Two.", "Second.", "Look.", "Seen."))}


@pytest.mark.parametrize("how", ["renamed", "copied and truncated", "never followed"])
def test_a_part_without_the_record_that_names_the_session_belongs_to_the_log_of_its_name(
    how: str, tmp_path: Path
) -> None:
    desk = Desk(tmp_path)
    lines = (rollout(0, "One.", "First.") + rollout(10, "Two.", "Second.")).splitlines(keepends=True)
    first, second = b"".join(lines[:5]), b"".join(lines[6:])  # without the second `session_meta`
    log, rotated = desk.logs / "codex.jsonl", desk.logs / "codex.jsonl.1"
    log.write_bytes(first)
    os.utime(log, (1_700_000_000, 1_700_000_000))
    follower = desk.follower()
    if how != "never followed":
        catch_up(follower)
    if how == "copied and truncated":
        shutil.copy(log, rotated)
    else:
        log.rename(rotated)
    log.write_bytes(second)
    catch_up(follower)
    follower.settle_all()
    follower.close()
    desk.close()
    told = {session: [row["content"] for row in rows] for session, rows in desk.transcripts().items()}
    assert told == {THREAD: ["One.", "First.", "Two.", "Second."]}
