"""An agent's habits over the Agent Client Protocol, where the protocol leaves something open: `Provider.acp`.

The decoder of the protocol asks the connected agent's provider for these facts; none of them names an agent.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from msgspec import Raw, Struct

from agentv_stages.model.event import Level, Outcome

Arguments = Mapping[str, Any]


class Spent(NamedTuple):
    """The session's tokens and cost so far; input includes cached tokens, output includes reasoning."""

    input: int
    output: int | None
    cached: int | None
    reasoning: int | None
    cost_usd: float | None


class AcpHabits(Struct, frozen=True):
    """The habits of one agent.

    `marks`: words of the name that it gives itself, or of its login methods. `plan_tool`: the tool that a plan stands
    for, if no call is reported beside it. `model_name` removes the agent's additions from a model's name.

    Names of tools, where a message has none: `name_in_id` from the call's id (`part_in_id` is then the place of the
    call among those of its answer, from 0), `name_in_arguments` from the arguments, `name_in_words` from title, kind
    and arguments. `mcp_title` turns a title that names a tool of an MCP server into its canonical form.

    Calls: `shows_arguments`: it sends none, so titles, locations and diffs take their place; without `awaits_arguments`
    there are none to wait for. `writes_visibly`: a call's content shows its arguments while the model writes them.
    `asks_by_command`: the title of a permission request is the command, no name. `hides_agents`: it shows only those
    calls of a sub-agent that need permission. `invalid` are titles of the call that stands for a call of a tool that
    does not exist; the arguments of such a call begin with `unavailable`. `searches` are tools of the kind `read` whose
    location is a folder that they search.

    Results: `shown_output`: the model's output is in the content, the raw output is for people. `failure` gives outcome
    and exit code of a call that failed, by its output and whether the agent itself marked it as failed; None to leave
    them. `child` gives the id of the sub-agent that a result belongs to, from the output and the raw output.

    Texts: `note` recognises a message of the program among the answer's text, `failed` a message that the request
    failed. `spent` reads the usage so far from any update.

    Tokens: `last_step_only`: of a prompt with calls only the last step's are reported. `cache_apart`: cached tokens are
    not part of the input.
    """

    marks: tuple[str, ...] = ()
    plan_tool: str | None = None
    model_name: Callable[[str], str | None] | None = None
    name_in_id: Callable[[str], str | None] | None = None
    part_in_id: Callable[[str], int] | None = None
    name_in_arguments: Callable[[Arguments], str | None] | None = None
    name_in_words: Callable[[str, str, Arguments], str | None] | None = None
    mcp_title: Callable[[str, Arguments], str | None] | None = None
    shows_arguments: bool = False
    awaits_arguments: bool = True
    writes_visibly: bool = False
    asks_by_command: bool = False
    hides_agents: bool = False
    invalid: frozenset[str] = frozenset()
    unavailable: bytes = b""
    searches: frozenset[str] = frozenset()
    shown_output: bool = False
    failure: Callable[[Raw, bool], tuple[Outcome, int | None] | None] | None = None
    child: Callable[[Raw, Raw], str | None] | None = None
    note: Callable[[str], tuple[Level, str] | None] | None = None
    failed: Callable[[str], bool] | None = None
    spent: Callable[[bytes], Spent | None] | None = None
    last_step_only: bool = False
    cache_apart: bool = False
