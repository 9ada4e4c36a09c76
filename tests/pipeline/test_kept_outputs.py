"""Outputs that Claude keeps in `tool-results/`: put back where the file is there, and no other file is ever read."""

import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from agentv_stages.model.event import ToolResult, UserText
from agentv_stages.model.payload import text_of
from agentv_stages.providers import get_provider
from agentv_stages.providers.claude import kept_outputs as folder_of
from agentv_stages.redaction.redactor import Redactor
from agentv_stages.session.parts import NONE, Parts
from agentv_stream.following.follow_plan import Plan
from agentv_stream.settings import Settings
from agentv_stream.sources import kept_outputs
from agentv_stream.sources.files import read_pieces
from agentv_stream.summary import SessionReader
from support.consumed_and_followed import follow_into, transcripts

SESSION = "11111111-2222-3333-4444-555555555555"
SECRET = "the content of another file"
WHOLE = "line\n" * 20_000


def note(path: str) -> str:
    head = f"Output too large (97KB). Full output saved to: {path}"
    return f"<persisted-output>\n{head}\n\nPreview (first 2KB):\nline\n</persisted-output>"


def line(kind: str, uuid: str, content: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    message: dict[str, Any] = {"role": kind, "content": content}
    if kind == "assistant":
        message |= {"id": "m1", "model": "m", "stop_reason": "tool_use"}
    facts = {"type": kind, "uuid": uuid, "parentUuid": None, "sessionId": SESSION, "isSidechain": False, "cwd": "/w"}
    return {**facts, "timestamp": "2026-03-02T09:30:00.000Z", "message": message, **more}


def write(log: Path, said: object) -> Path:
    log.parent.mkdir(parents=True, exist_ok=True)
    call = {"type": "tool_use", "id": "c1", "name": "Bash", "input": {"command": "make"}}
    result = {"type": "tool_result", "tool_use_id": "c1", "content": said}
    records = (line("assistant", "u1", [call]), line("user", "u2", [result]))
    log.write_bytes(b"".join(msgspec.json.encode(record) + b"\n" for record in records))
    return log


def output(log: Path, parts: Parts = NONE) -> str:
    """The output of the log's only call."""
    reader = SessionReader(read_pieces(log), str(log), parts=parts)
    results = [event for batch in reader.batches() for event in batch.events if isinstance(event, ToolResult)]
    assert results[-1].output_json is not None
    return text_of(results[-1].output_json)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "projects" / "-w" / f"{SESSION}.jsonl"


def kept(log: Path, name: str = "b1.txt", text: str = WHOLE) -> Path:
    place = log.with_suffix("") / "tool-results" / name
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text)
    return place


@pytest.mark.parametrize("place", ["{}", "C:\\Users\\kim\\.claude\\tool-results\\b1.txt", "/gone/tool-results/b1.txt"])
def test_an_output_in_a_file_is_put_back_wherever_the_log_was_written(log: Path, place: str) -> None:
    file = kept(log)
    write(log, note(place.format(file)))
    assert output(log) == WHOLE
    write(log, [{"type": "text", "text": note(place.format(file))}])
    assert output(log) == WHOLE
    file.unlink()
    assert "Preview (first 2KB)" in output(log)


def test_blocks_in_a_file_are_put_back_as_blocks(log: Path) -> None:
    kept(log, "mcp-1.json", '[{"type":"text","text":"a"},{"type":"text","text":"b"}]')
    assert "".join(output(write(log, note("/x/mcp-1.json"))).split()) == "ab"
    kept(log, "mcp-2.json", "no JSON")
    assert output(write(log, note("/x/mcp-2.json"))) == "no JSON"


def test_a_sub_agents_outputs_lie_beside_those_of_its_session(log: Path) -> None:
    kept(log, text="of the agent\n")
    write(log, "ok")
    write(log.with_suffix("") / "subagents" / "agent-a1.jsonl", note("/x/b1.txt"))
    assert output(log) == "of the agent\n"


def test_a_follower_puts_outputs_back_as_well(log: Path, tmp_path: Path) -> None:
    kept(log)
    write(log, note("/x/b1.txt"))
    follow_into(Plan([], Settings(out=tmp_path / "out"), paths=[str(log)]), tmp_path / "state")
    (transcript,) = transcripts(tmp_path / "out").values()
    assert msgspec.json.encode(WHOLE)[1:-1] in transcript.read_bytes()


