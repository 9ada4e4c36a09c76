"""Every log of a session that the project ships: the examples, and the fixtures of every agent."""

from pathlib import Path

from agentv_stages.providers import NAMES
from support.decoding import FIXTURES

EXAMPLES = Path(__file__).parents[2] / "examples"
OF_AGENTS = [path for name in NAMES for path in (FIXTURES / name).rglob("*.json*")]
ABOUT = {path for path in OF_AGENTS if path.name.endswith("meta.json") or path.with_suffix(".messages.json").exists()}
"""Files that say something of a session and hold no message."""
LOGS = sorted({*EXAMPLES.glob("*.jsonl"), *OF_AGENTS} - ABOUT)
