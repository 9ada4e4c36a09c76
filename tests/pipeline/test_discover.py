"""Sessions are found where agents keep them, read by their headers, and belong together."""

import gzip
import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import CliRunner

from agentv_stages.providers import all_providers, get_provider
from agentv_stages.providers.codex.companions import title_index
from agentv_stream.bulk import import_sessions
from agentv_stream.cli import build
from agentv_stream.discovery.discover import find_sessions, in_project, pick, project_of, tree
from agentv_stream.discovery.header import HeaderCache, read_header
from agentv_stream.discovery.places import compile_patterns, find_roots, logical_name, walk
from agentv_stream.errors import SourceError, UsageError
from agentv_stream.sources.files import read_pieces
from agentv_stream.summary import SessionReader, summarize
from support.decoding import FIXTURES
from support.fixture_logs import LOGS
from support.growing_logs import claude_records

SESSION = "11111111-2222-3333-4444-555555555555"


def write(path: Path, records: list[bytes]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"\n".join(records) + b"\n")
    return path


def rollout(folder: Path, thread: str, parent: str | None = None) -> Path:
    meta: dict[str, object] = {"id": thread, "cwd": "/home/dev/app", "cli_version": "0.1", "originator": "codex_exec"}
    if parent is not None:
        spawn = {"parent_thread_id": parent, "depth": 1, "agent_nickname": "Ada"}
        meta |= {"parent_thread_id": parent, "source": {"subagent": {"thread_spawn": spawn}}}
    when = "2026-01-01T00:00:00.000Z"
    text = [{"type": "input_text", "text": f"work {thread}"}]
    records = [
        {"timestamp": when, "type": "session_meta", "payload": meta},
        {"timestamp": when, "type": "turn_context", "payload": {"cwd": "/home/dev/app", "model": "gpt-x"}},
        {"timestamp": when, "type": "response_item", "payload": {"type": "message", "role": "user", "content": text}},
    ]
    return write(folder / f"rollout-2026-01-01T00-00-00-{thread}.jsonl", [json.dumps(r).encode() for r in records])


@pytest.mark.parametrize(
    ("variable", "value", "provider", "expected"),
    [
        ("CLAUDE_CONFIG_DIR", "/x/a,/x/b", "claude", ["/x/a/projects", "/x/b/projects"]),
        ("CODEX_HOME", "/x/c", "codex", ["/x/c/sessions", "/x/c/archived_sessions"]),
        ("PI_CODING_AGENT_DIR", "/x/pi", "pi", ["/x/pi/sessions"]),
        ("COPILOT_HOME", "/x/co", "copilot", ["/x/co/session-state"]),
        ("GEMINI_CLI_HOME", "/x/g", "gemini", ["/x/g/.gemini/tmp"]),
        ("XDG_DATA_HOME", "/x/d", "opencode", ["/x/d/opencode"]),
        ("GROK_HOME", "/x/gr", "grok", ["/x/gr/sessions"]),
        ("CLINE_DIR", "/x/cl", "cline", ["/x/cl/data/sessions"]),
        ("CLINE_DATA_DIR", "/x/cl", "cline", ["/x/cl/sessions"]),
        ("CLINE_SESSION_DATA_DIR", "/x/cl", "cline", ["/x/cl"]),
    ],
)
def test_an_agents_variable_moves_its_roots(variable: str, value: str, provider: str, expected: list[str]) -> None:
    roots = [root.path for root in find_roots((), {"HOME": "/h", variable: value}, provider)]
    assert set(expected) <= set(roots)


@pytest.mark.parametrize(
    ("variable", "provider"),
    [
        ("QWEN_RUNTIME_DIR", "qwen"),
        ("QWEN_HOME", "qwen"),
        ("CLINE_DIR", "cline"),
        ("OPENHANDS_CONVERSATIONS_DIR", "openhands"),
        ("MSWEA_GLOBAL_CONFIG_DIR", "mini-swe-agent"),
        ("CONTINUE_GLOBAL_DIR", "continue"),
    ],
)
def test_any_of_several_variables_stands_in_for_the_default(variable: str, provider: str) -> None:
    default = next(root.default for root in get_provider(provider).roots if root.variable == variable)
    place = default.replace("~", "/h")
    assert place in {root.path for root in find_roots((), {"HOME": "/h"}, provider)}
    assert place not in {root.path for root in find_roots((), {"HOME": "/h", variable: "/x"}, provider)}


