"""A conversation of OpenHands is a folder with a file for each event: it is found, read and followed as one session."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentv_stages.providers.openhands import PROVIDER
from agentv_stream import import_sessions, summarize
from agentv_stream.cli.listing import Listing, list_sessions
from agentv_stream.discovery.discover import find_sessions
from agentv_stream.discovery.places import find_roots
from agentv_stream.sources.folder import LocalFolder, companions_of
from support.decoding import FIXTURES
from support.following import Desk, catch_up

FOLDER = FIXTURES / "openhands"
ID = "043ad75bab224b2b83d0acfbfe1c81ea"
AGENTS = {
    "2369a446214b4490a665218792d71f1e": "agent-0.jsonl",
    "4bff8bfcc7d2448ebf29bb9d2cb527c6": "agent-1.jsonl",
}
TOKENS = (7280, 2400, 168, 35)
"""Of seven answers, as the server counted them: input, cached, output, reasoning."""


def put_down(name: str, folder: Path) -> Iterator[Path]:
    """Writes the files of a conversation one after the other, the state after each event, as the agent does."""
    *events, state = (FOLDER / name).read_bytes().splitlines()
    (folder / "events").mkdir(parents=True)
    for place, event in enumerate(events):
        path = folder / "events" / f"event-{place:05d}-{json.loads(event)['id']}.json"
        path.write_bytes(event)
        running = json.loads(state) | ({} if place == len(events) - 1 else {"execution_status": "running"})
        (folder / "base_state.json").write_text(json.dumps(running))
        yield path


@pytest.fixture
def conversations(tmp_path: Path) -> Path:
    root = tmp_path / "conversations"
    list(put_down("session.jsonl", root / ID))
    for agent, name in AGENTS.items():
        list(put_down(name, root / ID / "subagents" / agent))
    return root


def first_event(conversations: Path) -> str:
    return str(next((conversations / ID / "events").glob("event-00000-*.json")))


def test_the_folder_is_one_session_with_every_call_and_token_once(conversations: Path) -> None:
    result = summarize(first_event(conversations))
    assert (result.session.id, result.session.model) == ("043ad75b-ab22-4b2b-83d0-acfbfe1c81ea", "openai/gpt-4o")
    assert (result.status, result.session.cwd) == ("complete", "/home/ada/orchard")
    summary, tokens = result.tool_use_summary, result.tokens
    assert summary["by_tool"] == {"Task": 4, "Bash": 1}
    assert (summary["by_outcome"]["ok"], summary["by_outcome"]["error"], summary["turns"]) == (3, 2, 4)
    assert (tokens["input"], tokens["cached"], tokens["output"], tokens["reasoning"]) == TOKENS
    assert (result.model_calls, round(result.cost_usd or 0, 5), result.faults) == (7, 0.01688, {})
    assert {stream: told["turns"] for stream, told in summary["by_stream"].items()} == {
        "main": 4,
        **{f"subagent:{agent}": turns for agent, turns in zip(AGENTS, (2, 1), strict=True)},
    }


def test_events_come_in_order_and_sub_agents_name_the_call_that_began_them(conversations: Path) -> None:
    found = companions_of(PROVIDER, first_event(conversations))
    own = [one for one in found if one.context.further]
    assert own == found[:10] and [one.path for one in own] == sorted(one.path for one in own)
    assert found[-1].path.endswith(f"{ID}/base_state.json")
    began = {one.context.stream: one.context.parent_call for one in found[10:-1]}
    assert began == dict(zip((f"subagent:{a}" for a in AGENTS), ("call_1_0_main", "call_4_0_main"), strict=True))
    assert PROVIDER.companions(own[0].path, LocalFolder()) == []


@pytest.mark.parametrize("agents", [False, True])
def test_a_copied_event_file_beside_the_original_counts_once(conversations: Path, agents: bool) -> None:
    once = summarize(first_event(conversations))
    folder = conversations / ID / "subagents" if agents else conversations / ID / "events"
    copied = [path for path in folder.rglob("event-*.json") if not path.name.startswith("event-00000-")]
    for path in copied:
        shutil.copy(path, path.with_name(f"{path.stem} copy.json"))
    twice = summarize(first_event(conversations))
    assert twice.records == once.records + len(copied)
    assert (twice.tool_use_summary, twice.tokens, twice.status) == (once.tool_use_summary, once.tokens, once.status)
    assert (twice.events, twice.faults) == (once.events, {})


def test_a_copied_event_file_is_told_once_in_the_transcript(conversations: Path, tmp_path: Path) -> None:
    def rows(name: str) -> list[object]:
        import_sessions([conversations], transcripts=tmp_path / name, engine="serial", jsonl=tmp_path / f"{name}.jsonl")
        (transcript,) = (tmp_path / name).glob("*.transcript.jsonl")
        return [(row["role"], row.get("content")) for row in map(json.loads, transcript.read_bytes().splitlines())]

    once = rows("once")
    for path in list((conversations / ID / "events").glob("event-0000[1-9]-*.json")):
        shutil.copy(path, path.with_name(f"{path.stem} copy.json"))
    assert rows("twice") == once


def test_it_is_found_with_its_prompt_and_nothing_else_is_a_session(conversations: Path) -> None:
    for environment in ({"OPENHANDS_CONVERSATIONS_DIR": str(conversations)}, {"HOME": str(conversations.parent)}):
        if "HOME" in environment:
            shutil.copytree(conversations, conversations.parent / ".openhands" / "conversations")
        (session,) = find_sessions(find_roots(environment=environment, provider="openhands"))
        assert (session.id, session.header.prompt) == ("043ad75b-ab22-4b2b-83d0-acfbfe1c81ea", "Delegate.")
        assert (len(session.further), session.header.model) == (10, "openai/gpt-4o")
    (session,) = find_sessions(find_roots([str(conversations)]))
    assert session.id == "043ad75b-ab22-4b2b-83d0-acfbfe1c81ea"


def test_it_is_followed_while_the_agent_writes_it(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    follower = desk.follower()
    for place, _ in enumerate(put_down("session.jsonl", desk.logs / ID)):
        catch_up(follower)
        follower.settle_all()
        (result,) = desk.out.glob("*.result.json")
        assert json.loads(result.read_bytes())["status"] == ("complete" if place == 10 else "incomplete")
    (result,) = desk.out.glob("*.result.json")
    told = json.loads(result.read_bytes())
    tokens = told["tokens"]
    assert told["tool_use_summary"]["by_tool"] == {"Task": 4}
    assert (tokens["input"], tokens["cached"], tokens["output"], tokens["reasoning"]) == TOKENS
    assert not told["faults"]
    follower.close()
    desk.close()


def test_a_sub_agents_tokens_are_its_own_though_the_state_of_its_session_is_met_first(tmp_path: Path) -> None:
    now = [1000.0]
    desk = Desk(tmp_path, lambda: now[0])
    follower = desk.follower()
    for place, _ in enumerate(put_down("session.jsonl", desk.logs / ID)):
        catch_up(follower)
        now[0] += 10  # files of sub-agents are looked for now and then
        if place == 4:
            for agent, name in AGENTS.items():
                list(put_down(name, desk.logs / ID / "subagents" / agent))
    follower.settle_all()
    (result,) = desk.out.glob("*.result.json")
    followed = json.loads(result.read_bytes())
    follower.close()
    desk.close()
    read = summarize(first_event(desk.logs))
    assert followed["tokens_by_stream"] == read.tokens_by_stream
    assert [told["input"] for told in read.tokens_by_stream.values()] == [2050, 1050, 4180]


def test_its_sub_agents_are_counted_and_not_their_files(conversations: Path) -> None:
    (found,) = find_sessions(find_roots([f"openhands={conversations}"]))
    assert [len(files) for files in found.agents.values()] == [6, 4]
    shown = list_sessions(Listing(tree=True, roots=[f"openhands={conversations}"]), "table").splitlines()
    assert " +2 " in shown[1] or shown[1].endswith(" +2")
    assert len(shown) == 8  # the title, the session, three of its files and the others, a line for each sub-agent
    assert shown[5].endswith(" more")
    assert all(line == line.rstrip() for line in shown)
