"""Applies a provider's table of tools: each tool call of a batch gets its canonical name, kind, origin and files.

In: batches with events. Out: the same batches, each `ToolCall` replaced by a call with its second block of fields
filled.
Keys of a call's input are only added (`file_path`, `skill`, `pattern`), never changed. Input of any shape is accepted.
A payload that is nested too deeply is emptied (fault `too-deep`).
This stage must run between the decoder and `Pair`, because `Pair` puts the calls into their results.
"""

from collections.abc import Callable, Iterable
from functools import cache
from typing import TYPE_CHECKING, Any, cast
from weakref import WeakKeyDictionary

from msgspec import UNSET, Raw, Struct

from agentv_stages.chain.depth import LONGEST_SHALLOW, PAYLOAD_OF, capped
from agentv_stages.model.arguments import DecodeFields, fields_decoder, loose_json, patch_of, paths_in, with_key
from agentv_stages.model.batch import Batch
from agentv_stages.model.event import EMPTY_OBJECT, Kind, Origin, TokenUsage, ToolCall, ToolResult
from agentv_stages.model.patch import read_patch
from agentv_stages.model.payload import add_key, to_raw
from agentv_stages.model.stage import Flushed
from agentv_stages.model.tools import CANONICAL, ToolTable

if TYPE_CHECKING:
    from agentv_stages.shell.classify import ShellFacts

_KEPT_NAMES = 4_096
_COMMAND_KEYS = ("command", "cmd", "script")


class _Plan(Struct, frozen=True):
    """Everything that follows from a call's name, precomputed; `refine` examines the input where that decides more."""

    tool: str
    kind: Kind
    origin: Origin
    server: str | None
    edit: bool
    refine: Callable[[ToolCall, "_Plan"], ToolCall] | None = None
    names: tuple[str, ...] = ()
    decode: DecodeFields | None = None
    keys: tuple[tuple[str, int, tuple[int, ...]], ...] = ()
    paths: int = 0
    rest_key: str | None = None
    rest: str = ""
    known: bool = True
    variants: tuple[tuple[str, str], ...] = ()
    finer_shell: bool = False


_plans: "WeakKeyDictionary[ToolTable, dict[str, _Plan]]" = WeakKeyDictionary()


def _plans_of(table: ToolTable) -> dict[str, _Plan]:
    """The plans of a table, made once per name and shared by all sessions, because many sessions are short."""
    return _plans.setdefault(table, {})


class Normalize:
    """The stage; `table` is that of the provider whose decoder made the events. It keeps no state between calls."""

    def __init__(self, table: ToolTable) -> None:
        self._table = table
        self._plans = _plans_of(table)
        self._flushed = Flushed()

    def push(self, batch: Batch, /) -> Iterable[Batch]:
        events = batch.events
        call = self.call
        for i, event in enumerate(events):
            kind = type(event)
            if kind is ToolResult:
                result: ToolResult = event  # type: ignore[assignment]  # narrowed by `kind`, which mypy does not follow
                payload = result.output_json
                if payload is not None and len(payload) > LONGEST_SHALLOW:  # pyright: ignore[reportUnknownArgumentType] - msgspec's Raw
                    events[i] = capped(result, payload, batch)
            elif kind is ToolCall:
                typed: ToolCall = event  # type: ignore[assignment]  # as above
                if len(typed.input_json) > LONGEST_SHALLOW:
                    typed = capped(typed, typed.input_json, batch)  # type: ignore[assignment]  # the same kind
                events[i] = typed if typed.tool else call(typed)  # with a tool, its decoder read it normalised
            elif kind is not TokenUsage and kind in PAYLOAD_OF:
                payload = getattr(event, PAYLOAD_OF[kind])
                if payload is not None and len(payload) > LONGEST_SHALLOW:
                    events[i] = capped(event, payload, batch)
        return (batch,)

    def flush(self) -> Iterable[Batch]:
        self._flushed.once()
        return ()

    def call(self, call: ToolCall) -> ToolCall:
        """One call, normalised; never raises, whatever its input is."""
        plan = self._plans.get(call.name)
        if plan is None:
            if len(self._plans) >= _KEPT_NAMES:
                self._plans.clear()
            plan = self._plans[call.name] = _make_plan(self._table, call.name)
        if plan.refine is not None:
            return plan.refine(call, plan)
        return ToolCall(
            call.source,
            call.part,
            call.message_id,
            call.call_id,
            call.name,
            call.input_json,
            call.parent_call,
            call.model,
            plan.tool,
            plan.kind if plan.known else _kind_known_by_decoder(call, plan),
            plan.origin,
            plan.server,
            call.command,
            call.files,
            plan.edit,
        )


