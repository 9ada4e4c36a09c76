"""Prepares PowerShell texts for the shell reader: characters that mean something else are exchanged, then put back.

In PowerShell the escape character is the backtick, and a backslash is part of paths. Quotes, pipes, redirections and
`;` mean the same as in other shells, as far as it matters here.
"""

import re

from agentv_stages.shell.reader import Pipeline
from agentv_stages.shell.tables import words

_CMDLET = re.compile(
    r"(?:Get|Set|Select|Where|ForEach|Write|Test|Out|New|Remove|Copy|Move|Rename|Add|Clear|Join|Resolve|Split|Push|Pop"
    r"|Import|Export|ConvertFrom|ConvertTo|Measure|Sort|Group|Format|Invoke|Start|Stop|Expand|Compress|Compare)-"
    r"(?:Content|ChildItem|Item|Location|Object|Output|Host|Error|Warning|Verbose|String|Path|File|Null|Json|Csv|Variable"
    r"|Process|Service|Command|Date|Module|Type|Table|List|Web|Rest|Expression|Strict|Sleep|Archive|Acl|Job|Unique|Hex)"
)
_ASSIGNS = re.compile(r"\$[A-Za-z_][\w:]*\s*[+-]?=(?!=)")  # as a first command only: awk and perl do it, too
_NET = re.compile(r"\[(?:System\.)?IO\.\w+\]::")
_COMMAND_BEGINS = ";|({=\n"
_OF_OTHERS = ("<<", "powershell", "pwsh")
_HERE_STRINGS = (("'", re.compile(r"@'[ \t]*\r?\n")), ('"', re.compile(r'@"[ \t]*\r?\n')))
_NEXT_BLOCK = re.compile(r"\}\s*(?=(?:else|elseif|catch|finally)\b)")
_BLOCKS = words("foreach-object foreach % { try catch finally if else elseif while do for switch")
_CALL = re.compile(r"(?<![&>])&[ \t]*(?=[\"'$(])")
_SETS = (["="], ["+="])
_STRING = re.compile(r"(?:^|[;|({}=])[ \t]*(?=[\"'])", re.M)
_VALUE = re.compile(r"-\w|\[(?!(?:system\.)?io\.)|[\d.,]+(?:[kmgtp]b)?$|@$|@\{|\.[a-z][\w.]*$", re.I)
"""What begins no command: an operator, a type or an index, a number, a list, a member (`(Get-Content a).Length`)."""
_BACKSLASH, _CALLED, _QUOTED = "\ufdd0", "\ufdd1", "\ufdd2"
"""Noncharacters for the time of reading: in place of a backslash, before what `&` runs, before a text in quotes that
begins a command, which PowerShell prints."""
_EXCHANGED = str.maketrans({"\\": _BACKSLASH, "`": "\\"})
_AS_WORDS = str.maketrans({_BACKSLASH: "\\", _CALLED: None, _QUOTED: None})
_PUT_BACK = {**_AS_WORDS, ord("\\"): "`"}


def is_powershell(text: str) -> bool:
    """Whether a text begins with a variable that is set, has a here-string (`@'…'@`), calls `[IO.…]::`, or runs cmdlets
    and contains something that PowerShell reads differently. A text that starts PowerShell is another shell's."""
    if not ("$" in text or "\\" in text or "{" in text or "`" in text or "@" in text or "(" in text):
        return False
    if (text[0] == "$" and _ASSIGNS.match(text)) or ("]::" in text and _NET.search(text)):
        return not any(word in text for word in _OF_OTHERS)
    if "@" in text and ("\n'@" in text or '\n"@' in text):
        code = _without_here_strings(text)
        if code != text:
            return not any(word in code for word in _OF_OTHERS)
    for cmdlet in _CMDLET.finditer(text):
        at = cmdlet.start()
        while at and text[at - 1] in " \t":
            at -= 1
        if not at or text[at - 1] in _COMMAND_BEGINS:
            return not any(word in text for word in _OF_OTHERS)
    return False


def exchanged(text: str) -> str:
    """The text in a form that the shell reader understands, with empty here-strings."""
    text = _NEXT_BLOCK.sub(";", _without_here_strings(text))
    return _STRING.sub(rf"\g<0>{_QUOTED}", _CALL.sub("&" + _CALLED, text)).translate(_EXCHANGED)


def _without_here_strings(text: str) -> str:
    for quote, begins in _HERE_STRINGS:
        kept: list[str] = []
        at = 0
        while (begin := begins.search(text, at)) and (end := text.find(f"\n{quote}@", begin.end() - 1)) >= 0:
            kept += (text[at : begin.start()], "''")
            at = end + 3
        text = "".join([*kept, text[at:]])
    return text


def put_back(pipelines: list[Pipeline]) -> list[Pipeline]:
    """The commands of an exchanged text, without braces of blocks and without names and assignments of variables."""
    for pipeline in pipelines:
        for command in pipeline:
            words = [word.translate(_AS_WORDS) for word in _commanded([word for word in command.words if word != "}"])]
            command.words = words
            command.writes = [target.translate(_AS_WORDS) for target in command.writes]
            command.text = command.text.translate(_PUT_BACK)
    return pipelines


def _commanded(words: list[str], assigned: bool = False) -> list[str]:
    """The words of a command without the beginnings of blocks and without values; marks of `exchanged` are kept.
    `assigned`: they are the value of a variable."""
    value = False
    for at, first in enumerate(words):
        name = first.lower()
        if name in _BLOCKS or (name in ("where-object", "?") and words[at + 1 : at + 2] == ["{"]):
            value = value and name != "{"
        elif value:
            continue
        elif first[:1] == _CALLED:
            return words[at:] if len(first) > 1 else ["$()", *words[at + 1 :]]  # `& (…)`: the program is unknown
        elif first[:1] == "$":
            return [] if assigned else _commanded(_without_variable(words[at:]), True)
        elif first[:1] == _QUOTED or _VALUE.match(first):
            value = True  # up to a block
        else:
            return words[at:]
    return []


def _without_variable(words: list[str]) -> list[str]:
    """The value that a variable is set to (`$x = rg foo`); nothing if it is not set."""
    _, sets, rest = words[0].partition("=")
    return [rest, *words[1:]] if rest else words[1:] if sets else words[2:] if words[1:2] in _SETS else []