def test_default_roots_lie_in_the_home_folder() -> None:
    roots = {root.path for root in find_roots((), {"HOME": "/h"})}
    assert {
        "/h/.claude/projects", "/h/.config/claude/projects", "/h/.codex/sessions", "/h/.codex/archived_sessions",
        "/h/.gemini/tmp", "/h/.copilot/session-state", "/h/.pi/agent/sessions", "/h/.qwen/projects",
        "/h/.local/share/opencode", "/h/.cline/data/sessions",
    } <= roots  # fmt: skip
    assert all(not root.default.endswith("/") for p in all_providers() for root in p.roots)


def places(configured: list[str], provider: str | None = None, *extra: str) -> list[str]:
    return [root.path for root in find_roots(extra, {"HOME": "/h", "CODEX_HOME": "/x"}, provider, configured)]


def test_configured_roots_stand_in_for_those_of_their_provider_only() -> None:
    found = places(["claude=/data/a", "claude_code=/data/b"])
    assert found[:2] == ["/data/a", "/data/b"]
    assert {"/x/sessions", "/h/.gemini/tmp"} <= set(found)
    assert not [place for place in found if "/.claude/" in place or "/claude/" in place]


def test_a_configured_path_without_a_provider_is_looked_at_besides() -> None:
    found = places(["/data/any", "~/own"])
    assert "/data/any" in found
    assert set(places([])) < set(found)
    assert str(Path.home() / "own") in found


def test_an_option_stands_in_for_all_configured_roots() -> None:
    assert places(["claude=/data/a"], None, "codex=/y") == ["/y"]


def test_a_chosen_provider_leaves_out_the_roots_of_others() -> None:
    configured = ["claude=/data/a", "codex=/data/c", "/data/any"]
    assert places(configured, "claude") == ["/data/a", "/data/any"]
    assert places(configured, "pi") == ["/data/any", "/h/.pi/agent/sessions"]


def test_a_folder_whose_name_holds_an_equals_sign_is_a_path() -> None:
    assert places([], None, "/data/day=1")[:1] == ["/data/day=1"]
    assert places([], None, "claude=/data/day=1") == ["/data/day=1"]


def test_a_store_may_be_named_with_its_provider(tmp_path: Path) -> None:
    (tmp_path / "my.db").write_bytes(b"SQLite format 3\0")
    for text in (f"{tmp_path}/my.db", f"opencode={tmp_path}/my.db"):
        (root,) = find_roots([text])
        assert (root.path, root.patterns, root.database) == (str(tmp_path), ("my.db",), True)


@pytest.mark.parametrize("text", ["claude=", "", "nobody=/x"])
def test_configured_roots_that_mean_nothing_are_usage_errors(text: str) -> None:
    with pytest.raises(UsageError):
        places([text])


def test_an_unknown_provider_is_a_usage_error() -> None:
    with pytest.raises(UsageError):
        find_roots(["nobody=/x"])


@pytest.mark.parametrize(
    ("path", "plain"),
    [("a.jsonl.zst", "a.jsonl"), ("a.jsonl.1.gz", "a.jsonl"), ("a.jsonl", "a.jsonl"), ("a.2026", "a.2026")],
)
def test_rotated_and_compressed_names_have_a_plain_one(path: str, plain: str) -> None:
    assert logical_name(path) == plain


def test_two_stars_match_any_depth_one_star_a_single_name() -> None:
    pattern = compile_patterns(["**/rollout-*.jsonl", "*/b.json"])
    assert pattern.fullmatch("rollout-1.jsonl")
    assert pattern.fullmatch("2026/01/02/rollout-1.jsonl")
    assert pattern.fullmatch("a/b.json")
    assert not pattern.fullmatch("a/a/b.json")


