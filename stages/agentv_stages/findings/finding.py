"""The vocabulary of findings. Plain, JSON-encodable Structs."""

from typing import Literal, TypeAlias

from msgspec import Struct

from agentv_stages.trajectory.verdict import Evidence

Kind: TypeAlias = Literal[
    "repeated-failures", "cycles", "no-progress", "re-reads", "compaction", "context", "cache-misses", "slow-calls",
    "denied", "unchanging-subagent",
]  # fmt: skip
Basis: TypeAlias = Literal["measured", "estimated"]


class Cite(Struct, frozen=True, omit_defaults=True):
    """A call or record that proves a finding. `turn` counts those of the main stream; None on other streams."""

    at: Evidence
    turn: int | None = None


class Finding(Struct):
    """One finding. `count` is how many calls (model calls, compactions) it has; `cites` names `MOST_CITES` of them.

    `calls` are tool calls that a better course would have saved, `ms` milliseconds spent in them, `tokens` input tokens
    that were read without the cache, or sent again; None where that is not its cost, or the log does not say.
    `basis` is of `tokens`, `ms` and `calls`.
    """

    kind: Kind
    text: str
    stream: str
    count: int
    cites: list[Cite] = []
    calls: int | None = None
    ms: int | None = None
    tokens: int | None = None
    basis: Basis = "measured"
