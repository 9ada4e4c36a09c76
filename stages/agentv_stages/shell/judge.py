"""Judges one shell text: its pipelines one after the other, each command through its wrappers, and the scripts that it
gives to other shells. `classify` turns the outcome into facts."""

import posixpath
import re
from collections.abc import Iterable, Sequence

from agentv_stages.model.event import Kind
from agentv_stages.shell.arguments import EXECUTE, NOTHING, WRITES, Part, bundles, is_file
from agentv_stages.shell.folders import folder_after, part_in, path_in
from agentv_stages.shell.loads import loads
from agentv_stages.shell.options import is_assignment
from agentv_stages.shell.programs import judge_program
from agentv_stages.shell.reader import Command, Pipeline
from agentv_stages.shell.scripts import (
    feed,
    head_of_function,
    jobs_of,
    program_name,
    reads_script,
    script_of,
    was_expanded,
    with_arguments,
)
from agentv_stages.shell.tables import HEADERS, KEYWORDS, SHELLS, TYPES
from agentv_stages.shell.variables import SETS, Variables, arguments, assign, loop, with_values
from agentv_stages.shell.words import split_shell
from agentv_stages.shell.wrappers import NAMES, READ_TEXTS, Inner, inner_commands

MAX_NESTING = 8
_KEPT_PROGRAMS = 1_000
_KEPT_COPIES = 16  # texts kept per length of the input: wrappers and substitutions repeat the text that they run
_KEPT_TEXT = 16 * 1024 * 1024
_KEPT_FILES = 100
_BEFORE = " \t\r\n'\""  # characters that may precede a word
_STANDS_FOR = re.compile(r"[$`]|\{[./]{0,2}\}")
_WRAPPED = 12  # words in which a shell is searched: `sudo -u name env A=1 bash`
_FED = SHELLS | READ_TEXTS | {"xargs"}
_QUOTE = re.compile(r"""'(?:"'"|\\')'""")  # a single quote within single quotes
_BLANK = re.compile(r"\s")
_OPENS = frozenset(("for", "select", "if", "while", "until", "{", "case"))
_SCRIPTED = SHELLS | {".", "source"}


class Programs:
    """The programs that a shell text runs, with their texts; `calls` gets the words of each, and shows that they are
    asked for."""

    def __init__(self, size: int, calls: list[tuple[str, ...]] | None = None) -> None:
        self.found: list[tuple[str, str]] = []
        self.calls = calls
        self._left = min(size * _KEPT_COPIES, _KEPT_TEXT)

    def add(self, name: str, words: list[str], command: Command) -> None:
        if len(self.found) < _KEPT_PROGRAMS and self._left > 0:
            text = command.text
            begin = _place(words[0], text, command.listed)
            if begin > 0 and text[begin - 1] in "'\"":
                begin -= 1  # the quote belongs to the program's name
            source = text[begin:] if begin >= 0 else " ".join(words)
            self._left -= len(source)
            self.found.append((name, source))
            if self.calls is not None:
                self.calls.append(tuple(words))


def _place(word: str, text: str, begin: int) -> int:
    """The position of a word in a command's text: not in an assignment (`x=rg rg a`) if possible; -1 if nowhere."""
    first = at = text.find(word, begin)
    while at >= 0 and ((at and text[at - 1] not in _BEFORE) or text.startswith("=", at + len(word))):
        at = text.find(word, at + 1)
    return at if at >= 0 else first