def test_folders_that_link_to_themselves_are_walked_once(tmp_path: Path) -> None:
    write(tmp_path / "p" / "a.jsonl", claude_records("aaaa-1", 1))
    (tmp_path / "p" / "loop").symlink_to(tmp_path / "p")
    found = [f.path for f in walk(find_roots([str(tmp_path)])[0])]
    assert 1 <= len(found) <= 2


@pytest.mark.parametrize("to", ["/", "/proc", "/sys", "..", "."])
def test_a_link_to_the_whole_machine_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, to: str) -> None:
    log = write(tmp_path / "root" / "p" / "a.jsonl", claude_records("aaaa-1", 1))
    (tmp_path / "root" / "link").symlink_to(to)
    entered: list[str] = []
    listed = os.scandir

    def listing(folder: str) -> object:
        entered.append(folder)
        return listed(folder)

    monkeypatch.setattr(os, "scandir", listing)
    assert [found.path for found in walk(find_roots([str(tmp_path / "root")])[0])] == [str(log)]
    assert entered == [str(tmp_path / "root"), str(log.parent)]


def test_a_linked_folder_is_searched_and_the_links_in_it_are_not(tmp_path: Path) -> None:
    write(tmp_path / "disk" / "p" / "a.jsonl", claude_records("aaaa-1", 1))
    write(tmp_path / "other" / "b.jsonl", claude_records("bbbb-1", 1))
    (tmp_path / "disk" / "p" / "further").symlink_to(tmp_path / "other")
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "link").symlink_to(tmp_path / "disk")
    (tmp_path / "named").symlink_to(tmp_path / "root")
    found = [f.path for f in walk(find_roots([str(tmp_path / "named")])[0])]
    assert found == [str(tmp_path / "named" / "link" / "p" / "a.jsonl")]


def test_the_header_tells_session_project_model_and_prompt(tmp_path: Path) -> None:
    header = read_header(str(write(tmp_path / "a.jsonl", claude_records(SESSION, 2))))
    assert header is not None
    assert (header.provider, header.session_id, header.cwd) == ("claude", SESSION, "/home/dev/app")
    assert (header.model, header.prompt) == ("claude-x", f"please work on {SESSION}")
    assert header.started_ms == 1_767_225_600_000


def test_a_file_of_something_else_is_no_session(tmp_path: Path) -> None:
    (tmp_path / "notes.jsonl").write_text('{"hello": "world"}\n' * 10)
    (tmp_path / "empty.jsonl").write_text("")
    assert find_sessions(find_roots([str(tmp_path)])) == []


@pytest.mark.parametrize("padding", [0, 300_000], ids=["short, indented", "long"])
def test_a_result_is_known_by_its_beginning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, padding: int) -> None:
    result = summarize(str(write(tmp_path / "a.jsonl", claude_records(SESSION, 2))))
    result.losses = ["x" * padding]
    (tmp_path / "stats.json").write_bytes(result.to_json())
    monkeypatch.setattr("agentv_stream.discovery.header.LineReader.push", _never)
    assert read_header(str(tmp_path / "stats.json")) is None


