"""The same for every agent: random sessions, written as each agent writes them, give the figures that are defined.

What a figure must be is worked out from the abstract session (`support/scenarios/expected.py`), without our code. A
dialect differs only by the losses that its writer names. What is not known yet, or no part of the log, changes nothing.
"""

import json
from collections.abc import Iterable
from itertools import zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentv_stages.chain.consolidate import Consolidate
from agentv_stages.figures.merge import summary_of
from agentv_stages.figures.result import Result
from agentv_stages.model.message import Message
from agentv_stages.providers import NAMES, get_provider
from agentv_stages.sinks.atif import Trajectory
from agentv_stages.sinks.transcript import Identity, TranscriptRows, closing_members
from agentv_stream.stores.rows import read_session
from agentv_stream.stores.store import STORE_SIGN
from agentv_stream.summary import SessionReader, read_file
from support.scenarios import expected
from support.scenarios.dialects import WRITERS
from support.scenarios.mixing import Clock, iso_of
from support.scenarios.noise import SILENCE, WHOLE, Noise, disturbed, noises
from support.scenarios.scenario import Scenario, atoms, cut, scenarios
from support.scenarios.writer import Writer, Written

SLOW = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example)
EXAMPLES = settings(max_examples=18, deadline=None, derandomize=True, suppress_health_check=SLOW)
READ_BACK = ("claude-session", "codex-rollout", "copilot-stream", "gemini-chat", "pi-stream")
NOT_WRITTEN = {
    "agentv-transcript": "what others' sessions are written as is read back below",
    "atif": "likewise",
    "continue-output": "it is the last answer and nothing else",
    "antigravity-output": "it is the last answer and nothing else",
    "agentv-trace": "AgentV's own events, which no agent writes and newer versions do not either",
}
"""Dialects that no writer has, and why."""
SUMS = ("turns", "tool_calls", "edits")
TOKENS = ("input", "cached", "cache_write", "output", "reasoning")
writers = pytest.mark.parametrize("writer", WRITERS.values(), ids=list(WRITERS))


class Told:
    """What is told of a written session: its result, its rows in order, its trajectory. `halved`: what stands for half
    a letter is taken for the whole one."""

    def __init__(self, written: Written, halved: bool = False) -> None:
        self.halved = halved
        with TemporaryDirectory() as folder:
            for name, data in {**written.beside, written.name: written.data}.items():
                path = Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
            place = str(Path(folder, written.name))
            if written.session is None:
                self._read(place, read_file(place))
            else:  # a store is read as a file of rows
                rows = (row + b"\n" for row in read_session(place, written.session))
                self._read(f"{place}{STORE_SIGN}{written.session}", rows)

    def _read(self, path: str, pieces: Iterable[bytes]) -> None:
        self.reader = SessionReader(pieces, path)
        consolidate = Consolidate()
        messages: list[Message] = []
        for batch in self.reader.batches():
            for done in consolidate.push(batch):
                messages += done.messages
        for done in consolidate.flush():
            messages += done.messages
        self.result: Result = self.reader.result()
        identity = Identity("case", "target", "provider", "session", "dialect")
        rendered = TranscriptRows(identity, gap=False)
        self.transcript = rendered.render(messages[:-1])
        if messages:
            self.transcript += rendered.row(messages[-1], closing_members(self.reader.observer))
        rows = map(json.loads, self._mended(self.transcript).splitlines())
        self.rows: list[dict[str, Any]] = sorted(rows, key=lambda row: int(row["message_index"]))
        trajectory = Trajectory()
        steps: dict[str, list[tuple[int, bytes]]] = {}
        for one in messages:
            steps.setdefault(one.source.stream, []).append((one.index, trajectory.step(one)))
        made = trajectory.document(self.result, lambda stream: [line for _, line in sorted(steps.get(stream, []))])
        self.trajectory: dict[str, Any] = json.loads(self._mended(b"".join(made) or b"{}"))

    def _mended(self, data: bytes) -> bytes:
        return data.replace("\ufffd".encode(), WHOLE.encode()) if self.halved else data

    def figures(self) -> dict[str, Any]:
        """As `expected.figures`."""
        found = self.result.tool_use_summary
        streams = {name: tuple(sums[key] for key in SUMS) for name, sums in found["by_stream"].items()}
        same = (
            "turns", "total_tool_calls", "by_tool", "by_mcp_server", "tool_sequence", "kind_sequence", "by_origin",
            "first_edit_turn", "first_successful_edit_turn", "first_edit_tool_index", "shell_edits",
        )  # fmt: skip
        return {
            **{name: found[name] for name in same},
            "by_kind": {name: count for name, count in found["by_kind"].items() if count},
            "by_outcome": {name: count for name, count in found["by_outcome"].items() if count},
            "errors": {name: value["errors"] for name, value in found["tools"].items()},
            "main": streams.pop("main"),
            "others": sorted(streams.values()),
        }

    def messages(self, stream: str = "main") -> list[dict[str, Any]]:
        """As `expected.messages`: what the agent's program wrote in the user's name is none of them."""
        ours = [(row, row["metadata"]["agentv_stream"]) for row in self.rows]
        return [message_of(row) for row, about in ours if about["stream"] == stream and "injected" not in about]

    def inner_messages(self) -> list[list[dict[str, Any]]]:
        """As `expected.inner_messages`, what they were asked left out."""
        streams = dict.fromkeys(row["metadata"]["agentv_stream"]["stream"] for row in self.rows)
        found = [[m for m in self.messages(stream) if m["role"] != "user"] for stream in streams if stream != "main"]
        return sorted((messages for messages in found if messages), key=repr)


