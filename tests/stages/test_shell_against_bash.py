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

from agentv_stages.shell import trace_shell
from support.shell_texts import LEAVES, NAMED, PROGRAMS, RUN, every, random_text

BASH = shutil.which("bash")
pytestmark = pytest.mark.skipif(BASH is None or not Path("/bin/sh").exists(), reason="there is no bash")

NUMBER = int(os.environ.get("AGENTV_STREAM_SHELL_TEXTS", "120"))
SEED = int(os.environ.get("AGENTV_STREAM_SEED", "1"))
REAL = ("env", "nice", "nohup", "timeout", "stdbuf", "xargs", "find", "flock", "setsid", "taskset", "ionice", "setarch",
        "linux64", "prlimit", "bash", "sh", "dash", "cat", "true", "tee", "echo", "printf", "grep", "tr", "wc",
        "make")  # fmt: skip
"""Programs that run as they are, if they are here; all others are stubs."""

STUB = """#!/bin/sh
record="${{0##*/}}"
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
        (folder / "dir" / "dir").symlink_to(".")
        (folder / "dir" / "bin").symlink_to("../bin")
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
        return [record for record in records if record[0] == program]


@pytest.fixture(scope="module")
def bash(tmp_path_factory: pytest.TempPathFactory) -> Bash:
    return Bash(tmp_path_factory.mktemp("bash"))


def seen(text: str, program: str) -> list[list[str]]:
    """The same calls as the rules see them."""
    calls = [[posixpath.basename(words[0]), *words[1:]] for words in trace_shell(text).calls]
    return [call for call in calls if call[0] == program]


def differences(bash: Bash, texts: Sequence[str]) -> list[str]:
    """The texts in which bash and the rules disagree on the calls of `zap`."""
    wrong: list[str] = []
    for text in texts:
        made, found = bash.calls(text, "zap"), seen(text, "zap")
        more = "xargs" in text or "parallel" in text  # give further arguments
        missed = [
            call
            for call in made
            if call not in found and not (more and any(c == call[: len(c)] or call == c[: len(call)] for c in found))
        ]
        invented = found if not made else []
        if missed or invented:
            wrong.append(f"{text!r}\n   bash {made}\n   seen {found}")
    return wrong


def test_each_way_to_run_a_program_is_seen(bash: Bash) -> None:
    texts = list(every([call.replace("{BIN}", str(bash.bin)) for call in RUN]))
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
    calls = [call.replace("{BIN}", str(bash.bin)) for call in RUN]
    texts = [random_text(random, calls) for _ in range(NUMBER)]
    wrong = differences(bash, texts)
    assert not wrong, f"{len(wrong)} of {len(texts)}:\n" + "\n".join(wrong[:40])


def test_generated_harmless_texts_raise_no_alarm(bash: Bash) -> None:
    random = Random(SEED + 1)
    calls = NAMED
    texts = [random_text(random, calls) for _ in range(NUMBER)]
    wrong = differences(bash, texts)
    assert not wrong, f"{len(wrong)} of {len(texts)}:\n" + "\n".join(wrong[:40])
