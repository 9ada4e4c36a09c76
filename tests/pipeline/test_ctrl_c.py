"""Ctrl-C where no command is at work: while the program is loaded, and while Python ends."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from support.consuming import LIMIT_SECONDS, STREAM

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals are Unix")
START = """
import atexit, os, signal, sys
signal.signal(signal.SIGINT, signal.{before})

def press(*told):
    os.kill(os.getpid(), signal.SIGINT)

class Loading:
    def find_spec(self, name, path, target=None):
        if name == {module!r}:
            press()

sys.meta_path.insert(0, Loading())
if not {module!r}:
    atexit.register(press)
sys.argv = ["agentv-stream", *sys.argv[1:]]
from agentv_stream.__main__ import main
main()
"""


def pressed(folder: Path, module: str, before: str = "default_int_handler") -> "subprocess.CompletedProcess[str]":
    """`consume` with a Ctrl-C while a module is loaded; while Python ends where none is named."""
    code = START.format(module=module, before=before)
    command = [sys.executable, "-c", code, "consume", str(STREAM), "-q"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False)


@pytest.mark.parametrize("module", ["agentv_stream.cli.parameters", "agentv_stream.cli.consume", ""])
def test_it_ends_the_program_and_prints_nothing(tmp_path: Path, module: str) -> None:
    done = pressed(tmp_path, module)
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", "")


@pytest.mark.parametrize("module", ["agentv_stream.cli.consuming", "anyio"])
def test_within_a_command_it_is_the_exit_code(tmp_path: Path, module: str) -> None:
    done = pressed(tmp_path, module)
    assert (done.returncode, done.stdout, done.stderr) == (128 + signal.SIGINT, "", "")


@pytest.mark.parametrize("module", ["agentv_stream.cli.parameters", "agentv_stream.cli.consuming", ""])
def test_where_it_is_ignored_it_stays_so(tmp_path: Path, module: str) -> None:
    done = pressed(tmp_path, module, "SIG_IGN")
    assert (done.returncode, done.stderr) == (0, "")
