"""What a shell call does, decided from its text: shell text in, kind, finer name, path, pattern and programs out.

The rules are those of docs/metrics.md, "Kinds of shell text", the same for every agent. The floor is what agtrace and
Codex's own parser know; here quoting, `bash -lc`, prefixes, pipes, redirections and here-documents are understood too.
What cannot be decided executes.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Literal, NamedTuple, TypeAlias

from agentv_stages.event import Kind
from agentv_stages.shell_words import Command, Pipeline, split_shell

ShellTool: TypeAlias = Literal["Bash", "Read", "LS", "Grep", "Glob", "Edit", "Write"]

MAX_NESTING = 8
_CACHED_TEXT = 2_048
_KEPT_PROGRAMS = 1_000
_KEPT_FILES = 100


class ShellFacts(NamedTuple):
    """What a shell text does.

    `tool_name` is the finer name of it (`Bash` where it has none). `path` is what a reading or listing command reads,
    `pattern` what a search looks for. `writes_file`: a file is changed otherwise than by a patch; `written` are the
    targets of redirections. `patch` is the body of an `apply_patch`. `programs` are the programs that it runs with
    their text, by the last part of their names, wrappers (`sudo`, `npx`) and what they wrap both. `script` is the text
    without a `bash -lc` around it.
    """

    kind: Kind
    tool_name: ShellTool = "Bash"
    path: str | None = None
    pattern: str | None = None
    writes_file: bool = False
    programs: tuple[tuple[str, str], ...] = ()
    written: tuple[str, ...] = ()
    patch: str | None = None
    script: str = ""


class _Part(NamedTuple):
    kind: Kind | None  # None: says nothing (cd, echo)
    tool: ShellTool = "Bash"
    path: str | None = None
    pattern: str | None = None
    patch: str | None = None


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_NOTHING = _Part(None)
_EXECUTE = _Part("execute")
_WRITE = _Part("write")

NEUTRAL = _set(
    "cd pushd popd chdir echo printf export unset set source . alias unalias true false : test [ [[ exit return local "
    "declare typeset readonly shopt umask trap pwd wait shift hash ulimit fi done esac } ) break continue "
    "set-location write-output write-host set-strictmode import-module out-null sl"
)
READ = _set(
    "cat bat batcat head tail less more nl tac wc diff cmp comm stat file cut sort uniq tr rev fold paste column jq yq "
    "xq xxd od hexdump strings zcat zless bzcat xzcat realpath readlink md5sum sha1sum sha256sum cksum du view "
    "get-content gc type"
)
LIST = _set("ls dir tree exa eza lsd get-childitem gci vdir")
GREP = _set("grep egrep fgrep zgrep rg ripgrep ag ack ack-grep ugrep pcregrep findstr select-string sls")
FIND = _set("find fd fdfind locate mdfind")
WRITE = _set(
    "cp mv rm mkdir rmdir touch ln unlink install truncate shred rsync patch sponge mkfifo "
    "set-content add-content out-file new-item remove-item copy-item move-item rename-item clear-content ni ri mkd md "
    "rd del erase copy move ren"
)
SHELLS = _set("bash sh zsh dash ksh fish ash powershell pwsh powershell.exe pwsh.exe cmd cmd.exe")
WRAPPERS = {
    "sudo": _set("-u -g -h -p -C -D -R -T -U"),
    "doas": frozenset(("-u", "-C")),
    "env": frozenset(("-u", "-C", "--unset", "--chdir")),
    "timeout": frozenset(("-k", "-s", "--kill-after", "--signal")),
    "gtimeout": frozenset(("-k", "-s")),
    "nice": frozenset(("-n",)),
    "ionice": frozenset(("-c", "-n", "-p")),
    "stdbuf": frozenset(("-i", "-o", "-e")),
    "xargs": _set("-a -d -E -I -L -n -P -s --max-args --max-procs --delimiter --arg-file --replace"),
    "time": frozenset(("-f", "-o")),
    "watch": frozenset(("-n", "--interval")),
    "nohup": frozenset[str](),
    "setsid": frozenset[str](),
    "command": frozenset[str](),
    "builtin": frozenset[str](),
    "exec": frozenset(("-a",)),
    "unbuffer": frozenset[str](),
    "caffeinate": frozenset(("-t", "-w")),
    "chronic": frozenset[str](),
}
"""Programs that run the program named after their options -> their options that take a value."""

RUNNERS = {
    "npx": "", "bunx": "", "uvx": "", "pnpx": "", "uv": "run", "poetry": "run", "pipenv": "run", "pdm": "run",
    "hatch": "run", "rye": "run", "pipx": "run", "pnpm": "exec dlx", "yarn": "exec dlx run", "npm": "exec x",
    "bundle": "exec", "mise": "exec x", "direnv": "exec", "rtk": "", "bun": "x", "conda": "run", "dotenv": "run",
}  # fmt: skip
"""Programs that find and run another one, behind the sub-command given here ("" for none)."""

RUNNER_VALUES = _set(
    "-p --package --with --from --python --project --directory --env-file --extra --group -c --call -n --name "
    "--cwd -C -w --prefix --index-url --with-requirements --with-editable"
)
KEYWORDS = _set("if then else elif while until do ! { time coproc")
HEADERS = frozenset(("for", "select", "case", "function"))

_COUNT = _set("-n -c --lines --bytes")
VALUES = {
    "head": _COUNT,
    "tail": _COUNT | {"-s", "--pid"},
    "nl": _set("-b -d -f -h -i -l -n -s -v -w"),
    "cut": _set("-b -c -d -f --delimiter --fields --characters --bytes --output-delimiter"),
    "sort": _set("-k -t -o -S -T --key --field-separator --output"),
    "column": _set("-t -s -c -o") - {"-t"},
    "fold": frozenset(("-w",)),
    "xxd": _set("-l -s -c -g"),
    "od": _set("-A -j -N -t -w"),
    "du": _set("-d --max-depth --exclude -B"),
    "stat": _set("-c -f --format --printf"),
    "tree": _set("-L -I -P -o --filelimit"),
    "ls": _set("-I -w --ignore --hide"),
    "diff": _set("-U -C -I -x -W --exclude --label"),
    "jq": _set("--arg --argjson --indent --slurpfile --rawfile -L -f --from-file --tab"),
    "bat": _set("-l -r -H --language --line-range --style --theme --highlight-line --color --paging"),
    "sed": _set("-e -f -l --expression --file"),
    "awk": _set("-F -v -f --field-separator --assign --file"),
    "grep": _set(
        "-A -B -C -e -f -m -d -D --after-context --before-context --context --regexp --file --max-count --include "
        "--exclude --exclude-dir --include-dir --color --colour --label"
    ),
    "rg": _set(
        "-A -B -C -e -f -m -g -t -T -j -M -r -E -d --after-context --before-context --context --regexp --file "
        "--max-count --glob --iglob --type --type-not --threads --max-columns --replace --encoding --max-depth --sort "
        "--sortr --pre --color --colors --engine --path-separator --max-filesize --type-add --ignore-file"
    ),
    "ag": _set("-A -B -C -G -m -p --ignore --ignore-dir --depth --max-count --context"),
    "ack": _set("-A -B -C -m -g -G --type --ignore-dir --ignore-file --max-count"),
    "fd": _set(
        "-e -t -d -E -c -j -g -s -S -x -X --extension --type --max-depth --min-depth --exclude --color "
        "--base-directory --search-path --owner --size --changed-within --changed-before --threads"
    )
    - {"-g", "-s"},
    "wc": frozenset(("--files0-from",)),
    "tr": frozenset[str](),
}
"""Options that take the next word as their value, per program."""

FAMILY = {"egrep": "grep", "fgrep": "grep", "zgrep": "grep", "ugrep": "grep", "pcregrep": "grep", "ripgrep": "rg",
          "ack-grep": "ack", "fdfind": "fd", "batcat": "bat", "gawk": "awk", "mawk": "awk", "nawk": "awk",
          "gsed": "sed", "yq": "jq", "xq": "jq", "gc": "get-content", "sls": "select-string"}  # fmt: skip
_NO_FILE = frozenset(("/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "$null", "nul", "-", ""))
_FIND_NAMES = _set("-name -iname -path -ipath -wholename -iwholename -regex -iregex")


def classify_shell(command: str | Sequence[str]) -> ShellFacts:
    """Decides what a shell text, or an array of words as Codex has it, does."""
    if isinstance(command, str):
        return _cached(command) if len(command) <= _CACHED_TEXT else _classify(command)
    words = [str(word) for word in command]
    name = program_name(words[0]) if words else ""
    if len(words) > 2 and name in SHELLS:
        script = _script_of(name, words)
        if script is not None:
            return classify_shell(script)
    facts = _Judge()
    facts.pipelines([[Command(words, text=" ".join(words))]], 0)
    return facts.facts(" ".join(words))


def run_commands(command: str | Sequence[str], name: str) -> list[str]:
    """The commands of a shell text that run the program `name`, each with its arguments as it stands there.

    Decided at command position: a path or an argument that only holds the word does not count, `/usr/bin/name`,
    `npx name` and `sudo name` do.
    """
    if isinstance(command, str) and name not in command:
        return []
    return [text for program, text in classify_shell(command).programs if program == name]


def runs_program(command: str | Sequence[str], name: str) -> bool:
    """Whether a shell text runs the program `name`, as `run_commands` decides it."""
    return bool(run_commands(command, name))


def program_name(word: str) -> str:
    """The last part of a program's path."""
    return word.rpartition("/")[2] if "/" in word else word


