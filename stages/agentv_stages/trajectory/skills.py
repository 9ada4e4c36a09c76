"""skill-trigger, skill-used, not-skill-used: which skills an agent loaded, derived from canonical calls only.

A skill is loaded by the Skill tool, by reading a file below `skills/<name>/`, or by a shell call that reads one. For
`skill-trigger` the tool of an MCP server that has the skill's name also counts. There is no agent-specific code here:
Codex's `cat skills/x/SKILL.md` is a Read after `Normalize`, Copilot's `Viewing …` contains its path. `skill-trigger`
looks at calls when they are requested, `skill-used` counts a load once its result is `ok`.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec import Struct

from agentv_stages.model.event import AnyEvent, ToolCall, ToolResult, call_key
from agentv_stages.model.payload import text_of
from agentv_stages.model.recent import remember
from agentv_stages.trajectory.calls import arguments_of, counts, string_member
from agentv_stages.trajectory.json_values import is_list, is_object
from agentv_stages.trajectory.verdict import MAX_EVIDENCE, Bounds, Evidence, Proof, evidence_of
from agentv_stages.trajectory.wildcards import glob

MOST_WAITING = 10_000
MOST_NAMES = 1_000

IN_PATH = re.compile(r"(?:^|[/\\])skills[/\\]+([^/\\]+)[/\\]")
IN_COMMAND = re.compile(r"(?:^|[/\\\s\"'=:(])skills[/\\]+([^/\\\s\"'`$;&|<>(){}*?]+)[/\\]")
SKILL_FILE = re.compile(r"skills/+([A-Za-z0-9._:-]+)/+SKILL\.md")
READING = frozenset(("read", "search"))


def skill_argument(call: ToolCall) -> str:
    """The skill name in a call of the Skill tool."""
    return string_member(arguments_of(call), "skill", "name")


def loads(call: ToolCall) -> list[str]:
    """The skills that a call loads, in order, each once."""
    if call.tool == "Skill":
        name = skill_argument(call)
        return [name] if name else []
    texts: list[str] = []
    if call.tool == "Read" or (call.kind == "read" and call.command is None):
        texts.extend(call.files)
        texts.append(string_member(arguments_of(call), "file_path", "path", "filePath"))
    found = [m.group(1) for text in texts for m in IN_PATH.finditer(text)]
    if call.command is not None and call.kind in READING:
        found += (m.group(1) for m in IN_COMMAND.finditer(call.command))
    return list(dict.fromkeys(found))


def offered(call: ToolCall) -> tuple[str, ...]:
    """The skill that a call of an MCP server's tool is, `<server>/<tool>`: AgentV names Codex' MCP calls as skills."""
    server = call.server
    return (f"{server}/{call.tool.removeprefix(f'mcp__{server}__')}",) if server else ()


def same_skill(wanted: str, name: str) -> bool:
    """Whether `name` is the skill `wanted`; plugins prefix their name and a colon, MCP servers theirs and a slash."""
    return name == wanted or any(mark not in wanted and name.endswith(mark + wanted) for mark in ":/")


class TriggerState(Struct):
    calls: int = 0
    hit: Evidence | None = None
    text: str = ""
    done: bool = False


class SkillTrigger:
    """AgentV's skill-trigger. Score 1 or 0; a hit is final.

    As in AgentV, an output that names a file below `skills/<name>/` counts, too (`outputs`). `compat`: the 4.42 grader:
    Skill and Read by name, the skill's name as any part of the argument.
    """

    threshold: float | None = None

    def __init__(
        self,
        skill: str,
        should_trigger: bool = True,
        all_streams: bool = False,
        compat: bool = False,
        outputs: bool = True,
    ) -> None:
        self.state = TriggerState()
        self._skill = skill
        self._should = should_trigger
        self._all = all_streams
        self._compat = compat
        self._outputs = outputs

    def observe(self, event: AnyEvent) -> bool:
        state = self.state
        if type(event) is ToolCall:
            if not counts(event, self._all):
                return False
            state.calls += 1
            if state.hit is None:
                self._call(event)
        elif type(event) is ToolResult and state.hit is None and self._outputs and counts(event, self._all):
            raw = event.output_json
            if raw is not None and b"skills" in bytes(raw) and self._in_output(event):
                tool = event.call.tool or event.call.name if event.call is not None else "?"
                self._hit(event, f'Tool "{tool}" output referenced skill file for "{self._skill}"')
        else:
            return False
        return state.hit is not None

    def _call(self, call: ToolCall) -> None:
        if self._compat:
            self._compat_call(call)
            return
        for name in (*loads(call), *offered(call)):
            if same_skill(self._skill, name):
                how = "Skill tool invoked with" if call.tool == "Skill" else f"{call.tool} loaded a file of"
                how = "MCP tool offers" if call.server else how
                self._hit(call, f'{how} skill="{name}"')
                return

    def _compat_call(self, call: ToolCall) -> None:
        name, value = (call.tool or call.name).lower(), arguments_of(call)
        if name == "skill":
            skill = string_member(value, "skill")
            if self._skill in skill:
                self._hit(call, f'Skill tool invoked with skill="{skill}"')
        elif name == "read":
            path = string_member(value, "file_path", "path")
            if f"skills/{self._skill}/" in path:
                self._hit(call, f"Read tool loaded skill file: {path}")

    def _in_output(self, result: ToolResult) -> bool:
        raw = result.output_json
        if raw is None:
            return False
        text = text_of(raw)
        wanted = f"skills/{self._skill}/"
        return wanted in text or wanted in bytes(raw).decode("utf-8", "replace").replace("\\/", "/")

    def _hit(self, event: AnyEvent, text: str) -> None:
        self.state.hit, self.state.text = evidence_of(event), text[:500]

    def finish(self) -> None:
        self.state.done = True

    def bounds(self) -> Bounds:
        if self.state.hit is not None:
            score = float(self._should)
            return Bounds(score, score)
        if self.state.done:
            score = float(not self._should)
            return Bounds(score, score)
        return Bounds(0.0, 1.0)

    def broken(self) -> bool:
        return False

    def prove(self, proof: Proof) -> None:
        state = self.state
        if state.hit is not None:
            proof.add(state.text, self._should, (state.hit,))
        elif not self._should:
            proof.add(f'Skill "{self._skill}" correctly did not trigger', True)
        elif state.calls:
            proof.add(f'Skill "{self._skill}" not found in {state.calls} tool call(s)', False)
        else:
            proof.add("No tool calls recorded", False)

    def warnings(self) -> list[str]:
        return []


@dataclass(frozen=True, slots=True)
class SkillCount:
    """How often a skill, or the skills that match a pattern, must be used; `most` None means any number."""

    name: str | None = None
    pattern: str | None = None
    least: int = 1
    most: int | None = None

    @property
    def title(self) -> str:
        return self.name or self.pattern or "*"

    def names(self, skill: str) -> bool:
        if self.name is not None:
            return same_skill(self.name, skill)
        return glob(self.pattern or "*")(skill)


class UsedState(Struct):
    waiting: dict[str, list[str]] = {}
    counts: list[int] = []
    evidence: list[list[Evidence]] = []
    names: list[str] = []
    done: bool = False


class SkillUsed:
    """skill-used, and with `inverse` not-skill-used: all (or none) of `wanted`. Only loads with the outcome `ok` count.

    `compat`: AgentV 5.3, which also regards a skill as used when the output of any call names its SKILL.md.
    """

    threshold: float | None = None

    def __init__(
        self, wanted: Sequence[SkillCount], inverse: bool = False, all_streams: bool = False, compat: bool = False
    ) -> None:
        self._wanted = tuple(wanted)
        self._inverse = inverse
        self._all = all_streams
        self._compat = compat
        self.state = UsedState(counts=[0] * len(self._wanted), evidence=[[] for _ in self._wanted])

    def observe(self, event: AnyEvent) -> bool:
        state = self.state
        if type(event) is ToolCall:
            if counts(event, self._all):
                names = loads(event)
                if names:
                    remember(state.waiting, call_key(event), names, MOST_WAITING)
            return False
        if type(event) is not ToolResult or event.partial or not counts(event, self._all):
            return False
        names = state.waiting.pop(call_key(event.call or event), [])
        if self._compat and event.output_json is not None and not names:
            names = list(dict.fromkeys(SKILL_FILE.findall(bytes(event.output_json).decode("utf-8", "replace"))))
        if not names or event.outcome not in ("ok", None):
            return False
        self._used(names, event)
        return True

    def _used(self, names: Iterable[str], result: ToolResult) -> None:
        state = self.state
        for name in names:
            if len(state.names) < MOST_NAMES and name not in state.names:
                state.names.append(name)
            for i, wanted in enumerate(self._wanted):
                if wanted.names(name):
                    state.counts[i] += 1
                    if len(state.evidence[i]) < MAX_EVIDENCE:
                        state.evidence[i].append(evidence_of(result))

    def finish(self) -> None:
        self.state.waiting = {}
        self.state.done = True

    def _fits(self, i: int) -> bool | None:
        """Whether requirement `i` is met; None while that can change."""
        wanted, number = self._wanted[i], self.state.counts[i]
        if self._inverse:
            return False if number else (True if self.state.done else None)
        if wanted.most is not None and number > wanted.most:
            return False
        if number >= wanted.least and (wanted.most is None or self.state.done):
            return True
        return False if self.state.done else None

    def bounds(self) -> Bounds:
        fits = [self._fits(i) for i in range(len(self._wanted))]
        if False in fits:
            return Bounds(0.0, 0.0)
        return Bounds(1.0 if None not in fits else 0.0, 1.0)

    def broken(self) -> bool:
        return False

    def prove(self, proof: Proof) -> None:
        for i, wanted in enumerate(self._wanted):
            number = self.state.counts[i]
            range_ = f">={wanted.least}" + (f", <={wanted.most}" if wanted.most is not None else "")
            need = "must not be used" if self._inverse else f"required {range_}"
            proof.add(
                f'Skill "{wanted.title}" used {number} times ({need})', self._fits(i) is True, self.state.evidence[i]
            )

    def warnings(self) -> list[str]:
        return []


def skill_counts(value: Any) -> list[SkillCount]:
    """Reads the `value` of skill-used: a name, a list of names, or `{name | pattern, min, max}`.

    Raises: ValueError when it has another shape.
    """
    if isinstance(value, str) and value:
        return [SkillCount(value)]
    if is_list(value):
        items: list[Any] = value
        if not items or not all(isinstance(item, str) and item for item in items):
            raise ValueError("a list of skills holds names")
        return [SkillCount(item) for item in items]
    if not is_object(value):
        raise ValueError("value must be a name, a list of names, or {name | pattern, min, max}")
    name: Any = value.get("name")
    pattern: Any = value.get("pattern")
    least: Any = value.get("min")
    most: Any = value.get("max")
    if not isinstance(name or pattern, str):
        raise ValueError("a skill needs a name or a pattern")
    for bound in (least, most):
        if bound is not None and (isinstance(bound, bool) or not isinstance(bound, int) or bound < 0):
            raise ValueError("min and max are integers from 0")
    if least is not None and most is not None and most < least:
        raise ValueError("max is less than min")
    lower: int = least if least is not None else (0 if most is not None else 1)
    return [SkillCount(name, pattern, lower, most)]
