"""`providers --drift`: what is new in a log, by names and shapes; nothing of its contents."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from typer.testing import CliRunner

from agentv_stages.providers import all_providers
from agentv_stream.bulk.find import Trouble
from agentv_stream.cli import build
from agentv_stream.cli.closing import closing_lines
from agentv_stream.drift import known
from agentv_stream.drift.known import shapes_of
from agentv_stream.drift.report import drift_of, drift_text
from agentv_stream.drift.shapes import fields_of, is_name
from agentv_stream.errors import EXIT_FINE, EXIT_IO, UsageError
from agentv_stream.summary import summarize
from support.decoding import FIXTURES, corpus
from support.growing_logs import claude_records

SECRET = "hunter2"
SESSION = "11111111-2222-3333-4444-555555555555"


def lines() -> list[dict[str, Any]]:
    return [msgspec.json.decode(record, type=dict[str, Any]) for record in claude_records(SESSION, 3)]


def write(path: Path, records: list[dict[str, Any]]) -> Path:
    path.write_bytes(b"".join(msgspec.json.encode(record) + b"\n" for record in records))
    return path


def changed(path: Path) -> Path:
    """A log with a type, two fields, a kind of a field and a word that no version wrote."""
    records = lines()
    for record in records:
        if record["type"] == "assistant":
            record["message"]["usage"]["brain_tokens"] = 7
            record["message"]["stop_reason"] = "bored"
            record["message"]["model"] = {"id": SECRET}
            record[f"{SECRET}/notes.md"] = {SECRET: SECRET}
    records.append({"type": "mood", "sessionId": SESSION, "uuid": "u", "parentUuid": None, "feeling": SECRET})
    return write(path, records)


def test_new_types_fields_kinds_and_words_are_listed_with_counts_and_no_contents(tmp_path: Path) -> None:
    (drift,) = drift_of([str(changed(tmp_path / "log.jsonl"))]).values()
    answers = sum(record["type"] == "assistant" for record in lines())
    assert drift.record_types == {"mood": 1}
    assert (drift.fields["message.usage.brain_tokens"].count, drift.fields["message.usage.brain_tokens"].kinds) == (
        answers,
        ["number"],
    )
    assert drift.fields["message.model"].kinds == ["object"]
    assert drift.fields["feeling"].seen_in == "mood"
    assert drift.words["message.stop_reason"] == {"bored": answers}
    text = drift_text({"claude-session": drift})
    for said in ("claude-session: 1 log", "mood", "brain_tokens  number, in assistant", "stop_reason = bored"):
        assert said in text
    assert SECRET not in text and str(tmp_path) not in text


def test_the_names_of_a_map_are_not_those_of_fields(tmp_path: Path) -> None:
    by_model = {SECRET: {"inputTokens": 1, "outputTokens": 1, "moodTokens": 1}}
    end = {"type": "result", "subtype": "success", "session_id": SESSION, "modelUsage": by_model}
    begin: dict[str, Any] = {"type": "system", "subtype": "init", "session_id": SESSION, "tools": [], "model": "m"}
    begin["cwd"] = "/w"
    (drift,) = drift_of([str(write(tmp_path / "log.jsonl", [begin, end]))]).values()
    assert "modelUsage.*.moodTokens" in drift.fields
    assert SECRET not in drift_text({"claude-stream": drift})


@pytest.mark.parametrize(
    "name", ["README.md", "/a/b", "ses_1234567890", "claude-sonnet-4-5", "a b", "x" * 41, "f81d4fae7dec"]
)
def test_a_key_that_says_something_of_its_user_is_no_name(name: str) -> None:
    assert not is_name(name)


def test_a_record_of_any_depth_and_width_is_taken_apart() -> None:
    deep: Any = {}
    for _ in range(5_000):
        deep = {"a": [deep]}
    assert len(list(fields_of(deep))) < 50
    assert {path for path, _, _ in fields_of({f"k{'x' * i}": 1 for i in range(100)})} == {"*"}


def test_payloads_of_tools_are_not_entered() -> None:
    record = {"message": {"content": [{"type": "tool_use", "input": {"mine": 1}, "mood": 1}]}}
    paths = {path for path, _, _ in fields_of(record)}
    assert "message.content[].mood" in paths and "message.content[].input.mine" not in paths


def test_the_fixtures_have_nothing_new() -> None:
    for path in sorted((FIXTURES / "opencode").iterdir()):
        for name, drift in drift_of([str(path)]).items():
            assert not drift.fields and not drift.record_types, (path, name, drift)


def test_the_catalogue_holds_names_of_fields_alone() -> None:
    dialects = {dialect.name for provider in all_providers() for dialect in provider.dialects}
    names = {path.stem for path in (Path(known.__file__).parent / "known").iterdir()}
    assert names and names <= dialects
    for name in names:
        for path in shapes_of(name).fields:
            assert all(
                part == "*" or is_name(part) for part in path.replace("event.", "event").replace("[]", "").split(".")
            ), path


def test_recordings_have_hardly_anything_new() -> None:
    for client in ("claude", "codex", "gemini", "pi", "qwen", "copilot", "opencode"):
        for name, drift in drift_of([str(corpus("clients") / client / "s2")]).items():
            assert not drift.any, (client, name, drift)


def run(*arguments: str) -> Any:
    return CliRunner().invoke(build(["providers"]), ["providers", *arguments])


def test_the_command_prints_text_or_json_and_names_what_it_cannot_read(tmp_path: Path) -> None:
    log = str(changed(tmp_path / "log.jsonl"))
    done = run("--drift", log)
    assert done.exit_code == EXIT_FINE and "brain_tokens" in done.stdout
    done = run("--drift", log, str(tmp_path / "gone.jsonl"), "--json")
    assert done.exit_code == EXIT_IO and "gone.jsonl" in done.stderr
    report = msgspec.json.decode(done.stdout)
    assert report["schema_version"] == "agentv_stream.drift.v1"
    assert report["dialects"]["claude-session"]["record_types"] == {"mood": 1}
    for wrong in (("--drift",), (log,)):
        assert run(*wrong).exit_code == UsageError.exit_code


def test_a_log_that_is_none_is_named_and_the_others_are_compared(tmp_path: Path) -> None:
    (tmp_path / "none.jsonl").write_bytes(b'{"a":1}\n')
    trouble: Trouble = []
    found = drift_of([str(changed(tmp_path / "log.jsonl")), str(tmp_path / "none.jsonl")], trouble=trouble)
    assert found["claude-session"].logs == 1 and len(trouble) == 1


@pytest.mark.parametrize(("unknown", "told"), [(1, False), (2, True)])
def test_commands_point_to_it_where_more_than_one_percent_is_unknown(tmp_path: Path, unknown: int, told: bool) -> None:
    head = lines()[0]
    usual = [{**head, "uuid": f"u{n}", "parentUuid": None} for n in range(110 - unknown)]
    strange = {"type": "mood", "sessionId": SESSION, "uuid": "u", "parentUuid": None, "isSidechain": False}
    path = write(tmp_path / "log.jsonl", [*usual, *[{**strange, "uuid": f"v{n}"} for n in range(unknown)]])
    assert ("--drift" in closing_lines(summarize(path))) is told
    done = CliRunner().invoke(build(["stats"]), ["stats", str(path)])
    assert ("providers --drift" in done.stderr) is told