@pytest.mark.parametrize(
    "name",
    [
        "/etc/passwd",
        "../secret.txt",
        "../../secret.txt",
        "..",
        ".",
        "tool-results/",
        "..\\secret.txt",
        "a\0.txt",
        "secret",
        "x" * 300 + ".txt",
        ".hidden.txt",
        "b1.txt.gz",
    ],
)
def test_no_name_leads_out_of_the_folder(log: Path, name: str) -> None:
    kept(log)
    for place in (log.parent, log.parent.parent, log.with_suffix("")):
        (place / "secret.txt").write_text(SECRET)
        (place / "secret").write_text(SECRET)
    said = output(write(log, note(name)))
    assert "Preview (first 2KB)" in said and SECRET not in said


def test_links_pipes_and_folders_are_not_read(log: Path, tmp_path: Path) -> None:
    place = kept(log).parent
    other = tmp_path / "other.txt"
    other.write_text(SECRET)
    (place / "link.txt").symlink_to(other)
    os.mkfifo(place / "pipe.txt")
    (place / "folder.txt").mkdir()
    for name in ("link.txt", "pipe.txt", "folder.txt"):
        assert "Preview (first 2KB)" in output(write(log, note(f"/x/{name}")))


@pytest.mark.parametrize("linked", ["tool-results", ""])
def test_a_folder_that_is_a_link_is_not_entered(log: Path, tmp_path: Path, linked: str) -> None:
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "tool-results").mkdir(parents=True)
    for place in (elsewhere, elsewhere / "tool-results"):
        (place / "b1.txt").write_text(SECRET)
    log.parent.mkdir(parents=True)
    place = log.with_suffix("") / linked
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(elsewhere)
    assert SECRET not in output(write(log, note("/x/b1.txt")))


def test_a_log_behind_a_linked_folder_of_projects_has_its_outputs(log: Path, tmp_path: Path) -> None:
    kept(log)
    write(log, note("/x/b1.txt"))
    (tmp_path / "linked").symlink_to(log.parent)
    assert output(tmp_path / "linked" / log.name) == WHOLE


def test_a_file_over_the_limit_is_left_where_it_is(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_outputs, "MOST_BYTES", 10)
    kept(log)
    assert "Preview (first 2KB)" in output(write(log, note("/x/b1.txt")))


def test_other_texts_are_left_alone(log: Path) -> None:
    kept(log)
    for said in (f"It says: {note('/x/b1.txt')}", "<persisted-output>", "<persisted-output> saved to: "):
        assert output(write(log, said)) == said


def test_the_folder_of_a_log_is_named_after_it() -> None:
    assert folder_of("/p/s.jsonl") == folder_of("/p/s/subagents/agent-1.jsonl") == "/p/s/tool-results"
    assert folder_of("/p/s.jsonl.gz") == "/p/s/tool-results"
    assert folder_of("/p/stream.json") is None
    assert kept_outputs.kept_outputs(get_provider("codex"), "/p/s.jsonl") is None


@pytest.mark.parametrize(("source", "injected"), [("system", True), ("sdk", False), (None, False)])
def test_a_prompt_that_the_program_wrote_is_injected(log: Path, source: str | None, injected: bool) -> None:
    more = {"promptSource": source} if source else {}
    log.parent.mkdir(parents=True)
    log.write_bytes(msgspec.json.encode(line("user", "u1", [{"type": "text", "text": "Go on."}], **more)) + b"\n")
    reader = SessionReader(read_pieces(log), str(log))
    (prompt,) = [event for batch in reader.batches() for event in batch.events if isinstance(event, UserText)]
    assert prompt.injected is injected


def test_a_kept_output_is_redacted_with_its_session(log: Path) -> None:
    key = "ghp_aB3dE5gH7jK9mN1pQ3sT5vW7yZ2bC4dF6gH8"
    write(log, note(str(kept(log, text=WHOLE + key))))
    assert key in output(log)
    redacted = output(log, Parts(redactor=Redactor(b"k")))
    assert redacted.startswith(WHOLE + "[redacted:github-token:") and key not in redacted
