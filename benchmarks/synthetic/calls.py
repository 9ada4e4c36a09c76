# ruff: noqa: E501 (records are kept as the program writes them)
"""Tool calls of made-up Claude sessions, as Claude Code 2.1 writes them: name, input, result text, structured result."""

from __future__ import annotations

import random
from typing import NamedTuple

from synthetic.text import Body, Texts, escape

CWD = b"/home/dev/work/service"
_FOLDERS = ("src", "src/core", "src/api", "tests", "lib/io", "docs", "scripts", "packages/web/src", "ünïcode")
_ENDINGS = ("py", "ts", "go", "rs", "md", "json", "toml", "tsx")

_COMMANDS = (
    "ls -la",
    "git status --short",
    "git diff HEAD~1 -- src | head -200",
    "git log --oneline -20",
    "cat pyproject.toml",
    "python3 -m pytest -q tests",
    "python -m pytest tests/test_api.py -x -q 2>&1 | tail -40",
    "npm run build",
    "npm test -- --watch=false 2>&1 | grep -E 'FAIL|PASS' | head",
    "grep -rn 'def flush' src | head -20",
    "rg --files -g '*.py' | wc -l",
    'rg -n "TODO|FIXME" src tests',
    "find . -name '*.ts' -not -path './node_modules/*'",
    "sed -n '1,120p' src/core/session.py",
    "sed -i 's/old_name/new_name/g' src/core/session.py",
    "head -c 400 data.json; echo; wc -c data.json",
    "cd packages/web && npx tsc --noEmit",
    "mkdir -p out && cp src/config.json out/",
    "rm -rf build dist && make -j4",
    "cargo test --workspace -- --nocapture",
    "go vet ./... && go test ./...",
    "docker compose ps",
    "curl -s http://localhost:8080/health | jq .",
    "bobbin search 'where is the retry handled'",
    "cd /home/dev/work && bobbin index --quiet",
    "cat notes/bobbin/README.md",
    "python3 - <<'EOF'\nimport json\nprint(json.load(open('data.json'))['items'][:3])\nEOF",
    "cat > src/new_module.py <<'EOF'\ndef handler(event):\n    return {\"ok\": True}\nEOF",
    'echo "done ✓" && date',
    'git add -A && git commit -q -m "fix: flush on close"',
    "ps aux | grep -v grep | grep server | awk '{print $2}'",
    'for f in src/*.py; do python3 -m py_compile "$f" || exit 1; done',
    "timeout 60 ./run.sh --fast > /tmp/out.log 2>&1; tail -5 /tmp/out.log",
    "export LANG=C.UTF-8; printf '%s\\n' 日本語 | tee /tmp/words.txt",
    "ruff check --fix . && ruff format .",
    "apply_patch < change.patch",
)

_ERRORS = (
    "Exit code 1\n{text}",
    "Exit code 2\n{text}",
    "Exit code 127\n/bin/bash: line 1: frobnicate: command not found",
    "Exit code 143\nCommand timed out after 2m 0s {text}",
)
_DENIED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the "
    "new_string was NOT written to the file). STOP what you are doing and wait for the user to tell you how to proceed."
)


class Call(NamedTuple):
    """One tool call with its answer, ready to be put into records."""

    name: bytes
    input: bytes
    """A JSON object."""
    result: bytes
    """The JSON value of `content` in the tool_result block."""
    structured: bytes
    """The JSON value of `tool_use_result` (stream) and `toolUseResult` (session)."""
    flag: bytes
    """`is_error` as Claude writes it: left out, false or true, with the comma before it."""
    outcome: str
    """What a reader should make of it: ok, error or denied."""


_OK = b""
_FALSE = b',"is_error":false'
_TRUE = b',"is_error":true'


