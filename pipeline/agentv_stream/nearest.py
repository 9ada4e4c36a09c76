"""The known name that is nearest to a wrong one: a hint behind an error."""

import difflib
from collections.abc import Iterable, Sequence

FEW = 5  # names that can all be told, where none is like the wrong one


def suggestion(wrong: str, known: Iterable[str], otherwise: Sequence[str] = ()) -> str:
    """`; did you mean 'x'?` with the known name that is nearest, or the known names where none is near.

    `otherwise` are the names to tell then, where they are not all that are known.
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
    """The known name that the wrong one is like, if any; `likeness` 1 is the same."""
    names = sorted(set(known))
    like = [name.replace("_", "-") for name in names]
    near = difflib.get_close_matches(wrong.lower().replace("_", "-"), like, 1, likeness)
    return names[like.index(near[0])] if near else None


def _nearest(wrong: str, names: Sequence[str]) -> str:
    return max(names, key=lambda name: difflib.SequenceMatcher(None, wrong.lower(), name.lower()).ratio())
