"""Names that people type: the provider of a name, and the known name most similar to an unknown one."""

from collections.abc import Iterable, Sequence
from typing import overload

from agentv_stages.model.provider import Provider
from agentv_stages.providers import all_providers, get_provider
from agentv_stream.errors import UsageError

FEW = 5  # up to this many names are all listed, if none is similar to the wrong one


def suggestion(wrong: str, known: Iterable[str], otherwise: Sequence[str] = ()) -> str:
    """`; did you mean 'x'?` with the most similar known name, or a list of the known names if none is similar.

    `otherwise` are the names to list in that case, if not all known ones.
    """
    names = sorted(set(known))
    near = nearly(wrong, names)
    if near is not None:
        return f"; did you mean {near!r}?"
    if otherwise:
        return f"; there are: {', '.join(otherwise)}"
    if not names:
        return ""
    if len(names) <= FEW:
        return f"; there is only {names[0]!r}" if len(names) == 1 else f"; there are: {', '.join(names)}"
    return f"; nearest known: {_nearest(wrong, names)!r} (of {', '.join(names[:30])}{'…' if len(names) > 30 else ''})"


def nearly(wrong: str, known: Iterable[str], likeness: float = 0.6) -> str | None:
    """The known name that is similar to the wrong one, if any; `likeness` 1 means identical."""
    from difflib import get_close_matches  # only a wrong name needs it

    names = sorted(set(known))
    like = [name.lower().replace("_", "-") for name in names]
    near = get_close_matches(wrong.lower().replace("_", "-"), like, 1, likeness)
    return names[like.index(near[0])] if near else None


def _nearest(wrong: str, names: Sequence[str]) -> str:
    from difflib import SequenceMatcher

    return max(names, key=lambda name: SequenceMatcher(None, wrong.lower(), name.lower()).ratio())


@overload
def named_provider(name: str) -> Provider: ...
@overload
def named_provider(name: str | None) -> Provider | None: ...
def named_provider(name: str | None) -> Provider | None:
    """The provider; None for no name (it is then detected from the content). Raises: UsageError for an unknown name."""
    if name is None:
        return None
    try:
        return get_provider(name)
    except KeyError:
        providers = all_providers()
        known = {alias for provider in providers for alias in (provider.name, *provider.aliases)}
        near = suggestion(str(name), known, otherwise=[provider.name for provider in providers])
        raise UsageError(f"no provider is called {name!r}{near}") from None