def _make_plan(table: ToolTable, name: str) -> _Plan:
    found = table.resolve(name)
    row = found.row
    if row is None:
        plan = _Plan(found.tool, found.kind, found.origin, found.server, False, known=False)
    elif row.shell:
        names = tuple(dict.fromkeys((row.command_key, *_COMMAND_KEYS)))
        plan = _Plan(
            *(row.tool, row.kind, row.origin, None, False, _shell, names, fields_decoder(names)),
            finer_shell=table.finer_shell,
        )
    elif row.patch:
        plan = _Plan(row.tool, row.kind, row.origin, None, row.edit, _patch)
    elif row.paths or row.keys or row.rest_key or row.variant_key:
        variant_key, _, member = (row.variant_key or "").partition("[].")
        wanted = [*row.paths, *([variant_key] if variant_key else ())]
        for key, sources in row.keys:
            wanted += (key, *sources)
        if row.rest_key:
            wanted.append(row.rest_key)
        names = tuple(dict.fromkeys(wanted))
        at = names.index
        keys = tuple((key, at(key), tuple(map(at, sources))) for key, sources in row.keys)
        plan = _Plan(
            *(row.tool, row.kind, row.origin, None, row.edit, _fields, names, fields_decoder(names), keys),
            *(len(row.paths), row.rest_key, found.rest, True),
            ((variant_key, member), *row.variants) if variant_key else (),
        )
    else:
        plan = _Plan(row.tool, row.kind, row.origin, None, row.edit)
    return plan


def _only_member(value: object, name: str) -> object:
    """A member of the only object in a list; None for any other value."""
    items = cast("list[object]", value) if isinstance(value, list) else []
    only = items[0] if len(items) == 1 else None
    return cast("dict[str, object]", only).get(name) if isinstance(only, dict) else None


def _kind_known_by_decoder(call: ToolCall, plan: _Plan) -> Kind:
    """The kind of a tool in no table: a kind that the format itself gives (ACP) is better than one guessed from the
    name."""
    return call.kind if plan.kind == "other" and plan.origin == "system" else plan.kind


def _normalized(
    call: ToolCall,
    raw: Raw,
    tool: str,
    kind: Kind,
    command: str | None,
    files: tuple[str, ...],
    edit: bool,
    shell_edit: bool,
) -> ToolCall:
    return ToolCall(
        call.source,
        call.part,
        call.message_id,
        call.call_id,
        call.name,
        raw,
        call.parent_call,
        call.model,
        tool,
        kind,
        "system",
        None,
        command,
        files or call.files,
        edit,
        shell_edit,
    )


@cache
def _shell_reader() -> "tuple[Callable[[str | list[str]], ShellFacts], Callable[[str, str], str]]":
    """`classify_shell` and `path_in`. To import them takes 10 ms, which only shell calls need, and looking them up in
    their package at each call a microsecond.
    """
    from agentv_stages.shell import classify_shell, path_in

    return classify_shell, path_in


