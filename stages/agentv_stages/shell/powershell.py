"""Prepares PowerShell texts for the shell reader: characters that mean something else are exchanged, then put back.

In PowerShell the escape character is the backtick, and a backslash is part of paths. Quotes, pipes, redirections and
`;` mean the same as in other shells, as far as it matters here.
"""

import re

from agentv_stages.shell.reader import Pipeline

_CMDLET = re.compile(
    r"(?:Get|Set|Select|Where|ForEach|Write|Test|Out|New|Remove|Copy|Move|Rename|Add|Clear|Join|Resolve|Split|Push|Pop"
    r"|Import|Export|ConvertFrom|ConvertTo|Measure|Sort|Group|Format|Invoke|Start|Stop|Expand|Compress|Compare)-"
    r"(?:Content|ChildItem|Item|Location|Object|Output|Host|Error|Warning|Verbose|String|Path|File|Null|Json|Csv|Variable"
    r"|Process|Service|Command|Date|Module|Type|Table|List|Web|Rest|Expression|Strict|Sleep|Archive|Acl|Job|Unique)"
)
_COMMAND_BEGINS = ";|({=\n"
_OF_OTHERS = ("<<", "& $", "powershell", "pwsh")
_HERE_STRINGS = (("'", re.compile(r"@'[ \t]*\r?\n")), ('"', re.compile(r'@"[ \t]*\r?\n')))
_NEXT_BLOCK = re.compile(r"\}\s*(?=(?:else|elseif|catch|finally)\b)")
_BLOCKS = frozenset(("foreach-object", "foreach", "%", "{", "try", "elseif", "catch", "finally"))
_BACKSLASH = "\ufdd0"  # a noncharacter; stands for a backslash while the text is read
_EXCHANGED = str.maketrans({"\\": _BACKSLASH, "`": "\\"})
_PUT_BACK = str.maketrans({_BACKSLASH: "\\", "\\": "`"})


def is_powershell(text: str) -> bool:
    """Whether a text has a here-string (`@'…'@`), or runs cmdlets and contains something that PowerShell reads
    differently. A text that starts PowerShell is another shell's; what `& $x` (the program in a variable) does is
    unknown."""
    if not ("$" in text or "\\" in text or "{" in text or "`" in text or "@" in text):
        return False
    if "\n'@" in text or '\n"@' in text:
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
    return _NEXT_BLOCK.sub(";", _without_here_strings(text)).translate(_EXCHANGED)


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
            words = [word.replace(_BACKSLASH, "\\") for word in command.words if word != "}"]
            begin = next((i for i, word in enumerate(words) if word.lower() not in _BLOCKS), len(words))
            words = words[begin:] if begin else words
            command.words = _without_variable(words) if words and words[0][:1] == "$" else words
            command.writes = [target.replace(_BACKSLASH, "\\") for target in command.writes]
            command.text = command.text.translate(_PUT_BACK)
    return pipelines


def _without_variable(words: list[str]) -> list[str]:
    """The command whose output is assigned to a variable (`$x = rg foo`); nothing for a plain value."""
    _, sets, rest = words[0].partition("=")
    value = [rest, *words[1:]] if rest else words[1:] if sets else words[2:] if words[1:2] == ["="] else []
    if not value or value[0][:1] == "$" or (len(value) == 1 and "-" not in value[0]):
        return []
    return value