def _classify(text: str) -> ShellFacts:
    judge = _Judge()
    script = judge.text(text, 0)
    return judge.facts(script)


_cached = lru_cache(maxsize=1024)(_classify)


def _script_of(name: str, words: list[str]) -> str | None:
    """The script that a shell is given on its command line (`bash -lc TEXT`), None where it is none."""
    for i, word in enumerate(words[1:], 1):
        low = word.lower()
        if name.startswith(("powershell", "pwsh")):
            if low in ("-c", "-command", "-commandwithargs"):
                return " ".join(words[i + 1 :])
        elif name.startswith("cmd"):
            if low in ("/c", "/k", "/s/c"):
                return " ".join(words[i + 1 :])
        elif word == "--command" or (word.startswith("-") and not word.startswith("--") and "c" in word):
            rest = words[i + 1 :]
            if not rest:
                return None
            # `bash -lc cat file` comes from arrays joined by a space (agtrace); a real script is one word
            return " ".join(rest) if len(rest) > 1 and not set(rest[0]) & set(" \t\n;|&") else rest[0]
        elif not word.startswith("-") and not word.startswith("+"):
            return None
    return None


def _is_file(target: str) -> bool:
    return target.lower() not in _NO_FILE and not target.startswith(("/dev/fd/", "&"))


