"""bash is the judge: generated texts are run with stubs on the path that record their calls; rules must see the same.

AGENTV_STREAM_SHELL_TEXTS is how many texts of each sort are made (a long run by hand), AGENTV_STREAM_SEED their seed.
"""

import os
import posixpath
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest

from agentv_stages.model.event import ToolCall
from agentv_stages.shell import trace_shell
from agentv_stages.trajectory.call_form import CallForm
from support.shell_texts import LEAVES, LISTS, NAMED, PROGRAMS, READING, RUN, UNREADING, every, random_text
from support.trajectories import Trace

BASH = shutil.which("bash")
pytestmark = pytest.mark.skipif(BASH is None or not Path("/bin/sh").exists(), reason="there is no bash")

NUMBER = int(os.environ.get("AGENTV_STREAM_SHELL_TEXTS", "120"))
SEED = int(os.environ.get("AGENTV_STREAM_SEED", "1"))
REAL = ("env", "nice", "nohup", "timeout", "stdbuf", "xargs", "find", "setsid", "taskset", "ionice", "setarch",
        "linux64", "prlimit", "bash", "sh", "dash", "cat", "true", "tee", "echo", "printf", "grep", "tr", "wc",
        "make")  # fmt: skip
"""Programs that run as they are, if they are here; all others are stubs."""

STUB = """#!/bin/sh
record="${{0##*/}}\037$PWD"
[ {mode} = leaf ] && record="$record\037$(readlink /proc/self/fd/0)"
for word in "$@"; do record="$record\037$word"; done
printf '%s\036' "$record" >> {log}
[ {mode} = leaf ] && exit 0
while [ $# -gt 0 ]; do
  case "$1" in
    ': @;'*) [ {mode} = words ] && exec bash -c "$1"; exec bash -c "$*" ;;
    *=': @;'*) exec bash -c "${{1#*=}}" ;;
    -* | '' | . | ..) ;;
    */zap | {real}) run=1 ;;
    */*) ;;
    *) [ -x {bin}/"$1" ] && run=1 ;;
  esac
  [ "$run" ] && {{ [ {mode} = words ] && exec "$@"; exec bash -c "$*"; }}
  shift
done
[ {mode} = stdin ] && exec bash -s
exit 0
"""
"""Runs the first word that is a program, or the text that is marked, or (`stdin`) what it reads."""
READERS = ("nl", "rev", "od")
OF_TEXT = ("watch", "adb")
OF_INPUT = ("at", "batch", "ssh")


