"""The known name that is nearest to a wrong one: a hint behind an error."""

import difflib
from collections.abc import Iterable, Sequence


def suggestion(wrong: str, known: Iterable[str], otherwise: Sequence[str] = ()) -> str:
    """`; did you mean 'x'?` with the known name that is nearest, or the known names where none is near.

    `otherwise` are the names to tell then, where they are not all that are known.
    """
    names = sorted(set(known))
    near = difflib.get_close_matches(wrong.lower().replace("_", "-"), [n.replace("_", "-") for n in names], 1, 0.6)
    if near:
        name = next(n for n in names if n.replace("_", "-") == near[0])
        return f"; did you mean {name!r}?"
    if otherwise:
        return f"; there are: {', '.join(otherwise)}"
    if not names:
        return ""
    return f"; nearest known: {_nearest(wrong, names)!r} (of {', '.join(names[:30])}{'…' if len(names) > 30 else ''})"


def _nearest(wrong: str, names: Sequence[str]) -> str:
    return max(names, key=lambda name: difflib.SequenceMatcher(None, wrong.lower(), name.lower()).ratio())