class _Judge:
    """Collects the parts of one shell text."""

    def __init__(self) -> None:
        self.parts: list[_Part] = []
        self.programs: list[tuple[str, str]] = []
        self.written: list[str] = []
        self.wrote = False

    def text(self, text: str, nesting: int) -> str:
        """Reads a shell text; gives the innermost script that is all of it."""
        pipelines = split_shell(text)
        if len(pipelines) == 1 and len(pipelines[0]) == 1 and nesting < MAX_NESTING:
            command = pipelines[0][0]
            if len(command.words) > 2 and not command.writes:
                name = program_name(command.words[0])
                if name in SHELLS:
                    script = _script_of(name, command.words)
                    if script is not None:
                        return self.text(script, nesting + 1)
        self.pipelines(pipelines, nesting)
        return text

    def pipelines(self, pipelines: list[Pipeline], nesting: int) -> None:
        for pipeline in pipelines:
            self.parts.append(self.pipeline(pipeline, nesting))

    def pipeline(self, pipeline: Pipeline, nesting: int) -> _Part:
        first = _NOTHING
        writes = False
        patch: _Part | None = None
        for command in pipeline:
            part = self.command(command, nesting)
            for target in command.writes:
                if _is_file(target):
                    writes = True
                    if len(self.written) < _KEPT_FILES:
                        self.written.append(target)
            if part.patch is not None:
                patch = part
            elif part.kind == "write":
                writes = True
            if first.kind is None:
                first = part
        if writes:
            self.wrote = True
        if patch is not None:
            return patch
        return _WRITE if writes else first

    def command(self, command: Command, nesting: int) -> _Part:
        words = command.words
        at, size = 0, len(words)
        while at < size:
            word = words[at]
            if word in KEYWORDS and word != "time":
                at += 1
            elif word in HEADERS:
                return _NOTHING
            elif "=" in word and not word.startswith(("=", "-", "/", ".")) and _is_assignment(word):
                at += 1
            else:
                break
        return self.run(words[at:], command, nesting) if at < size else _NOTHING

    def run(self, words: list[str], command: Command, nesting: int) -> _Part:
        """Judges one program with its arguments, through its wrappers."""
        for _ in range(MAX_NESTING * 4):
            if not words:
                return _NOTHING
            name = program_name(words[0])
            if not name or name.startswith(("$", "`", "(")):
                return _EXECUTE
            if len(self.programs) < _KEPT_PROGRAMS:
                begin = command.text.find(words[0])
                self.programs.append((name, command.text[begin:] if begin >= 0 else " ".join(words)))
            low = name.lower()
            if name in WRAPPERS:
                if name == "command" and len(words) > 1 and words[1] in ("-v", "-V"):
                    return _NOTHING
                rest = _after_options(name, words)
                if not rest:
                    return _NOTHING if name in ("env", "exec") else _EXECUTE
                words = rest
                continue
            if name in RUNNERS:
                words = _after_runner(name, words)
                if not words:
                    return _EXECUTE
                # npx and its like fetch the program first, but what runs is the program
                continue
            if low in SHELLS or name == "eval" or name == "su":
                script = " ".join(words[1:]) if name == "eval" else _script_of("sh" if name == "su" else low, words)
                if script is None or nesting >= MAX_NESTING:
                    return _EXECUTE
                inner = _Judge()
                inner.programs = self.programs
                inner.text(script, nesting + 1)
                self.written.extend(inner.written[: _KEPT_FILES - len(self.written)])
                self.wrote = self.wrote or inner.wrote
                return inner.strongest()
            return _judge_program(low, words, command)
        return _EXECUTE

    def strongest(self) -> _Part:
        """Write over execute over read or search; of read and search the first; a patch over all."""
        best = _NOTHING
        for part in self.parts:
            if part.patch is not None:
                return part
            if part.kind is not None and _RANK[part.kind] > (_RANK[best.kind] if best.kind else 0):
                best = part
        return best

    def facts(self, script: str) -> ShellFacts:
        best = self.strongest()
        return ShellFacts(
            best.kind or "execute",
            best.tool,
            best.path,
            best.pattern,
            self.wrote,
            tuple(self.programs),
            tuple(self.written),
            best.patch,
            script,
        )


