"""Logs of many people and versions: supported ones decode, faults stand where bytes are broken, others are named."""

import json
import re
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, cast

import pytest

from agentv_stages.figures.result import Result
from agentv_stages.model.fault import Fault
from agentv_stream.errors import NotALog
from agentv_stream.summary import SessionReader, read_file
from support.decoding import corpus

FOREIGN = {
    "cursor-composer-db-dump": "a dump of Cursor's composer",
    "copilot-cli/10.jsonl": "a Poolside session",
}
"""Folders (or files) of agents that are not supported, and what they are called."""

MANGLED = {"opencode-run-noisy"}
"""The letters of the records' own keys and types were changed with their noise, so they are no agent's log; they are
tested with the letters put back."""

DIALECTS = {
    "amp-thread": {"amp-thread"},
    "acp": {"acp"},
    "claude-session": {"claude-session"},
    "claude-stream": {"claude-stream"},
    "claude-stream-array": {"claude-stream"},
    "codex-exec": {"codex-exec"},
    "codex-rollout": {"codex-rollout"},
    "codex-rollout-old": {"codex-rollout-old", "codex-rollout"},
    "copilot-cli": {"copilot-session", "copilot-stream"},
    "cursor-stream": {"cursor-stream"},
    "cursor-stream-noisy": {"cursor-stream"},
    "cursor-transcript": {"cursor-transcript"},
    "droid-session": {"droid-session"},
    "droid-stream": {"droid-stream"},
    "gemini-session": {"gemini-chat-json"},
    "gemini-session-jsonl": {"gemini-chat"},
    "gemini-stream": {"gemini-stream"},
    "opencode-db-dump": {"opencode-rows", "opencode-export"},
    "opencode-export": {"opencode-export"},
    "opencode-run": {"opencode-stream"},
    "opencode-storage": {"opencode-rows"},
    "pi-events": {"pi-stream"},
    "pi-session": {"pi-session"},
    "pi-subagent-transcript": {"pi-subagent"},
    "qwen-session": {"qwen-session"},
    "vscode-chat": {"vscode-chat", "vscode-chat-jsonl"},
}
"""Folder -> the dialects that its files may be."""

DRIFT = {
    "claude-session/26.jsonl": {"(no type)"},  # a file made to be broken: strings, numbers, an object without a type
    "copilot-cli/12.jsonl": {"future.event"},
    "cursor-transcript/01.jsonl": {"assistant/future-block"},
    "cursor-stream-noisy/01.log": {"(no type)"},  # JSON of other programs between the agent's lines
    "cursor-stream-noisy/02.log": {"(no type)"},
}
"""Record types that no version of the agent is known to have."""


class Read(NamedTuple):
    path: Path
    folder: str
    dialect: str | None
    result: Result | None
    faults: list[Fault]
    error: str

    @property
    def name(self) -> str:
        return f"{self.folder}/{self.path.name}"


@cache
def everything(root: Path) -> list[Read]:
    return [read(path) for path in sorted(root.glob("*/*")) if path.is_file()]


def read(path: Path) -> Read:
    try:
        reader = SessionReader(read_file(str(path)), str(path))
    except NotALog as error:
        return Read(path, path.parent.name, None, None, [], str(error))
    faults = [fault for batch in reader.batches(companions=False) for fault in batch.faults]
    return Read(path, path.parent.name, reader.dialect.name, reader.result(), faults, "")


@pytest.fixture(scope="module")
def wild() -> list[Read]:
    found = everything(corpus("wild"))
    assert len(found) >= 190
    return found


def foreign(one: Read) -> str | None:
    return FOREIGN.get(one.name) or FOREIGN.get(one.folder)


def test_supported_files_are_read_as_what_they_are(wild: list[Read]) -> None:
    strange = [one for one in wild if one.folder in DIALECTS and foreign(one) is None]
    assert {one.name: one.dialect for one in strange if one.dialect not in DIALECTS[one.folder]} == {}


def test_no_folder_is_left_out(wild: list[Read]) -> None:
    assert {one.folder for one in wild} - set(DIALECTS) - set(FOREIGN) - MANGLED == set()


def test_unsupported_agents_are_named(wild: list[Read]) -> None:
    for one in wild:
        name = foreign(one)
        if name is not None:
            assert one.dialect is None
            assert f"{name}; not supported" in one.error


def test_unknown_record_types_have_names_and_are_new(wild: list[Read]) -> None:
    found = {one.name: set(one.result.unknown) for one in wild if one.result is not None and one.result.unknown}
    assert found == DRIFT


def test_every_file_says_something(wild: list[Read]) -> None:
    assert [one.name for one in wild if one.result is not None and one.result.events == 0] == []


def test_faults_stand_where_the_bytes_are_broken(wild: list[Read]) -> None:
    unjust = [(one.name, fault.reason, fault.detail) for one in wild for fault in one.faults if not is_just(fault)]
    assert [entry for entry in unjust if entry[0] not in MADE_TO_BREAK] == []


MADE_TO_BREAK = {
    "claude-session/26.jsonl",  # members of shapes that no version writes
    "cursor-transcript/03.jsonl",  # results whose calls are missing
}


