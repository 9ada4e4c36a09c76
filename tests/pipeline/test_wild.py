"""Logs of many people and versions: supported ones decode, faults stand where bytes are broken, others are named."""

import json
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from agentv_stages.fault import Fault
from agentv_stages.result import Result
from agentv_stream.errors import NotALog
from agentv_stream.summary import SessionReader, read_file
from support.decoding import corpus

FOREIGN = {
    "amp-thread": "an Amp thread",
    "droid-session": "a Droid session",
    "droid-stream": "a Droid stream",
    "cursor-composer-db-dump": "a dump of Cursor's composer",
    "copilot-cli/10.jsonl": "a Poolside session",
}
"""Folders (or files) of agents that are not supported, and what they are called."""

MANGLED = {"opencode-run-noisy"}
"""The letters of the records' own keys were changed with their noise: they are no agent's log any more."""

DIALECTS = {
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
        return value is not None and session.encode() in fault.data and not fault.detail.endswith(session)
    if fault.reason == "not-object":
        return value is not None and not isinstance(value, dict)
    return False


def parsed(data: bytes) -> Any:
    try:
        return json.loads(data)
    except ValueError:
        return None