class Bash:
    """A folder with stubs in which texts are run."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.log = folder, folder / "log"
        self.bin = folder / "bin"
        self.bin.mkdir()
        (folder / "dir").mkdir()
        (folder / "dir" / "file").write_text("zap x\n")
        for depth in range(1, 6):  # a text may go into it several times
            inside = folder.joinpath(*["dir"] * depth)
            inside.mkdir(exist_ok=True)
            (inside / "bin").symlink_to("../bin")
        for name in ("other", ".env", ".env.x", "x.env"):
            (folder / name).write_text("a\n")
        for name in PROGRAMS | {*LEAVES}:
            if name not in REAL or (shutil.which(name) is None and name not in ("sh", "dash")):
                self.stub(name)
        for name in ("sh", "dash"):  # so that each text is for the same shell
            (self.bin / name).symlink_to(BASH or "")
        self.environment = {
            "PATH": f"{self.bin}:/usr/bin:/bin",
            "HOME": str(folder),
            "LC_ALL": "C.UTF-8",
            "SHELL": BASH or "",
        }

    def stub(self, name: str) -> None:
        assert "/" not in name  # it would be another folder's
        mode = "leaf" if name not in PROGRAMS else "text" if name in OF_TEXT else "words"
        mode = "stdin" if name in OF_INPUT else mode
        path = self.bin / name
        path.write_text(STUB.format(log=self.log, bin=self.bin, mode=mode, real=" | ".join(REAL)))
        path.chmod(0o755)

    def calls(self, text: str, program: str) -> list[list[str]]:
        """The words of each call of the program that bash makes for a text."""
        return [[call[0], *call[3:]] for call in self.run(text) if call[0] == program]

    def parses(self, text: str) -> bool:
        """Whether bash understands a text, also in its substitutions, which `bash -n` does not read."""
        assert BASH is not None
        done = subprocess.run(
            [BASH, "-c", text], cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL, check=False,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=60,
        )  # fmt: skip
        return b"syntax error" not in done.stderr

    def reads(self, text: str, path: Path) -> bool:
        """Whether one of the programs of `READERS` is called with the file, or has it as its standard input."""
        for program, folder, given, *words in self.run(text):
            named = [posixpath.normpath(posixpath.join(folder, word)) for word in (given, *words)]
            if program in READERS and str(path) in named:
                return True
        return False

    def run(self, text: str) -> list[list[str]]:
        """Name, folder, standard input and words of each call of a program that only notes it."""
        self.log.write_bytes(b"")
        assert BASH is not None
        read_end, write_end = os.pipe()  # open until the last process that the text started has ended
        try:
            subprocess.run(
                [BASH, "-c", text], cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL, check=False,
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=60, pass_fds=(write_end,),
            )  # fmt: skip
            os.close(write_end)
            while os.read(read_end, 1):
                pass
        finally:
            os.close(read_end)
        records = [record.split("\037") for record in self.log.read_text("utf-8", "replace").split("\036") if record]
        return [record for record in records if record[0] in LEAVES]


@pytest.fixture(scope="module")
def bash(tmp_path_factory: pytest.TempPathFactory) -> Bash:
    return Bash(tmp_path_factory.mktemp("bash"))


def seen(text: str, program: str) -> list[list[str]]:
    """The same calls as the rules see them."""
    calls = [[posixpath.basename(words[0]), *words[1:]] for words in trace_shell(text).calls]
    return [call for call in calls if call[0] == program]


RULE = CallForm("Bash(zap *)")


def shell_call(text: str) -> ToolCall:
    [call] = Trace().call("Bash", {"command": text}, command=text, result=False).events
    assert isinstance(call, ToolCall)
    return call


def differences(bash: Bash, texts: Sequence[str]) -> list[str]:
    """The texts in which bash and the rules disagree on the calls of `zap`."""
    wrong: list[str] = []
    for text in texts:
        made, found = bash.calls(text, "zap"), seen(text, "zap")
        more = "xargs" in text or "parallel" in text  # give further arguments
        unfed = "> out.txt echo a | xargs" in text  # which runs nothing without input
        missed = [
            call
            for call in made
            if call not in found
            and not (more and any(c == call[: len(c)] or call == c[: len(call)] for c in found))
            and not any("$" in word for c in found for word in c)  # a variable that the environment may set
        ]
        alarm = not made and (bool(found) or RULE.fits(shell_call(text), None))
        if missed or (alarm and not unfed and bash.parses(text)) or (made and not RULE.fits(shell_call(text), None)):
            wrong.append(f"{text!r}\n   bash {made}\n   seen {found}")
    return wrong


def test_each_way_to_run_a_program_is_seen(bash: Bash) -> None:
    texts = [*every([call.replace("{BIN}", str(bash.bin)) for call in RUN]), *LISTS]
    wrong = differences(bash, texts)
    assert not wrong, f"{len(wrong)} of {len(texts)}:\n" + "\n".join(wrong[:40])
    unrun = [text for text in texts if not bash.calls(text, "zap")]
    assert not unrun, "bash runs nothing:\n" + "\n".join(unrun)


def test_no_way_to_name_a_program_alone_is_taken_for_a_run(bash: Bash) -> None:
    texts = list(NAMED)
    wrong = differences(bash, texts)
    assert not wrong, f"{len(wrong)} of {len(texts)}:\n" + "\n".join(wrong[:40])


def test_generated_texts_run_what_bash_runs(bash: Bash) -> None:
    random = Random(SEED)
    calls = [call.replace("{BIN}", str(bash.bin)) for call in (*RUN, *LISTS)]
    texts = [random_text(random, calls) for _ in range(NUMBER)]
    wrong = differences(bash, texts)
    assert not wrong, f"{len(wrong)} of {len(texts)}:\n" + "\n".join(wrong[:40])


def test_generated_harmless_texts_raise_no_alarm(bash: Bash) -> None:
    random = Random(SEED + 1)
    calls = NAMED
    texts = [random_text(random, calls) for _ in range(NUMBER)]
    wrong = differences(bash, texts)
    assert not wrong, f"{len(wrong)} of {len(texts)}:\n" + "\n".join(wrong[:40])


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="there is no /proc")
@pytest.mark.parametrize("texts", [READING, UNREADING])
def test_generated_texts_read_what_bash_reads(bash: Bash, texts: Sequence[str]) -> None:
    random = Random(SEED + 2)
    calls = [call.replace("{HOME}", str(bash.folder)) for call in texts]
    rules = [CallForm(f"kind:read({place}/.env)") for place in (bash.folder, "~")]
    wrong: list[str] = []
    for text in (*calls, *(random_text(random, calls, here=True) for _ in range(NUMBER))):
        call = shell_call(text)
        made = bash.reads(text, bash.folder / ".env")
        found = any(rule.fits(call, str(bash.folder)) for rule in rules)
        if made != found and (made or bash.parses(text)):
            wrong.append(f"{text!r}\n   bash {made}\n   seen {trace_shell(text).reads}")
    assert not wrong, f"{len(wrong)} of {NUMBER}:\n" + "\n".join(wrong[:40])
