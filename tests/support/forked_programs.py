"""Runs many commands of the program, each in a process of its own, without starting Python for each.

A server imports the program once and forks for every command. A command has its own arguments, folder, environment and
standard streams, is a new process like any other, and ends with the same codes and signals. Whatever concerns the start
of Python (its options, encodings, the time zone of a library) needs a start of its own: see `is_forkable`.
"""

import atexit
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from typing import NamedTuple, NoReturn

_AT_START = ("PYTHON", "LC_", "LANG", "MALLOC", "LD_")  # variables that are read when Python starts
_OTHERWISE = frozenset(("PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED"))  # change nothing that is tested
_MOST_BYTES = 1 << 20


def _at_start(environment: Mapping[str, str]) -> dict[str, str]:
    return {
        name: value
        for name, value in environment.items()
        if value and name.startswith(_AT_START) and name not in _OTHERWISE
    }


_OURS = _at_start(os.environ)  # at import, before any test


def is_forkable(environment: Mapping[str, str]) -> bool:
    """Whether the server's Python has been started as one in this environment would be."""
    return _at_start(environment) == _OURS


class Command:
    """A command that runs. `pid` is its process, a grandchild of this one."""

    def __init__(self, link: socket.socket) -> None:
        self._link = link
        self.pid = int(self._line(None))

    def wait(self, timeout: float) -> int:
        """Its exit code; minus the signal's number if one has ended it. Raises: TimeoutError after killing it."""
        try:
            return os.waitstatus_to_exitcode(int(self._line(timeout)))
        except TimeoutError:
            os.kill(self.pid, signal.SIGKILL)
            self._line(None)
            raise
        finally:
            self._link.close()

    def _line(self, timeout: float | None) -> bytes:
        end, line = time.monotonic() + (timeout or 0), b""
        while not line.endswith(b"\n"):
            left = None if timeout is None else max(0.0, end - time.monotonic())
            if not select.select([self._link], [], [], left)[0]:
                raise TimeoutError
            data = self._link.recv(1)  # the next line may be there already
            assert data, "the server of commands has died"
            line += data
        return line


def start(arguments: list[str], folder: str, environment: Mapping[str, str], streams: tuple[int, int, int]) -> Command:
    """Starts `agentv-stream ARGUMENTS` with these standard streams."""
    ours, theirs = socket.socketpair()
    with theirs:
        request = json.dumps([arguments, folder, dict(environment)]).encode()
        assert len(request) < _MOST_BYTES
        ours.sendall(b"%d\n" % len(request) + request)
        socket.send_fds(_server(), [b"."], [theirs.fileno(), *streams])
    return Command(ours)


class Done(NamedTuple):
    returncode: int
    stdout: bytes
    stderr: bytes


def run(arguments: list[str], folder: str, environment: Mapping[str, str], given: bytes | None, timeout: float) -> Done:
    """Runs `agentv-stream ARGUMENTS` to its end; standard input is a pipe with what is `given`, or empty.

    Raises: TimeoutError.
    """
    inputs = os.pipe() if given is not None else (os.open(os.devnull, os.O_RDONLY), -1)
    outputs, errors = os.pipe(), os.pipe()
    running = start(arguments, folder, environment, (inputs[0], outputs[1], errors[1]))
    for fd in (inputs[0], outputs[1], errors[1]):
        os.close(fd)
    with ThreadPoolExecutor(3) as pool:
        if given is not None:
            pool.submit(_feed, inputs[1], given)
        out, err = pool.submit(_drain, outputs[0]), pool.submit(_drain, errors[0])
        code = running.wait(timeout)
        return Done(code, out.result(), err.result())


def _feed(descriptor: int, data: bytes) -> None:
    with open(descriptor, "wb", 0) as pipe, suppress(BrokenPipeError):
        view = memoryview(data)
        while view:
            view = view[pipe.write(view) :]


def _drain(descriptor: int) -> bytes:
    with open(descriptor, "rb") as pipe:
        return pipe.read()


@cache
def _server() -> socket.socket:
    """The link to the server, which lives as long as this process."""
    ours, theirs = socket.socketpair()
    with theirs:
        server = subprocess.Popen(
            [sys.executable, "-m", "support.forked_programs", str(theirs.fileno())],
            pass_fds=(theirs.fileno(),), cwd=os.path.dirname(os.path.dirname(__file__)),  # noqa: PTH120
            stdin=subprocess.DEVNULL,
        )  # fmt: skip

    def end() -> None:
        ours.close()
        server.wait()

    atexit.register(end)
    return ours


# --- the server


def _serve(control: socket.socket) -> None:
    signal.signal(signal.SIGCHLD, _reap)
    while True:
        _, fds, _, _ = socket.recv_fds(control, 1, 4)
        if not fds:
            return
        if not os.fork():
            control.close()
            _run(socket.socket(fileno=fds[0]), fds[1:])
        for fd in fds:
            os.close(fd)


def _reap(number: int, frame: object) -> None:
    """Ends the processes that have waited for a command, so that the time of commands counts as this one's."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _run(link: socket.socket, streams: list[int]) -> NoReturn:
    """Waits for one command, in a process between the server and the command."""
    code = 1
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        head = b""
        while not head.endswith(b"\n"):
            head += link.recv(1)
        size, request = int(head), b""
        while len(request) < size:
            request += link.recv(size - len(request))
        pid = os.fork()
        if not pid:
            link.close()
            _become(streams, *json.loads(request))
        for fd in streams:
            os.close(fd)
        link.sendall(b"%d\n" % pid)
        link.sendall(b"%d\n" % os.waitpid(pid, 0)[1])
        code = 0
    finally:
        os._exit(code)


def _become(streams: list[int], arguments: list[str], folder: str, environment: dict[str, str]) -> NoReturn:
    """Is the command from here on."""
    import runpy
    import threading

    for number, fd in enumerate(streams):
        os.dup2(fd, number)
    os.closerange(3, 256)
    os.chdir(folder)
    paths = filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))
    sys.path[:1] = [folder, *(path for path in paths if path not in sys.path)]  # as with `python -m`
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()
    sys.stdin, sys.stdout, sys.stderr = (
        open(number, mode, buffering, encoding=old.encoding, errors=old.errors, closefd=False)  # noqa: SIM115
        for number, mode, buffering, old in ((0, "r", -1, sys.stdin), (1, "w", -1, sys.stdout), (2, "w", 1, sys.stderr))
    )
    sys.argv, code = ["agentv_stream", *arguments], 0
    try:
        runpy.run_module("agentv_stream", run_name="__main__", alter_sys=True)
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException as error:
        sys.excepthook(type(error), error, error.__traceback__)
        code = 1
    # As at the end of an interpreter, which this process of a fork does not reach:
    threading._shutdown()  # type: ignore[attr-defined] # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    atexit._run_exitfuncs()  # pyright: ignore[reportPrivateUsage]
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code)


if __name__ == "__main__":
    import gc
    from importlib import import_module

    from agentv_stages.providers import NAMES, package_of
    from agentv_stream.cli import COMMANDS

    for name in NAMES:  # their modules only: plug-ins are looked for once, and a command may have its own
        import_module(f"agentv_stages.providers.{package_of(name)}")
    for place in COMMANDS.values():
        import_module(place.partition(":")[0])
    gc.freeze()
    _serve(socket.socket(fileno=int(sys.argv[1])))