def text_of(content: Any) -> str:
    """All texts of a value, joined."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(text_of(one) for one in content)  # pyright: ignore[reportUnknownVariableType] - decoded JSON
    if isinstance(content, dict):
        return "".join(text_of(one) for name, one in content.items() if name != "type")  # pyright: ignore[reportUnknownVariableType] - decoded JSON
    return ""


def message_of(row: dict[str, Any]) -> dict[str, Any]:
    ours = row["metadata"]["agentv_stream"]
    if row["role"] == "user":
        return {"role": "user", "text": text_of(row["content"])}
    known = [(call["tool"], ours["calls"][call["id"]]) for call in row.get("tool_calls", ())]
    calls = [(tool, call["kind"], call["outcome"]) for tool, call in known]
    thinking = "".join(ours.get("thinking", ()))
    return {"role": row["role"], "text": text_of(row["content"]), "thinking": thinking, "calls": calls}


def check(writer: Writer, scenario: Scenario, noise: Noise = SILENCE) -> None:
    """Everything that is told of a written scenario is what the scenario says, whatever stands between."""
    written = writer.write(scenario)
    if not written.data:
        return  # nothing has been printed yet
    heard = writer.told(scenario)
    told = Told(disturbed(written, writer, noise, heard), noise.halved)
    result = told.result
    assert told.reader.dialect.name == writer.dialect
    if writer.lines:
        assert (sum(result.faults.values()), sum(result.unknown.values())) == (noise.of("text"), noise.of("record"))
    else:
        assert (result.faults, result.unknown) == ({}, {})
    tokens = {name: result.tokens[name] for name in TOKENS}
    assert differences(told.figures(), expected.figures(heard, writer.finer)) == {}
    assert differences(tokens, writer.tokens(scenario, heard)) == {}
    assert unlike(told.messages(), expected.messages(heard, writer.finer)) == []
    assert unlike(told.inner_messages(), sorted(expected.inner_messages(heard, writer.finer), key=repr)) == []
    assert result.status == writer.status(scenario, heard)
    if writer.took is not None:
        tools = result.tool_use_summary["tools"].items()
        times = {name: (row["total_ms"], row["p50_ms"] is not None) for name, row in tools}
        assert differences(times, expected.durations(heard, writer.finer, writer.took)) == {}
    if written.clock is not None:
        check_times(written.clock, told, heard, writer.finer)
    check_payloads(writer, told, heard)
    check_trajectory(told, heard, writer.finer)
    check_merged(told, heard, writer.finer)


def check_times(clock: Clock, told: Told, heard: Scenario, finer: bool) -> None:
    """Durations, the time of the first edit and of the session are those of the log's records."""
    summary = told.result.tool_use_summary
    tools = summary["tools"].items()
    times = {name: (row["total_ms"], row["p50_ms"] is not None) for name, row in tools}
    assert differences(times, expected.durations(heard, finer, clock.took)) == {}
    calls = [call for answer in heard.answers for call in answer.calls]
    edited = next((clock.asked.get(call.number) for call in calls if expected.is_edit(call)), None)
    assert summary["first_edit_seconds"] == (None if edited is None else (edited - clock.first) / 1000)
    assert told.result.session.started_at == (iso_of(clock.first) if clock.ticks else None)
    assert told.result.duration_ms == clock.duration_ms


def differences(got: dict[str, Any], wanted: dict[str, Any]) -> dict[str, Any]:
    """Members that differ, each with what was told and what was wanted."""
    return {name: (got.get(name), wanted.get(name)) for name in got | wanted if got.get(name) != wanted.get(name)}


def unlike(got: list[Any], wanted: list[Any]) -> list[Any]:
    """Entries that differ, likewise."""
    return [pair for pair in zip_longest(got, wanted) if pair[0] != pair[1]]


