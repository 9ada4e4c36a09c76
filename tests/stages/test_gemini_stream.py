from pathlib import Path
from typing import Any

import msgspec
import pytest

from agentv_stages.chain.decode import Decode
from agentv_stages.figures.totals import Totals
from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import AssistantText, Notification, SessionEnd, SessionInfo, ToolCall, UserText
from agentv_stages.model.provider import DecodeContext
from agentv_stages.providers.gemini import PROVIDER
from agentv_stages.session.detect import rank
from support.decoding import (
    asked_calls,
    best,
    calls,
    check_laws,
    corpus,
    dialect,
    events_of,
    head,
    lines,
    read,
    records,
    results,
    said,
    texts,
    usages,
)

STREAM = dialect(PROVIDER, "gemini-stream")
TIME = "2026-03-01T10:00:00.000Z"
INIT = {"type": "init", "timestamp": TIME, "session_id": "s-1", "model": "gemini-x"}
STATS = {
    "total_tokens": 160,
    "input_tokens": 100,
    "output_tokens": 40,
    "cached": 30,
    "input": 70,
    "duration_ms": 1200,
    "tool_calls": 1,
    "models": {"gemini-x": {"total_tokens": 0}, "gemini-y": {"total_tokens": 160}},
}


def say(text: str) -> dict[str, Any]:
    return {"type": "message", "timestamp": TIME, "role": "assistant", "content": text, "delta": True}


def ask(text: str) -> dict[str, Any]:
    return {"type": "message", "timestamp": TIME, "role": "user", "content": text}


def use(call_id: str, name: str = "run_shell_command", **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "timestamp": TIME, "tool_name": name, "tool_id": call_id, "parameters": given}


def gave(call_id: str, status: str = "success", **members: Any) -> dict[str, Any]:
    return {"type": "tool_result", "timestamp": TIME, "tool_id": call_id, "status": status, **members}


def end(status: str = "success", **members: Any) -> dict[str, Any]:
    return {"type": "result", "timestamp": TIME, "status": status, "stats": STATS, **members}


def judged(name: str, result: dict[str, Any]) -> tuple[Any, ...]:
    [found] = results(events_of(STREAM, lines(INIT, use("c", name), {**result, "tool_id": "c"})))
    return found.outcome, found.exit_code, found.output


WHOLE = lines(
    INIT,
    ask("fix it"),
    say("Look"),
    say("ing."),
    use("a", command="ls"),
    use("b", "read_file", file_path="x.py"),
    gave("a", output="x.py"),
    gave("b", output=""),
    say("Done."),
    end(),
)


def test_the_stream_keeps_the_laws_of_decoders() -> None:
    check_laws(STREAM, WHOLE)


def test_increments_and_calls_are_one_answer_until_a_result() -> None:
    events = [e for e in events_of(STREAM, WHOLE) if isinstance(e, AssistantText | ToolCall)]
    assert [e.message_id for e in events] == ["m2", "m2", "m2", "m2", "m8"]
    assert [(e.text, e.delta) for e in events if isinstance(e, AssistantText)] == [
        ("Look", True),
        ("ing.", True),
        ("Done.", True),
    ]


def test_a_user_message_ends_an_answer() -> None:
    events = events_of(STREAM, lines(INIT, say("one"), ask("more"), say("two")))
    assert [e.message_id for e in events if isinstance(e, AssistantText)] == ["m1", "m3"]
    assert [e.text for e in events if isinstance(e, UserText)] == ["more"]


def test_an_empty_display_is_no_output_and_the_status_is_the_outcome() -> None:
    assert judged("read_file", gave("c", output="")) == ("ok", None, None)
    assert judged("write_file", gave("c")) == ("ok", None, None)


def test_an_error_tells_what_failed() -> None:
    failed = gave("c", "error", error={"type": "file_not_found", "message": "File not found: y"})
    assert judged("read_file", failed) == ("error", None, "File not found: y")
    assert judged("read_file", {**failed, "output": "File not found."}) == ("error", None, "File not found.")


@pytest.mark.parametrize(
    ("output", "outcome", "code"),
    [
        ("Command exited with code: 3", "error", 3),
        ("Command exited with code: 0", "ok", 0),
        ("Command terminated by signal: 9", "error", None),
        ("Output: x\nExit Code: 1\nProcess Group PGID: 7", "error", 1),
        ("Output: x\nError: (none)\nExit Code: 0\nSignal: 0\nProcess Group PGID: 7", "ok", 0),
        ("Exit Code: 1 is what I print", "ok", None),
        ("[Operation Cancelled] Reason: User cancelled", "cancelled", None),
    ],
)
def test_the_exit_code_of_a_shell_command_is_read_from_its_text(output: str, outcome: str, code: int | None) -> None:
    assert judged("run_shell_command", gave("c", output=output)) == (outcome, code, output)


def test_only_shell_commands_have_exit_codes() -> None:
    assert judged("read_file", gave("c", output="Command exited with code: 3"))[:2] == ("ok", None)


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        ({"type": "policy_violation", "message": "no"}, "denied"),
        ({"type": "execution_denied", "message": "no"}, "denied"),
        ({"type": "unknown", "message": "User denied execution."}, "denied"),
        ({"type": "permission_denied", "message": "EACCES: /root"}, "error"),
    ],
)
def test_refusals_are_told_from_failures(error: dict[str, str], outcome: str) -> None:
    assert judged("write_file", gave("c", "error", error=error))[0] == outcome


