"""Every file of the corpus: its provider, and its calls, outcomes and tokens beside a count that shares no code.

The counts stand in `support.oracles` and its neighbours. Recordings of `clients` are beside the truth of their script
elsewhere (test_one_script, the agents' own tests); here they have their provider.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from agentv_stages.figures.result import Result
from agentv_stream import summarize
from agentv_stream.errors import EmptyInput, NotALog
from agentv_stream.stores.opening import list_sessions
from agentv_stream.stores.rows import read_session
from agentv_stream.summary import SessionReader, read_file
from support import claude_codex_oracles as large
from support import newer_oracles as newer
from support import oracles as older
from support.decoding import corpus
from support.oracles import KINDS, SHELL, Counted

Count = Callable[[Path], Counted]


class Row(NamedTuple):
    """Files of the corpus, the provider that they are of (None: no log that is read), and their count."""

    files: str
    provider: str | None
    counted: Count | None = None


TABLE = (
    Row("new-agents/**/README.md", None),
    Row("new-agents/aider/*.chat.history.md", None),  # left to plug-ins, as gptme, Hermes and nanocoder's own form
    Row("new-agents/aider/*.jsonl", None),
    Row("new-agents/amp-stream/*", "amp", newer.amp_stream),
    Row("new-agents/antigravity-cli/*.db", "antigravity", newer.antigravity_database),
    Row("new-agents/antigravity-cli/*.jsonl", "antigravity", newer.antigravity_transcript),
    Row("new-agents/antigravity-stream/*", "antigravity", newer.antigravity_stream),
    Row("new-agents/cline-task/*", "cline", newer.cline_task),
    Row("new-agents/crush/*", "crush", newer.crush),
    Row("new-agents/deepagents/*", None),
    Row("new-agents/deepagents-acp/*", "acp", older.acp),
    Row("new-agents/gptme/*.jsonl", None),
    Row("new-agents/hermes/*", None),
    Row("new-agents/kiro-cli/*", "kiro", newer.kiro_session),
    Row("new-agents/kiro-sqlite/*", "kiro", newer.kiro_conversation),
    Row("new-agents/nanocoder/*acp.jsonl", "acp", older.acp),
    Row("new-agents/nanocoder/*.json", None),
    Row("new-agents/swe-agent/*", "swe-agent", newer.swe_agent),
    Row("otlp/README.md", None),
    Row("otlp/openinference-*.json", None),  # the attributes of one span each
    Row("otlp/*.otlp.jsonl", "otlp", newer.spans),
    Row("otlp/*.tempo.json", "otlp", newer.spans),
    Row("wild/acp/*", "acp", older.acp),
    Row("wild/amp-thread/*", "amp", newer.amp_thread),
    Row("wild/claude-*/*", "claude", large.claude),
    Row("wild/codex-exec/*", "codex", large.codex_exec),
    Row("wild/codex-rollout/*", "codex", large.codex_rollout),
    Row("wild/codex-rollout-old/*", "codex", older.codex_old),
    Row("wild/copilot-cli/10.jsonl", None),  # another agent's (Poolside)
    Row("wild/copilot-cli/0*", "copilot", older.copilot),
    Row("wild/copilot-cli/1[12]*", "copilot", older.copilot),
    Row("wild/cursor-composer-db-dump/*", None),
    Row("wild/cursor-stream*/*", "cursor", older.cursor_stream),
    Row("wild/cursor-transcript/*", "cursor", older.cursor_transcript),
    Row("wild/droid-session/*", "droid", newer.droid_session),
    Row("wild/droid-stream/*", "droid", newer.droid_stream),
    Row("wild/gemini-session*/*", "gemini", older.gemini_chat),
    Row("wild/gemini-stream/*", "gemini", older.gemini_stream),
    Row("wild/opencode-run-noisy/*", None),  # the names of its members were changed also (test_wild puts them back)
    Row("wild/opencode-run/*", "opencode", older.opencode),
    Row("wild/opencode-[des]*/*", "opencode", older.opencode),
    Row("wild/pi-*/*", "pi", older.pi),
    Row("wild/qwen-session/*", "qwen", older.qwen_session),
    Row("wild/vscode-chat/*", "vscode", older.vscode),
)
NOT_COUNTED = {
    "wild/codex-rollout/29.jsonl": "made up: a record of each type, their ids and names replaced by one text",
    "wild/copilot-cli/02.jsonl": "made up: most of its ids and names are replaced by one text",
}
CLIENTS = ("claude", "codex", "codex_classic", "copilot", "copilot_oai", "gemini", "opencode", "pi", "qwen")
ACP_CLIENTS = ("copilot_acp", "gemini_acp", "opencode_acp", "qwen_acp")
ABOUT = ("truth.json", "versions.json", "version-check.json", "workspace.yaml", "agent*.meta.json")
"""Files beside the recordings that say something of them."""


def files(row: Row) -> list[Path]:
    root = corpus("wild").parent
    return sorted(path for path in root.glob(row.files) if path.is_file())


def result(path: Path) -> Result:
    """The result of a log, or of the one session of a database."""
    if path.suffix == ".db":
        (session,) = list_sessions(path)
        return summarize(b"".join(line + b"\n" for line in read_session(path, session.id)))
    return summarize(path, subagents=False)


def of(found: Result, count: Counted) -> Counted:
    """What we say, in the terms of a count: one that does not tell shell calls (or failures) apart adds them up."""
    calls: dict[str, int] = dict(found.tool_use_summary["by_tool"])
    outcomes: dict[str, int] = dict(found.tool_use_summary["by_outcome"])
    if "shell" in count.calls:
        calls["shell"] = sum(calls.pop(name, 0) for name in SHELL)
    if "failed" in count.outcomes:
        outcomes["failed"] = sum(outcomes.pop(name, 0) for name in ("error", "denied", "cancelled"))
    del outcomes["ok"]
    tokens = {kind: found.tokens.get(kind) for kind in KINDS}
    if found.session.provider == "claude" and tokens["output"] is None:
        tokens["output"] = found.tokens.get("output_at_least")
    return Counted(calls, {name: number for name, number in outcomes.items() if number}, tokens)


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.files)
def test_calls_outcomes_and_tokens_are_those_of_a_count(row: Row) -> None:
    paths = files(row)
    assert paths
    for path in paths:
        if row.provider is None:
            with pytest.raises(NotALog):
                summarize(path)
            continue
        found = result(path)
        assert found.session.provider == row.provider, path
        if row.counted is not None and path.relative_to(corpus("wild").parent).as_posix() not in NOT_COUNTED:
            count = row.counted(path)
            assert of(found, count) == count, path


def test_no_file_is_left_out_and_none_is_in_two_rows() -> None:
    root = corpus("wild").parent
    listed = Counter(path for row in TABLE for path in files(row))
    present = {path for top in ("new-agents", "otlp", "wild") for path in (root / top).rglob("*") if path.is_file()}
    assert set(listed) == present
    assert {path.name for path, rows in listed.items() if rows > 1} == set()


@cache
def provider_of(path: Path) -> str | None:
    try:
        return SessionReader(read_file(str(path)), str(path)).provider.name
    except (NotALog, EmptyInput):
        return None


def recordings(client: str) -> Iterator[Path]:
    for path in sorted((corpus("clients") / client).rglob("*")):
        if path.is_file() and not any(path.match(name) for name in ABOUT):
            cut = path.match("export-*.json") and not path.read_bytes().rstrip().endswith(b"}")
            if not cut:  # OpenCode cuts its own export at 64 KiB
                yield path


@pytest.mark.parametrize("client", (*CLIENTS, *ACP_CLIENTS))
def test_the_recordings_of_a_client_are_of_its_agent(client: str) -> None:
    agent = client.partition("_")[0]
    paths = list(recordings(client))
    assert paths
    for path in paths:
        live = client in ACP_CLIENTS and path.name.startswith("stream.jsonl")
        expected = ("copilot" if agent == "copilot" else "acp") if live else agent
        assert provider_of(path) == expected, path
