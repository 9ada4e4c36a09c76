"""One agent as an adapter: where its logs lie, its decoders, its tools; and AgentV's `normalize_tool_call`.

adapter = create_adapter("codex")
adapter.classify("apply_patch")                     # ("system", "write")
adapter.normalize_call("exec_command", {"cmd": "cat a.py"}, "call_1").tool        # "Read"
adapter.summarize("execute", {"command": "make"})   # "make"
adapter.decode_record(line)                         # events of one record
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from typing import Any

import msgspec
from msgspec import Raw, Struct

from agentv_stages.chain.decode import Decode
from agentv_stages.chain.normalize import Normalize
from agentv_stages.chain.objects import objects
from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.call_summary import summarize_arguments
from agentv_stages.model.event import EMPTY_OBJECT, AnyEvent, Kind, Origin, Source, ToolCall
from agentv_stages.model.payload import NULL, to_raw
from agentv_stages.model.provider import Dialect, LogRoot, Provider
from agentv_stages.model.tool_payload import AnyPayload, payload_of
from agentv_stages.providers import get_provider
from agentv_stream.errors import UsageError
from agentv_stream.names import named_provider

_NO_SOURCE = Source("", 0, 0, 0)


class NormalizedCall(Struct, frozen=True):
    """A call in canonical terms. `input` is the native input with the added keys, `payload` its typed form."""

    name: str
    tool: str
    kind: Kind
    origin: Origin
    server: str | None
    call_id: str | None
    input: Any
    payload: AnyPayload
    command: str | None = None
    files: tuple[str, ...] = ()
    edit: bool = False
    shell_edit: bool = False


@dataclass(frozen=True, slots=True)
class Adapter:
    """An adapter in agtrace's sense: discovery, decoders and tool mapper of one provider."""

    provider: Provider

    @property
    def name(self) -> str:
        """The provider's own name, whatever alias it was asked for by."""
        return self.provider.name

    @property
    def roots(self) -> tuple[LogRoot, ...]:
        """The places of its logs."""
        return self.provider.roots

    @property
    def decoders(self) -> dict[str, Dialect]:
        """Its dialects by name, live ones first."""
        return {dialect.name: dialect for dialect in self.provider.dialects}

    def probe(self, head: Sequence[Mapping[str, Any]]) -> dict[str, float]:
        """How sure each of its dialects is that records beginning like `head` are its own, 0.0 to 1.0."""
        return {dialect.name: dialect.detect(head) for dialect in self.provider.dialects}

    def classify(self, name: str) -> tuple[Origin, Kind]:
        """Origin and kind of a native tool name. What a shell call does depends on its text: see `normalize_call`."""
        found = self.provider.tools.resolve(name)
        return found.origin, found.kind

    def normalize_call(self, name: str, args: Any = None, call_id: str | None = None) -> NormalizedCall:
        """A native call in canonical terms.

        Raises: TypeError when `args` cannot be represented in JSON.
        """
        try:
            raw = EMPTY_OBJECT if args is None else to_raw(args)
        except RecursionError:
            raise TypeError("args are nested too deeply, or contain themselves") from None
        call = _normalize(self.provider.name).call(_native(name, raw, call_id or ""))
        return NormalizedCall(
            *(name, call.tool, call.kind, call.origin, call.server, call_id, call.input, payload_of(call)),
            *(call.command, call.files, call.edit, call.shell_edit),
        )

    def summarize(self, kind: str, args: Any) -> str:
        """A call's arguments (JSON builtins) as one short line for people; `kind` as returned by `classify`. Control
        characters are made visible."""
        return summarize_arguments(kind, args)

    def decode_record(self, data: bytes | bytearray | memoryview | str, dialect: str | None = None) -> list[AnyEvent]:
        """The events of a single record (one line), its calls normalised; empty if it is no record of this provider.

        The dialect is the named one, or the most confident one, or the first that recognises the record. Facts that a
        decoder takes only from earlier records (a result's call, the model, cumulative counters) are missing.

        Raises: UsageError for a dialect that the provider does not have.
        """
        data = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else bytes(memoryview(data))
        chosen = self.decoders
        if dialect is not None:
            if dialect not in chosen:
                raise UsageError(f"{self.name} has no dialect {dialect}; it has {', '.join(chosen)}")
            return self._decode(chosen[dialect], data)[0]
        head = objects(Record(data, 0, 0))
        ordered = sorted(chosen.values(), key=lambda candidate: -candidate.detect(head) if head else 0)
        first: list[AnyEvent] = []
        for candidate in ordered:
            events, known = self._decode(candidate, data)
            if events and known:
                return events
            first = first or events
        return first

    def _decode(self, dialect: Dialect, data: bytes) -> tuple[list[AnyEvent], bool]:
        stage = Decode(dialect)
        batch = Batch(records=[Record(data.strip(), 0, 0)])
        batches = [*stage.push(batch), *stage.flush()]
        normalize = _normalize(self.provider.name)
        events: list[AnyEvent] = []
        for part in batches:
            normalize.push(part)
            events += part.events
        return events, not any(part.unknown or part.faults for part in batches)


