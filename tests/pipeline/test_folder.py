"""The file system as providers see it."""

import gzip
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard
from msgspec.structs import replace

from agentv_stages.providers import get_provider
from agentv_stream import summarize, summarize_groups
from agentv_stream.bulk.listing import ListedFolder
from agentv_stream.sources.folder import LocalFolder, companions_of
from support.consuming import run
from support.decoding import FIXTURES

SESSION = "0f3c2a10-5b7e-4c1d-9a61-2d5e8f9b7c01"


def test_folders_with_glob_signs_in_their_names_are_taken_literally(tmp_path: Path) -> None:
    project = tmp_path / "a [draft] of mine?"
    agents = project / SESSION / "subagents"
    agents.mkdir(parents=True)
    (agents / "agent-1.jsonl").write_bytes(b"{}\n")
    main = project / f"{SESSION}.jsonl"
    main.write_bytes(b"{}\n")
    found = companions_of(get_provider("claude"), str(main))
    assert [companion.path for companion in found] == [str(agents / "agent-1.jsonl")]
    assert found[0].context.stream == "sidechain:1"


def test_a_pipe_beside_a_log_is_not_waited_for(tmp_path: Path) -> None:
    agents = tmp_path / SESSION / "subagents"
    agents.mkdir(parents=True)
    (agents / "agent-1.jsonl").write_bytes(b"{}\n")
    os.mkfifo(agents / "agent-1.meta.json")
    main = tmp_path / f"{SESSION}.jsonl"
    main.write_bytes(b"{}\n")
    held = os.open(agents / "agent-1.meta.json", os.O_RDWR)  # so that opening it does not block, but reading would
    try:
        os.write(held, b'{"toolUseId": "t"}')
        found = companions_of(get_provider("claude"), str(main))
        assert [companion.path for companion in found] == [str(agents / "agent-1.jsonl")]
        assert os.read(held, 100) == b'{"toolUseId": "t"}'
    finally:
        os.close(held)


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_packed_files_of_sub_agents_go_with_a_plain_session(tmp_path: Path, suffix: str) -> None:
    """They are older than the session that goes on; `consume` left them out, `stats` counted them as sessions."""
    main, agents = tmp_path / f"{SESSION}.jsonl", tmp_path / SESSION / "subagents"
    agents.mkdir(parents=True)
    shutil.copy(FIXTURES / "claude" / f"{SESSION}.jsonl", main)
    for source in sorted((FIXTURES / "claude" / SESSION / "subagents").iterdir()):
        shutil.copy(source, agents / source.name)
    plain = companions_of(get_provider("claude"), str(main))
    expected = summarize(main)
    for file in sorted(agents.glob("*.jsonl")):
        data = file.read_bytes()
        packed = file.with_name(file.name + suffix)
        packed.write_bytes(gzip.compress(data) if suffix == ".gz" else zstandard.compress(data))
        file.with_name(file.name + ".bak").write_bytes(b"")
        file.unlink()
    found = companions_of(get_provider("claude"), str(main))
    assert [one.path for one in found] == [one.path + suffix for one in plain]
    assert [one.context.parent_call for one in found] == [one.context.parent_call for one in plain]
    assert summarize(main).tool_use_summary == expected.tool_use_summary
    total = summarize_groups([tmp_path], engine="serial").summary.total()
    assert (total.sessions, total.tool_calls) == (1, expected.tool_use_summary["total_tool_calls"])


def test_the_remembering_folder_finds_the_same(tmp_path: Path) -> None:
    folder = tmp_path / "x[1]"
    folder.mkdir()
    for name in ("agent-b.jsonl", "agent-a.jsonl", "other.txt"):
        (folder / name).write_bytes(b"")
    pattern = f"{folder}/agent-*.jsonl"
    expected = [f"{folder}/agent-a.jsonl", f"{folder}/agent-b.jsonl"]
    assert LocalFolder().glob(pattern) == expected
    assert ListedFolder().glob(pattern) == expected


def kimi(folder: Path) -> Path:
    """A session of Kimi Code with a sub-agent, as it lies on disk; its id stands in no record."""
    agents = folder / "wd_app" / "session_ab" / "agents"
    for agent in ("main", "agent-0"):
        (agents / agent).mkdir(parents=True)
        shutil.copy(FIXTURES / "kimi" / "session.jsonl", agents / agent / "wire.jsonl")
    return agents / "main" / "wire.jsonl"


def qwen(folder: Path) -> Path:
    chats, agents = folder / "chats", folder / "subagents" / "s1"
    for place in (chats, agents):
        place.mkdir(parents=True)
    (chats / "s1.jsonl").write_bytes(b"{}\n")
    (agents / "agent-x.jsonl").write_bytes(b"{}\n")
    return chats / "s1.jsonl"


@pytest.mark.parametrize("depth", [0, 1, 2])
@pytest.mark.parametrize(("provider", "make"), [("kimi", kimi), ("qwen", qwen)])
def test_a_log_that_is_named_from_within_its_folders_has_its_sub_agents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, provider: str, make: Callable[[Path], Path], depth: int
) -> None:
    """`cd …/agents/main; agentv-stream consume wire.jsonl` found none, and no id."""
    main = make(tmp_path)
    whole = companions_of(get_provider(provider), str(main))
    assert len(whole) == 1
    monkeypatch.chdir(main.parents[depth])
    name = str(main.relative_to(main.parents[depth]))
    (found,) = companions_of(get_provider(provider), name)
    assert Path(found.path).resolve() == Path(whole[0].path)
    assert found.context == replace(whole[0].context, file=found.path)
    below = Path(whole[0].path).is_relative_to(Path.cwd())
    assert Path(found.path).is_absolute() != below


@pytest.mark.parametrize("depth", [0, 1, 2, 3])
def test_kimis_folders_tell_the_id_however_the_log_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, depth: int
) -> None:
    main = kimi(tmp_path / "sessions")
    monkeypatch.chdir(main.parents[depth])
    name = str(main.relative_to(main.parents[depth]))
    assert summarize(name).session.id == "session_ab"
    done = run(Path.cwd(), "consume", name, "--stats", "-", "--quiet", "--out", tmp_path / "o")
    assert json.loads(done.out)["session"]["id"] == "session_ab"


def test_a_log_without_an_id_is_told_as_such(tmp_path: Path) -> None:
    """Its outputs are named `unknown-…`, and nobody said why."""
    log = FIXTURES / "kimi" / "session.jsonl"
    hint = "(no session id in the log; --test-id NAME names it)"
    assert hint in run(tmp_path, "consume", log).err
    assert hint not in run(tmp_path, "consume", log, "--test-id", "t").err
    assert hint not in run(tmp_path, "consume", FIXTURES / "pi" / "session-v3.jsonl").err


def test_a_file_that_has_gone_is_empty(tmp_path: Path) -> None:
    assert LocalFolder().read(str(tmp_path / "gone"), 10) == b""
