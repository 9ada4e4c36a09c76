"""However the sessions of a folder are counted, there are as many of them, with the same sums."""

import gzip
import json
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from agentv_stream import import_sessions, summarize_groups
from agentv_stream.bulk.listed_figures import figures_of
from agentv_stream.discovery.discover import find_sessions
from agentv_stream.discovery.places import find_roots
from agentv_stream.following.follow_plan import Plan
from agentv_stream.watch.feed import Feed
from support.claude_sessions import ClaudeSession
from support.consuming import finished_text
from support.decoding import FIXTURES
from support.following import Desk
from support.rewound_threads import put_all

YEARS_LATER = 2 * 10**12
Sums = tuple[int, int, int, int]
"""Sessions, turns, calls, input tokens; a figure that no log has counts as 0."""

AGENTS = (
    "acp", "amp", "antigravity", "claude", "copilot", "cursor", "droid", "goose", "grok", "kimi", "kiro", "langchain",
    "oh-my-pi", "openai-agents", "openclaw", "opencode", "openhands", "pi", "vibe",
)  # fmt: skip


def claude(folder: Path, name: str, *rounds: int, **more: Any) -> Path:
    session = ClaudeSession(first=10 * rounds[0], **more)
    for number in rounds:
        session.round(number)
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in session.lines))
    return path


def resumed_in_another_file(folder: Path) -> None:
    claude(folder, "a.jsonl", 1, 2)
    claude(folder, "b.jsonl", 3)


def resumed_with_its_history(folder: Path) -> None:
    """The second file repeats what the first one holds, and goes on differently."""
    first = claude(folder, "a.jsonl", 1, 2, 3)
    lines = first.read_bytes().splitlines(keepends=True)
    more = claude(folder, "more.jsonl", 5)
    (folder / "b.jsonl").write_bytes(b"".join(lines[4:8]) + more.read_bytes())
    more.unlink()


def in_two_folders(folder: Path) -> None:
    claude(folder, "one/a.jsonl", 1, 2)
    claude(folder, "two/a.jsonl", 3)


def copied(folder: Path) -> None:
    log = claude(folder, "a.jsonl", 1, 2, 3).read_bytes()
    (folder / "a.jsonl.gz").write_bytes(gzip.compress(log))
    (folder / "backup.jsonl").write_bytes(log)


def opened_and_left(folder: Path) -> None:
    """The log of a session in which nothing ran."""
    head = (FIXTURES / "pi" / "session-v3.jsonl").read_bytes().splitlines(keepends=True)[0]
    (folder / "left.jsonl").write_bytes(head)
    claude(folder, "a.jsonl", 1)


def two_dialects(folder: Path) -> None:
    session = json.loads((FIXTURES / "claude" / "stream.jsonl").read_bytes().splitlines()[0])["session_id"]
    shutil.copy(FIXTURES / "claude" / "stream.jsonl", folder)
    claude(folder, f"{session}.jsonl", 1, 2, sessionId=session)


def rewound_and_forked(folder: Path) -> None:
    put_all(folder)


def in_parts(folder: Path) -> None:
    lines = (FIXTURES / "otlp" / "genai.otlp.jsonl").read_bytes().splitlines(keepends=True)
    for n, name in enumerate(("b", "a")):
        (folder / f"{name}.jsonl").write_bytes(b"".join(lines[n::2]))


def results_beside(folder: Path) -> None:
    log = claude(folder, "a.jsonl", 1)
    finished_text(
        "consume", str(log), "--stats", str(folder / "result.json"), "--out", str(folder.parent / "out"), folder=folder
    )


SCENARIOS: tuple[Callable[[Path], None], ...] = (
    resumed_in_another_file, resumed_with_its_history, in_two_folders, copied, opened_and_left, two_dialects,
    rewound_and_forked, in_parts, results_beside,
)  # fmt: skip


def sums(rows: Iterable[tuple[Any, Any, Any]]) -> Sums:
    """Of turns, calls and input tokens."""
    found = [[value or 0 for value in row] for row in rows]
    turns, calls, tokens = (sum(column) for column in zip(*found, strict=True)) if found else (0, 0, 0)
    return len(found), turns, calls, tokens


def of_results(results: Iterable[bytes]) -> Sums:
    made = [json.loads(result) for result in results]
    summaries = [(one["tool_use_summary"], one["tokens"]) for one in made]
    return sums((summary["turns"], summary["total_tool_calls"], tokens["input"]) for summary, tokens in summaries)


def counts(folder: Path, tmp_path: Path) -> dict[str, Sums]:
    """The sums by each command."""
    found = find_sessions(find_roots([str(folder)]))
    figures = figures_of(found, cache=False)[0].values()
    import_sessions([folder], jsonl=tmp_path / "all.out", engine="serial")
    total = summarize_groups([folder], engine="serial").summary.total()
    feed = Feed(Plan(find_roots([str(folder)])))
    while feed.round() or feed.follower.backlog:
        pass
    feed.finish()
    looks = feed.looks(YEARS_LATER, most=None)
    feed.close()
    desk = Desk(tmp_path / "desk")
    shutil.copytree(folder, desk.logs, dirs_exist_ok=True)
    desk.catch_up()
    return {
        "sessions": sums((one.turns, one.tool_calls, one.tokens.sums.get("input")) for one in figures),
        "import": of_results((tmp_path / "all.out").read_bytes().splitlines()),
        "stats": (total.sessions, total.turns, total.tool_calls, total.tokens.sums.get("input", 0)),
        "watch": sums((look.turn, look.calls, look.tokens_in) for look in looks),
        "tail": of_results(path.read_bytes() for path in desk.out.glob("*.result.json")),
    }


def check(folder: Path, tmp_path: Path) -> Sums:
    told = counts(folder, tmp_path)
    assert len(set(told.values())) == 1, told
    return told["stats"]


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_files_of_one_session(scenario: Callable[[Path], None], tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    scenario(folder)
    expected = {"resumed_in_another_file": 2, "resumed_with_its_history": 2, "in_two_folders": 2, "two_dialects": 2,
                "rewound_and_forked": 2}  # fmt: skip
    assert check(folder, tmp_path)[0] == expected.get(scenario.__name__, 1)


@pytest.mark.parametrize("agent", AGENTS)
def test_two_runs_under_one_session_id(agent: str, tmp_path: Path) -> None:
    """Each log twice: the second time without its last line, and with another word in all texts."""
    folder = tmp_path / "logs"
    folder.mkdir()
    for log in (FIXTURES / agent).glob("*.jsonl"):
        lines = log.read_bytes().splitlines(keepends=True)
        (folder / log.name).write_bytes(b"".join(lines))
        other = b"".join(lines[:-1]).replace(b" the ", b" teh ").replace(b'"cwd":"/w', b'"cwd":"/v')
        (folder / f"again-{log.name}").write_bytes(other)
    check(folder, tmp_path)