def _shell(call: ToolCall, plan: _Plan) -> ToolCall:
    """Normalises a shell call by what its text does."""
    command = _command_of(call.input_json, plan)
    if command is None:
        return _normalized(call, call.input_json, plan.tool, plan.kind, None, (), False, False)
    classify_shell, path_in = _shell_reader()
    facts = classify_shell(command)
    if facts.patch is not None:
        patch = read_patch(facts.patch)
        if not patch.files:  # the patch is elsewhere in the text, and arrives in a variable or through a pipe
            patch = read_patch(facts.script)
        tool = "Write" if patch.adds_only else "Edit"
        paths = tuple([path_in(facts.folder, path) for path in patch.files])
        return _normalized(call, call.input_json, tool, "write", facts.script, paths, True, False)
    files = facts.files or facts.written
    if not plan.finer_shell or facts.tool_name == "Bash":
        return _normalized(call, call.input_json, plan.tool, facts.kind, facts.script, files, False, facts.writes_file)
    raw = call.input_json
    if facts.tool_name == "Read" and facts.path is not None:
        raw = with_key(raw, "file_path", facts.path)
    elif facts.pattern is not None:
        raw = with_key(raw, "pattern", facts.pattern)
    return _normalized(call, raw, facts.tool_name, facts.kind, facts.script, files, False, facts.writes_file)


def _fields(call: ToolCall, plan: _Plan) -> ToolCall:
    """Normalises a call whose input names files, or gets a canonical key."""
    raw = call.input_json
    assert plan.decode is not None
    values = plan.decode(raw)
    tool, kind, edit = plan.tool, plan.kind, plan.edit
    files: tuple[str, ...] = ()
    if values is None:
        if plan.rest and plan.rest_key and bytes(raw).strip() in (b"null", b""):
            raw = with_key(EMPTY_OBJECT, plan.rest_key, plan.rest)
            files = (plan.rest,) if plan.rest_key == "file_path" else ()
    else:
        for value in values[: plan.paths]:
            if type(value) is str:
                files = (value,)
                break
            if type(value) is list:
                files = paths_in(value)  # pyright: ignore[reportUnknownArgumentType] - decoded JSON
                break
        names = plan.names
        if plan.variants:
            key, member = plan.variants[0]
            chosen = values[names.index(key)]
            if member:
                chosen = _only_member(chosen, member)
            for argument, name in plan.variants[1:]:
                if argument == chosen:
                    tool = name
                    kind, edit = CANONICAL.get(name, (kind, edit))
        rest_key = plan.rest_key
        for key, position, sources in plan.keys:
            if values[position] is UNSET:
                for source in sources:
                    value = values[source]
                    if value is not UNSET:
                        raw = add_key(raw, key, to_raw(value))
                        rest_key = None if key == rest_key else rest_key
                        break
        if rest_key and plan.rest and values[names.index(rest_key)] is UNSET:
            raw = add_key(raw, rest_key, to_raw(plan.rest))
            files = files or ((plan.rest,) if rest_key == "file_path" else ())
    return ToolCall(
        call.source,
        call.part,
        call.message_id,
        call.call_id,
        call.name,
        raw,
        call.parent_call,
        call.model,
        tool,
        kind,
        plan.origin,
        plan.server,
        call.command,
        files or call.files,
        edit,
    )


def _patch(call: ToolCall, plan: _Plan) -> ToolCall:
    """Normalises a patch: its text, or a list or map of changed files."""
    patch = patch_of(loose_json(call.input_json))
    if patch is None:
        return _normalized(call, call.input_json, plan.tool, plan.kind, None, (), plan.edit, False)
    tool = "Write" if patch.adds_only else plan.tool
    return _normalized(call, call.input_json, tool, plan.kind, None, patch.files, plan.edit, False)


def _command_of(raw: Raw, plan: _Plan) -> str | list[str] | None:
    """The shell text, or the list of words, in the input of a shell call."""
    assert plan.decode is not None
    values: Any = plan.decode(raw)
    if values is None:
        value = loose_json(raw)
        values = (value,)
    for value in values:
        if type(value) is str:
            return value
        if type(value) is list and value:
            return [str(word) for word in value]  # pyright: ignore[reportUnknownVariableType,reportUnknownArgumentType] - decoded JSON
    return None
