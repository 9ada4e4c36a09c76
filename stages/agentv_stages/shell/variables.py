"""Variables whose values a shell text shows (`x=rm; $x a`, `for f in a b`, `sh -c '"$@"' _ rm a`): words in, words with
their values out. A value that the text does not show stays a variable."""

import re
from collections.abc import Sequence

from agentv_stages.shell.options import is_assignment

Variables = dict[str, tuple[str, ...]]
"""Name, or number of an argument, -> its value; several where it takes one after the other (`for`), or all (`@`)."""

_NAMED = re.compile(r"\$(?:\{([A-Za-z_]\w*|\d|[@*])\}|([A-Za-z_]\w*|\d|[@*]))")
_LONGEST = 1_000
_MOST_VALUES = 50
SETS = frozenset(("export", "declare", "typeset", "local", "readonly"))


def assign(variables: Variables, words: Sequence[str]) -> None:
    """Sets the variables that words such as `NAME=value` name; another value than a plain text makes one unknown."""
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not is_assignment(word):
            continue
        if "$" in value or "`" in value or len(value) > _LONGEST or name.endswith("+"):
            variables.pop(name.rstrip("+"), None)
        else:
            variables[name] = (value,)


def loop(variables: Variables, words: Sequence[str]) -> None:
    """Sets the variable of `for NAME in WORDS`."""
    values = [word for word in words[3:] if "$" not in word and "`" not in word and len(word) <= _LONGEST]
    if words[2:3] == ["in"] and values:
        variables[words[1]] = tuple(values[:_MOST_VALUES])
    elif len(words) > 1:
        variables.pop(words[1], None)


def arguments(variables: Variables, words: Sequence[str]) -> Variables:
    """The variables of a script with its name and its arguments."""
    within = {**variables}
    for number, word in enumerate(words[:10]):
        within[str(number)] = (word,)
    within["@"] = within["*"] = tuple(words[1:_MOST_VALUES])
    return within


def with_values(variables: Variables, word: str) -> list[str]:
    """The words that a word with variables stands for; itself where their values are not known."""
    found = _NAMED.search(word)
    if found is None:
        return [word]
    if found[0] == word:
        return list(variables.get(found[1] or found[2]) or (word,))
    several = max((variables.get(name or other, ()) for name, other in _NAMED.findall(word)), key=len, default=())
    results: list[str] = []
    for number in range(min(len(several), _MOST_VALUES)):

        def put(found: re.Match[str], number: int = number) -> str:
            values = variables.get(found[1] or found[2])
            return found[0] if not values else values[number] if len(values) > number else values[0]

        text = _NAMED.sub(put, word)
        if len(text) > _LONGEST + len(word):
            return [word]
        results.append(text)
    return results or [word]