def create_adapter(name: str) -> Adapter:
    """The adapter of a provider, by its name or an alias (`codex`, `claude_code`, `copilot-cli`).

    Raises: UsageError for a name that no provider has.
    """
    return Adapter(named_provider(str(name)))


def decode_record(provider: str, data: bytes | bytearray | memoryview | str) -> list[AnyEvent]:
    """The events of a single record (one line) of a provider's log, its calls normalised; an empty list if it is no
    record of that provider. Results are not linked to their calls, which are in other records: use `open_stream` for
    whole logs.

    Raises: UsageError for a name that no provider has.
    """
    return create_adapter(provider).decode_record(data)


def normalize_tool_call(provider: str, call: Any) -> dict[str, Any]:
    """AgentV's function: a tool call `{tool, input, …}` of a provider kind, with the canonical name and input keys.

    Returns a new dict with all members of `call` (a mapping, a dataclass, a msgspec Struct or any object with
    attributes): `tool` (or `name`) is canonical, `input` has `file_path` or `skill` added. For an unknown provider or
    name the members are returned unchanged. The call itself is not modified.

    It does more than AgentV 4.15 where AgentV's tables have gaps: more native names are known, `Viewing X` moves X into
    `file_path`, a Codex command that reads or searches is Read, Grep or Glob. It does less where AgentV overwrites
    existing values: an existing `skill` is kept, an input that is not an object stays as it is.

    Raises: TypeError for a call without members.
    """
    members = _members(call)
    key = "tool" if "tool" in members or "name" not in members else "name"
    name = members.get(key)
    if not isinstance(name, str):
        return members
    try:
        stage = _normalize(provider)
    except KeyError:
        return members
    arguments = members.get("input")
    try:
        if isinstance(arguments, Mapping) and not isinstance(arguments, dict):
            arguments = _members(arguments)
        raw = NULL if arguments is None else to_raw(arguments)
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError):
        raw = NULL
    done = stage.call(_native(name, raw, ""))
    members[key] = done.tool
    if done.input_json is not raw:
        added: Any = done.input
        old: Mapping[str, Any] = arguments if isinstance(arguments, Mapping) else {}  # pyright: ignore[reportUnknownVariableType] - any mapping
        if isinstance(added, dict) and (arguments is None or isinstance(arguments, Mapping)):
            members["input"] = {**old, **{k: v for k, v in added.items() if k not in old}}  # pyright: ignore[reportUnknownVariableType,reportUnknownMemberType] - decoded JSON
    return members


def _members(call: Any) -> dict[str, Any]:
    if isinstance(call, Mapping):
        mapping: Mapping[Any, Any] = call  # pyright: ignore[reportUnknownVariableType] - any mapping
        return {str(key): value for key, value in mapping.items()}
    if isinstance(call, Struct):
        return msgspec.structs.asdict(call)
    if is_dataclass(call):
        return {member.name: getattr(call, member.name) for member in fields(call)}
    names: list[str] = [*getattr(call, "_fields", ()), *getattr(call, "__dict__", ())]  # a named tuple, an object
    for kind in type(call).__mro__:
        slots: Any = vars(kind).get("__slots__", ())
        names += [slots] if isinstance(slots, str) else slots
    if not names and not hasattr(call, "__dict__"):
        raise TypeError(f"a tool call is a mapping or an object with attributes, not {type(call).__name__}")
    return {name: getattr(call, name) for name in names if hasattr(call, name)}


def _native(name: str, raw: Raw, call_id: str) -> ToolCall:
    return ToolCall(_NO_SOURCE, "", "", call_id, name, raw)


@cache
def _normalize(provider: str) -> Normalize:
    """One stage per provider; it keeps no state between calls.

    Raises: KeyError for a name that no provider has.
    """
    return Normalize(get_provider(provider).tools)
