"""Redaction beside the records: verdicts, what `run` knows, a user's rules, records over the cap, messages, the API."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from agentv_stages.session.parts import Parts
from agentv_stream import Settings, follow, import_sessions, open_stream
from agentv_stream.redaction.redaction import Redaction, redacted_copy, redactor_of
from agentv_stream.summary import SessionReader
from support.consuming import Ran, run
from support.decoding import FIXTURES
from support.fake_agents import agent, init
from support.planted import leaks

KEY = "sk-ant-api03-" + "Zq7" * 31 + "AA"  # 93 characters, as Anthropic makes them
SESSION = "11111111-2222-4333-8444-555555555555"
PASSWORD = "hunter2Kx9"
URL = f"postgres://app:{PASSWORD}@db/x"
TEXTS = {"command": f"curl -H 'x-api-key: {KEY}' h", "output": f"connected to {URL} with {KEY}"}


def records() -> list[dict[str, Any]]:
    """A run that calls a shell with a key, and shows a connection string."""
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": TEXTS["command"]}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": TEXTS["output"]}
    return [
        json.loads(init()),
        {"type": "assistant", "message": {"id": "m1", "role": "assistant", "content": [call]}, "session_id": SESSION},
        {"type": "user", "message": {"role": "user", "content": [result]}, "session_id": SESSION},
        {
            "type": "assistant",
            "message": {"id": "m2", "role": "assistant", "content": [{"type": "text", "text": f"the key is {KEY}"}]},
            "session_id": SESSION,
        },
        {
            "type": "result",
            "subtype": "success",
            "is_error": False,
            "result": f"the key is {KEY}",
            "session_id": SESSION,
        },
    ]


def log_in(folder: Path) -> Path:
    log = folder / "log.jsonl"
    log.write_bytes(b"".join(json.dumps(record).encode() + b"\n" for record in records()))
    return log


def spec_in(folder: Path) -> Path:
    """Rules that depend on the secrets themselves."""
    spec = folder / "spec.yaml"
    spec.write_text(
        f"""
tests:
  - id: case
    assertions:
      - {{type: forbid, calls: ["Bash(*{KEY}*)"], name: no key}}
      - {{type: contains, value: "{KEY}", name: says the key}}
      - {{type: contains, value: "other {KEY}", name: says another}}
