"""The state of Claude Code's stream decoder between lines."""

from msgspec import Struct, field

from agentv_stages.model.event import TokenUsage
from agentv_stages.model.repeats import Repeats
from agentv_stages.providers.claude.blocks import LastUsage
from agentv_stages.providers.claude.unfinished import Unfinished


class StreamState(Struct):
    """`reset`: the next session id is this session, begun anew. `anew`: its next total is the first since then.
    `whole`: the last total as it was printed. `earlier`: what previous runs spent, if the totals include it. `begun`:
    the runs that began since the last `result`; `behind`: those that had begun before it and have none yet. `results`:
    those seen. `refused`: calls whose refusal was reported before their results. `interrupted`: the run, by a person.
    """

    session_id: str | None = None
    reset: bool = False
    anew: bool = False
    partial_id: str = ""
    unfinished: Unfinished = field(default_factory=Unfinished)
    earlier: TokenUsage | None = None
    whole: TokenUsage | None = None
    last_total: TokenUsage | None = field(default=None, name="told")
    before: TokenUsage | None = None
    begun: int = 0
    behind: int = 0
    results: Repeats = field(default_factory=Repeats)
    main: LastUsage = field(default_factory=LastUsage)
    others: LastUsage = field(default_factory=LastUsage)
    interrupted: bool = False
    refused: dict[str, bool] = field(default_factory=dict[str, bool])

    def forget_spent(self) -> None:
        """Another session begins; `whole` is kept, because `/clear` did not always reset the totals."""
        self.earlier = self.last_total = self.before = None
        self.anew = True