_RANK: dict[Kind, int] = {"read": 1, "search": 1, "execute": 2, "write": 3}


def _is_assignment(word: str) -> bool:
    name = word.partition("=")[0].rstrip("+")
    return name.replace("_", "a").isalnum() and not name[:1].isdigit()


def _after_options(name: str, words: list[str]) -> list[str]:
    """What a wrapper runs: the words after its options, its variables and, for `timeout`, its duration."""
    values = WRAPPERS[name]
    at = 1
    while at < len(words):
        word = words[at]
        if word == "--":
            at += 1
            break
        if word.startswith("-") and len(word) > 1:
            at += 2 if word in values else 1
        elif name in ("env", "sudo", "doas") and "=" in word and _is_assignment(word):
            at += 1
        else:
            break
    return words[at + 1 :] if name in ("timeout", "gtimeout") else words[at:]


def _after_runner(name: str, words: list[str]) -> list[str]:
    commands = RUNNERS[name].split()
    at = 1
    seen = not commands
    while at < len(words):
        word = words[at]
        if word == "--":
            at += 1
            break
        if word.startswith("-"):
            at += 2 if word in RUNNER_VALUES else 1
        elif not seen:
            if word not in commands:
                return []
            seen = True
            at += 1
        else:
            break
    if not seen or at >= len(words):
        return []
    first = words[at]
    return [first.partition("@")[0] if first[:1] != "@" else first, *words[at + 1 :]]


def _has(words: list[str], *options: str) -> bool:
    """Whether an option stands in the words: as such, with a value behind it, or (`-i.bak`) with a suffix."""
    for word in words[1:]:
        for option in options:
            if word == option or (word.startswith(option) and not word[len(option)].isalnum()):
                return True
    return False


def _operands(name: str, words: list[str]) -> list[str]:
    """The words that are neither options nor their values."""
    values = VALUES.get(name, frozenset[str]())
    found: list[str] = []
    at = 1
    while at < len(words):
        word = words[at]
        if word == "--":
            found.extend(words[at + 1 :])
            break
        if word.startswith("-") and len(word) > 1:
            at += 2 if word in values else 1
            continue
        found.append(word)
        at += 1
    return found


def _value(words: list[str], *options: str) -> str | None:
    for i, word in enumerate(words[1:], 1):
        for option in options:
            if word == option:
                return words[i + 1] if i + 1 < len(words) else None
            if option.startswith("--") and word.startswith(option + "="):
                return word[len(option) + 1 :]
    return None


def _first(values: Sequence[str], position: int = 0) -> str | None:
    return values[position] if len(values) > position else None


