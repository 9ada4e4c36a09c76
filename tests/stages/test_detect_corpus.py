"""Every log of the corpus against every detector."""

from collections import Counter
from pathlib import Path

import pytest

from agentv_stages.chain.objects import objects
from agentv_stages.model.batch import Record
from agentv_stages.providers import all_providers
from agentv_stages.session.detect import UnknownFormat
from support.conformance import detected
from support.decoding import corpus

OWNERS = {
    "clients": {name: name for name in ("claude", "codex", "copilot", "gemini", "opencode", "pi", "qwen")}
    | {"codex_classic": "codex", "copilot_oai": "copilot"},
    "features": {"claude": "claude", "qwen": "qwen"},
    "new-agents": {
        "amp-stream": "amp", "antigravity-cli": "antigravity", "antigravity-stream": "antigravity",
        "cline-task": "cline", "kiro-cli": "kiro", "kiro-sqlite": "kiro", "swe-agent": "swe-agent",
    },
    "wild": {
        "acp": "acp", "amp-thread": "amp", "claude-session": "claude", "claude-stream": "claude",
        "codex-exec": "codex", "codex-rollout": "codex", "codex-rollout-old": "codex", "copilot-cli": "copilot",
        "cursor-stream": "cursor", "cursor-transcript": "cursor", "droid-session": "droid", "droid-stream": "droid",
        "gemini-session": "gemini", "gemini-session-jsonl": "gemini", "gemini-stream": "gemini",
        "opencode-export": "opencode", "opencode-run": "opencode",
    },
    "otlp": {}, "samples": {}, "agtrace": {}, "bobbin": {},
}  # fmt: skip
"""The provider of the logs in a folder, where all are of one."""
DOCUMENTS = (".json", ".traj")
MOST_BYTES = 8_000_000
SPEAKS_ACP = {"acp", "copilot"}
"""Copilot's adapter marks its records, which are those of the Agent Client Protocol; it is asked first."""


def certain(path: Path) -> set[str]:
    """The providers with a dialect that is certain of a log."""
    data = path.read_bytes()
    lines = [data] if path.suffix in DOCUMENTS else data[:400_000].split(b"\n")[:64]
    head = [value for n, line in enumerate(lines) for value in objects(Record(line, 0, n))][:64]
    found = {p.name for p in all_providers() if any(d.detect(head) >= 1.0 for d in p.dialects)} if head else set[str]()
    return found if found != SPEAKS_ACP else {"copilot"}


@pytest.mark.parametrize("folder", OWNERS)
def test_no_log_has_two_owners_and_none_a_wrong_one(folder: str) -> None:
    root = corpus(folder)
    owned: Counter[str] = Counter()
    for path in sorted(root.rglob("*")):
        if path.suffix not in (".jsonl", ".txt", *DOCUMENTS) or not path.is_file() or path.stat().st_size > MOST_BYTES:
            continue
        found, place = certain(path), path.relative_to(root).parts[0]
        assert len(found) <= 1, (path, found)
        owner = OWNERS[folder].get(place)
        assert not found or owner in (None, *found), (path, found)
        owned[place] += bool(found)
    assert all(owned[place] for place in OWNERS[folder] if (root / place).is_dir())
    assert owned.total()


LOOK_ALIKES = {("droid", "claude"), ("copilot", "acp")}
"""Logs whose first line alone might be another's: Droid's `init` is Claude's, Copilot is named in its first answer."""


def decided(data: bytes) -> str | None:
    try:
        return detected(data)[0].name
    except UnknownFormat:
        return None


def beginnings(path: Path, data: bytes) -> dict[int, bytes]:
    """The first line, the first three lines, and the first half; of a document 2,000 bytes, and half of it."""
    if path.suffix in DOCUMENTS:
        return {size: data[:size] for size in (2_000, len(data) // 2)}
    lines = data.split(b"\n")
    return {count: b"\n".join(lines[:count]) + b"\n" for count in (1, 3, max(len(lines) // 2, 1))}


@pytest.mark.parametrize("folder", OWNERS)
def test_the_beginning_of_a_log_is_the_owners_or_nobodys(folder: str) -> None:
    """A follower, or a reader of a torn file, has no more."""
    seen = 0
    for path in sorted(corpus(folder).rglob("*")):
        if path.suffix not in (".jsonl", ".txt", ".log", *DOCUMENTS) or path.stat().st_size > MOST_BYTES:
            continue
        data = path.read_bytes()
        data = data if path.suffix in DOCUMENTS else data[:400_000]
        owner = decided(data)
        seen += owner is not None
        for count, part in beginnings(path, data).items():
            found = decided(part)
            alike = count == 1 and (owner, found) in LOOK_ALIKES
            assert found in (owner, None) or alike, (path, count, owner, found)
    assert seen
