"""What the decoder of Claude Code's stream remembers between lines."""

from msgspec import Struct, field

from agentv_stages.event import TokenUsage
from agentv_stages.providers.claude.blocks import Seen
from agentv_stages.providers.claude.unfinished import Unfinished
from agentv_stages.repeats import Repeats


class StreamState(Struct):
    """What is remembered between lines. `reset`: the next session is this one, begun anew. `earlier`: what runs
    before this one spent, where the totals go on counting in a resumed session. `results`: those that came."""

    session_id: str | None = None
    reset: bool = False
    partial_id: str = ""
    unfinished: Unfinished = field(default_factory=Unfinished)
    earlier: TokenUsage | None = None
    told: TokenUsage | None = None
    before: TokenUsage | None = None
    results: Repeats = field(default_factory=Repeats)
    main: Seen = field(default_factory=Seen)
    others: Seen = field(default_factory=Seen)