def test_figures_are_known_by_their_beginning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All dialects were tried in vain when `stats --json` replaced its own file: 0.1 s more."""
    log, figures = write(tmp_path / "a.jsonl", claude_records(SESSION, 2)), tmp_path / "figures.json"
    for _ in range(2):
        assert CliRunner().invoke(build(["stats"]), ["stats", str(log), "--json", str(figures)]).exit_code == 0
    monkeypatch.setattr("agentv_stream.discovery.header.LineReader.push", _never)
    assert read_header(str(figures)) is None


def _never(*_: object) -> None:
    pytest.fail("the rest was read")


def test_an_unchanged_log_is_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "logs" / "a.jsonl", claude_records(SESSION, 1))
    cache = tmp_path / "cache.db"
    find_sessions(find_roots([str(tmp_path / "logs")]), HeaderCache(cache))

    def never(*_: object) -> None:
        raise AssertionError("it was read")

    monkeypatch.setattr("agentv_stream.discovery.header.read_header", never)
    assert HeaderCache(cache).get(str(path), path.stat()) is not None


def test_texts_are_not_kept_but_read_again_for_what_is_shown(tmp_path: Path) -> None:
    path = write(tmp_path / "logs" / "a.jsonl", claude_records(SESSION, 1))
    roots, cache = find_roots([str(tmp_path / "logs")]), tmp_path / "cache.db"
    fresh, kept = [find_sessions(roots, HeaderCache(cache))[0] for _ in range(2)]
    assert fresh.header.prompt and fresh.header.prompt.encode() in path.read_bytes()
    assert kept.header.lean and kept.header.prompt is None
    assert kept.to_json() == fresh.to_json()
    assert fresh.header.prompt.encode() not in cache.read_bytes()


def test_another_release_looks_again_at_what_was_no_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A log of an agent that only the newer one knows was no session until it grew."""
    path = write(tmp_path / "logs" / "a.jsonl", claude_records(SESSION, 1))
    roots, cache = find_roots([str(tmp_path / "logs")]), tmp_path / "cache.db"

    def unknown(path: str, only: object = None) -> None:
        """No log of an agent that this release knows."""

    with monkeypatch.context() as earlier:
        earlier.setattr("agentv_stream.release.reading_version", lambda: "0.0.9")
        earlier.setattr("agentv_stream.discovery.header.read_header", unknown)
        assert find_sessions(roots, HeaderCache(cache)) == []
    assert [session.path for session in find_sessions(roots, HeaderCache(cache))] == [str(path)]


def test_what_one_agent_does_not_know_another_may(tmp_path: Path) -> None:
    write(tmp_path / "logs" / "a.jsonl", claude_records(SESSION, 1))
    for root, ids in (("codex=", []), ("", [SESSION]), ("codex=", []), ("claude=", [SESSION])):
        found = find_sessions(find_roots([f"{root}{tmp_path / 'logs'}"]), HeaderCache(tmp_path / "cache.db"))
        assert [session.id for session in found] == ids


def test_a_look_at_other_roots_forgets_only_logs_that_are_gone(tmp_path: Path) -> None:
    path = write(tmp_path / "a" / "a.jsonl", claude_records(SESSION, 1))
    gone = write(tmp_path / "a" / "b.jsonl", claude_records("gone", 1))
    write(tmp_path / "b" / "c.jsonl", claude_records("other", 1))
    cache = tmp_path / "cache.db"
    for folder in ("a", "b"):
        if folder == "b":
            gone.unlink()
        find_sessions(find_roots([str(tmp_path / folder)]), HeaderCache(cache))
    with closing(sqlite3.connect(cache)) as file:
        kept = {name for (name,) in file.execute("SELECT name FROM headers")}
    assert str(path) in kept and str(gone) not in kept


def test_sub_agents_files_belong_to_their_session_at_any_depth(tmp_path: Path) -> None:
    main = write(tmp_path / "p" / f"{SESSION}.jsonl", claude_records(SESSION, 1))
    below = main.with_suffix("") / "subagents"
    agents = [write(below / "agent-a.jsonl", claude_records(SESSION, 1, 50))]
    agents.append(write(below / "workflows" / "wf_1" / "agent-b.jsonl", claude_records(SESSION, 1, 80)))
    agents.append(
        write(main.with_name("agent-c.jsonl"), [r.replace(b": ", b":") for r in claude_records(SESSION, 1, 90)])
    )
    (session,) = find_sessions(find_roots([f"claude={tmp_path}"]))
    assert set(session.subagents) == {str(path) for path in agents}
    assert session.size == sum(p.stat().st_size for p in [main, *agents])


def test_what_tells_more_of_a_session_is_no_sub_agent() -> None:
    """Cline's manifest lies beside the messages."""
    folder = FIXTURES / "cline" / "session"
    (found,) = find_sessions(find_roots([f"cline={folder}"]), HeaderCache(None))
    assert [Path(path).name for path in found.subagents] == ["agent_1772443802000_bbb.messages.json"]
    assert found.path == str(folder / "1772443800000_orch1.messages.json")
    assert (found.header.cwd, found.header.title) == ("/home/ada/orchard", "Fix the slug")