class Calls:
    """Draws calls in the proportions of logs from the wild: Bash 40 %, Read 22 %, Edit 15 %, the others below that."""

    def __init__(self, rng: random.Random, texts: Texts) -> None:
        self._rng = rng
        self._texts = texts
        self._paths = [
            CWD + b"/" + escape(f"{rng.choice(_FOLDERS)}/module_{n}.{rng.choice(_ENDINGS)}") for n in range(400)
        ]
        self._commands = [escape(command) for command in _COMMANDS]
        self._labels = [escape(f"Step {n}: look at module {n * 7 % 400}") for n in range(64)]
        makers = (
            (self._bash, 40), (self._read, 22), (self._edit, 15), (self._write, 5), (self._grep, 6), (self._glob, 3),
            (self._task_update, 3), (self._todo, 2), (self._fetch, 1), (self._mcp, 2), (self._skill, 1),
        )  # fmt: skip
        self._makers = [maker for maker, weight in makers for _ in range(weight)]

    def draw(self) -> Call:
        return self._rng.choice(self._makers)()

    def long_output(self, body: Body) -> Call:
        """One shell call whose output is the session's longest text."""
        return self._shell(escape("cat build/all.log"), body)

    def agent(self, prompt: bytes) -> bytes:
        """The input of an Agent call; its result is written by whoever runs the sub-agent."""
        label = self._rng.choice(self._labels)
        return b'{"prompt":"%b","description":"%b","subagent_type":"general-purpose","run_in_background":false}' % (
            prompt,
            label,
        )

    def _bash(self) -> Call:
        rng = self._rng
        draw = rng.random()
        command = rng.choice(self._commands)
        if draw < 0.08:
            text = rng.choice(_ERRORS).encode().replace(b"\n", b"\\n")
            text = text.replace(b"{text}", rng.choice(self._texts.fragments).plain)
            return self._failed(b"Bash", self._bash_input(command), text, "error")
        if draw < 0.085:
            return self._failed(b"Bash", self._bash_input(command), escape(_DENIED), "denied")
        return self._shell(command, rng.choice(self._texts.outputs))

    def _bash_input(self, command: bytes) -> bytes:
        return b'{"command":"%b","description":"%b"}' % (command, self._rng.choice(self._labels))

    def _shell(self, command: bytes, body: Body) -> Call:
        return Call(
            b"Bash",
            self._bash_input(command),
            b'"%b"' % body.plain,
            b'{"stdout":"%b","stderr":"","interrupted":false,"isImage":false,"noOutputExpected":false}' % body.plain,
            _FALSE,
            "ok",
        )

    def _failed(self, name: bytes, arguments: bytes, text: bytes, outcome: str) -> Call:
        return Call(name, arguments, b'"%b"' % text, b'"Error: %b"' % text, _TRUE, outcome)

    def _read(self) -> Call:
        path = self._rng.choice(self._paths)
        arguments = b'{"file_path":"%b"}' % path
        draw = self._rng.random()
        if draw < 0.05:
            return self._failed(
                b"Read", arguments, b"File does not exist. Note: your current working directory is " + CWD, "error"
            )
        if draw < 0.25:
            start = self._rng.randint(1, 400)
            arguments = b'{"file_path":"%b","offset":%d,"limit":%d}' % (path, start, self._rng.choice((20, 50, 120)))
        body = self._rng.choice(self._texts.files)
        structured = b'{"type":"text","file":{"filePath":"%b","content":"%b","numLines":%d,"startLine":1,"totalLines":%d}}' % (
            path, body.plain, body.lines, body.lines,
        )  # fmt: skip
        return Call(b"Read", arguments, b'"%b"' % body.numbered, structured, _OK, "ok")

    def _edit(self) -> Call:
        rng = self._rng
        path, old, new = rng.choice(self._paths), rng.choice(self._texts.fragments), rng.choice(self._texts.fragments)
        arguments = b'{"replace_all":false,"file_path":"%b","old_string":"%b","new_string":"%b"}' % (
            path,
            old.plain,
            new.plain,
        )
        if rng.random() < 0.05:
            text = b"<tool_use_error>String to replace not found in file.\\nString: %b</tool_use_error>" % old.plain
            return self._failed(b"Edit", arguments, text, "error")
        structured = (
            b'{"filePath":"%b","oldString":"%b","newString":"%b","originalFile":"%b","structuredPatch":[{"oldStart":2,'
            b'"oldLines":%d,"newStart":2,"newLines":%d,"lines":["-%b","+%b"]}],"userModified":false,"replaceAll":false}'
        ) % (
            path,
            old.plain,
            new.plain,
            rng.choice(self._texts.files).plain,
            old.lines,
            new.lines,
            old.plain,
            new.plain,
        )
        result = (
            b'"The file %b has been updated successfully. (file state is current in your context \xe2\x80\x94 no need to Read it back)"'
            % path
        )
        return Call(b"Edit", arguments, result, structured, _OK, "ok")

    def _write(self) -> Call:
        path, body = self._rng.choice(self._paths), self._rng.choice(self._texts.files)
        structured = b'{"type":"create","filePath":"%b","content":"%b","structuredPatch":[],"originalFile":null,"userModified":false}' % (
            path, body.plain,
        )  # fmt: skip
        arguments = b'{"file_path":"%b","content":"%b"}' % (path, body.plain)
        return Call(b"Write", arguments, b'"File created successfully at: %b"' % path, structured, _OK, "ok")

    def _grep(self) -> Call:
        body = self._rng.choice(self._texts.outputs)
        structured = b'{"mode":"content","numFiles":0,"filenames":[],"content":"%b","numLines":%d}' % (
            body.plain,
            body.lines,
        )
        arguments = b'{"pattern":"def (flush|push)\\\\(","path":"src","output_mode":"content","-n":true}'
        return Call(b"Grep", arguments, b'"%b"' % body.plain, structured, _OK, "ok")

    def _glob(self) -> Call:
        names = self._rng.sample(self._paths, 12)
        structured = b'{"filenames":["%b"],"durationMs":31,"numFiles":12,"truncated":false}' % b'","'.join(names)
        return Call(b"Glob", b'{"pattern":"**/*.py"}', b'"%b"' % b"\\n".join(names), structured, _OK, "ok")

    def _task_update(self) -> Call:
        number = self._rng.randint(1, 30)
        structured = (
            b'{"success":true,"taskId":"%d","updatedFields":["status"],"statusChange":{"from":"pending","to":"completed"}}'
            % number
        )
        return Call(
            b"TaskUpdate",
            b'{"taskId":"%d","status":"completed"}' % number,
            b'"Updated task #%d status"' % number,
            structured,
            _OK,
            "ok",
        )

    def _todo(self) -> Call:
        todos = b",".join(
            b'{"content":"%b","status":"pending","activeForm":"%b"}' % (label, label)
            for label in self._rng.sample(self._labels, 5)
        )
        structured = b'{"oldTodos":[],"newTodos":[%b]}' % todos
        result = b'"Todos have been modified successfully. Ensure that you continue to use the todo list to track your progress."'
        return Call(b"TodoWrite", b'{"todos":[%b]}' % todos, result, structured, _OK, "ok")

    def _fetch(self) -> Call:
        text = self._rng.choice(self._texts.thoughts)
        structured = (
            b'{"bytes":%d,"code":200,"codeText":"OK","result":"%b","durationMs":812,"url":"https://example.org/a"}'
            % (len(text), text)
        )
        return Call(
            b"WebFetch", b'{"url":"https://example.org/a","prompt":"Summarise"}', b'"%b"' % text, structured, _OK, "ok"
        )

    def _mcp(self) -> Call:
        text = self._rng.choice(self._texts.outputs).plain
        blocks = b'[{"type":"text","text":"%b"}]' % text
        return Call(b"mcp__tracker__list_issues", b'{"query":"state:open","limit":20}', blocks, blocks, _OK, "ok")

    def _skill(self) -> Call:
        return Call(
            b"Skill", b'{"skill":"fix-bug"}', b'"Launching skill: fix-bug"',
            b'{"success":true,"commandName":"fix-bug"}', _OK, "ok",
        )  # fmt: skip
