"""Real recordings of every dialect: a followed log gives the transcript that `consume` makes of it, to the byte.

Needs the recordings in AGENTV_STREAM_CORPUS.
"""

import os
from pathlib import Path

import pytest

from support.consumed_and_followed import both, difference

CORPUS = Path(os.environ.get("AGENTV_STREAM_CORPUS", "none"))
pytestmark = pytest.mark.skipif(not CORPUS.is_dir(), reason="needs recordings in AGENTV_STREAM_CORPUS")

ONCE_DIFFERENT = (
    "agtrace/samples/gemini_session.json",  # pretty-printed: its payloads hold line ends
    "agtrace/samples/claude_agent.jsonl",  # no session id
    "clients/opencode/s4/home/export-ses_e034b02d6ffe10xr1pthv6wmQ5.json",  # a document with sub-agents
    "clients/pi/s3/stream.jsonl.gz",  # unpacked longer than one round reads
    "clients/copilot/r2/stream.jsonl",  # its id comes with the last of 1,104 records
    "wild/claude-session/15.jsonl",  # two models
    "wild/codex-rollout/19.jsonl",
    "wild/pi-session/11.jsonl",
)
DIALECTS = {
    "acp", "agentv-transcript", "claude-session", "claude-stream", "cline-session", "codex-app-server", "codex-exec",
    "codex-exec-old", "codex-rollout", "codex-rollout-old", "copilot-acp", "copilot-session", "copilot-stream",
    "cursor-stream", "cursor-transcript", "gemini-chat", "gemini-chat-json", "gemini-stream", "opencode-export",
    "opencode-stream", "pi-session", "pi-stream", "pi-subagent", "qwen-session", "qwen-stream", "vscode-chat",
}  # fmt: skip


def sample() -> list[Path]:
    """What once differed; of each recorded agent a plain session and one with sub-agents; of the wild two a format."""
    paths = [CORPUS / name for name in ONCE_DIFFERENT]
    for scenario in ("s1", "s4"):
        paths += [p for p in sorted(CORPUS.glob(f"clients/*/{scenario}/**/*.json*")) if p.name != "truth.json"]
    for folder in sorted((CORPUS / "wild").glob("*")):
        paths += sorted(p for p in folder.glob("*") if p.stat().st_size < 500_000)[:2]
    for pattern in (
        "samples/cline/**/*.messages.json",
        "samples/codex-0*/*.jsonl",
        "agentv/main/**/*.jsonl",
        "agentv/results-v1/derived-events/codex*",
    ):
        paths += sorted(CORPUS.glob(pattern))[:20]
    paths += sorted(CORPUS.glob("wild/pi-subagent-transcript/*"))
    return list(dict.fromkeys(paths))


def test_a_followed_log_gives_the_bytes_of_consume(tmp_path: Path) -> None:
    seen: set[str | None] = set()
    wrong: list[str] = []
    for n, path in enumerate(sample()):
        pair = both(str(path), tmp_path / str(n))
        name = path.relative_to(CORPUS)
        if pair.consumed.keys() != pair.followed.keys():
            wrong.append(f"{name}: {list(pair.consumed)} and {list(pair.followed)}: {pair.said}")
            continue
        differences = [difference(pair.consumed[one], pair.followed[one]) for one in pair.consumed]
        wrong += [f"{name}: {told}" for told in differences if told]
        if pair.consumed:
            seen.add(pair.dialect)
    assert wrong == []
    assert seen >= DIALECTS
