"""Every log of a session that the project ships: the examples, and the fixtures of every agent."""

from collections.abc import Iterator
from pathlib import Path

from agentv_stages.providers import NAMES
from agentv_stream.errors import EmptyInput, NotALog
from support.decoding import FIXTURES
from support.mutating import Log, read_back
from support.scenarios.dialects import WRITERS

EXAMPLES = Path(__file__).parents[2] / "examples"
OF_AGENTS = [path for name in NAMES for path in (FIXTURES / name).rglob("*.json*")]
ABOUT = {path for path in OF_AGENTS if path.name.endswith("meta.json") or path.with_suffix(".messages.json").exists()}
"""Files that say something of a session and hold no message."""
LOGS = sorted({*EXAMPLES.glob("*.jsonl"), *OF_AGENTS} - ABOUT)


def unwritten(most: int = 60_000) -> Iterator[Log]:
    """The fixtures of up to so many bytes whose dialects nothing makes up."""
    made_up = {writer.dialect for writer in WRITERS.values()}
    for path in LOGS:
        data = path.read_bytes()
        try:
            log = read_back("/".join(path.parts[-2:]), data)
        except (NotALog, EmptyInput):
            continue
        if len(data) <= most and log.dialect.name not in made_up:
            yield log
