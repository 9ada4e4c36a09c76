"""Reads one option of a command line: the words and a place in, its name, its value and the place after it out."""

from collections.abc import Set as AbstractSet


def is_assignment(word: str) -> bool:
    """Whether a word sets a variable (`NAME=value`, `NAME+=value`)."""
    name = word.partition("=")[0].rstrip("+")
    return name.replace("_", "a").isalnum() and not name[0].isdigit()


def option_at(line: list[str], at: int, taking: AbstractSet[str]) -> tuple[str, str | None, int]:
    """The option at a place of a command line: its name, its value if it has one, and the place of the next word.

    `taking` are the options that take a value, with `#` behind those that only take a number (`-j 4`). Short ones may
    be bundled (`-nu root`, `-oL`), unless the program writes long options with a single dash (`-chdir=x`), as some of
    `taking` then show.
    """
    word = line[at]
    if word in taking:
        return word, line[at + 1] if at + 1 < len(line) else None, at + 2
    if word + "#" in taking:
        number = at + 1 < len(line) and line[at + 1].isdigit()
        return word, line[at + 1] if number else None, at + 1 + number
    name, equals, value = word.partition("=")
    if word.startswith("--") or (equals and name in taking):
        return name, value if equals else None, at + 1
    if not any(len(option) > 2 and option[1] != "-" and option[2] != "#" for option in taking):
        for i, letter in enumerate(word[1:], 2):
            if "-" + letter in taking:
                if i < len(word):
                    return "-" + letter, word[i:], at + 1
                return "-" + letter, line[at + 1] if at + 1 < len(line) else None, at + 2
    return word, None, at + 1
