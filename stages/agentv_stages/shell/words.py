"""Splits shell text into its commands: their words as the shell would see them, their text, their redirections.

Most texts are simple and are read by one regular expression; `reader` reads the others.
"""

import re
import sys

from agentv_stages.shell.powershell import exchanged, is_powershell, put_back
from agentv_stages.shell.reader import MAX_COMMANDS, Command, Pipeline, Reader, begins, expanded

FAST = sys.version_info >= (3, 11, 5)
"""Before, `re` lost its place in a possessive group whose last round failed, so `_TOKEN` misread texts (gh-106052)."""
_SIMPLE = re.compile(r"[\w./:@%+,=~^ -]+")
_TOKEN = re.compile(
    r"""
    [ \t\r]*+(?:\\\r?\n[ \t\r]*+)*+(?:
    (?!\d*[<>]|\#)(
        (?:[^\s'"\\$`|&;<>()]++|\\[^\r\n]|'[^']*'|"(?:[^"\\$`]++|\\.|\$(?![({`]))*+"|\$(?![({'"`]))++
    )(?!\\)
    |(&&|\|\||\|&|;|\n|\||&(?!>))
    |\d*+(&>>|&>|>>|>\||>&|<&|>|<(?!<))[ \t]*+
    |(\Z)
    |(.)  # anything else; else the search for a token would go on from each place behind it
    )""",
    re.X | re.S,
)
_WORD, _CONTROL, _REDIRECTION, _END, _ELSE = 1, 2, 3, 4, 5
_COPIED = re.compile(r"(?:\d+-?|-)(?=[\s|&;<>]|\Z)")
_PIECE = re.compile(r"""'([^']*)'|"([^"]*)"|([^'"]+)""")
_ESCAPED_PIECE = re.compile(
    r"""'([^']*)'|"((?:[^"\\]|\\.)*)"|((?:[^'"\\]|(?<=[\w.:])\\(?=\w)|(?<=\.)\\(?=\.))+)|\\(.)""", re.S
)
_ESCAPE = re.compile(r"""\\(?:\n|(["\\$`]))""")


def split_shell(text: str, already_read: bool = False) -> list[Pipeline]:
    """The pipelines of a shell text in order; pipelines in substitutions come before the pipeline around them.

    With `already_read`, substitutions are left out and become `$()` in the words: they were commands of the outer text.
    """
    if _SIMPLE.fullmatch(text):
        words = text.split()
        return [[Command(words, text=text.strip())]] if words else []
    if is_powershell(text):
        return put_back(_split(exchanged(text), already_read))
    return _split(text, already_read)


def _split(text: str, already_read: bool) -> list[Pipeline]:
    simple = _split_simple(text) if FAST else None
    return Reader(text, already_read).read() if simple is None else simple


def _split_simple(text: str) -> list[Pipeline] | None:
    """As `split_shell`, but faster, for texts without substitutions, here-documents and the like; else None."""
    pipelines: list[Pipeline] = []
    pipeline: Pipeline = []
    words: list[str] = []
    writes: list[str] = []
    reads: list[str] = []
    target: list[str] | None = None
    start = at = 0
    tokens = _TOKEN.finditer(text)
    for token in tokens:
        at = token.end()
        group = token.lastindex
        if group == _WORD:
            value = token[1]
            if "\\" in value:
                value = _without_escapes(value)
            elif "'" in value or '"' in value:
                value = "".join([a or b or c for a, b, c in _PIECE.findall(value)])
            if target is not None:
                target.append(value)
                target = None
            elif value == "[[" and begins(words):
                return None
            elif "{" in value and value == token[1]:
                words += expanded(value)
            else:
                words.append(value)
            continue
        if target is not None or group == _ELSE:
            return None
        if group == _REDIRECTION:
            operator = token[3]
            if operator in (">&", "<&"):
                number = next(tokens) if _COPIED.match(text, at) else None
                if number is None or number.lastindex != _WORD:
                    return None
                at = number.end()
            else:
                target = reads if operator == "<" else writes
            continue
        value = token[2]
        if words or writes or reads:
            pipeline.append(Command(words, writes, reads, None, text[start : token.start(group or 0)].strip()))
        words, writes, reads = [], [], []
        start = at
        if pipeline and value not in ("|", "|&"):
            pipelines.append(pipeline)
            pipeline = []
        elif len(pipeline) >= MAX_COMMANDS:
            return [*pipelines, pipeline]
        if group == _END or len(pipelines) > MAX_COMMANDS:
            return pipelines
    return None


def _without_escapes(word: str) -> str:
    """A word without its quotes and backslashes; in double quotes a backslash escapes only the special characters."""
    return "".join(
        [
            _ESCAPE.sub(r"\1", double) if double else single or escaped or plain
            for single, double, plain, escaped in _ESCAPED_PIECE.findall(word)
        ]
    )