def is_just(fault: Fault) -> bool:
    """Whether the record itself shows that it is broken."""
    value = parsed(fault.data)
    if fault.reason in ("not-json", "torn", "torn-middle", "welded"):
        return value is None
    if fault.reason == "foreign-record":  # several runs that were written to one file
        session = fault.detail.split(" ")[1]
        begin = fault.data.find(b"{")  # behind what a wrapper printed before it
        value = json.JSONDecoder().raw_decode(fault.data[begin:].decode())[0]
        return isinstance(value, dict) and session.encode() in fault.data and not fault.detail.endswith(session)
    if fault.reason == "not-object":
        return value is not None and not isinstance(value, dict)
    return False


def parsed(data: bytes) -> Any:
    try:
        return json.loads(data)
    except ValueError:
        return None


LINE = ("type", "timestamp", "sessionID", "part")
PARTS_OF = (
    ("id", "sessionID", "messageID", "type", "callID", "tool", "state"),
    ("id", "sessionID", "messageID", "type", "reason", "cost", "tokens"),
    ("id", "sessionID", "messageID", "type", "text", "time"),
)
STATE = ("status", "input", "output", "title", "metadata", "time")
TOKENS = ("total", "input", "output", "reasoning", "cache")
FINISHED = re.compile(r"[a-z]{4}_[a-z]{6}")  # step_finish
PLAIN = {*LINE, *STATE, *TOKENS, *(key for keys in PARTS_OF for key in keys), "end", "start", "read", "write"}
CODED = {"type", "reason", "status"}  # members whose values are words of the format


def members(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


class Cipher:
    """The letters of one file: each has its own, which the order of the members of its records gives away."""

    def __init__(self) -> None:
        self.letters: dict[str, str] = {}

    def learn(self, value: dict[str, Any], keys: tuple[str, ...]) -> None:
        if len(value) == len(keys):
            for coded, plain in zip(value, keys, strict=True):
                if coded not in PLAIN and len(coded) == len(plain):
                    self.letters.update(zip(coded.lower(), plain.lower(), strict=True))

    def plain(self, word: str) -> str:
        if word in PLAIN or word == "tool_use":
            return word
        read = (self.letters.get(c.lower(), c) for c in word)
        return "".join(new.upper() if old.isupper() else new for old, new in zip(word, read, strict=True))

    def said(self, key: str, value: Any) -> Any:
        if isinstance(value, dict):
            return {self.plain(k): self.said(self.plain(k), v) for k, v in members(value).items()}
        if isinstance(value, list):
            return [self.said(key, v) for v in value]  # pyright: ignore[reportUnknownVariableType] - decoded JSON
        if key in CODED and isinstance(value, str) and value not in ("tool", "completed", "error"):
            return re.sub(r"[a-z]+", lambda word: self.plain(word[0]), value)
        return value


def put_back(data: bytes) -> bytes:
    """The log with the letters of its keys as OpenCode writes them. Texts, commands and paths stay mangled."""
    cipher = Cipher()
    lines = data.decode("utf-8", "replace").split("\n")
    found = [(i, line.index('{"')) for i, line in enumerate(lines) if '{"' in line]
    records = [(i, at, members(parsed(lines[i][at:].encode()))) for i, at in found]
    records = [record for record in records if len(record[2]) == len(LINE)]
    for _, _, value in records:
        cipher.learn(value, LINE)
        kind, *_, last = value.values()
        part = members(last)
        for keys in PARTS_OF:
            if ("tool" in part) == ("tool" in keys):
                cipher.learn(part, keys)
                cipher.learn(members(list(part.values())[-1]), TOKENS)
        if isinstance(kind, str) and FINISHED.fullmatch(kind) and len(part) == len(PARTS_OF[1]):
            cipher.letters.update(zip(kind, "step_finish", strict=True))
    for i, at, value in records:
        lines[i] = lines[i][:at] + json.dumps(cipher.said("", value), separators=(",", ":"))
    return "\n".join(lines).encode()


@pytest.mark.parametrize(
    ("name", "calls", "status", "other_json"),
    [
        ("01.log", 64, "incomplete", {}),  # its wrapper gave it up after ten minutes of silence
        ("02.log", 76, "complete", {"(no type)": 1}),
        ("03.log", 69, "complete", {"(no type)": 2}),
    ],
)
def test_runs_of_opencode_among_noise_are_read(name: str, calls: int, status: str, other_json: dict[str, int]) -> None:
    """Two thirds of the lines are a wrapper's, which runs the agent two or three times; the agent's have its prefix."""
    data = put_back((corpus("wild") / "opencode-run-noisy" / name).read_bytes())
    reader = SessionReader([data], name)
    assert reader.dialect.name == "opencode-stream"
    faults = [fault for batch in reader.batches(companions=False) for fault in batch.faults]
    result = reader.result()
    assert (result.status, result.unknown) == (status, other_json)
    assert result.tool_use_summary["total_tool_calls"] == sum(result.tool_use_summary["by_outcome"].values()) == calls
    assert result.tool_use_summary["by_outcome"]["unpaired"] == 0
    assert result.tokens["input"] and result.tokens["output"]
    assert set(result.faults) == {"not-json", "foreign-record"} and all(map(is_just, faults))
