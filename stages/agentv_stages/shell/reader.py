"""Reads any shell text character by character: its commands, substitutions and here-documents.

Nothing is expanded and nothing is refused: unbalanced quotes run to the end of the text. One pass, linear in length.
"""

import re
from itertools import islice

from msgspec import Struct

from agentv_stages.shell.tables import KEYWORDS

MAX_DEPTH = 25
MAX_COMMANDS = 5_000
"""Commands that are read of one text; the rest is ignored."""

_PLAIN = re.compile(r"[^\s'\"\\$`|&;<>()#{}]+")
_QUOTED = re.compile(r"[^\"\\$`]+")
_BLANK = re.compile(r"(?:[ \t\r]|\\\r?\n)+")
_LIST = re.compile(r"\w+\+?=")  # what precedes a list
_HERE_ESCAPE = re.compile(r"\\(?:\n|([$`\\]))")
_ANSI_QUOTED = re.compile(r"\$'((?:[^'\\]++|\\.)*+)\\?'?", re.S)
_ANSI_ESCAPE = re.compile(r"""\\(?:([ntre\\'"?])|x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|([0-7]{1,3}))""")
_ANSI_MEANS = {"n": "\n", "t": "\t", "r": "\r", "e": "\033"}
_UNBRACED = re.compile(r"(?:[^}$`\\]|\\.)++", re.S)
_BRACED = re.compile(r"\$\{[^}$`\\]*+\}")
_SUBSTITUTION = re.compile(r"\\.|\$\(|`", re.S)
_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")
_MOST_BRACES = 64
_PARENTHESES = re.compile(r"[()]")
_MOST_PARENTHESES = 64
_REDIRECT = re.compile(r"(?:\d*(>>|>\||>&|>|<<<|<<-|<<|<&|<>|<)|(&>>|&>))")


class Command(Struct):
    """A simple command. `words` are unquoted; `writes` and `reads` are the targets of its redirections; `script` is the
    body of its here-document, `input_text` that of its here-string; `text` is the command as written in the shell text.
    `expanded` are the words that contain substitutions: what those run are commands of their own. `listed` is where in
    `text` the last list of an assignment ends (`x=(…)`). `shell` are the numbers of the subshells that it is in."""

    words: list[str] = []
    writes: list[str] = []
    reads: list[str] = []
    script: str | None = None
    text: str = ""
    expanded: set[str] | None = None
    input_text: str | None = None
    listed: int = 0
    shell: tuple[int, ...] = ()


Pipeline = list[Command]


def _ansi(found: re.Match[str]) -> str:
    """The character that an escape in `$'…'` stands for."""
    if found[1]:
        return _ANSI_MEANS.get(found[1], found[1])
    number = int(found[4], 8) & 255 if found[4] else int(found[2] or found[3], 16)
    return chr(number) if number and not 0xD800 <= number < 0xE000 else ""


def expanded(word: str) -> list[str]:
    """The words for which an unquoted word with braces stands (`a/{b,c}`); itself if they would be too many."""
    if "," not in word or "$" in word:
        return [word]
    done: list[str] = []
    waiting = [word]
    while waiting and len(done) + len(waiting) <= _MOST_BRACES:
        word_ = waiting.pop()
        found = _BRACES.search(word_)
        if found is None:
            done.append(word_)
        else:
            parts = found[1].split(",")
            waiting += [word_[: found.start()] + part + word_[found.end() :] for part in reversed(parts)]
    return [word] if waiting else done


def begins(words: list[str]) -> bool:
    """Whether a command begins after these words: there are none, or the last one is a keyword."""
    return not words or words[-1] in KEYWORDS or words[-1] == "for"