def check_payloads(writer: Writer, told: Told, heard: Scenario) -> None:
    """What went into each call of the main stream and what came out stands in its row."""
    wanted = [call for answer in heard.answers for call in answer.calls]
    rows = [row for row in told.rows if row["metadata"]["agentv_stream"]["stream"] == "main"]
    got = [call for row in rows for call in row.get("tool_calls", ())]
    for one, call in zip(got, wanted, strict=True):
        if call.verb in writer.inputs and call.verb not in ("mcp", "unknown", "plan", "delegate"):
            assert unquoted(call.target) in unquoted(text_of(one["input"])), one
        elif call.verb in writer.inputs:
            assert call.text in text_of(one["input"]), one
        if call.verb in writer.outputs and call.outcome != "unpaired":
            assert call.output in text_of(one.get("output")), one


def check_trajectory(told: Told, heard: Scenario, finer: bool) -> None:
    """The ATIF document has a step for each message of the main stream, with its text and its calls."""
    wanted = expected.messages(heard, finer)
    steps = [step for step in told.trajectory.get("steps", []) if step["source"] != "system"]
    assert [squeezed(text_of(step["message"])) for step in steps] == [squeezed(one["text"]) for one in wanted]
    named = [[call["function_name"] for call in step.get("tool_calls") or ()] for step in steps]
    assert named == [[tool for tool, *_ in message.get("calls", ())] for message in wanted]


def unquoted(text: str) -> str:
    """Without quotes: shells add their own."""
    return text.translate(dict.fromkeys(map(ord, "'\"\\")))


def squeezed(text: str) -> str:
    """Without blanks: ATIF parts the texts of an answer by line ends."""
    return "".join(text.split())


def check_merged(told: Told, heard: Scenario, finer: bool) -> None:
    """Two summaries of the session make one with twice its figures."""
    reader = told.reader
    two = [summary_of(reader.observer, len(reader.pair.left), name, sequences=True) for name in ("a", "b")]
    two[0].merge(two[1])
    merged, figures = two[0].total(), expected.figures(heard, finer)
    assert (merged.turns, merged.tool_calls) == (2 * figures["turns"], 2 * figures["total_tool_calls"])
    assert merged.edits == 2 * (figures["main"][2] + sum(edits for _, _, edits in figures["others"]))
    for name, counts in (("by_kind", merged.by_kind), ("by_outcome", merged.by_outcome)):
        assert {key: count for key, count in counts.items() if count} == {k: 2 * n for k, n in figures[name].items()}
    assert {name: row.calls for name, row in merged.tools.items()} == {k: 2 * n for k, n in figures["by_tool"].items()}
    assert [tool for sequence in two[0].sequences for tool in sequence.tools] == 2 * figures["tool_sequence"]


def test_every_dialect_has_a_writer_or_a_reason() -> None:
    known = {dialect.name for name in NAMES for dialect in get_provider(name).dialects}
    written = {writer.dialect for writer in WRITERS.values()}
    assert not known & written & NOT_WRITTEN.keys()
    assert known == written | NOT_WRITTEN.keys()


@writers
@EXAMPLES
@given(data=st.data())
def test_a_session_gives_the_defined_figures(writer: Writer, data: st.DataObject) -> None:
    check(writer, data.draw(writer.sessions), data.draw(noises))


@pytest.mark.parametrize("dialect", READ_BACK)
@EXAMPLES
@given(data=st.data())
def test_a_transcript_and_a_trajectory_read_back_as_the_session(dialect: str, data: st.DataObject) -> None:
    writer = WRITERS[dialect]
    # none that was killed and resumed: neither form has an end record to say that it went on to its end
    scenario = writer.playable(data.draw(scenarios(writer.verbs, writer.prompts)))
    told = Told(writer.write(scenario))
    if not told.rows:
        return
    rows = Told(Written("session.transcript.jsonl", told.transcript))
    assert rows.reader.dialect.name == "agentv-transcript"
    assert differences(rows.figures(), told.figures()) == {}
    assert unlike(rows.messages(), told.messages()) == []
    assert unlike(rows.inner_messages(), told.inner_messages()) == []
    assert (rows.result.status, rows.result.evidence.reason) == (told.result.status, told.result.evidence.reason)
    assert (rows.result.tokens["input"], rows.result.cost_usd) == (told.result.tokens["input"], told.result.cost_usd)
    steps = Told(Written("trajectory.json", json.dumps(told.trajectory).encode()))
    assert steps.reader.dialect.name == "atif"
    assert differences(steps.figures(), told.figures()) == {}
    assert unlike(steps.messages(), told.messages()) == []
    assert (steps.result.status, steps.result.tokens["input"]) == (told.result.status, told.result.tokens["input"])


@writers
@EXAMPLES
@given(data=st.data())
def test_a_cut_session_gives_the_figures_of_what_happened(writer: Writer, data: st.DataObject) -> None:
    whole = data.draw(writer.sessions)
    part = writer.playable(cut(whole, data.draw(st.integers(1, atoms(whole)))))
    if writer.append_only and not whole.mixed:
        assert writer.write(whole).data.startswith(writer.write(part).data)
    check(writer, part, data.draw(noises))