def test_child_rollouts_belong_to_their_root(tmp_path: Path) -> None:
    parent = rollout(tmp_path, "01-parent")
    child = rollout(tmp_path, "02-child", "01-parent")
    (session,) = find_sessions(find_roots([f"codex={tmp_path}"]))
    assert (session.path, session.subagents) == (str(parent), [str(child)])


def test_titles_of_codex_come_from_its_index(tmp_path: Path) -> None:
    """The rollout does not have the name that a person gave the thread."""
    live = rollout(tmp_path / "sessions/2026/03/01", "01-a")
    rollout(tmp_path / "archived_sessions", "02-b")
    names = [{"id": thread, "thread_name": name} for thread, name in (("01-a", "Old"), ("02-b", "B"), ("01-a", "New"))]
    write(tmp_path / "session_index.jsonl", [json.dumps(name).encode() for name in names] + [b"{torn"])
    found = find_sessions(find_roots([f"codex={tmp_path / folder}" for folder in ("sessions", "archived_sessions")]))
    assert {session.id: session.header.title for session in found} == {"01-a": "New", "02-b": "B"}
    alone = rollout(tmp_path / "elsewhere", "03-c")
    assert title_index(str(alone)) is None and title_index(str(live)) == str(tmp_path / "session_index.jsonl")


def test_an_orphan_whose_texts_are_only_copies_is_a_session_in_every_command(tmp_path: Path) -> None:
    """Codex' copies of texts are held until the end of the log; a review has no prompt, and its parent is gone."""
    path = tmp_path / "rollout-2026-03-01T10-00-00-review.jsonl"
    time = "2026-03-01T10:00:00.000Z"
    meta = {"id": "review", "cli_version": "0.66.0", "source": {"subagent": "review"}}
    said = {"type": "agent_message", "message": "Fine."}
    rows = [
        {"timestamp": time, "type": "session_meta", "payload": meta},
        {"timestamp": time, "type": "event_msg", "payload": said},
    ]
    write(path, [json.dumps(row).encode() for row in rows])
    (session,) = find_sessions(find_roots([f"codex={tmp_path}"]))
    lines = tmp_path / "lines.ndjson"
    import_sessions([tmp_path], jsonl=lines, engine="serial")
    assert [json.loads(line)["session"]["id"] for line in lines.read_text().splitlines()] == [session.id] == ["review"]