class Reader:
    """Reads one text. With `already_read`, the pipelines of substitutions are left out (`split_shell`)."""

    def __init__(self, text: str, already_read: bool = False) -> None:
        self.text = text
        self.already_read = already_read
        self.at: int = 0
        self.pipelines: list[Pipeline] = []
        self.waiting: list[tuple[Command, str, bool, int]] = []
        self.gone: set[str] = set()
        self.backticks = False
        self.cases = "esac" in text
        self.count: int = 0
        self.shells: int = 0
        self.shell: tuple[int, ...] = ()

    def find(self, needle: str, at: int) -> int:
        """As `text.find`, but the end of the text if not found; a failed search is not repeated."""
        if needle not in self.gone:
            found = self.text.find(needle, at)
            if found >= 0:
                return found
            self.gone.add(needle)
        return len(self.text)

    def read(self) -> list[Pipeline]:
        while self.at < len(self.text) and self.count < MAX_COMMANDS:
            self.list_until("", 0)
        return [p for p in ([c for c in p if c.words or c.writes or c.reads] for p in self.pipelines) if p]

    def list_until(self, end: str, depth: int) -> None:
        """Reads commands until the unquoted character `end` (or one closing parenthesis) or the end of the text; with a
        `depth`, as those of a subshell."""
        outer = self.shell
        if depth:
            self.shells += 1
            self.shell = (*outer, self.shells)
        self.commands_until(end, depth)
        self.shell = outer

    def commands_until(self, end: str, depth: int) -> None:
        text, size = self.text, len(self.text)
        command, pipeline, start = Command(), Pipeline(), self.at
        branch = False  # whether a pattern of `case` may follow

        def finish(end_at: int) -> None:
            nonlocal command
            written = text[start:end_at].lstrip()
            command.text = written.rstrip()
            command.shell = self.shell
            if command.listed:
                command.listed -= end_at - len(written)
            pipeline.append(command)
            command = Command()
            self.count += 1

        def take_word() -> None:
            count, begin = self.count, self.at
            word = self.word(depth)
            if word == "[[" and begins(command.words):
                self.no_command("]]", depth)
            if "{" in word and word == text[begin : self.at]:
                command.words += expanded(word)
            else:
                command.words.append(word)
            if self.count > count:
                command.expanded = {*(command.expanded or ()), word}

        while self.at < size and self.count < MAX_COMMANDS:
            at = self.at
            c = text[at]
            if c in " \t\r" or (c == "\\" and text[at + 1 : at + 2] in ("\n", "\r")):
                blank = _BLANK.match(text, at)
                self.at = blank.end() if blank else at + 1
            elif c == ")" and self.cases and (end != ")" or branch or "case" in command.words):
                self.at = at + 1  # the text before it was a pattern
                branch = False
                command, pipeline, start = Command(), Pipeline(), self.at
            elif c == end or c == ")":
                finish(at)
                self.pipelines.append(pipeline)
                self.at = at + 1
                return
            elif c == "`" and self.backticks:  # ends the substitution that contains this list
                finish(at)
                self.pipelines.append(pipeline)
                return
            elif c == "\n":
                branch = self.cases and (command.words[-1:] == ["in"] if command.words else branch)
                finish(at)
                self.pipelines.append(pipeline)
                self.at = at + 1
                self.here_documents(depth)
                pipeline, start = Pipeline(), self.at
            elif c == "#" and (at == 0 or text[at - 1] in " \t\r\n;&|()"):
                self.at = self.find("\n", at)
            elif c in "<>&" or c.isdigit():
                redirect = _REDIRECT.match(text, at)
                if redirect:
                    self.at = redirect.end()
                    self.redirect(redirect[1] or redirect[2], command, depth)
                elif c == "&":
                    finish(at)
                    self.pipelines.append(pipeline)
                    self.at = at + (2 if text.startswith("&&", at) else 1)
                    pipeline, start = Pipeline(), self.at
                else:
                    take_word()
            elif c == "|":
                finish(at)
                two = text[at : at + 2]
                self.at = at + (2 if two in ("||", "|&") else 1)
                if two == "||":
                    self.pipelines.append(pipeline)
                    pipeline = Pipeline()
                start = self.at
            elif c == ";":
                branch = text.startswith(";;", at) or text[at - 1 : at] == ";"
                finish(at)
                self.pipelines.append(pipeline)
                self.at = at + 1
                pipeline, start = Pipeline(), self.at
            elif c == "(":
                self.at = at + 1
                if self.cases and (branch or ("case" in command.words and command.words[-1] == "in")):
                    continue  # `(` before a pattern
                if text.startswith("((", at) and begins(command.words):
                    self.at = at + 2
                    self.arithmetic(depth)
                elif text[at - 1 : at] == "=" and command.words and _LIST.fullmatch(command.words[-1]):
                    self.no_command(")", depth)
                    command.listed = self.at
                elif depth < MAX_DEPTH:
                    self.list_until(")", depth + 1)
            else:
                take_word()
                branch = branch and command.words[0] != "esac"
        finish(self.at)
        self.pipelines.append(pipeline)

    def no_command(self, end: str, depth: int) -> None:
        """Reads text that is no command to its end (`[[ … ]]`, the list in `name=( … )`); substitutions in it are."""
        text = self.text
        while self.at < len(text) and self.count < MAX_COMMANDS:
            at = self.at
            if text[at] in " \t\r\n&|;<>()":
                self.at = at + 1
                if text[at] == end:
                    return
            elif self.word(depth) == end or self.at == at:
                return

    def here_documents(self, depth: int) -> None:
        """Reads the bodies of here-documents that begin at the next line; if their mark is not quoted, substitutions in
        them are commands."""
        text = self.text
        for command, mark, tabs, place in self.waiting:
            begin = at = self.at
            while True:
                line_end = text.find("\n", at)
                line = text[at:] if line_end < 0 else text[at:line_end]
                if (line.lstrip("\t") if tabs else line).rstrip("\r") == mark:
                    command.script = text[begin:at]
                    self.at = len(text) if line_end < 0 else line_end + 1
                    break
                if line_end < 0:
                    command.script = text[begin:]
                    self.at = len(text)
                    break
                at = line_end + 1
            if place >= 0 and depth < MAX_DEPTH and ("$(" in command.script or "`" in command.script):
                body = Reader(command.script, self.already_read)
                body.count, body.shells, body.shell = self.count, self.shells, self.shell
                body.substitutions(depth)
                self.shells = body.shells
                if body.count > self.count:
                    self.count = body.count
                    self.pipelines[place:place] = body.pipelines
                    command.expanded = {*(command.expanded or ()), command.script}
            if place >= 0 and "\\" in command.script and command.script not in (command.expanded or ()):
                command.script = _HERE_ESCAPE.sub(r"\1", command.script)
        self.waiting.clear()

    def substitutions(self, depth: int) -> None:
        """Reads the substitutions of a here-document, where quotes mean nothing."""
        while found := _SUBSTITUTION.search(self.text, self.at):
            self.at = found.end()
            if found[0][0] != "\\":
                self.at = found.start()
                self.dollar([], depth)

    def redirect(self, operator: str, command: Command, depth: int) -> None:
        blank = _BLANK.match(self.text, self.at)
        if blank:
            self.at = blank.end()
        if self.text.startswith("(", self.at):  # process substitution
            self.at += 1
            if depth < MAX_DEPTH:
                self.list_until(")", depth + 1)
            return
        if self.at >= len(self.text) or self.text[self.at] in "\n|;&<>)":
            if not (operator in (">&", "<&") or self.text.startswith("&", self.at)):
                return
            self.at += 1
        count, begin = self.count, self.at
        target = self.word(depth)
        if operator == "<<<":
            command.input_text = target
            if self.count > count:
                command.expanded = {*(command.expanded or ()), target}
        elif operator in ("<<", "<<-"):
            place = len(self.pipelines) if target == self.text[begin : self.at] else -1  # of its substitutions
            self.waiting.append((command, target, operator == "<<-", place))
        elif operator == "<":
            command.reads.append(target)
        elif operator in (">&", "<&"):
            if not target.rstrip("-").isdigit() and target != "-" and operator == ">&":
                command.writes.append(target)
        else:
            command.writes.append(target)

    def word(self, depth: int) -> str:
        """One word, unquoted; substitutions in it are read as commands and kept in it as written."""
        text, size = self.text, len(self.text)
        parts: list[str] = []
        while self.at < size:
            at = self.at
            plain = _PLAIN.match(text, at)
            if plain:
                parts.append(plain[0])
                self.at = plain.end()
                continue
            c = text[at]
            if c in " \t\r\n|&;<>)" or (c == "(" and not parts):
                break
            if c == "`" and self.backticks:
                break
            if c == "(":  # `name()` of a function, an array `x=(…)`, a glob pattern
                break
            if c == "'":
                close = self.find("'", at + 1)
                parts.append(text[at + 1 : close])
                self.at = close + 1
            elif c == '"':
                self.at = at + 1
                self.double_quoted(parts, depth)
            elif c == "\\":
                if text[at + 1 : at + 2] != "\n":
                    parts.append(c * self.in_path(at) + text[at + 1 : at + 2])
                self.at = at + 2
            elif c == "$" or c == "`":
                self.dollar(parts, depth)
            else:  # `#` inside a word, braces
                parts.append(c)
                self.at = at + 1
        if self.at < size and not parts and text[self.at] == "(":
            self.at += 1
        return "".join(parts)

    def in_path(self, at: int) -> bool:
        """Whether a backslash is part of a Windows path (`C:\\a`, `..\\a`), where it escapes nothing."""
        before, after = self.text[at - 1 : at], self.text[at + 1 : at + 2]
        if after.isalnum() or after == "_":
            return before.isalnum() or before in ("_", ".", ":")
        return before == after == "."

    def double_quoted(self, parts: list[str], depth: int) -> None:
        text, size = self.text, len(self.text)
        while self.at < size:
            at = self.at
            run = _QUOTED.match(text, at)
            if run:
                parts.append(run[0])
                self.at = run.end()
                continue
            c = text[at]
            if c == '"':
                self.at = at + 1
                return
            if c == "`" and self.backticks:
                return
            if c == "\\":
                after = text[at + 1 : at + 2]
                if after != "\n":
                    parts.append(after if after in '"\\$`' else "\\" + after)
                self.at = at + 2
            elif text[at : at + 2] in ("$'", '$"'):  # has no meaning inside double quotes
                parts.append("$")
                self.at = at + 1
            else:
                self.dollar(parts, depth)

    def dollar(self, parts: list[str], depth: int) -> None:
        """A `$…` or a backtick at the reading position."""
        text = self.text
        at = self.at
        before = len(self.pipelines)
        if self.count >= MAX_COMMANDS:
            parts.append(text[at])
            self.at = at + 1
        elif text[at] == "`":
            self.at = at + 1
            if depth < MAX_DEPTH and not self.backticks:
                self.backticks = True
                self.list_until("`", depth + 1)
                self.backticks = False
            parts.append(self.substituted(at, before))
        elif text.startswith("$((", at) and self.is_arithmetic(at + 3):
            self.at = at + 3
            self.arithmetic(depth)
            parts.append(self.substituted(at, before))
        elif text.startswith("$(", at) and depth < MAX_DEPTH:
            self.at = at + 2
            self.list_until(")", depth + 1)
            parts.append(self.substituted(at, before))
        elif text.startswith("${", at):
            braced = _BRACED.match(text, at)
            if braced:
                self.at = braced.end()
                parts.append(braced[0])
            else:
                count = self.count
                self.braced(depth)
                parts.append(self.substituted(at, before) if self.count > count else text[at : self.at])
        elif text.startswith("$'", at):
            quoted = _ANSI_QUOTED.match(text, at)
            assert quoted is not None  # it matches whatever follows
            parts.append(_ANSI_ESCAPE.sub(_ansi, quoted[1]))
            self.at = quoted.end()
        else:
            parts.append("$")
            self.at = at + 1

    def is_arithmetic(self, at: int) -> bool:
        """Whether the text after `$((` ends with `))`; otherwise it is a command in parentheses, `$( (a) | b)`."""
        depth = 2
        for found in islice(_PARENTHESES.finditer(self.text, at), _MOST_PARENTHESES):
            depth += 1 if found[0] == "(" else -1
            if depth == 1:
                return self.text.startswith(")", found.end())
        return True

    def arithmetic(self, depth: int) -> None:
        """Reads `((…))` to its end; substitutions in it are commands."""
        text = self.text
        end = self.find("))", self.at)
        while self.at < end:
            found = _SUBSTITUTION.search(text, self.at, end)
            if found is None or (found[0] == "`" and self.backticks):
                break
            self.at = found.end()
            if found[0][0] != "\\" and depth < MAX_DEPTH:
                self.at = found.start()
                self.dollar([], depth + 1)
                end = self.find("))", self.at)
        self.at = max(self.at, end + 2)

    def braced(self, depth: int) -> None:
        """Reads `${…}` with something in it that means something (`${x:-$(a)}`)."""
        text = self.text
        self.at += 2
        while self.at < len(text):
            c = text[self.at]
            if c == "`" and self.backticks:
                return
            if c == "}":
                self.at += 1
                return
            if c in "$`" and depth < MAX_DEPTH:
                self.dollar([], depth + 1)
            else:
                skipped = _UNBRACED.match(text, self.at)
                self.at = skipped.end() if skipped else self.at + 1

    def substituted(self, at: int, before: int) -> str:
        """A substitution that was read from `at` on, as its word contains it; `before` pipelines came before it."""
        if not self.already_read:
            return self.text[at : self.at]
        del self.pipelines[before:]
        return "$()"