def test_mcp_names_have_one_form() -> None:
    [found] = calls(events_of(STREAM, lines(INIT, use("c", "mcp_demo_look_up"))))
    assert found.name == "mcp__demo__look_up"


def test_output_gains_the_thoughts_that_only_the_grand_total_holds() -> None:
    [usage] = usages(events_of(STREAM, WHOLE))
    assert (usage.input, usage.cached, usage.output, usage.reasoning) == (100, 30, 60, 20)
    assert (usage.scope, usage.covers_streams, usage.model) == ("session", True, "gemini-y")


def test_the_end_and_its_reason() -> None:
    [good] = [e for e in events_of(STREAM, WHOLE) if isinstance(e, SessionEnd)]
    assert (good.status, good.duration_ms, good.cost_usd) == ("complete", 1200, None)
    bad = lines(INIT, end("error", error={"type": "unknown", "message": "[API Error: 400]"}))
    [failed] = [e for e in events_of(STREAM, bad) if isinstance(e, SessionEnd)]
    assert (failed.status, failed.reason) == ("error", "[API Error: 400]")


def test_a_warning_ends_nothing() -> None:
    given = lines(INIT, {"type": "error", "timestamp": TIME, "severity": "warning", "message": "Loop detected"}, end())
    [notice] = [e for e in events_of(STREAM, given) if isinstance(e, Notification)]
    assert (notice.level, notice.message) == ("warning", "Loop detected")


def test_the_session_is_known_from_the_first_line() -> None:
    [info] = [e for e in events_of(STREAM, WHOLE) if isinstance(e, SessionInfo)]
    assert (info.session_id, info.model) == ("s-1", "gemini-x")


def test_a_new_type_is_counted_by_name() -> None:
    batch = Batch("log")
    decoder = STREAM.decoder(DecodeContext("log"))
    for record in lines(INIT, {"type": "brand_new", "timestamp": TIME}):
        decoder.decode(record, batch)
    assert batch.unknown == {"brand_new": 1}


def test_the_stream_is_told_from_others() -> None:
    assert best(PROVIDER, WHOLE) == ("gemini-stream", 1.0)
    [(score, provider, found)] = rank(list(head(WHOLE)))
    assert (score, provider.name, found.name) == (1.0, "gemini", "gemini-stream")
    assert best(PROVIDER, WHOLE[4:])[0] == "gemini-stream"
    assert best(PROVIDER, lines({"type": "system", "subtype": "init", "session_id": "x"}))[1] == 0.0


def scenarios() -> list[Path]:
    return sorted(corpus("clients/gemini").glob("*/stream.jsonl"))


def test_recordings_give_what_the_model_asked_for() -> None:
    """Sub-agents are not in the stream; `s6_pipe` was cut by its reader."""
    table = PROVIDER.tools.by_name
    for path in scenarios():
        truth = msgspec.json.decode((path.parent / "truth.json").read_bytes())
        if truth["scenario"] == "s6_pipe":
            continue
        events = events_of(STREAM, records(read(path)))
        main = [name for name in truth["threads"] if not name.startswith("sub")]
        wanted = [c["tool"] or c["native"] for c in asked_calls(truth, *main)]
        names = [table[c.name].tool if c.name in table else c.name for c in calls(events)]
        assert len(names) == len(wanted), path
        assert [n for n, w in zip(names, wanted, strict=True) if w in ("Bash", "Read", "Edit") and n != w] == [], path
        whole = plain("".join(texts(events)))
        assert [t for t in said(truth, *main) if plain(t) not in whole] == [], path
        if not truth["broken"] and not truth["scenario"].startswith("s6_"):
            [usage] = usages(events)
            sums = [
                tuple(
                    sum(t["tokens"][k] for t in truth["threads"].values()) + n * truth["side_tokens"][k] for k in KEYS
                )
                for n in (0, 1)
            ]
            assert (usage.input, usage.output) in sums, path


KEYS = ("input", "output")


def plain(text: str) -> str:
    """Gemini prints no control and format characters."""
    return "".join(c for c in text.strip() if c.isprintable() or c in "\n\u00a0")


def test_wild_streams_hold_nothing_unknown() -> None:
    for path in sorted(corpus("wild/gemini-stream").iterdir()):
        given: list[Record] = records(read(path))
        assert best(PROVIDER, given) == ("gemini-stream", 1.0)
        batch = Batch(str(path), records=given)
        Decode(STREAM, DecodeContext(str(path))).push(batch)
        assert not batch.unknown and not batch.faults, path


def test_runs_of_a_session_in_one_file_add_up() -> None:
    """`gemini -p … >> log`, then `gemini --resume latest -p … >> log`; a log that is there twice counts once."""

    def run(second: int, tokens: int) -> list[dict[str, Any]]:
        stats = {"total_tokens": tokens + 5, "input_tokens": tokens, "output_tokens": 5, "cached": 0}
        began, ended = (f"2026-03-01T11:00:{second + n:02}.000Z" for n in (0, 1))
        end = {"type": "result", "timestamp": ended, "status": "success", "stats": stats}
        return [{**INIT, "timestamp": began}, end]

    totals = Totals()
    totals.observe(Batch("log", events=events_of(STREAM, lines(*run(1, 40), *run(5, 27), *run(5, 27)))))
    assert (totals.tokens().input, totals.tokens().output) == (67, 10)
