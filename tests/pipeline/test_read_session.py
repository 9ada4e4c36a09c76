"""`read`, `sessions` and `check`: a finished session as session object."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

import agentv_stream
from agentv_stages.model.batch import Batch
from agentv_stages.model.event import AnyEvent, ToolCall, ToolResult
from agentv_stream import EmptyInput, NotALog, SourceError, SpecError, UsageError, check, read, sessions, summarize
from agentv_stream.api import in_order
from agentv_stream.api.in_order import calls_in_order
from support.consuming import SESSION
from support.events import at, call

ROOT = Path(__file__).parents[2]
CLAUDE = ROOT / "examples/claude.jsonl"
SPEC = ROOT / "examples/spec.yaml"


# --- read


def test_the_figures_are_those_of_summarize() -> None:
    session, result = read(CLAUDE), summarize(CLAUDE)
    assert session.result.to_json() == result.to_json()
    assert (session.turns, session.cost_usd, session.status) == (8, 0.093043, "complete")
    assert session.tokens.input == session.tokens["input"] == result.tokens["input"] == 200080
    assert session.tool_use_summary.first_edit_turn == session.tool_use_summary["first_edit_turn"] == 5
    assert (session.model, session.provider, session.id) == (
        result.session.model, "claude", result.session.id,
    )  # fmt: skip


def test_calls_are_in_the_order_requested_with_their_results_and_turns() -> None:
    session = read(CLAUDE)
    calls = list(session.calls)
    assert [c.index for c in calls] == list(range(session.tool_use_summary.total_tool_calls))
    assert [c.tool for c in calls if c.stream == "main"] == session.tool_use_summary.tool_sequence
    first = next(c for c in calls if c.edit)
    assert (first.turn, first.files) == (5, ("/home/ada/orchard/orchard/slug.py",))
    shell = calls[1]
    assert (shell.tool, shell.kind, shell.outcome, shell.exit_code) == ("Bash", "execute", "error", 1)
    assert shell.command == shell.input["command"] == shell.target
    assert repr(shell) == "<Call 1, turn 2: Bash cd /home/ada/orchard && python -m pytest -q → error exit 1>"
    assert [c.id for c in session.calls] == [c.id for c in calls]  # read again


def test_messages_are_in_order() -> None:
    messages = list(read(ROOT / "examples/codex.jsonl").messages)
    assert [m.index for m in messages] == list(range(len(messages)))
    assert messages[-1].text.startswith("`slug()` dropped")


def test_a_session_is_read_by_the_beginning_of_its_id(tmp_path: Path) -> None:
    shutil.copy(CLAUDE, tmp_path)
    native = read(CLAUDE).id
    assert native is not None
    assert read(native[:8], roots=[str(tmp_path)]).path == str(tmp_path / "claude.jsonl")
    with pytest.raises(SourceError):
        read("ffffffff", roots=[str(tmp_path)])


def test_output_in_memory_is_read() -> None:
    session = read(CLAUDE.read_bytes())
    assert (len(list(session.calls)), len(list(session.messages))) == (11, 10)
    assert [verdict.verdict for verdict in check(session, SPEC)] == ["pass"]


@pytest.mark.parametrize(
    ("name", "content", "error"),
    [("none.jsonl", None, SourceError), ("notes.txt", "buy apples\n", NotALog), ("empty.jsonl", "", EmptyInput)],
)
def test_what_cannot_be_read_raises_at_once(
    tmp_path: Path, name: str, content: str | None, error: type[Exception]
) -> None:
    if content is not None:
        (tmp_path / name).write_text(content)
    with pytest.raises(error):
        read(tmp_path / name)


def test_standard_input_is_refused() -> None:
    with pytest.raises(UsageError, match="open_stream"):
        read("-")


def test_a_repr_is_one_short_line() -> None:
    session = read(CLAUDE)
    things: list[object] = [session, session.result, session.tool_use_summary, session.calls, *session.calls]
    things += [*session.messages, *next(iter(session.messages)).calls, *session.batches(), *check(session, SPEC)]
    for thing in things:
        assert "\n" not in repr(thing)
        assert len(repr(thing)) < 200


# --- sessions


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for age, name in enumerate(("claude", "codex", "gemini")):
        place = tmp_path / f"{name}.jsonl"
        shutil.copy(ROOT / f"examples/{name}.jsonl", place)
        stat = place.stat()
        os.utime(place, (stat.st_atime, stat.st_mtime - age * 30 * 86_400))
    return tmp_path


def test_sessions_are_listed_newest_first_and_read_when_used(folder: Path) -> None:
    listed = list(sessions(roots=[str(folder)]))
    assert [session.provider for session in listed] == ["claude", "codex", "gemini"]
    assert listed[0].turns == 8
    (folder / "gemini.jsonl").unlink()
    with pytest.raises(SourceError):
        _ = listed[2].turns


def test_a_period_is_that_of_the_last_change(folder: Path) -> None:
    def found(**options: str) -> list[str]:
        return [session.provider for session in sessions(roots=[str(folder)], **options)]  # pyright: ignore[reportArgumentType] - texts

    assert found(since="7d") == ["claude"]
    assert found(since="45d", until="20d") == ["codex"]
    assert found(provider="gemini") == ["gemini"]
    assert found(project="/home/ada/orchard") != []
    assert found(project="/home/eve") == []


def test_a_period_that_is_none_raises_at_once() -> None:
    with pytest.raises(UsageError, match="since"):
        sessions(since="whenever")


# --- check


def test_verdicts_are_those_of_the_command(tmp_path: Path) -> None:
    spec = tmp_path / "ci.yaml"
    spec.write_text(
        "assertions:\n  - {type: max-turns, max: 3, required: false}\n  - {type: max-turns, max: 30, name: long}\n"
    )
    (verdict,) = check(read(CLAUDE), spec)
    assert verdict.verdict == "fail"
    assert repr(verdict) == "<CaseResult 'ci': fail 0.50; failed: 'max-turns'>"
    (passed,) = check(CLAUDE, spec, threshold=0.5)
    assert passed.verdict == "pass"


def test_a_case_is_chosen_by_name(tmp_path: Path) -> None:
    assert [verdict.case for verdict in check(CLAUDE, SPEC, case="fix-slug")] == ["fix-slug"]
    with pytest.raises(SpecError, match="no case is called"):
        check(CLAUDE, SPEC, case="another")
    with pytest.raises(UsageError, match="judges nothing"):
        spec = tmp_path / "ci.yaml"
        spec.write_text("assertions:\n  - {type: llm-grader, prompt: Good}\n")
        check(CLAUDE, spec)


# --- async


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_the_async_forms_give_the_same(backend: str, folder: Path) -> None:
    async def main() -> None:
        session = await agentv_stream.read_async(CLAUDE)
        assert session.turns == 8
        assert [c.id async for c in session.calls] == [c.id for c in session.calls]
        assert [m.index async for m in session.messages] == list(range(10))
        (verdict,) = await agentv_stream.check_async(session, SPEC)
        assert verdict.verdict == "pass"
        (folder / "codex.jsonl").write_bytes(b"")
        listed = [session async for session in agentv_stream.sessions_async(roots=[str(folder)])]
        assert [other.turns for other in listed if other.provider == "claude"] == [8]

    anyio.run(main, backend=backend)


# --- bounded memory


def result_of(request: ToolCall, row: int) -> ToolResult:
    return ToolResult(at(row), "r", request.call_id, None, "ok", call=request)


def batches_of(*events: AnyEvent) -> Iterator[Batch]:
    yield from (Batch(events=[event]) for event in events)


def test_a_call_that_stays_open_holds_up_only_so_many_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_order, "MOST_WAITING", 3)
    requests = [call(i, f"c{i}", "Bash") for i in range(8)]
    events: list[AnyEvent] = [requests[0]]
    for i, request in enumerate(requests[1:]):
        events += [request, result_of(request, 10 + i)]
    found = calls_in_order(batches_of(*events, result_of(requests[0], 99)))
    order = [c.index for c in found]
    assert sorted(order) == list(range(8))
    assert order == [1, 2, 3, 4, 5, 6, 7, 0]
    still_open = [c.index for c in calls_in_order(batches_of(*events))]
    assert sorted(still_open) == list(range(8))


def test_calls_and_messages_of_a_long_session_are_not_kept(tmp_path: Path) -> None:
    """Ten times the session takes no more memory, measured in processes of their own."""
    line = SESSION.read_bytes()  # a session to begin with
    first = json.loads(next(row for row in line.splitlines() if b'"sessionId"' in row))["sessionId"]
    peaks: list[int] = []
    for calls in (2_000, 20_000):
        path = tmp_path / f"{calls}.jsonl"
        with path.open("wb") as file:
            for i in range(calls):
                common = {"sessionId": first, "cwd": "/w", "version": "2.1.0", "isSidechain": False}
                request = {"type": "tool_use", "id": f"t{i}", "name": "Read", "input": {"file_path": f"/w/{i}.py"}}
                message = {"id": f"m{i}", "role": "assistant", "content": [request], "model": "claude-x"}
                file.write(json.dumps({"type": "assistant", "uuid": f"a{i}", "message": message, **common}).encode())
                answer = {"type": "tool_result", "tool_use_id": f"t{i}", "content": "x" * 4_000}
                reply = {"role": "user", "content": [answer]}
                file.write(b"\n" + json.dumps({"type": "user", "uuid": f"u{i}", "message": reply, **common}).encode())
                file.write(b"\n")
        peaks.append(peak_of(path, calls))
    assert peaks[1] - peaks[0] < 30_000, peaks  # kilobytes; the longer file has 80 MB more


def peak_of(path: Path, calls: int) -> int:
    """Kilobytes at most while all calls and messages are iterated."""
    code = (
        "import sys, resource; from agentv_stream import read; s = read(sys.argv[1]);"
        "print(sum(1 for _ in s.calls), sum(1 for m in s.messages if m.role == 'assistant'),"
        "resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // (1024 if sys.platform == 'darwin' else 1))"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    found, messages, peak = map(int, done.stdout.split())
    assert (found, messages) == (calls, calls)
    return peak