@pytest.mark.parametrize("log", LOGS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_log_that_ran_for_its_header_ran_for_its_result(log: Path) -> None:
    reader = SessionReader(read_pieces(log), str(log))
    for _ in reader.batches(companions=False):
        pass
    header = read_header(str(log))  # none of rows of a database, which begin like figures of ours
    assert header is None or header.ran == reader.observer.ran


def test_a_log_that_is_there_twice_is_one_session(tmp_path: Path) -> None:
    live = rollout(tmp_path / "sessions", "01-a")
    archived = tmp_path / "archived_sessions" / live.name
    archived.parent.mkdir()
    archived.write_bytes(live.read_bytes())
    (session,) = find_sessions(find_roots([f"codex={tmp_path}"]))
    assert len(session.copies) == 1


def test_runs_of_one_session_in_folders_of_their_own_are_no_copies(tmp_path: Path) -> None:
    """The runs of an evaluation that resumes a session: all but the newest were hidden."""
    records = claude_records("one", 3)
    runs = [write(tmp_path / f"run-{n}" / "stream.jsonl", records[3 * n :]) for n in range(3)]
    older = write(tmp_path / "backup" / "stream.jsonl", records[:5])
    os.utime(older, (1_700_000_000, 1_700_000_000))
    found = {session.path: session.copies for session in find_sessions(find_roots([str(tmp_path)]))}
    assert found == {str(run): [str(older)] if run == runs[0] else [] for run in runs}


def test_a_compressed_copy_of_a_copy_is_no_session_of_its_own(tmp_path: Path) -> None:
    older = write(tmp_path / "a.jsonl", claude_records("one", 1))
    newer = tmp_path / "b.jsonl"
    newer.write_bytes(older.read_bytes())
    os.utime(older, (1_700_000_000, 1_700_000_000))
    packed = tmp_path / "a.jsonl.gz"
    packed.write_bytes(gzip.compress(older.read_bytes()))
    (session,) = find_sessions(find_roots([str(tmp_path)]))
    assert (session.path, session.copies) == (str(newer), [str(older), str(packed)])


def test_forks_stand_below_their_parent_and_circles_do_no_harm(tmp_path: Path) -> None:
    for n in "ab":
        write(tmp_path / f"{n}.jsonl", claude_records(f"{n}{n}{n}-1", 1))
    sessions = find_sessions(find_roots([str(tmp_path)]))
    one, two = sessions
    one.header.parent, two.header.parent = two.id, one.id
    assert len(tree(sessions)) == 1


def test_a_prefix_names_a_session_if_it_is_the_only_one(tmp_path: Path) -> None:
    for name in ("abc-1", "abd-2"):
        write(tmp_path / f"{name}.jsonl", claude_records(name, 1))
    sessions = find_sessions(find_roots([str(tmp_path)]))
    assert pick(sessions, "abc").id == "abc-1"
    assert pick(sessions, "abc…").id == "abc-1"
    with pytest.raises(UsageError, match="2 sessions"):
        pick(sessions, "ab")
    with pytest.raises(SourceError, match="no session"):
        pick(sessions, "zz")
    with pytest.raises(UsageError, match="an empty name"):
        pick(sessions, "")
    assert in_project(sessions[0], "app")
    assert in_project(sessions[0], "/home/dev")
    assert not in_project(sessions[0], "/home/de")


HEADERS = {
    "gemini": b'{"sessionId":"g","projectHash":"p","startTime":"2026-03-01T10:00:00.000Z","kind":"main"}',
    "claude": b'{"type":"summary","summary":"Fix it","leafUuid":"11111111-2222-4333-8444-555555555555"}',
    "codex": b'{"timestamp":"2026-03-01T10:00:00.000Z","type":"session_meta","payload":'
    b'{"id":"c","cwd":"/w","originator":"codex_cli_rs","cli_version":"0.51.0"}}',
    "pi": b'{"type":"session","version":3,"id":"p","timestamp":"2026-03-01T10:00:00.000Z","cwd":"/w"}',
}


@pytest.mark.parametrize("provider", list(HEADERS))
def test_a_header_alone_is_no_session_until_something_follows(tmp_path: Path, provider: str) -> None:
    """An agent's terminal that was opened and left again writes nothing else."""
    names = {"gemini": "x/chats/session-1.jsonl", "claude": "x/1.jsonl", "codex": "2026/01/01/rollout-1.jsonl"}
    path = write(tmp_path / names.get(provider, "x/1.jsonl"), [HEADERS[provider]])
    cache = HeaderCache(tmp_path / "cache.db")
    roots = find_roots([f"{provider}={tmp_path}"], {}, provider)
    header = read_header(str(path))
    assert header is not None and header.provider == provider and not header.ran
    assert find_sessions(roots, cache) == []
    said = write(path, [HEADERS[provider], b"no record"])
    assert [session.path for session in find_sessions(roots, cache)] == [str(said)]


@pytest.mark.parametrize(
    ("cwd", "name"),
    [
        ("C:\\Users\\ada\\orchard", "orchard"),
        ("c:/Users/ada/orchard", "orchard"),
        ("\\\\wsl$\\home\\ada\\orchard", "orchard"),
        ("/home/ada/orchard", "orchard"),
        ("/home/ada/a\\b", "a\\b"),
    ],
)
def test_a_folder_has_its_last_part_as_name_on_any_machine(cwd: str, name: str) -> None:
    assert project_of(cwd) == name


def test_sessions_of_claude_cowork_are_found_in_the_folders_of_the_desktop_program(tmp_path: Path) -> None:
    home = tmp_path / ".config/Claude/local-agent-mode-sessions/org-1/account-1/local_5d1/.claude/projects/-w"
    log = write(home / f"{SESSION}.jsonl", claude_records(SESSION, 2))
    (session,) = find_sessions(find_roots(environment={"HOME": str(tmp_path)}))
    assert (session.path, session.id, session.header.dialect) == (str(log), SESSION, "claude-session")