"""
    )
    return spec


def verdicts(value: Any) -> list[tuple[Any, ...]]:
    """The decisions, without their texts."""
    (case,) = value
    return [
        (one["name"], one["score"], one["verdict"], [a["passed"] for a in one.get("assertions", ())])
        for one in case["evaluators"]
    ]


def redacted(folder: Path, *arguments: str | Path, given: bytes | None = None) -> Ran:
    ran = run(folder, *arguments, "--redact", given=given, AGENTV_STREAM_STATE=str(folder / "state"))
    assert KEY not in ran.err and PASSWORD not in ran.err
    assert KEY.encode() not in ran.out and PASSWORD.encode() not in ran.out
    return ran


def test_verdicts_are_decided_on_the_original_and_do_not_quote_it(tmp_path: Path) -> None:
    log, spec = log_in(tmp_path), spec_in(tmp_path)
    plain = run(tmp_path, "check", spec, log, "--json")
    expected = verdicts(json.loads(plain.out)["results"][0]["cases"])
    assert {one[2] for one in expected} == {"pass", "fail"}
    assert KEY.encode() in plain.out
    ran = redacted(tmp_path, "check", spec, log, "--json")
    assert ran.code == plain.code == 1
    assert verdicts(json.loads(ran.out)["results"][0]["cases"]) == expected
    assert b"[redacted:anthropic-key:" in ran.out
    ran = redacted(tmp_path, "consume", log, "--check", spec, "--stats", "-", "--out", tmp_path / "out")
    assert verdicts(json.loads(ran.out)["verdicts"]) == expected
    (tmp_path / "logs").mkdir()
    log.rename(tmp_path / "logs" / log.name)
    out = ("--out", tmp_path / "tailed", "--state", tmp_path / "state")
    redacted(tmp_path, "tail", "logs", "--once", "--check", spec, *out)
    (result,) = (tmp_path / "tailed").rglob("*.result.json")
    assert verdicts(json.loads(result.read_bytes())["verdicts"]) == expected
    assert not leaks([KEY, PASSWORD], tmp_path / "out", tmp_path / "tailed", tmp_path / "state")


def test_what_quotes_the_beginning_of_a_secret_hides_it() -> None:
    redactor = redactor_of(Redaction(b"k"))
    redactor.redact(KEY.encode())
    assert redactor.hide(f'{{"text":"calls {KEY[:30]}"}}'.encode()) == b'{"text":"calls %s"}' % redactor.marker(
        "anthropic-key", KEY.encode()
    )


def test_a_run_is_redacted_with_its_prompt_command_and_standard_error(tmp_path: Path) -> None:
    code = f"say(DATA); sys.stderr.write({'warning: ' + URL!r} + chr(10)); sys.stderr.flush()"
    command = agent(tmp_path, code, log_in(tmp_path).read_bytes())
    out = tmp_path / "runs"
    options = ("--redact", "--out", out, "--task", "t", "--approach", "a", "--dump-traces", "--include-trace", "--json")
    words = [*map(str, command), "--token", KEY]
    ran = run(
        tmp_path, "run", *options, "--stream-log", "raw", "--prompt", f"use {KEY}", "--", *words,
        AGENTV_STREAM_STATE=str(tmp_path / "state"),
    )  # fmt: skip
    assert ran.code == 0, ran.err
    assert not leaks([KEY, PASSWORD], out)
    assert KEY.encode() not in ran.out and KEY not in ran.err
    names = {path.name for path in out.iterdir()}
    assert {"t_a_1.json", "t_a_1.stream.jsonl", "t_a_1.stderr.log", "t_a_1.trace.jsonl"} <= names
    assert (out / "t_a_1.stderr.log").read_bytes().startswith(b"warning: postgres://app:[redacted:url-password:")
    value = json.loads((out / "t_a_1.json").read_bytes())
    assert value["redaction_level"] == "partial"
    assert "[redacted:anthropic-key:" in value["run"]["prompt"]
    assert value["run"]["stderr_tail"].startswith("warning: postgres://app:[redacted:")
    assert value["run"]["stream_bytes"] == len(log_in(tmp_path).read_bytes())


def test_an_output_that_is_no_stream_is_redacted(tmp_path: Path) -> None:
    options = ("--out", "r", "--task", "t", "--approach", "a", "-q")
    command = [sys.executable, "-c", f"print('plain {KEY}')"]
    run(tmp_path, "run", *options, "--redact", "--", *command, AGENTV_STREAM_STATE=str(tmp_path / "state"))
    assert not leaks([KEY], tmp_path / "r")
    assert "plain [redacted:" in json.loads((tmp_path / "r" / "t_a_1.json").read_bytes())["result"]["raw_text"]


def test_messages_about_what_cannot_be_read_are_redacted(tmp_path: Path) -> None:
    ran = redacted(tmp_path, "consume", "-", given=f"Error: bad key {KEY}\n".encode())
    assert ran.code == 4
    assert "[redacted:anthropic-key:" in ran.err


def test_faults_are_shown_redacted(tmp_path: Path) -> None:
    log = log_in(tmp_path)
    log.write_bytes(log.read_bytes() + f'{{"torn": "{KEY}", \n'.encode())
    run(tmp_path, "consume", log, "--out", "out", "-q")
    (letters,) = (tmp_path / "out").rglob("*.dead-letters.jsonl")
    assert KEY.encode() in run(tmp_path, "faults", "show", f"{letters}:0").out
    assert b"[redacted:anthropic-key:" in redacted(tmp_path, "faults", "show", f"{letters}:0").out


def test_a_record_over_the_cap_is_redacted_in_its_pieces(tmp_path: Path) -> None:
    giant = {**records()[2], "filler": ["x" * 500_000, f"{KEY} ", "y" * 500_000, URL]}
    lines = [json.dumps(record).encode() for record in (*records(), giant)]
    given = b"\n".join(lines) + b"\n"
    out = tmp_path / "out"
    redacted(tmp_path, "consume", "-", "--out", out, "-q", "--max-record", "100K", given=given)
    assert not leaks([KEY, PASSWORD], out)
    (blob,) = out.rglob("*.bin")
    expected = redactor_of(Redaction(b"k")).redact(lines[-1])
    assert len(blob.read_bytes()) == len(expected)
    assert json.loads(blob.read_bytes())["filler"][0] == "x" * 500_000


def test_the_cursors_of_a_follower_that_begins_to_redact_lose_what_they_held(tmp_path: Path) -> None:
    log = tmp_path / "logs" / "log.jsonl"
    log.parent.mkdir()
    lines = log_in(tmp_path).read_bytes().splitlines(keepends=True)
    fill = [lines[3].replace(KEY.encode(), b"nothing").replace(b"m2", b"f%d" % n) for n in range(8)]  # to be decided
    lines[1:1] = fill
    log.write_bytes(b"".join(lines[: len(fill) + 2]))
    (tmp_path / "log.jsonl").unlink()
    places = ("--once", "-q", "--out", tmp_path / "out", "--state", tmp_path / "state")
    run(tmp_path, "tail", "logs", *places)
    assert leaks([KEY], tmp_path / "state"), "the open call is in the cursors"
    log.write_bytes(b"".join(lines))
    redacted(tmp_path, "tail", "logs", *places)
    assert not leaks([KEY, PASSWORD], tmp_path / "out")
    (transcript,) = (tmp_path / "out").rglob("*.transcript.jsonl")
    assert all(
        json.loads(row)["capture"]["redaction_level"] == "partial" for row in transcript.read_bytes().splitlines()
    )


async def test_the_api_redacts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTV_STREAM_STATE", str(tmp_path / "state"))
    log, texts = log_in(tmp_path), list[str]()
    async with open_stream(log, settings=Settings(redact=True)) as opened:
        async for message in opened.messages():
            texts.append(message.text)
    async with follow(log, once=True, redact=True) as followed:
        async for _, message in followed.messages():
            texts.append(message.text)
    assert [text for text in texts if text.startswith("the key is [redacted:")] * 2 == texts[-1:] * 4
    assert opened.result is not None and opened.result.redaction_level == "partial"
    for engine in ("serial", "thread", "process"):
        outcome = import_sessions([log], transcripts=tmp_path / engine, engine=engine, workers=2, redact=True)
        assert not outcome.failures
        assert not leaks([KEY, PASSWORD], tmp_path / engine)


def settings_in(folder: Path, *lines: str) -> None:
    (folder / "pyproject.toml").write_text("\n".join(["[tool.agentv-stream]", *lines]) + "\n")


def test_a_users_rules_and_texts_that_stay(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text(log_in(tmp_path).read_text().replace("connected to", "ACME-0123ABCD for APP-77, connected to"))
    settings_in(
        tmp_path, "redact = true", "redact-rules = ['acme-key=ACME-[0-9A-F]{8}', 'app=APP-(\\d+)']",
        f"redact-allow = ['^{PASSWORD}$']",
    )  # fmt: skip
    ran = run(tmp_path, "show", log, "--full", AGENTV_STREAM_STATE=str(tmp_path / "state"))
    text = ran.out.decode()
    assert "[redacted:acme-key:" in text and "APP-[redacted:app:" in text
    assert PASSWORD in text and KEY not in text
    listed = run(tmp_path, "redact", "--list", log)
    assert b"acme-key at byte" in listed.out and b"url-password" not in listed.out


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("redact-rules = ['ok=x', 'acme=ACME-[0-9']", "unterminated character set"),
        ('redact-rules = ["acme=\\\\d("]', "missing ), unterminated subpattern"),
        ("redact-rules = ['Acme=x']", "expected KIND=PATTERN"),
        ("redact-allow = ['x*']", "also matches an empty text"),
    ],
)
def test_a_rule_that_does_not_compile_is_named_with_its_place(line: str, reason: str, tmp_path: Path) -> None:
    settings_in(tmp_path, "# rules", line)
    ran = run(tmp_path, "show", log_in(tmp_path))
    assert ran.code == 2
    assert "pyproject.toml:3: redact-" in ran.err and reason in ran.err
    assert len(ran.err.splitlines()) == 1


def test_an_event_that_is_printed_over_many_lines_is_redacted_as_a_whole() -> None:
    """OpenHands breaks long strings at the width of a terminal: no line has the whole secret."""
    data = (FIXTURES / "openhands" / "printed.jsonl").read_bytes()
    assert b"Look." in data
    broken = data.replace(b"Look.", f"Look, {KEY[:50]}\n{KEY[50:]} is it.".encode())
    reader = SessionReader([broken], "log", messages=True, parts=Parts(redactor=redactor_of(Redaction(b"k"))))
    texts = [message.text for batch in reader.batches() for message in batch.messages]
    assert [text for text in texts if text.startswith("Look, [redacted:anthropic-key:") and text.endswith("] is it.")]
    assert not [text for text in texts if KEY in text]


def deltas() -> bytes:
    """A stream of Gemini CLI that says the key in pieces."""
    text = f"The key is {KEY}. "
    head = {"type": "init", "timestamp": "2026-01-01T00:00:00Z", "session_id": SESSION, "model": "gemini-3"}
    pieces = [text[at : at + 9] for at in range(0, len(text), 9)]
    records = [{"type": "message", "role": "assistant", "content": piece, "delta": True} for piece in pieces]
    return b"".join(json.dumps(record).encode() + b"\n" for record in (head, *records))


def text_of(data: bytes) -> str:
    """The text of the deltas in a stream."""
    return "".join(json.loads(line).get("content", "") for line in data.splitlines())


def test_what_is_passed_on_is_the_original_or_redacted_as_wanted(tmp_path: Path) -> None:
    state = {"AGENTV_STREAM_STATE": str(tmp_path / "state")}
    plain = run(tmp_path, "consume", "--redact", "--tee", "--out", "a", "-q", given=deltas(), **state)
    assert plain.out == deltas()
    ran = run(tmp_path, "consume", "--tee-redacted", "--out", "b", "-q", given=deltas() + b"\nno end", **state)
    assert text_of(ran.out.removesuffix(b"\nno end")).startswith("The key is [redacted:anthropic-key:")
    assert not [at for at in range(0, len(KEY) - 9) if KEY[at : at + 9].encode() in ran.out and at > 12]
    assert ran.out.count(b"\n") == deltas().count(b"\n") + 1 and ran.out.endswith(b"\nno end")
    filtered = run(tmp_path, "redact", given=deltas(), **state)
    assert filtered.out == ran.out.removesuffix(b"\nno end")
    assert run(tmp_path, "consume", "--tee", "--tee-redacted", given=deltas(), **state).code == 2


def test_a_long_line_passes_through_a_copy_in_parts() -> None:
    copy, text = (
        redacted_copy(redactor_of(Redaction(b"k"))),
        b"x " * 3_000_000 + KEY.encode() + b" y\nlast " + KEY.encode(),
    )
    pieces = [copy.push(text[at : at + 100_000]) for at in range(0, len(text), 100_000)]
    assert max(map(len, pieces)) < len(text) / 2
    assert b"".join(pieces) + copy.flush() == redactor_of(Redaction(b"k")).redact(text)
