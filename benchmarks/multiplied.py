"""Real sessions, as many times as wanted: each copy with ids of its own, so that no reader takes it for a repetition.

The recordings are those that the tests find by `AGENTV_STREAM_CORPUS`; nothing of them is kept in the project.
"""

import hashlib
import re
from pathlib import Path

FOLDERS = ("wild/claude-session", "samples/claude-*", "clients/claude")
_ID = re.compile(rb'"(msg_|req_|toolu_)')
_SESSION = re.compile(rb'"sessionId":\s*"([0-9a-f-]{36})"')


def multiply(corpus: Path, root: Path, times: int) -> int:
    """Claude's sessions on disk, `times` over, as files of projects below `root`; gives how many files."""
    found = [(path, match[1]) for path in _sessions(corpus) if (match := _SESSION.search(path.read_bytes()))]
    for copy in range(times):
        project = root / f"-home-dev-work-copy-{copy}"
        project.mkdir(parents=True)
        for path, session in found:
            digest = hashlib.md5(f"{copy} {path}".encode()).hexdigest()
            name = "-".join((digest[:8], digest[8:12], digest[12:16], digest[16:20], digest[20:]))
            data = path.read_bytes().replace(session, name.encode())
            (project / f"{name}.jsonl").write_bytes(_ID.sub(rb'"\g<1>%d_' % copy, data))
    return len(found) * times


def _sessions(corpus: Path) -> list[Path]:
    return [
        path
        for folder in FOLDERS
        for path in sorted(corpus.glob(f"{folder}/**/*.jsonl"))
        if "subagents" not in path.parts and b'"sessionId"' in path.read_bytes()[:65536]
    ]