def _judge_program(name: str, words: list[str], command: Command) -> _Part:
    family = FAMILY.get(name, name)
    if name in ("apply_patch", "applypatch"):
        body = command.script if command.script is not None else _first(words, 1)
        return _Part("write", "Edit", None, None, body or "")
    if name in NEUTRAL:
        return _NOTHING
    if name in GREP:
        return _judge_grep(family, words)
    if name in FIND:
        return _judge_find(family, words)
    if family == "git":
        return _judge_git(words)
    if name in LIST:
        return _Part("read", "LS", _first(_operands(family, words)))
    if family == "sed":
        if _has(words, "-i", "--in-place") or any(w[:1] == "-" and w[1:2] != "-" and "i" in w for w in _flags(words)):
            return _WRITE
        operands = _operands(family, words)
        own = _value(words, "-e", "-f", "--expression", "--file") is not None
        return _Part("read", "Read", _first(operands, 0 if own else 1) or _first(command.reads))
    if family == "awk":
        if "inplace" in words:
            return _WRITE
        operands = _operands(family, words)
        own = _value(words, "-f", "--file") is not None
        program = "" if own else _first(operands) or ""
        if ">" in program and ('"' in program.partition(">")[2] or ">>" in program):
            return _EXECUTE  # may print into a file; or compare with a text
        return _Part("read", "Read", _first(operands, 0 if own else 1) or _first(command.reads))
    if family in ("perl", "ruby"):
        return _WRITE if any(w[1:2] != "-" and "i" in w for w in _flags(words)) else _EXECUTE
    if name == "tee":
        return _WRITE if any(_is_file(w) for w in _operands(family, words)) else _NOTHING
    if name == "dd":
        return _WRITE if any(w.startswith("of=") and _is_file(w[3:]) for w in words) else _EXECUTE
    if name in WRITE:
        return _WRITE
    if name in READ:
        return _judge_read(family, name, words, command)
    return _EXECUTE


def _flags(words: list[str]) -> list[str]:
    """The leading bundles of short options."""
    found: list[str] = []
    for word in words[1:]:
        if not word.startswith("-") or word == "--":
            break
        if not word.startswith("--") and word[1:2] not in ("e", "f", "I", "M", "m"):
            found.append(word.partition("e")[0])
    return found


def _judge_read(family: str, name: str, words: list[str], command: Command) -> _Part:
    if family == "sort" and _value(words, "-o", "--output") is not None:
        return _WRITE
    if name == "yq" and _has(words, "-i", "--inplace"):
        return _WRITE
    operands = _operands(family, words)
    if name == "get-content":
        return _Part("read", "Read", _value(words, "-Path", "-LiteralPath", "-path") or _first(operands))
    position = 1 if family == "jq" and _value(words, "-f", "--from-file") is None else 0
    path = _first(operands, position) if family != "tr" else None
    if path is None and not command.reads and command.script is not None:
        return _NOTHING  # prints its here-document, as echo does
    return _Part("read", "Read", path if path is not None else _first(command.reads))


def _judge_grep(family: str, words: list[str]) -> _Part:
    operands = _operands(family, words)
    if family == "rg" and _has(words, "--files"):
        return _Part("search", "Glob", _first(operands), _value(words, "-g", "--glob", "--iglob"))
    pattern = _value(words, "-e", "--regexp", "-Pattern", "-pattern")
    if pattern is not None:
        return _Part("search", "Grep", _first(operands), pattern)
    return _Part("search", "Grep", _first(operands, 1), _first(operands))


def _judge_find(family: str, words: list[str]) -> _Part:
    if family == "find":
        for i, word in enumerate(words[1:], 1):
            if word in ("-delete", "-fprint", "-fprintf", "-fls"):
                return _WRITE
            if word in ("-exec", "-execdir", "-ok", "-okdir"):
                inner = _Judge().run(words[i + 1 :], Command(words[i + 1 :]), MAX_NESTING)
                if inner.kind in ("write", "execute"):
                    return _WRITE if inner.kind == "write" else _EXECUTE
        path = next((w for w in words[1:] if not w.startswith(("-", "(", "!"))), None)
        if path is not None and words.index(path) > 1 and words[words.index(path) - 1].startswith("-"):
            path = None
        pattern = next((words[i + 1] for i, w in enumerate(words[:-1]) if w in _FIND_NAMES), None)
        return _Part("search", "Glob", path, pattern)
    if family == "fd":
        for i, word in enumerate(words):
            if word in ("-x", "-X", "--exec", "--exec-batch"):
                inner = _Judge().run(words[i + 1 :], Command(words[i + 1 :]), MAX_NESTING)
                if inner.kind in ("write", "execute"):
                    return _WRITE if inner.kind == "write" else _EXECUTE
                words = words[:i]
                break
    operands = _operands(family, words)
    return _Part("search", "Glob", _first(operands, 1), _first(operands))


def _judge_git(words: list[str]) -> _Part:
    at = 1
    while at < len(words) and words[at].startswith("-"):
        at += 2 if words[at] in ("-C", "-c", "--git-dir", "--work-tree") else 1
    if _first(words, at) == "grep":
        return _judge_grep("grep", words[at:])
    return _EXECUTE