class Judge:
    """Collects the parts of one shell text. `types`: it is one of a shell in which `type` prints files."""

    def __init__(self, programs: Programs) -> None:
        self.parts: list[Part] = []
        self.programs = programs
        self.tracing = programs.calls is not None
        self.written: list[str] = []
        self.reads: list[str] = []
        self.searched: list[str] = []
        self.listed: list[str] = []
        self.wrote = False
        self.already_read = False
        self.types = False
        self.functions: set[str] = set()
        self.variables: Variables = {}
        self.place: str | None = None  # for which `{}` stands
        self.folder: str | None = ""  # of the pipeline at hand, from where the text begins; None if it is not known

    def text(self, text: str, nesting: int, already_read: bool = False) -> str:
        """Reads a shell text; returns the innermost script that makes up all of it. `already_read`: as for
        `split_shell`."""
        pipelines = split_shell(text, already_read)
        if len(pipelines) == 1 and len(pipelines[0]) == 1 and nesting < MAX_NESTING:
            command = pipelines[0][0]
            if len(command.words) > 2 and not command.writes:
                name = program_name(command.words[0])
                if name in SHELLS:
                    script = script_of(name, command.words)
                    if script is not None:
                        self.types = name in TYPES
                        if script in command.words and command.words[-1] is not script:
                            operands = command.words[command.words.index(script) + 1 :]
                            self.variables = arguments(self.variables, operands)
                        return self.text(script, nesting + 1, already_read)
        self.already_read = already_read
        self.pipelines(pipelines, nesting)
        return text

    def pipelines(self, pipelines: list[Pipeline], nesting: int) -> None:
        folders: dict[tuple[int, ...], str | None] = {(): self.folder}
        for pipeline in pipelines:
            shell = outer = pipeline[0].shell
            while outer not in folders:
                outer = outer[:-1]
            self.folder = folders[outer]
            # Each command of a pipeline runs in a shell of its own; the last one may begin a list in that shell.
            own_shells = len(pipeline) > 1 and _OPENS.isdisjoint(pipeline[-1].words)
            if len(pipeline) == 1 and not pipeline[0].writes:
                part = self.command(pipeline[0], nesting)
                if part.kind == "write" and part.patch is None:
                    self.wrote = True
                    self.note(part.more)
            else:
                outer_variables, self.variables = self.variables, {**self.variables}
                part = self.pipeline(pipeline, nesting)
                if own_shells:
                    self.variables = outer_variables
            if not own_shells and (part.kind is None or len(pipeline) > 1):
                folders[shell] = folder_after(self.folder, pipeline[-1].words)
            self.parts.append(part_in(self.folder, part))

    def pipeline(self, pipeline: Pipeline, nesting: int) -> Part:
        """The effect of a pipeline. Its first command of interest decides, unless a later one writes a file.

        A filter of an `echo` (`echo x | wc -c`) reads no file, so it is of no interest either.
        """
        first = NOTHING
        patch: Part | None = None
        writes = False
        found = ""  # where the command ahead of a pipe looks for files
        for i, command in enumerate(pipeline):
            if i and command.script is None and command.input_text is None:
                if not _FED.isdisjoint(map(program_name, command.words[:_WRAPPED])):
                    feed(command, pipeline[:i])
            part = self.command(command, nesting)
            if found and self.tracing and "xargs" in command.words:
                self.keep(self.reads if part.kind != "write" else self.written, (found,))
            if self.tracing and part.tool == "Glob" and command.words:
                found = _place_of(part, program_name(command.words[0]))
            for target in command.writes:
                if is_file(target):
                    writes = True
                    self.note((target,))
            if part.patch is not None:
                fed = next((c.script for c in pipeline[:i] if c.script), "")
                patch = part if part.patch else part._replace(patch=fed)
            elif part.kind == "write":
                writes = True
                self.note(part.more)
            if first.kind is None and not (i and takes_pipe(part, command)):
                first = part
        self.wrote = self.wrote or writes
        if patch is not None:
            return patch
        return WRITES if writes else first

    def note(self, targets: Sequence[str]) -> None:
        """Keeps the names of written files."""
        self.keep(self.written, targets)

    def keep(self, kept: list[str], paths: Iterable[str | None]) -> None:
        """Keeps the names of files, but not names that stand for something else (`$x`, `{}`)."""
        for path in paths:
            if path and len(kept) < _KEPT_FILES and is_file(path):
                if self.place is not None and "{}" in path:
                    path = path.replace("{}", self.place)
                path = path_in(self.folder, path)
                if not _STANDS_FOR.search(path):
                    kept.append(path)

    def touches(self, part: Part) -> None:
        """Keeps the files that a command reads, searches or lists."""
        if part.tool in ("Read", "Grep"):
            self.keep(self.reads, (part.path, *part.more))
        if part.tool in ("Grep", "Glob"):
            self.keep(self.searched, (part.path, *part.more))
        elif part.tool == "LS":
            self.keep(self.listed, (part.path, *part.more))
        if part.loads:
            self.keep(self.reads, part.loads)

    def command(self, command: Command, nesting: int) -> Part:
        words = command.words
        if "$" in command.text and (self.variables or "IFS" in command.text):
            self.fill(command)
            words = command.words
        if self.tracing and command.reads:
            self.keep(self.reads, command.reads)
        heads = "{" in words or "function" in words or command.text[-1:] == ")"
        after = 0  # the head of a function
        for at, word in enumerate(words):
            if at < after:
                continue
            if heads:
                after = at + head_of_function(words, at, command.text)
                if after > at:
                    self.functions.add(words[at + 1] if word == "function" and at + 1 < len(words) else word)
                    continue
            if word == "time" and words[at + 1 : at + 2] and words[at + 1].startswith("-"):
                timed = inner_commands("time", words[at:])  # with an option it is not the keyword, but means the same
                return self.run(timed.words, command, nesting) if timed and timed.words else NOTHING
            if word == "coproc" and words[at + 2 : at + 3] == ["{"]:
                return self.run(words[at + 3 :], command, nesting)
            if word in KEYWORDS or ("=" in word and is_assignment(word)):
                continue
            if word in HEADERS:
                if word == "for":
                    loop(self.variables, words[at:])
                return NOTHING
            return self.run(words[at:] if at else words, command, nesting)
        assign(self.variables, words)
        return NOTHING

    def fill(self, command: Command) -> None:
        """Puts the values of variables into a command. A word with substitutions stays as it is, and a word in single
        quotes."""
        variables = {"IFS": (" ",), **self.variables}
        words, known = command.words, command.expanded or set[str]()
        at = 0
        while at < len(words) and (words[at] in KEYWORDS or ("=" in words[at] and is_assignment(words[at]))):
            at += 1
        filled: list[str] = []
        text = _QUOTE.sub("'", command.text)
        for word in words[at:]:
            if "$" not in word or word in known or f"'{word}'" in text:
                filled.append(word)
                continue
            values = with_values(variables, word)
            alone = not filled and len(values) == 1 and values != [word]
            if alone or ("IFS" in word and not _BLANK.search(word) and f'"{word}"' not in text):
                values = " ".join(values).split()
            filled += values
        command.words = words[:at] + filled
        command.reads = [value for word in command.reads for value in with_values(variables, word)]
        command.writes = [value for word in command.writes for value in with_values(variables, word)]

    def run(self, words: list[str], command: Command, nesting: int) -> Part:
        """Judges one program with its arguments, through its wrappers."""
        more_arguments = False  # by `xargs`, whose own words are not all the files, or stand for them (`-I%`)
        best = NOTHING  # of the texts that wrappers run
        for _ in range(MAX_NESTING * 4):
            name = program_name(words[0]) if words else ""
            if not name:
                return best
            if name[0] in "$`(":
                if self.tracing and name[0] == "$" and words[1:] and nesting < MAX_NESTING:
                    self.run(words[1:], command, nesting + 1)  # what runs where the variable is empty (`$SUDO rm x`)
                return EXECUTE
            self.programs.add(name, words, command)
            if "\\" in words[0]:  # a folder of Windows, or as in other shells nothing at all (`r\m`)
                plain = program_name(words[0].replace("\\", ""))
                if plain != name:
                    self.programs.add(plain, [plain, *words[1:]], command)
                    name = plain if plain in NAMES or plain in SHELLS else name
            if name in SETS:
                assign(self.variables, words[1:])
            if name in self.functions:
                return best  # its effect was judged where it is defined
            inner = inner_commands(name, words) if name in NAMES else None
            if inner is None:
                part = self.program(name, words, command, nesting, more_arguments)
                return part if best is NOTHING else stronger(best, part)
            if name == "command" and len(words) > 1 and words[1][:1] == "-" and words[1].lower().endswith("v"):
                return best
            if self.tracing:
                self.keep(self.reads, loads(name, words))
            if inner.row.stdin and not inner.words and not inner.texts:
                script = command.script if command.script is not None else command.input_text
                inner = inner._replace(texts=[] if script is None else [jobs_of(name, script)])
            if inner.row.elsewhere:
                return stronger(best, self.elsewhere(inner, words, command, nesting))
            for text in inner.texts:
                best = stronger(best, self.script(text, nesting, was_expanded(text, words, command), False))
            if not inner.words:
                return best if inner.texts or inner.row.idle else EXECUTE
            words = inner.words
            if inner.row.more:
                read = command.input_text if command.input_text is not None else command.script
                words = words if read is None else with_arguments(words, inner.mark, read)
                more_arguments = more_arguments or read is None
            if inner.folder:
                outer, self.folder = self.folder, path_in(self.folder, inner.folder)
                part = self.run(words, command, nesting + 1) if nesting < MAX_NESTING else EXECUTE
                self.folder = outer
                return stronger(best, part_in(inner.folder, part))
        return EXECUTE

    def program(self, name: str, words: list[str], command: Command, nesting: int, more_arguments: bool) -> Part:
        """Judges a program that is no wrapper. `more_arguments`: it gets arguments that the text does not show."""
        low = name.lower()
        if low in _SCRIPTED and (low in SHELLS or words[1:2] == ["/dev/stdin"]):
            script = script_of(low, words) if low in SHELLS else None
            if script is None and reads_script(words) and not more_arguments:
                script = command.script if command.script is not None else command.input_text
            operands = words[words.index(script) + 1 :] if script in words else []
            return self.script(script, nesting, was_expanded(script, words, command), low in TYPES, operands)
        part = judge_program("cat" if low == "type" and self.types else low, words, command)
        if self.tracing:
            part = part._replace(loads=(*part.loads, *loads(low, words)))
        if more_arguments and part.kind == "write" and part.patch is None:
            return WRITES
        if not part.inner or nesting >= MAX_NESTING:
            if (command.input_text is not None or command.script is not None) and takes_pipe(part, command):
                part = NOTHING._replace(loads=part.loads)
            if self.tracing:
                self.touches(part)
            return part
        if self.tracing:
            self.touches(part)
        best, outer = part, self.place
        self.place = _place_of(part, low)
        for line in part.inner:
            within = Command(list(line), text=" ".join(line), expanded=command.expanded)
            inner = self.run(within.words, within, nesting + 1)
            if inner.kind == "write" and inner.patch is None:
                self.note(inner.more)
                inner = WRITES
            best = stronger(best, inner)
        self.place = outer
        return best

    def elsewhere(self, inner: Inner, words: list[str], command: Command, nesting: int) -> Part:
        """Notes the programs that run on another machine, whose files are no files of the session."""
        away = Judge(self.programs)
        if nesting < MAX_NESTING:
            if inner.words:
                away.run(inner.words, command, nesting + 1)
            for text in inner.texts:
                already_read = self.already_read or was_expanded(text, words, command)
                pipelines = split_shell(text, already_read)
                if len(pipelines) == 1 and len(pipelines[0]) == 1:  # it gets the standard input (`ssh host sh <<END`)
                    only = pipelines[0][0]
                    only.script = command.script if only.script is None else only.script
                    only.input_text = command.input_text if only.input_text is None else only.input_text
                away.already_read = already_read
                away.pipelines(pipelines, nesting + 1)
        return EXECUTE

    def script(
        self, script: str | None, nesting: int, already_read: bool, types: bool, operands: Sequence[str] = ()
    ) -> Part:
        """Judges the script that is given to another shell, whose name and arguments are `operands`; `already_read` and
        `types`: as for the object."""
        if script is None or nesting >= MAX_NESTING:
            return EXECUTE
        inner = Judge(self.programs)
        inner.types = types
        inner.variables = arguments(self.variables, operands) if operands else {**self.variables}
        inner.text(script, nesting + 1, self.already_read or already_read)
        for kept, found in (
            (self.written, inner.written),
            (self.reads, inner.reads),
            (self.searched, inner.searched),
            (self.listed, inner.listed),
        ):
            self.keep(kept, found)
        self.wrote = self.wrote or inner.wrote
        best = inner.strongest()
        if best.kind == "write" and best.patch is None:
            return WRITES
        if best.tool == "Read" and len(inner.parts) > 1:
            return best._replace(more=tuple([path for path in inner.files() if path != best.path]))
        return best

    def strongest(self) -> Part:
        """The part that decides: a patch, then write, then execute, then the first of read and search."""
        best = NOTHING
        rank = 0
        for part in self.parts:
            if part.patch is not None:
                return part
            if part.kind is not None and _RANK[part.kind] > rank:
                best, rank = part, _RANK[part.kind]
        return best

    def files(self) -> tuple[str, ...]:
        """The files that purely reading commands read; those with variables are left out."""
        named = [path for part in self.parts if part.tool == "Read" for path in (part.path, *part.more)]
        known = dict.fromkeys(path for path in named if path and "$" not in path and "`" not in path)
        return tuple(known)[:_KEPT_FILES]


_RANK: dict[Kind, int] = {"read": 1, "search": 1, "execute": 2, "write": 3}


def stronger(first: Part, other: Part) -> Part:
    """The part that decides; the first of two equal ones."""
    if first.kind is None or (first.patch is None and other.kind is not None and _RANK[other.kind] > _RANK[first.kind]):
        return other
    return first


def _place_of(part: Part, name: str) -> str:
    """The place where a program looks for files: its folder; for `find`, the names in it that it looks for."""
    folder = part.path or "."
    named = name == "find" and part.pattern is not None and "/" not in part.pattern
    return posixpath.join(folder, part.pattern or "") if named else folder


def takes_pipe(part: Part, command: Command) -> bool:
    """Whether a command after a pipe, or with a text as its input (`<<<`, `<<`), reads that, and no file."""
    if part.path is not None or part.tool not in ("Read", "Grep") or part.inner:
        return False
    # the words after `xargs` are files; `grep -r` searches the folder
    if "xargs" in command.words:
        return False
    return part.tool == "Read" or not any(
        word == "--recursive" or bundles(word, "r") or bundles(word, "R") for word in command.words
    )
