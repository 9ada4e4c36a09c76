"""Providers that other distributions bring, made safe: what fails in one costs a record or a fact, never a session.

In: a group of entry points. Out: providers by name. Each failure is a `PluginWarning`.
"""

import warnings
from collections.abc import Callable, Collection
from functools import cache, partial
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.provider import (
    REFUSED,
    DecodeContext,
    Dialect,
    Head,
    Provider,
    RecordDecoder,
    TitleIndex,
    no_companions,
    plain_context,
)  # fmt: skip
from agentv_stages.model.store import StoreTable

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

Answer: TypeAlias = Callable[..., Any]  # the functions of a provider differ in their arguments


class PluginWarning(UserWarning):
    """A plug-in provider, or a part of it, cannot be used."""


def load_plugins(group: str, ours: Collection[str]) -> dict[str, Provider]:
    """The providers of all plug-ins of the group of entry points that can be used; `ours` are names that are taken."""
    from importlib.metadata import entry_points  # 20 ms that only a plug-in needs

    found: dict[str, Provider] = {}
    for entry in sorted(entry_points(group=group), key=lambda entry: entry.name):
        try:
            provider = entry.load()
        except Exception as error:
            trouble = f"{type(error).__name__}: {error}"
        else:
            if not isinstance(provider, Provider):
                trouble = f"it is a {type(provider).__name__}, no Provider"
            elif provider.name in ours or provider.name in found:  # by its name the other one would be taken
                trouble = f"there is a provider {provider.name} already"
            else:
                found[provider.name] = _safe(provider)
                continue
        _warn(f"the plug-in provider {entry.name} ({entry.value}{_distribution(entry)}) is left out: {trouble}")
    return found


def _distribution(entry: "EntryPoint") -> str:
    return "" if entry.dist is None else f", of {entry.dist.name} {entry.dist.version}"


def _warn(text: str) -> None:
    warnings.warn(text, PluginWarning, stacklevel=3)


def _place(error: Exception) -> str:
    """The error and the line that raised it: `KeyError in decoder.py:63`. Without the message, so that a warning about
    many records is one warning."""
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    at = "" if frame is None else f" in {frame.tb_frame.f_code.co_filename.rpartition('/')[2]}:{frame.tb_lineno}"
    return f"{type(error).__name__}{at}"


_FALLBACKS: dict[str, object] = {
    "companions": no_companions,
    "companion_files": no_companions,
    "context": plain_context,
    "history": (),
    "kept_outputs": None,
    "owns_store": False,
    "logs_of_database": (),
}
"""The answer of a function of a provider that fails, or a function that gives it."""
_STORE_FALLBACKS: dict[str, object] = {"stage_of": "follows", "started": (), "project": None, "hidden": False}
_TITLE_FALLBACKS: dict[str, object] = {"place": None, "read": {}}


def _safe(provider: Provider) -> Provider:
    """The provider with each of its functions made safe."""
    changed = _guarded(provider, _FALLBACKS, provider.name)
    store, titles = provider.store, provider.titles
    if store is not None:
        store = replace(store, provider=provider.name)
    if isinstance(store, StoreTable):
        store = replace(store, **_guarded(store, _STORE_FALLBACKS, f"{provider.name} (store)"))
    if titles is not None:
        titles = TitleIndex(**_guarded(titles, _TITLE_FALLBACKS, f"{provider.name} (titles)"))
    dialects = tuple(
        replace(dialect, detect=partial(_detect, dialect), decoder=_decoder_class(dialect))
        for dialect in provider.dialects
    )
    return replace(provider, dialects=dialects, store=store, titles=titles, **changed)


def _guarded(owner: Struct, fallbacks: dict[str, object], title: str) -> dict[str, Answer]:
    found = {name: getattr(owner, name) for name in fallbacks}
    return {
        name: partial(_answer, f"`{name}` of the plug-in provider {title}", function, fallbacks[name])
        for name, function in found.items()
        if function not in (None, no_companions, plain_context)  # by these we know that a provider has none
    }


def _answer(title: str, function: Answer, fallback: object, *arguments: object) -> object:
    try:
        return function(*arguments)
    except Exception as error:
        _warn(f"{title} failed: {_place(error)}")
        return fallback(*arguments) if callable(fallback) else fallback


def _detect(dialect: Dialect, head: Head) -> float:
    try:
        return float(dialect.detect(head))
    except Exception as error:  # as for unexpected records of another agent
        _warn(f"the detection of the plug-in dialect {dialect.name} failed: {type(error).__name__}: {error}")
        return 0.0


class _Nothing(Struct):
    """The state of a decoder that could not be made."""


class _Refusing:
    """Stands for a decoder that could not be made."""

    def __init__(self, trouble: str) -> None:
        self.state, self.trouble = _Nothing(), trouble

    def decode(self, record: Record, batch: Batch) -> None:
        raise msgspec.ValidationError(self.trouble)

    def flush(self, batch: Batch) -> None:
        """Nothing was decoded."""


class _SafeDecoder:
    """A plug-in's decoder: what it raises for a record refuses that record, which becomes a fault."""

    dialect: Dialect

    def __init__(self, context: DecodeContext) -> None:
        try:
            self._decoder: RecordDecoder = self.dialect.decoder(context)
        except Exception as error:
            self._decoder = _Refusing(self._trouble(error))

    @property
    def state(self) -> Any:
        return self._decoder.state

    @state.setter
    def state(self, state: Any) -> None:
        self._decoder.state = state

    def decode(self, record: Record, batch: Batch) -> None:
        before = len(batch.events)
        try:
            self._decoder.decode(record, batch)
        except REFUSED:
            raise
        except Exception as error:
            del batch.events[before:]
            raise msgspec.ValidationError(self._trouble(error)) from error

    def flush(self, batch: Batch) -> None:
        before = len(batch.events)
        try:
            self._decoder.flush(batch)
        except REFUSED:
            raise
        except Exception as error:
            del batch.events[before:]
            raise msgspec.ValidationError(self._trouble(error)) from error

    def _trouble(self, error: Exception) -> str:
        place = _place(error)
        _warn(f"the decoder of the plug-in dialect {self.dialect.name} failed: {place}")
        return f"{place}: {error}"


@cache
def _decoder_class(dialect: Dialect) -> type[_SafeDecoder]:
    """A class for each dialect: two inputs have the same format if their decoders have the same class."""
    members = {"dialect": dialect, "__module__": getattr(dialect.decoder, "__module__", __name__)}
    return type("SafeDecoder", (_SafeDecoder,), members)
